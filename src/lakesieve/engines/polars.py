"""Polars: a LazyFrame over a table whose scan opens only candidate files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.defaults import WAREHOUSE
from lakesieve.engines.engine_scans import last_pruning
from lakesieve.engines.table_rows import open_rows
from lakesieve.errors import not_installed
from lakesieve.predicate.expression import Constant
from lakesieve.predicate.polars import from_polars

__all__ = ["last_pruning", "scan"]

try:
    import polars as pl
    from polars.io.plugins import register_io_source
except ImportError as error:
    raise not_installed("Polars is not installed.", "polars") from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakesieve.predicate import Expr


def scan(
    table: str | Any,
    version: str | int | None = None,
    *,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    locations: Iterable[str] = (),
) -> pl.LazyFrame:
    """Scan a version of a table; filters and the choice of columns are pushed into the scan.

    Polars itself filters the rows that come from it, as it filters its own.
    As for :func:`lakesieve.engines.arrow.dataset` are the parameters and the errors.
    """
    rows = open_rows(table, version, catalog=catalog, warehouse=warehouse, locations=locations)

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        needed = None if columns is None else {*columns}
        expression: Expr = Constant(value=True)
        if predicate is not None:
            expression = from_polars(predicate.meta.serialize(format="json"), rows.schema)
            needed = None if needed is None else needed.union(predicate.meta.root_names())
        left = limit
        for batch in rows.batches(expression, needed)[1]:
            frame = pl.DataFrame(pl.from_arrow(batch))
            if predicate is not None:
                frame = frame.filter(predicate)
            if columns is not None:
                frame = frame.select(columns)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame
            if left == 0:
                return

    empty = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([], rows.schema)))
    return register_io_source(read, schema=empty.schema)
