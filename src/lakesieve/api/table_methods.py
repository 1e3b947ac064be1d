"""A table as the user holds it: each method calls the function of the package that does the work.

A method passes on what was said once when the table was opened, such as the session. Defaults of
options are those of the functions.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, overload

import lakesieve as ls
from lakesieve.api import look_ups
from lakesieve.api.options import spell_out_options
from lakesieve.api.table_deletes import TableDeletes
from lakesieve.defaults import MARKED_FILES, SHOWN_KEYS, WAREHOUSE
from lakesieve.index import ShownList
from lakesieve.index.access import needs_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import TypeAlias, Unpack

    import duckdb
    import polars as pl
    from pyarrow.dataset import Dataset
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.api.options import (
        AdviceOptions,
        ChangeOptions,
        FindOptions,
        IndexOptions,
        InsertOptions,
        RefreshOptions,
        TradeOffOptions,
    )
    from lakesieve.report import WrittenPage
    from lakesieve.store import Repaired
    from lakesieve.tables import TableReader

    Columns: TypeAlias = str | Sequence[str]
    Version: TypeAlias = str | int | None


class Table:
    """A table with its indexes; :func:`lakesieve.table` and :meth:`Lake.table` open one.

    Methods that read or write rows by Spark need the session that the table was opened with. All
    others work without one.

    Args:
        name: As for :func:`lakesieve.open_index`.
        spark: A session, if any.
        location: A further root for indexes: new ones are stored there, and it is searched, too.
        catalog: Without a session: name of a catalog in PyIceberg's configuration.
        warehouse: Without a session: folder of the embedded catalog ``lake``.
        timezone: Without a session: the zone of timestamps that are written without one.

    Raises:
        NotFoundError: No such table.

    Examples:
        >>> orders = ls.table("lake.shop.orders")
        >>> orders
        <Table lake.shop.orders: iceberg, without Spark>
        >>> orders.find_files("customer = 4711").paths
        ['...parquet']
    """

    def __init__(
        self,
        name: str | Any,
        *,
        spark: SparkSession | None = None,
        location: str | None = None,
        catalog: str | None = None,
        warehouse: str = WAREHOUSE,
        timezone: str = "UTC",
    ) -> None:
        catalogs = {"catalog": catalog, "warehouse": warehouse, "timezone": timezone}
        self._reach: dict[str, Any] = {"spark": spark, "location": location, **catalogs}
        self._given = name
        self._reader = self._open()

    def _open(self) -> TableReader:
        """Open the table as it is now."""
        reach = {name: given for name, given in self._reach.items() if name != "location"}
        return look_ups.access_of(**reach).open_table(self._given)

    @property
    def name(self) -> str:
        """The name by which the table is opened."""
        return self._given if isinstance(self._given, str) else self._reader.name

    @property
    def format(self) -> str:
        """``iceberg``, ``delta``, ``hudi`` or ``parquet``."""
        return self._reader.format

    @property
    def location(self) -> str:
        """The folder of the table."""
        return self._reader.location

    @property
    def _by_spark(self) -> dict[str, Any]:
        """Return the arguments of functions that need a session. Raise if there is none."""
        if self._reach["spark"] is None:
            raise needs_session(self.name)
        return {name: self._reach[name] for name in ("spark", "location")}

    @property
    def _spark(self) -> SparkSession:
        session: SparkSession = self._by_spark["spark"]
        return session

    @property
    def _locations(self) -> tuple[str, ...]:
        location = self._reach["location"]
        return () if location is None else (location,)

    def __repr__(self) -> str:
        engine = "without Spark" if self._reach["spark"] is None else "with Spark"
        return f"<Table {self.name}: {self.format}, {engine}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the table and its indexes."""
        title = f"<p><b>{escape(self.name)}</b>, {self.format}, indexes:</p>"
        return title + ShownList(self.indexes())._repr_html_()

    def __getitem__(self, name: str) -> ls.Index:
        return self.index(name)

    def _ipython_key_completions_(self) -> list[str]:
        """Return what a notebook completes after ``table["``: the names of the indexes."""
        return [info.name for info in self.indexes()]

    # Indexes

    def create_index(
        self, columns: Columns, *, name: str | None = None, **options: Unpack[IndexOptions]
    ) -> ls.SparkIndex:
        """Index one or several columns; see :func:`lakesieve.create_index`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.create_index(["tenant", "id"])
            <SparkIndex tenant_id of lake.shop.orders: 10 data files>
        """
        return ls.create_index(self.name, columns, name=name, **self._by_spark, **options)

    def create_indexes(
        self,
        columns: Sequence[Columns],
        *,
        names: Sequence[str | None] | None = None,
        **options: Unpack[IndexOptions],
    ) -> list[ls.SparkIndex]:
        """Make several indexes in one scan; see :func:`lakesieve.create_indexes`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> [index.name for index in orders.create_indexes(["tenant", ["id", "tenant"]])]
            ['tenant', 'id_tenant']
        """
        return ls.create_indexes(self.name, columns, names=names, **self._by_spark, **options)

    def indexes(self) -> list[ls.IndexInfo]:
        """List the indexes of the table that can be read.

        Examples:
            >>> [info.name for info in orders.indexes()]
            ['customer', 'id']
        """
        return ls.list_indexes(self._given, **self._reach)

    def index(self, name: str) -> ls.Index:
        """Open an index by its name; with a session it is a :class:`SparkIndex`.

        Examples:
            >>> orders.index("customer").files("customer = 4711").total
            10
        """
        opened: ls.Index = ls.open_index(self._given, name, **self._reach)
        return opened

    def find_files(
        self, predicate: str | Any | None = None, **options: Unpack[FindOptions]
    ) -> ls.FileMatches:
        """Find the data files that can hold a match; see :func:`lakesieve.find_files`.

        Examples:
            >>> matches = orders.find_files("customer = 4711")
            >>> len(matches.paths), matches.total
            (1, 10)
        """
        return ls.find_files(self._given, predicate, **options, **self._reach)

    def refresh(
        self, names: Sequence[str] | None = None, **options: Unpack[RefreshOptions]
    ) -> list[ls.RefreshResult]:
        """Index the data files that are new; see :func:`lakesieve.refresh_indexes`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> [done.files for done in orders.refresh()]
            [0, 0]
        """
        return ls.refresh_indexes(self.name, names, **self._by_spark, **options)

    def trade_offs(
        self, columns: Columns, **options: Unpack[TradeOffOptions]
    ) -> list[ls.TradeOffInfo]:
        """Tell what an index would cost at all budgets; see :func:`lakesieve.trade_offs`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.trade_offs("customer")[-1].strategy
            'exact'
        """
        return ls.trade_offs(self.name, columns, spark=self._spark, **options)

    def repair_index(self, name: str, *, dry_run: bool = True) -> Repaired:
        """Make a damaged index usable again; see :func:`lakesieve.repair_index`.

        Examples:
            >>> orders.repair_index("customer").lost
            ()
        """
        return ls.repair_index(self._given, name, dry_run=dry_run, **self._reach)

    # Rows by key

    def upsert(
        self, rows: DataFrame | str, *, on: Columns, **options: Unpack[ChangeOptions]
    ) -> ls.RowChange:
        """Update rows by key, and insert those whose keys are new; see :func:`lakesieve.upsert`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> changed = spark.table("lake.shop.orders").where("customer = 4711")
            >>> orders.upsert(changed, on="id", dry_run=True).updated
            1
        """
        return ls.upsert(rows, self.name, on=on, **self._by_spark, **options)

    def delete(
        self, keys: DataFrame | str, *, on: Columns, **options: Unpack[ChangeOptions]
    ) -> ls.RowChange:
        """Delete all rows that have given keys; see :func:`lakesieve.delete`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> keys = spark.sql("SELECT 4711L AS customer")
            >>> orders.delete(keys, on="customer", dry_run=True).deleted
            1
        """
        return ls.delete(keys, self.name, on=on, **self._by_spark, **options)

    def insert_new(
        self, rows: DataFrame | str, *, on: Columns, **options: Unpack[InsertOptions]
    ) -> ls.RowChange:
        """Append the rows whose keys are not in the table; see :func:`lakesieve.insert_new`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> known = spark.table("lake.shop.orders").where("customer = 4711")
            >>> orders.insert_new(known, on="id").inserted
            0
        """
        return ls.insert_new(rows, self.name, on=on, **self._by_spark, **options)

    @overload
    def contains(
        self, keys: DataFrame, *, on: Columns, version: Version = None, confirm: bool = False
    ) -> ls.KeyPresenceRows: ...

    @overload
    def contains(
        self, keys: Any, *, on: Columns, version: Version = None, confirm: bool = False
    ) -> ls.KeyPresence: ...

    def contains(
        self, keys: Any, *, on: Columns, version: Version = None, confirm: bool = False
    ) -> ls.KeyPresence | ls.KeyPresenceRows:
        """Tell which of many keys no row has, by an index that begins with the columns ``on``.

        The other parameters are those of :meth:`Index.contains`. With a session, ``keys`` may also
        be a Spark ``DataFrame``; see :meth:`SparkIndex.contains`.

        Raises:
            NotFoundError: No index begins with these columns.

        Examples:
            >>> orders.contains([4711, 99_999], on="customer").absent.to_pylist()
            [False, True]
        """
        name = look_ups.index_on(self.name, self.indexes(), on)
        return self.index(name).contains(keys, version, confirm=confirm)

    def duplicates(self, on: Columns, *, version: Version = None) -> ls.Duplicates:
        """Find the keys that are in more than one row; see :func:`lakesieve.duplicates`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.duplicates("id").count
            0
        """
        return ls.duplicates(self.name, on, version=version, **self._by_spark)

    def check_unique(
        self, on: Columns, *, version: Version = None, limit: int = SHOWN_KEYS
    ) -> ls.KeyCheck:
        """Check that no key is in more than one row; see :func:`lakesieve.check_unique`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.check_unique("id").holds
            True
        """
        return ls.check_unique(self.name, on, version=version, limit=limit, **self._by_spark)

    def check_references(
        self,
        columns: Columns,
        parent: str | Table,
        parent_columns: Columns,
        *,
        limit: int = SHOWN_KEYS,
    ) -> ls.KeyCheck:
        """Check that keys are keys of another table; see :func:`lakesieve.check_references`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.check_references("tenant", orders, "tenant").holds
            True
        """
        other = parent.name if isinstance(parent, Table) else parent
        return ls.check_references(
            self.name, columns, other, parent_columns, limit=limit, **self._by_spark
        )

    # The table as a whole

    def status(self, *, version: Version = None, threshold: float = MARKED_FILES) -> ls.TableStatus:
        """Tell how many data files carry row-level deletes; see :func:`lakesieve.status`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.status().marked_files
            0
        """
        return ls.status(self.name, spark=self._spark, version=version, threshold=threshold)

    def advise(self, **options: Unpack[AdviceOptions]) -> ls.TableAdvice:
        """Say which columns to index, and why; see :func:`lakesieve.advise`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.advise(queries=["dashboards.sql"]).columns[0].columns
            ('customer',)
        """
        (advice,) = ls.advise([self.name], **self._by_spark, **options)
        return advice

    def report(
        self, path: str | Path, *, event_logs: Iterable[str] = (), redact: bool = False
    ) -> WrittenPage:
        """Write an HTML page about the indexes: what they cost and cover, and where the keys are.

        Args:
            path: The page.
            event_logs: Event logs of Spark, whose latest queries the page shows.
            redact: Leave out literals, and where the table and its indexes lie.

        Raises:
            StorageError: The page cannot be written.

        Examples:
            >>> orders.report("orders.html").indexes
            2
        """
        return look_ups.write_report(
            self._given, path, event_logs=event_logs, redact=redact, **self._reach
        )

    def clone(self, target: str, *, version: Version = None) -> list[ls.CloneResult]:
        """Make a zero-copy table with all of the indexes; see :func:`lakesieve.clone_table`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> [clone.index for clone in orders.clone("lake.shop.copy")]
            ['customer', 'id']
        """
        return ls.clone_table(self.name, target, version=version, **self._by_spark)

    @property
    def deletes(self) -> TableDeletes:
        """The equality deletes of an Iceberg table."""
        return TableDeletes(self)

    # Rows for engines without Spark

    def scan_polars(self, version: Version = None) -> pl.LazyFrame:
        """Scan the table with Polars, which pushes filters and the choice of columns into the scan.

        Rows come without Spark, also where the table was opened with a session.

        Args:
            version: Snapshot id, time, tag or branch; ``None`` is the current version.

        Examples:
            >>> orders.scan_polars().filter(pl.col("customer") == 4711).collect().height
            1
        """
        return ls.engines.polars.scan_polars(self._open(), version, self._locations)

    def to_arrow_dataset(self, version: Version = None) -> Dataset:
        """Open the table as an Arrow dataset, which stays at its version.

        Args:
            version: Snapshot id, time, tag or branch; ``None`` is the current version.

        Examples:
            >>> orders.to_arrow_dataset().to_table(filter=pc.field("customer") == 4711).num_rows
            1
        """
        return ls.engines.arrow.to_arrow_dataset(self._open(), version, self._locations)

    def to_duckdb(
        self, con: duckdb.DuckDBPyConnection | None = None, version: Version = None
    ) -> duckdb.DuckDBPyRelation:
        """Make a DuckDB relation of the table.

        Args:
            con: The connection; by default DuckDB's own.
            version: Snapshot id, time, tag or branch; ``None`` is the current version.

        Examples:
            >>> con = duckdb.connect()
            >>> rows = orders.to_duckdb(con)
            >>> con.sql("SELECT id FROM rows WHERE customer = 4711").fetchall()
            [(3990,)]
        """
        return ls.engines.duckdb.to_duckdb(self._open(), con, version, self._locations)


spell_out_options(Table)
