"""The public functions that need a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.index import (
    Cloned,
    Found,
    IndexInfo,
    IndexRegistry,
    Refreshed,
    TablePruning,
    TradeOffInfo,
    describe,
    find,
    index_storage,
)
from lakesieve.spark.build.definition import key_columns
from lakesieve.spark.build.indexing import failure
from lakesieve.spark.build.progress import Watch
from lakesieve.spark.build.refresh import refresh_each
from lakesieve.spark.build.segments import draw_curve
from lakesieve.spark.build.source import Source
from lakesieve.spark.index import SparkIndex, session_timezone
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.rule.planning import pruning_rows
from lakesieve.spark.session.locations import index_stores, no_index, table_roots
from lakesieve.spark.tables import FORMATS, open_table
from lakesieve.spark.tables.contract import CopyableTable
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.store import IndexStore, Repaired, repair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index import BuildProgress

__all__ = [
    "clone_table",
    "disable",
    "enable",
    "find_files",
    "last_pruning",
    "list_indexes",
    "open_index",
    "refresh_indexes",
    "repair_index",
    "trade_offs",
]


def enable(spark: SparkSession, *, locations: Iterable[str] = ()) -> None:
    """Make every query and command of this session skip files from now on.

    Args:
        spark: A classic (not Connect) session.
        locations: Further roots to search for indexes, besides each table's own folder.

    Raises:
        UnsupportedError: A session in which the optimizer cannot be reached.
        SetupError: The table format's runtime is missing.
    """
    installed_rule(spark).enable(locations, storage_options(spark))


def disable(spark: SparkSession) -> None:
    """Leave the scans of this session's queries as they are from now on.

    Commands under way that skip files for themselves, such as an upsert, still do.
    """
    installed_rule(spark).disable()


def last_pruning(spark: SparkSession) -> list[TablePruning]:
    """What the latest query or command of this session did, one entry a table scan.

    It is the latest that was planned and reads tables. Without a scan that could skip files, as of
    a metadata table or when metadata alone give the answer, it has no entries. A DataFrame that is
    run again is not planned again; values, cached rows, results of commands, the batches of a
    stream and lakesieve's own reading of tables are no queries here.
    """
    return pruning_rows(installed_rule(spark).report())


def trade_offs(
    table: str,
    columns: Sequence[str],
    *,
    spark: SparkSession,
    progress: Callable[[BuildProgress], None] | None = None,
) -> list[TradeOffInfo]:
    """What an index would cost at all budgets, tried on a stretch of its keys.

    Args:
        table: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``parquet:PATH``.
        columns: The key columns in order.
        spark: The session.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Returns:
        The points worth having, smallest first.

    Raises:
        NotFoundError: No such table or column.
        UnsupportedError: A column's type cannot be indexed, or Spark cannot read the table.
    """
    rule, opened = installed_rule(spark), open_table(spark, table)
    version = opened.version()
    keys = key_columns(opened, version, columns)
    source = Source.whole(opened, version, keys)
    with Watch(spark, progress, f"lakesieve: budgets of {table} on {', '.join(columns)}") as watch:
        source = source.counted(rule)
        return [TradeOffInfo(**p) for p in draw_curve(spark, rule, source, watch=watch)]


def open_index(
    table: str, name: str, *, spark: SparkSession, location: str | None = None
) -> SparkIndex:
    """Open an index by its name, which defaults to its columns joined by ``_``.

    Args:
        table: As for :func:`create_index`.
        name: Name of the index.
        spark: The session.
        location: A further root to search, before the table's own.

    Raises:
        NotFoundError: No such table or index.
    """
    opened = open_table(spark, table)
    for root in table_roots(spark, opened, location):
        storage = index_storage(root, name)
        if IndexStore(storage).exists():
            return SparkIndex(spark, opened, storage)
    raise no_index(table, name)


def repair_index(
    table: str,
    name: str,
    *,
    spark: SparkSession,
    location: str | None = None,
    dry_run: bool = True,
) -> Repaired:
    """Make a damaged index usable again from what is left of it.

    Args:
        table: The table.
        name: The index's name.
        spark: The session.
        location: A further root to search for it.
        dry_run: Only tell what would be saved and what is lost.

    Raises:
        NotFoundError: No such table, or nothing is left of the index.
        CorruptIndexError: Nothing that is left says what the index is of.
    """
    opened = open_table(spark, table)
    for root in table_roots(spark, opened, location):
        storage = index_storage(root, name)
        if storage.objects("log/") or storage.objects("files/"):
            return repair(IndexStore(storage), dry_run=dry_run)
    raise no_index(table, name)


def clone_table(
    table: str,
    target: str,
    *,
    spark: SparkSession,
    version: str | int | None = None,
    location: str | None = None,
) -> list[Cloned]:
    """Make a zero-copy table that begins as a version of another, with all of its indexes.

    The copy shares the data files, and can never delete them (``gc.enabled`` is off); the indexes
    share their segments. From then on the tables are independent.

    Args:
        table: An Iceberg table, ``catalog.database.table``.
        target: Name of the copy, in the same catalog.
        spark: The session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        location: A further root to search for indexes.

    Returns:
        The indexes of the copy.

    Raises:
        NotFoundError: No such table or version.
        InvalidInputError: The target's name is taken.
        UnsupportedError: The table has no catalog, or one that cannot register tables.
    """
    opened = open_table(spark, table)
    copied = opened.version(version)
    if not isinstance(opened, CopyableTable):
        copying = FORMATS[opened.format].copying
        raise UnsupportedError(
            f"{table} is a {opened.format} table, which lakesieve does not copy.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint=copying.format(table=table, copy=target, version=copied.id),
        )
    opened.copy_to(target, copied)
    roots = table_roots(spark, opened, location)
    storages = [root.child(name) for root in roots for name in sorted(root.folders(""))]
    return [
        SparkIndex(spark, opened, storage).clone(target)
        for storage in storages
        if IndexStore(storage).exists()
    ]


def list_indexes(
    table: str, *, spark: SparkSession, location: str | None = None
) -> list[IndexInfo]:
    """List the indexes of a table that can be read.

    Args:
        table: As for :func:`create_index`.
        spark: The session.
        location: A further root to search, before the table's own.

    Raises:
        NotFoundError: No such table.
    """
    opened = open_table(spark, table)
    infos = []
    for root in table_roots(spark, opened, location):
        for name in sorted(root.folders("")):
            store = IndexStore(root.child(name))
            if store.exists():
                infos.append(describe(store.snapshot(), opened.name, store.storage.location))
    return infos


def refresh_indexes(
    table: str,
    names: Sequence[str] | None = None,
    *,
    spark: SparkSession,
    location: str | None = None,
    all_refs: bool = False,
    dry_run: bool = False,
    progress: Callable[[BuildProgress], None] | None = None,
) -> list[Refreshed]:
    """Refresh several indexes of a table, as :meth:`SparkIndex.refresh` does one.

    Data files that several of them do not cover are read once. If one index fails, the others are
    refreshed all the same, and the error names it.

    Args:
        table: The table.
        names: Names of the indexes; ``None`` for all of the table.
        spark: The session.
        location: A further root to search for them.
        all_refs: Also the data files of all branches and tags.
        dry_run: Only tell what would be indexed.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Raises:
        NotFoundError: No such table or index.
        InvalidInputError: An index belongs to a table that was here before.
        UnsupportedError: Key columns are gone, or of a type that cannot be indexed.
        CommitConflictError: Others index the same files all the time.
        StorageError: A location cannot be written to.
    """
    opened = open_table(spark, table)
    stores = index_stores(spark, opened, location)
    if names is not None:
        missing = [name for name in names if name not in stores]
        if missing:
            raise no_index(table, missing[0])
        stores = {name: stores[name] for name in names}
    outcomes = refresh_each(
        spark,
        opened,
        stores,
        all_refs=all_refs,
        dry_run=dry_run,
        progress=progress,
    )
    errors = {n: done if isinstance(done, Exception) else None for n, done in outcomes.items()}
    error = failure(errors)
    if error is not None:
        raise error
    return [done for done in outcomes.values() if isinstance(done, Refreshed)]


def find_files(
    table: str,
    predicate: str,
    *,
    spark: SparkSession,
    version: str | int | None = None,
    location: str | None = None,
) -> Found:
    """Data files that can hold a match, by all indexes of the table together.

    Args:
        table: The table.
        predicate: SQL text.
        spark: The session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        location: A further root to search for indexes.

    Raises:
        NotFoundError: No such table, column or version.
        InvalidInputError: The predicate cannot be understood.
    """
    opened = open_table(spark, table)
    locations = () if location is None else (location,)
    registry = IndexRegistry(locations, storage_options(spark))
    indexes, reasons = registry.indexes(opened.location, opened.uuid, file_io=opened.file_io)
    return find(opened, indexes, reasons, predicate, version, timezone=session_timezone(spark))
