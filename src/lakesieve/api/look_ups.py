"""Functions that look things up: with a Spark session, or without any JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from lakesieve.defaults import WAREHOUSE
from lakesieve.errors import ErrorKind, NotFoundError
from lakesieve.index import Index, IndexInfo, ShownList, find, index_storage, overview
from lakesieve.index.access import no_index, without_engine
from lakesieve.index.definition import column_names
from lakesieve.index.row_order import given_order
from lakesieve.store import IndexStore, repair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.advisor.recent import RecentQueries
    from lakesieve.index import FileMatches, TablePruning
    from lakesieve.index.access import TableAccess
    from lakesieve.index.many_keys import KeysToFind
    from lakesieve.index.overview import TableOverview
    from lakesieve.report import WrittenPage
    from lakesieve.spark.index import SparkIndex
    from lakesieve.store import Repaired


@overload
def open_index(
    table: str, name: str, *, spark: SparkSession, location: str | None = None
) -> SparkIndex: ...


@overload
def open_index(
    table: str | Any,
    name: str,
    *,
    spark: None = None,
    location: str | None = None,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    timezone: str = "UTC",
) -> Index: ...


def open_index(
    table: str | Any,
    name: str,
    *,
    spark: SparkSession | None = None,
    location: str | None = None,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    timezone: str = "UTC",
) -> Index:
    """Open an index by its name, which defaults to its columns joined by ``_``.

    Args:
        table: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``hudi:PATH`` or
            ``parquet:PATH``. Without a session also a ``pyiceberg.table.Table``.
        name: Name of the index.
        spark: A session whose catalogs and settings are used; without one no JVM starts, and what
            reads rows, such as a refresh, is left out.
        location: A further root to search, after the table's own.
        catalog: Without a session: name of a catalog in PyIceberg's configuration.
        warehouse: Without a session: folder of the embedded catalog ``lake``.
        timezone: Without a session: the zone of timestamps that are written without one.

    Raises:
        NotFoundError: No such table or index.
        SetupError: Without a session: a package that reads such tables is missing.
        UnsupportedError: Without a session: the table cannot be read without Spark.

    Examples:
        >>> ls.open_index("lake.shop.orders", "customer")
        <Index customer of lake.shop.orders: 10 data files>
    """
    if spark is not None:
        from lakesieve.spark import api

        return api.open_index(table, name, spark=spark, location=location)
    access = without_engine(catalog=catalog, warehouse=warehouse, timezone=timezone)
    opened = access.open_table(table)
    storage = access.index_storage(opened, name, location)
    return Index(opened, storage, access=access, key_reader=_key_rows)


def list_indexes(
    table: str | Any,
    *,
    spark: SparkSession | None = None,
    location: str | None = None,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    timezone: str = "UTC",
) -> list[IndexInfo]:
    """List the indexes of a table that can be read.

    Args:
        table: As for :func:`open_index`, as are the others.
        spark: A session, if any.
        location: A further root to search, after the table's own.
        catalog: Name of a catalog in PyIceberg's configuration.
        warehouse: Folder of the embedded catalog.
        timezone: As for the others; nothing here depends on it.

    Raises:
        NotFoundError: No such table.

    Examples:
        >>> [info.name for info in ls.list_indexes("lake.shop.orders")]
        ['customer', 'id']
    """
    access = access_of(spark, catalog, warehouse, timezone)
    opened = access.open_table(table)
    stores = access.stores(opened, location).values()
    return ShownList(
        IndexInfo.of(store.snapshot(), opened.name, store.storage.location) for store in stores
    )


def table_overview(table: str | Any, *, location: str | None = None, **reach: Any) -> TableOverview:
    """Return a table and all of its indexes at a glance, for a report; no data file is read.

    ``reach`` is as for :func:`access_of`.

    Raises:
        NotFoundError: No such table.
    """
    return overview.table_overview(access_of(**reach), table, location)


def recent_queries(
    table: str | Any, event_logs: Iterable[str], *, location: str | None = None, **reach: Any
) -> RecentQueries:
    """Return the latest queries of a table in event logs, and what its indexes leave of them now.

    ``reach`` is as for :func:`access_of`.

    Raises:
        NotFoundError: No such table, or no log.
    """
    from lakesieve.advisor import recent

    return recent.recent_queries(access_of(**reach), table, event_logs, location=location)


def write_report(
    table: str | Any,
    path: str | Path,
    *,
    event_logs: Iterable[str] = (),
    redact: bool = False,
    **reach: Any,
) -> WrittenPage:
    """Write a page about the indexes of a table; ``reach`` is as for :func:`table_overview`.

    Raises:
        NotFoundError: No such table, or no log.
        StorageError: The page cannot be written.
    """
    from lakesieve.report import WrittenPage
    from lakesieve.report.page import report_page
    from lakesieve.storage import write_file

    shown, logs = table_overview(table, **reach), list(event_logs)
    recent = recent_queries(table, logs, **reach) if logs else None
    page = report_page(shown, recent=recent, redact=redact).encode()
    write_file(Path(path), page, option="--html")
    return WrittenPage(
        table=shown.table, path=str(path), bytes=len(page), indexes=len(shown.indexes)
    )


def find_files(
    table: str | Any,
    predicate: str | Any | None = None,
    *,
    order_by: str | None = None,
    limit: int | None = None,
    spark: SparkSession | None = None,
    version: str | int | None = None,
    location: str | None = None,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    timezone: str = "UTC",
) -> FileMatches:
    """Data files that can hold a match, by all indexes of the table together.

    Args:
        table: As for :func:`open_index`, as are the others.
        predicate: SQL text, such as ``id IN (5, 9)``, or an expression of PyIceberg, Polars or
            Arrow, such as ``pl.col("id") == 5``; it is true where that library says so. May be left
            out if there is an order.
        order_by: A column, such as ``id DESC`` or ``id ASC NULLS LAST``: only the files are wanted
            that can hold one of the first rows in this order. Without NULLS, null is the lowest
            value, as in Spark. Beside a predicate in SQL text, the first of its rows are wanted. An
            index of several columns serves them, if the columns before this one have one value.
        limit: The number of first rows.
        spark: A session, if any.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        location: A further root to search for indexes.
        catalog: Name of a catalog in PyIceberg's configuration.
        warehouse: Folder of the embedded catalog.
        timezone: The zone of timestamps that are written without one.

    Raises:
        NotFoundError: No such table, column or version.
        InvalidInputError: The predicate or the order cannot be understood, or there is neither.

    Examples:
        >>> matches = ls.find_files("lake.shop.orders", "customer = 4711")
        >>> len(matches.paths), matches.total
        (1, 10)
        >>> newest = ls.find_files("lake.shop.orders", order_by="customer DESC", limit=3)
        >>> len(newest.paths)
        3
    """
    access = access_of(spark, catalog, warehouse, timezone)
    opened = access.open_table(table)
    indexes, reasons = access.indexes(opened, location)
    order = given_order(order_by, limit)
    return find(opened, indexes, reasons, predicate, version, access=access, order=order)


def repair_index(
    table: str | Any,
    name: str,
    *,
    spark: SparkSession | None = None,
    location: str | None = None,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    timezone: str = "UTC",
    dry_run: bool = True,
) -> Repaired:
    """Make a damaged index usable again from what is left of it.

    Args:
        table: As for :func:`open_index`, as are the others.
        name: The index's name.
        spark: A session, if any.
        location: A further root to search for it.
        catalog: Name of a catalog in PyIceberg's configuration.
        warehouse: Folder of the embedded catalog.
        timezone: As for the others; nothing here depends on it.
        dry_run: Only tell what would be saved and what is lost.

    Raises:
        NotFoundError: No such table, or nothing is left of the index.
        CorruptIndexError: Nothing that is left says what the index is of.

    Examples:
        >>> ls.repair_index("lake.shop.orders", "customer").lost
        ()
    """
    access = access_of(spark, catalog, warehouse, timezone)
    opened = access.open_table(table)
    for root in access.roots(opened, location):
        storage = index_storage(root, name)
        if storage.objects("log/") or storage.objects("files/"):
            return repair(IndexStore(storage), dry_run=dry_run)
    raise no_index(opened.name, name)


def index_on(table: str, indexes: Sequence[IndexInfo], on: str | Sequence[str]) -> str:
    """Return the name of the index that begins with some columns, and has the fewest others.

    Raises:
        NotFoundError: There is none.
    """
    wanted = column_names(on)
    known = [info for info in indexes if info.columns[: len(wanted)] == wanted]
    if not known:
        raise NotFoundError(
            f"{table} has no index that begins with {', '.join(wanted)}.",
            kind=ErrorKind.INDEX_NOT_FOUND,
            hint="Create one with create_index.",
        )
    return min(known, key=lambda info: len(info.columns)).name


def last_pruning(spark: SparkSession | None = None) -> list[TablePruning]:
    """What the latest query did, one entry a table scan.

    Args:
        spark: The session whose latest query is meant: the latest that was planned and reads
            tables. Without a scan that could skip files, as of a metadata table or when metadata
            alone give the answer, it has no entries. A DataFrame that is run again is not planned
            again; values, cached rows, results of commands, the batches of a stream and lakesieve's
            own reading of tables are no queries here. Without a session, the latest scan of an
            engine in this process is meant.

    Examples:
        >>> orders.scan_polars().filter(pl.col("customer") == 4711).collect().height
        1
        >>> [(scan.files_total, scan.files_read) for scan in ls.last_pruning()]
        [(10, 1)]
    """
    if spark is not None:
        from lakesieve.spark import api

        return api.last_pruning(spark)
    from lakesieve.engines import engine_scans

    return engine_scans.last_pruning()


def _key_rows(wanted: KeysToFind) -> Iterator[list[pa.Array]]:
    # libraries that read rows are loaded by what reads rows
    from lakesieve.engines.table_rows import key_rows

    return key_rows(wanted)


def access_of(
    spark: SparkSession | None = None,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    timezone: str = "UTC",
) -> TableAccess:
    """Return how tables are reached: through a session, or without one."""
    if spark is not None:
        from lakesieve.spark.session.access import access_by

        return access_by(spark)
    return without_engine(catalog=catalog, warehouse=warehouse, timezone=timezone)
