"""One adapter per table format behind one small contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.tables.contract import Column, Table, TableVersion
from lakesieve.tables.schemas import columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Column", "Table", "TableVersion", "columns_of", "open_table"]

_PATHS = ("iceberg", "delta", "hudi", "parquet")


def open_table(spark: SparkSession, name: str) -> Table:
    """Open a table by its catalog identifier, or by its format and path.

    Args:
        spark: The session whose catalogs are searched.
        name: ``catalog.database.table``; ``iceberg:PATH``, ``delta:PATH``, ``hudi:PATH`` or
            ``parquet:PATH``; or a bare path of an Iceberg table.

    Raises:
        NotFoundError: There is no such table.
        UnsupportedError: It is a table of a format that this version does not index.
        InvalidInputError: The text names no table.
        SetupError: The format's runtime is missing from the session.
    """
    from lakesieve.tables.catalogs import FORMS, catalog_table, format_of

    text = name.strip()
    if not text:
        raise InvalidInputError(
            "The table's name is empty.",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Name it {FORMS}.",
        )
    scheme, _, rest = text.partition(":")
    if scheme in _PATHS and rest:
        return _open_path(spark, scheme, rest)
    if text.startswith("/") or ":/" in text:
        return _open_path(spark, "iceberg", text)
    java = catalog_table(spark, text)
    return _open_name(spark, text, format_of(java), java)


def _open_path(spark: SparkSession, table_format: str, path: str) -> Table:
    from lakesieve.tables.delta import DeltaTable
    from lakesieve.tables.hudi import HudiTable
    from lakesieve.tables.iceberg import IcebergTable
    from lakesieve.tables.janino import check_format
    from lakesieve.tables.parquet import ParquetTable

    check_format(spark, table_format)
    if table_format == "delta":
        return DeltaTable.at(spark, path)
    if table_format == "hudi":
        return HudiTable(spark, path, is_path=True)
    if table_format == "parquet":
        return ParquetTable.at(spark, path)
    return IcebergTable(spark, path, path=True)


def _open_name(spark: SparkSession, name: str, table_format: str, java: object) -> Table:
    from lakesieve.tables.delta import DeltaTable
    from lakesieve.tables.hudi import HudiTable
    from lakesieve.tables.iceberg import IcebergTable
    from lakesieve.tables.parquet import ParquetTable

    if table_format == "delta":
        return DeltaTable.named(spark, name, java)
    if table_format == "hudi":
        return HudiTable(spark, name, is_path=False)
    if table_format == "parquet":
        return ParquetTable.named(spark, name)
    if table_format == "iceberg":
        return IcebergTable(spark, name)
    raise _unsupported(f"{name} is a table of the format {table_format}, which is not supported.")


def _unsupported(message: str) -> UnsupportedError:
    return UnsupportedError(
        message,
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="This version indexes Iceberg, Delta and Hudi tables and Parquet directories.",
    )
