"""A catalog of tables as the user holds it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lakesieve.api.look_ups import access_of, last_pruning
from lakesieve.api.table_methods import Table
from lakesieve.defaults import WAREHOUSE
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index import ShownList
from lakesieve.index.table_info import table_info
from lakesieve.storage import all_at_once
from lakesieve.tables.listing import table_names
from lakesieve.tables.names import EMBEDDED_CATALOG, parse_name, quoted_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.index import TablePruning
    from lakesieve.index.table_info import TableInfo


def connect(
    spark: SparkSession | None = None,
    *,
    catalog: str | None = None,
    warehouse: str | None = None,
    location: str | None = None,
    timezone: str | None = None,
) -> Lake:
    """Connect to a catalog of tables: through a Spark session, or without any JVM.

    Args:
        spark: A session, whose catalogs, storage settings and time zone are used.
        catalog: Name of a catalog: of the session, or without one in PyIceberg's configuration.
            Names of tables may leave it out. By default it is the session's catalog ``lake`` where
            :func:`lakesieve.local_session` made it, and else the session's current catalog.
        warehouse: Folder of the embedded catalog ``lake``, whose name tables may leave out.
        location: A further root for indexes: new ones are stored there, and it is searched, too.
        timezone: Without a session: the zone of timestamps that are written without one; UTC by
            default.

    Raises:
        InvalidInputError: A warehouse or a time zone is given with a session, which has its own, or
            a warehouse with a catalog.

    Examples:
        >>> lake = ls.connect(warehouse="warehouse")
        >>> lake.table("shop.orders").find_files("customer = 4711").total
        10
    """
    given = [name for name, value in (("catalog", catalog), ("spark", spark)) if value is not None]
    if warehouse is not None and given:
        raise _other(f"warehouse= and {given[0]}= name different catalogs.")
    if timezone is not None and spark is not None:
        raise _other("A session has a time zone of its own.")
    # a session knows its catalogs by names in front of tables, and so is the embedded one known
    prefix = catalog if spark is not None else None
    if warehouse is not None or (prefix is None and spark is not None and _has_embedded(spark)):
        prefix = EMBEDDED_CATALOG
    return Lake(
        spark=spark,
        prefix=prefix,
        catalog=catalog if spark is None else None,
        warehouse=warehouse or WAREHOUSE,
        location=location,
        timezone=timezone or "UTC",
    )


def _other(problem: str) -> InvalidInputError:
    return InvalidInputError(
        problem, kind=ErrorKind.INVALID_ARGUMENT, hint="Leave out one of the two."
    )


def _has_embedded(spark: SparkSession) -> bool:
    """Return whether a session was made by ``local_session``, with the catalog ``lake``."""
    names = ("spark.lakesieve.warehouse", f"spark.sql.catalog.{EMBEDDED_CATALOG}")
    return all(spark.conf.get(name, None) is not None for name in names)


def table(
    name: str | Any,
    *,
    spark: SparkSession | None = None,
    catalog: str | None = None,
    warehouse: str | None = None,
    location: str | None = None,
    timezone: str | None = None,
) -> Table:
    """Open a table, as :meth:`Lake.table` does.

    Args:
        name: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``hudi:PATH`` or
            ``parquet:PATH``. Without a session also a ``pyiceberg.table.Table``.
        spark: As for :func:`connect`, as are the others.
        catalog: Name of a catalog.
        warehouse: Folder of the embedded catalog.
        location: A further root for indexes.
        timezone: The zone of timestamps that are written without one.

    Raises:
        NotFoundError: No such table.
        InvalidInputError: Arguments that contradict each other, or a text that names no table.

    Examples:
        >>> ls.table("iceberg:warehouse/shop/orders").format
        'iceberg'
    """
    lake = connect(
        spark, catalog=catalog, warehouse=warehouse, location=location, timezone=timezone
    )
    return lake.table(name)


class Lake:
    """A catalog of tables.

    Create it with :func:`lakesieve.connect`, which documents the settings.

    Examples:
        >>> lake = ls.connect(warehouse="warehouse")
        >>> lake
        <Lake warehouse: without Spark>
        >>> lake["shop.orders"]
        <Table lake.shop.orders: iceberg, without Spark>
    """

    def __init__(
        self,
        *,
        spark: SparkSession | None,
        prefix: str | None,
        catalog: str | None,
        warehouse: str,
        location: str | None,
        timezone: str,
    ) -> None:
        self._spark, self._prefix, self._location = spark, prefix, location
        self._reach: dict[str, Any] = {
            "spark": spark,
            "catalog": catalog,
            "warehouse": warehouse,
            "timezone": timezone,
        }

    def __repr__(self) -> str:
        if self._spark is not None:
            return f"<Lake {self._prefix or 'current catalog'}: with Spark>"
        return f"<Lake {self._reach['catalog'] or self._reach['warehouse']}: without Spark>"

    def table(self, name: str | Any) -> Table:
        """Open a table.

        Args:
            name: The name in this catalog, ``database.table``, with or without the catalog in
                front; or a location with its format, as for :func:`lakesieve.table`.

        Raises:
            NotFoundError: No such table.
            InvalidInputError: The text names no table.

        Examples:
            >>> lake.table("shop.orders").name
            'lake.shop.orders'
        """
        full = self._full_name(name) if isinstance(name, str) else name
        return Table(full, location=self._location, **self._reach)

    def tables(self) -> list[TableInfo]:
        """List the tables of the catalog, with the names of their indexes.

        The metadata of each table is read, and the folders of its indexes are listed. A table that
        cannot be opened is in the list, with the reason.

        Raises:
            SetupError: A package that reading the catalog takes is missing.
            StorageError: The catalog cannot be reached.

        Examples:
            >>> lake.tables()
            table             format   indexes
            lake.shop.orders  iceberg  customer, id
        """
        access = access_of(**self._reach)
        look = partial(table_info, access, location=self._location)
        calls = [partial(look, name) for name in self._names()]
        # a session answers one call after the other
        return ShownList(all_at_once(calls) if self._spark is None else [call() for call in calls])

    def last_pruning(self) -> list[TablePruning]:
        """Tell what the latest query did; see :func:`lakesieve.last_pruning`.

        Examples:
            >>> orders.scan_polars().filter(pl.col("customer") == 4711).collect().height
            1
            >>> lake.last_pruning()[0].files_read
            1
        """
        return last_pruning(self._spark)

    def __getitem__(self, name: str) -> Table:
        return self.table(name)

    def _ipython_key_completions_(self) -> list[str]:
        """Return what a notebook completes after ``lake["``: the names of the tables."""
        return self._names()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the tables of the catalog."""
        return ShownList(self.tables())._repr_html_()

    def _names(self) -> list[str]:
        if self._spark is None:
            where = {name: self._reach[name] for name in ("catalog", "warehouse")}
            return table_names(**where)
        from lakesieve.spark.tables.catalogs import names_of_tables

        return names_of_tables(self._spark, self._prefix)

    def _full_name(self, name: str) -> str:
        """Put the catalog in front of an identifier that lacks it."""
        parsed = parse_name(name)
        if self._prefix is None or parsed.format is not None:
            return name
        first, *rest = parsed.identifier()
        if self._spark is None:
            has_catalog = first == self._prefix and len(rest) > 1
        else:
            from lakesieve.spark.tables.catalogs import is_catalog

            has_catalog = bool(rest) and is_catalog(self._spark, first)
        return name if has_catalog else f"{quoted_name([self._prefix])}.{parsed.text}"
