"""The public functions that need a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.index import (
    Cloned,
    Found,
    IndexInfo,
    IndexRegistry,
    TablePruning,
    TradeOffInfo,
    describe,
    find,
    index_storage,
    roots_of,
)
from lakesieve.sieve import ABSENT_HITS
from lakesieve.spark.build import build_segments, draw_curve, staged
from lakesieve.spark.definition import define, key_columns
from lakesieve.spark.index import SparkIndex, session_timezone
from lakesieve.spark.progress import Watch
from lakesieve.spark.pruning import pruning_rows
from lakesieve.spark.rule import installed_rule
from lakesieve.spark.source import Source
from lakesieve.store import COMPACTION, IndexStore, Repaired, repair
from lakesieve.tables import open_table
from lakesieve.tables.hadoop import storage_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index import BuildProgress
    from lakesieve.storage import Storage
    from lakesieve.tables import Table

__all__ = [
    "clone_table",
    "create_index",
    "disable",
    "enable",
    "find_files",
    "last_pruning",
    "list_indexes",
    "open_index",
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


def create_index(
    table: str,
    columns: Sequence[str],
    *,
    spark: SparkSession,
    name: str | None = None,
    location: str | None = None,
    budget: str | None = None,
    absent_hits: float = ABSENT_HITS,
    compaction: str = COMPACTION,
    progress: Callable[[BuildProgress], None] | None = None,
) -> SparkIndex:
    """Index one or several columns of a table: every live data file of its current version.

    One on several columns answers conditions on the first, on the first two and so on.

    Args:
        table: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``parquet:PATH``.
        columns: The key columns in order, at most eight; dots lead into structs.
        spark: The session that builds it.
        name: The index's name; by default the columns joined by ``_``.
        location: A root to store it under instead of the table's own folder.
        budget: ``"2 bits"`` a row, or ``"1.5 files"`` read in vain by a point query, for an index
            that need not be exact; kept for every refresh.
        absent_hits: Share of look-ups of values that are not there which may find a data file.
        compaction: How many refreshes may add a delta before they are merged: a number, 0 to merge
            at every refresh, or ``"auto"`` to follow the table, 0 where it copies on write.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Returns:
        The index, committed and ready.

    Raises:
        NotFoundError: No such table or column.
        InvalidInputError: The index exists, or names cannot be used.
        UnsupportedError: A column's type cannot be indexed, or Spark cannot read the table.
        StorageError: The place cannot be written to.
    """
    rule, opened = installed_rule(spark), open_table(spark, table)
    version = opened.version()
    keys = key_columns(opened, version, columns)
    name = name or "_".join(columns)
    definition = define(
        opened, keys, name, budget=budget, absent_hits=absent_hits, compaction=compaction
    )
    storage = _new_place(spark, opened, name, location)
    source = Source.whole(opened, version, keys)
    with Watch(spark, progress, f"lakesieve: index {table} on {', '.join(columns)}") as watch:
        source = source.counted(rule)
        built = build_segments(
            spark, rule, source, definition=definition, storage=storage, watch=watch
        )
        watch.phase("commit")
        changes = staged(built, "create", version, storage=storage, definition=definition)
        IndexStore(storage).create(definition, changes)
    return SparkIndex(spark, opened, storage)


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

    Raises:
        NotFoundError: No such table or index.
    """
    opened = open_table(spark, table)
    for root in _roots(spark, opened, location):
        storage = index_storage(root, name)
        if IndexStore(storage).exists():
            return SparkIndex(spark, opened, storage)
    raise _no_index(table, name)


def _no_index(table: str, name: str) -> NotFoundError:
    return NotFoundError(
        f"{table} has no index {name}.",
        kind=ErrorKind.INDEX_NOT_FOUND,
        hint="lakesieve list TABLE names those it has.",
    )


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
    for root in _roots(spark, opened, location):
        storage = index_storage(root, name)
        if storage.objects("log/") or storage.objects("files/"):
            return repair(IndexStore(storage), dry_run=dry_run)
    raise _no_index(table, name)


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
    share their segments. Both tables go their own ways from then on.

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
    opened.copy_to(target, opened.version(version))
    roots = _roots(spark, opened, location)
    places = [root.child(name) for root in roots for name in sorted(root.folders(""))]
    return [
        SparkIndex(spark, opened, place).clone(target)
        for place in places
        if IndexStore(place).exists()
    ]


def list_indexes(
    table: str, *, spark: SparkSession, location: str | None = None
) -> list[IndexInfo]:
    """List the indexes of a table that can be read.

    Raises:
        NotFoundError: No such table.
    """
    opened = open_table(spark, table)
    infos = []
    for root in _roots(spark, opened, location):
        for name in sorted(root.folders("")):
            store = IndexStore(root.child(name))
            if store.exists():
                infos.append(describe(store.snapshot(), opened.name, store.storage.location))
    return infos


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
    indexes, reasons = registry.indexes(opened.location, opened.uuid)
    return find(opened, indexes, reasons, predicate, version, timezone=session_timezone(spark))


def _roots(spark: SparkSession, table: Table, location: str | None) -> list[Storage]:
    locations = () if location is None else (location,)
    return roots_of(table.location, table.uuid, locations, storage_options(spark))


def _new_place(spark: SparkSession, table: Table, name: str, location: str | None) -> Storage:
    storage = index_storage(_roots(spark, table, location)[-1], name)
    if IndexStore(storage).exists():
        raise InvalidInputError(
            f"{table.name} already has an index {name}.",
            kind=ErrorKind.INDEX_EXISTS,
            hint="Choose another name, or drop it first: lakesieve drop TABLE INDEX.",
        )
    storage.probe()
    return storage
