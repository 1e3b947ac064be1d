"""Polars: a LazyFrame over a table whose scan opens only candidate files."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.defaults import WAREHOUSE
from lakesieve.engines.engine_scans import last_pruning
from lakesieve.engines.table_rows import rows_of
from lakesieve.errors import not_installed
from lakesieve.predicate.expression import Constant
from lakesieve.predicate.polars import from_polars
from lakesieve.printable import printable_line
from lakesieve.tables.opening import open_table

__all__ = ["last_pruning", "scan"]

try:
    import polars as pl
    from polars.io.plugins import register_io_source
except ImportError as error:
    raise not_installed("Polars is not installed.", "polars") from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakesieve.predicate import Expr
    from lakesieve.tables import TableReader

_EXPLAINED = "indexes choose the data files when the query runs; ls.last_pruning() counts them"
# Polars shows the name of a scan in its plans from 2.0 on
_EXPLAINS = "explain_name" in inspect.signature(register_io_source).parameters


def scan(
    table: str | Any,
    version: str | int | None = None,
    *,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    locations: Iterable[str] = (),
) -> pl.LazyFrame:
    """Scan a version of a table; Polars pushes filters and the choice of columns into the scan.

    Polars itself filters the rows of the data files that are left. ``LazyFrame.explain()`` names
    lakesieve. Files are chosen when the query runs; afterwards ``ls.last_pruning()`` counts them.
    Parameters and errors: see :func:`lakesieve.engines.arrow.dataset`.

    Examples:
        >>> orders = ls.engines.polars.scan("lake.shop.orders")
        >>> orders.filter(pl.col("customer") == 4711).collect().height
        1
        >>> ls.last_pruning()[0].files_read
        1
    """
    return scan_polars(open_table(table, catalog=catalog, warehouse=warehouse), version, locations)


def scan_polars(
    table: TableReader, version: str | int | None = None, locations: Iterable[str] = ()
) -> pl.LazyFrame:
    """Scan a version of a table that is open; see :func:`scan`."""
    rows = rows_of(table, version, locations)

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        needed = None if columns is None else {*columns}
        expression: Expr = Constant(value=True)
        if predicate is not None:
            if limit is None:
                expression = from_polars(predicate.meta.serialize(format="json"), rows.schema)
            needed = None if needed is None else needed.union(predicate.meta.root_names())
        left = limit
        for batch in rows.batches(expression, needed, in_turn=limit is not None)[1]:
            frame = pl.DataFrame(pl.from_arrow(batch))
            # the filter is above the limit, so it keeps some of the first rows of the table
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            if predicate is not None:
                frame = frame.filter(predicate)
            if columns is not None:
                frame = frame.select(columns)
            yield frame
            if left == 0:
                return

    empty = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([], rows.schema)))
    name = f"lakesieve {printable_line(table.name)}"
    shown: dict[str, Any] = (
        {"explain_name": name, "explain_detail": _EXPLAINED} if _EXPLAINS else {}
    )
    return register_io_source(read, schema=empty.schema, **shown)
