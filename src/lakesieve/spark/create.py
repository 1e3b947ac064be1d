"""Creating indexes: the request is checked, and all data files are added to new indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError
from lakesieve.index.definition import column_names, default_name, define
from lakesieve.sieve import ABSENT_HITS
from lakesieve.spark.build.indexing import add_files, failure
from lakesieve.spark.build.keys import index_keys
from lakesieve.spark.build.row_blocks import unit_of
from lakesieve.spark.build.source import IndexBuild, Source, distinct_columns
from lakesieve.spark.index import SparkIndex
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables import open_table
from lakesieve.store import COMPACTION, IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.format import Unit
    from lakesieve.index import BuildProgress
    from lakesieve.storage import Storage
    from lakesieve.tables import Column

__all__ = ["create_index", "create_indexes"]


def create_index(
    table: str,
    columns: str | Sequence[str],
    *,
    spark: SparkSession,
    name: str | None = None,
    location: str | None = None,
    budget: str | None = None,
    absent_hits: float = ABSENT_HITS,
    compaction: str = COMPACTION,
    rows_per_block: int | str | None = "auto",
    replace: bool = False,
    progress: Callable[[BuildProgress], None] | None = None,
) -> SparkIndex:
    """Index one or several columns of a table: every live data file of its current version.

    One on several columns answers conditions on the first, on the first two and so on.

    Args:
        table: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``parquet:PATH``.
        columns: The keys, up to eight in order: columns, and expressions. Dots lead into structs.
        spark: The session that builds it.
        name: The index's name; by default the columns joined by ``_``, with a ``_`` in place of
            blanks and other characters that a folder's name cannot have.
        location: A root to store it under instead of the table's own folder.
        budget: ``"2 bits"`` a row, or ``"1.5 files"`` read in vain by a point query, for an index
            that need not be exact; kept for every refresh.
        absent_hits: Share of look-ups of values that are not there which may find a data file.
        compaction: How many refreshes may add a delta before they are merged: a number, 0 to merge
            at every refresh, or ``"auto"`` to follow the table, 0 where it copies on write.
        rows_per_block: Rows of a block, for an index that tells which rows of a file can match;
            ``None`` for an index of whole data files; ``"auto"`` chooses row blocks of 20,000 rows
            for tables whose data files have 8 MB and 200,000 rows or more on average.
        replace: Whether to put the index into the place of one with the same name. Queries use the
            old index until the new one is complete.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Returns:
        The index, committed and ready.

    Raises:
        NotFoundError: No such table or column.
        InvalidInputError: The index exists, or names cannot be used.
        UnsupportedError: A key cannot be indexed, or Spark cannot read the table.
        StorageError: The location cannot be written to.

    Examples:
        >>> ls.create_index("lake.shop.orders", "tenant", spark=spark)
        <SparkIndex tenant of lake.shop.orders: 10 data files>
    """
    (index,) = create_indexes(
        table,
        [columns],
        spark=spark,
        names=[name],
        location=location,
        budget=budget,
        absent_hits=absent_hits,
        compaction=compaction,
        rows_per_block=rows_per_block,
        replace=replace,
        progress=progress,
    )
    return index


def create_indexes(
    table: str,
    columns: Sequence[str | Sequence[str]],
    *,
    spark: SparkSession,
    names: Sequence[str | None] | None = None,
    location: str | None = None,
    budget: str | None = None,
    absent_hits: float = ABSENT_HITS,
    compaction: str = COMPACTION,
    rows_per_block: int | str | None = "auto",
    replace: bool = False,
    progress: Callable[[BuildProgress], None] | None = None,
) -> list[SparkIndex]:
    """Make several indexes of a table as :func:`create_index` does, in one scan of its data files.

    Each index has a commit of its own. Invalid arguments raise before anything is read. If one
    index fails later, the others are made all the same, and the error names it.

    Args:
        table: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``parquet:PATH``.
        columns: The key columns of each index, such as ``["customer", ["day", "shop"]]``.
        spark: The session that builds them.
        names: Their names, as many; ``None`` for the columns joined by ``_``.
        location: A root to store them under instead of the table's own folder.
        budget: As for :func:`create_index`, of each.
        absent_hits: As for :func:`create_index`, of each.
        compaction: As for :func:`create_index`, of each.
        rows_per_block: As for :func:`create_index`, of each.
        replace: As for :func:`create_index`, of each.
        progress: Called with each :class:`BuildProgress` over all, from another thread.

    Returns:
        The indexes in the order of ``columns``, committed and ready.

    Raises:
        NotFoundError: No such table or column.
        InvalidInputError: An index exists, two would have one name, or names cannot be used.
        UnsupportedError: A column's type cannot be indexed, or Spark cannot read the table.
        StorageError: The location cannot be written to.

    Examples:
        >>> made = ls.create_indexes("lake.shop.orders", ["tenant", ["tenant", "id"]], spark=spark)
        >>> [index.name for index in made]
        ['tenant', 'tenant_id']
    """
    installed_rule(spark)
    opened = open_table(spark, table)
    reader, version = opened.reader, opened.reader.version()
    # a string is one index on one column
    lists = [columns] if isinstance(columns, str) else columns
    names_of_each = list(map(column_names, lists))
    keys = [index_keys(opened, version, each) for each in names_of_each]
    chosen = _chosen_names(names_of_each, names)
    access = access_by(spark)
    roots = [access.new_storage(reader, name, location, replace=replace) for name in chosen]
    source = Source.whole(opened, version, distinct_columns(keys))
    how = {"budget": budget, "absent_hits": absent_hits, "compaction": compaction}
    unit = unit_of(opened, source.files, rows_per_block)
    builds = _new_builds(source, zip(keys, chosen, roots, strict=True), unit, replace, how)
    if builds:
        _build(spark, source, builds, progress)
    return [SparkIndex(spark, opened, root) for root in roots]


def _new_builds(
    source: Source,
    indexes: Iterable[tuple[tuple[Column, ...], str, Storage]],
    unit: Unit,
    replaces: bool,
    how: Mapping[str, Any],
) -> list[IndexBuild]:
    """Define new indexes, given by their key columns, names and roots."""
    return [
        IndexBuild(
            definition=define(source.table.reader, key, name, rows_per_block=unit.rows, **how),
            store=IndexStore(root),
            columns=key,
            replaces=replaces,
        )
        for key, name, root in indexes
    ]


def _build(
    spark: SparkSession,
    source: Source,
    builds: Sequence[IndexBuild],
    progress: Callable[[BuildProgress], None] | None,
) -> None:
    """Add all data files of a version to new indexes."""
    # they lie side by side in one store
    builds[0].store.storage.probe()
    keys = (", ".join(build.definition.key_names) for build in builds)
    add_files(
        spark,
        source,
        builds,
        operation="create",
        description=f"lakesieve: index {source.table.reader.name} on {'; '.join(keys)}",
        progress=progress,
    )
    error = failure({build.definition.name: build.error for build in builds})
    if error is not None:
        has_begun = any(build.error and build.base for build in builds)
        raise _unfinished(error) if has_begun else error


def _unfinished(error: Exception) -> Exception:
    """Return the error of a build some portions of which are committed."""
    hint = "What was indexed so far is kept; lakesieve refresh goes on with the other data files."
    if isinstance(error, LakesieveError):
        full = f"{error.hint} {hint}".strip()
        complete = type(error)(error.message, kind=error.kind, hint=full)
        complete.__cause__ = error
        return complete
    error.add_note(hint)
    return error


def _chosen_names(
    columns: Sequence[Sequence[str]], names: Sequence[str | None] | None
) -> list[str]:
    """Return the names of new indexes, each another one."""
    given = [None] * len(columns) if names is None else names
    if len(given) != len(columns):
        raise InvalidInputError(
            f"{len(given)} names were given for {len(columns)} indexes.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a name for each index, None for one that has its columns' names.",
        )
    chosen = [name or default_name(each) for name, each in zip(given, columns, strict=True)]
    twice = sorted({name for name in chosen if chosen.count(name) > 1})
    if twice:
        raise InvalidInputError(
            f"Two indexes would have the name {twice[0]}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Name each index once, or give names of their own (names=).",
        )
    return chosen
