"""DuckDB: a relation over a table whose scan opens only candidate files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.defaults import WAREHOUSE
from lakesieve.engines.arrow import to_arrow_dataset
from lakesieve.engines.engine_scans import last_pruning
from lakesieve.errors import not_installed
from lakesieve.tables.opening import open_table

__all__ = ["last_pruning", "relation"]

try:
    import duckdb
except ImportError as error:
    raise not_installed("DuckDB is not installed.", "duckdb") from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.tables import TableReader


def relation(
    con: duckdb.DuckDBPyConnection,
    table: str | Any,
    version: str | int | None = None,
    *,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    locations: Iterable[str] = (),
) -> duckdb.DuckDBPyRelation:
    """Make a relation of a version of a table; DuckDB pushes filters and columns into its scan.

    DuckDB's ``EXPLAIN`` shows the scan as ``PYTHON_ARROW_SCAN``, with its filters. It has no place
    for the name of lakesieve. After the query ``ls.last_pruning()`` counts the files that were
    read. Other parameters and errors: see :func:`lakesieve.engines.arrow.dataset`.

    Examples:
        >>> con = duckdb.connect()
        >>> orders = ls.engines.duckdb.relation(con, "lake.shop.orders")
        >>> con.sql("SELECT id FROM orders WHERE customer = 4711").fetchall()
        [(3990,)]
    """
    opened = open_table(table, catalog=catalog, warehouse=warehouse)
    return to_duckdb(opened, con, version, locations)


def to_duckdb(
    table: TableReader,
    con: duckdb.DuckDBPyConnection | None = None,
    version: str | int | None = None,
    locations: Iterable[str] = (),
) -> duckdb.DuckDBPyRelation:
    """Make a relation of a table that is open, by default in DuckDB's own connection."""
    return (con or duckdb).from_arrow(to_arrow_dataset(table, version, locations))
