"""The schema of a scan, in the words of its format, as columns; no engine needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.tables.iceberg_schema import columns_of_schema
from lakesieve.tables.struct_schema import delta_columns, hudi_columns, parquet_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakesieve.tables.contract import Column

__all__ = ["columns_of"]

_FORMATS = {
    "iceberg": columns_of_schema,
    "delta": delta_columns,
    "hudi": hudi_columns,
    "parquet": parquet_columns,
}


def columns_of(table_format: str, schema: str) -> Mapping[tuple[str, ...], Column]:
    """List the columns of a scan, and the fields of its structs.

    Args:
        table_format: ``iceberg``, ``delta``, ``hudi`` or ``parquet``.
        schema: The schema as the format's scan adapter writes it.

    Raises:
        UnsupportedError: The table has a feature that is not known here.
    """
    return _FORMATS[table_format](schema)
