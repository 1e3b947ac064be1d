"""DuckDB: a relation over a table whose scan opens only candidate files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.defaults import WAREHOUSE
from lakesieve.engines import arrow
from lakesieve.engines.engine_scans import last_pruning

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

__all__ = ["last_pruning", "relation"]


def relation(
    con: duckdb.DuckDBPyConnection,
    table: str | Any,
    version: str | int | None = None,
    *,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    locations: Iterable[str] = (),
) -> duckdb.DuckDBPyRelation:
    """Make a relation of a version of a table; filters and columns are pushed into its scan.

    As for :func:`lakesieve.engines.arrow.dataset` are the parameters behind the connection, and the
    errors.
    """
    opened = arrow.dataset(
        table, version, catalog=catalog, warehouse=warehouse, locations=locations
    )
    return con.from_arrow(opened)
