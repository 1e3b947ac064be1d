"""One adapter per table format behind one small contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.tables.contract import Column, Table, TableVersion

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Column", "Table", "TableVersion", "open_table"]

_LATER = ("delta", "hudi", "parquet")


def open_table(spark: SparkSession, name: str) -> Table:
    """Open a table by its catalog identifier, or by ``iceberg:PATH``.

    Args:
        spark: The session whose catalogs are searched.
        name: ``catalog.database.table``, ``iceberg:PATH``, or a bare path of an Iceberg table.

    Raises:
        NotFoundError: There is no such table.
        UnsupportedError: It is a table of a format that this version does not index.
        InvalidInputError: The text names no table.
    """
    from lakesieve.tables.iceberg import IcebergTable

    text = name.strip()
    if not text:
        raise InvalidInputError(
            "The table's name is empty.",
            kind=ErrorKind.NOT_A_TABLE,
            hint="Name it catalog.database.table, or iceberg:PATH.",
        )
    scheme, _, rest = text.partition(":")
    if scheme in _LATER:
        raise UnsupportedError(
            f"Tables of the format {scheme} are not supported yet.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="This version indexes Iceberg tables.",
        )
    if scheme == "iceberg" and rest:
        return IcebergTable(spark, rest, path=True)
    if "/" in text:
        return IcebergTable(spark, text, path=True)
    return IcebergTable(spark, text)
