"""Readers of schema documents: for each table format, a function that returns the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.tables.iceberg.schema import columns_of_schema
from lakesieve.tables.struct_schema import delta_columns, hudi_columns, parquet_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakesieve.tables.contract import Column

COLUMNS_OF: Mapping[str, Callable[[str], Mapping[tuple[str, ...], Column]]] = {
    "delta": delta_columns,
    "hudi": hudi_columns,
    "iceberg": columns_of_schema,
    "parquet": parquet_columns,
}
"""For each table format, the function from a schema document to the columns by path."""
