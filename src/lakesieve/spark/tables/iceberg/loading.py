"""Iceberg's own objects of tables, as a session's catalogs and Hadoop settings load them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.tables.catalogs import forget_table, named_errors
from lakesieve.spark.versions.java_classes import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPERATED = "org.apache.iceberg.HasTableOperations"
_METADATA_TABLE = "org.apache.iceberg.BaseMetadataTable"
_BY_FOLDER = "org.apache.iceberg.hadoop.HadoopTableOperations"


def is_folder_table(spark: SparkSession, java: Any) -> bool:
    """Return whether the table is what is in a folder, in a catalog of such tables."""
    types = java_class(spark, "py4j.reflection.TypeUtil")
    if not types.isInstanceOf(_OPERATED, java):
        return False
    return str(java.operations().getClass().getName()) == _BY_FOLDER


def load_identifier(spark: SparkSession, name: str) -> Any:
    """Load the newest metadata of a table by its identifier.

    Raises:
        NotFoundError: There is no such table.
        UnsupportedError: It is a metadata table.
    """
    from py4j.protocol import Py4JJavaError

    load = java_class(spark, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable
    with named_errors(name):
        try:
            table = load(spark._jsparkSession, name)
            table.refresh()
        except Py4JJavaError:
            # the catalog may have kept one that is not there any more
            forget_table(spark, name)
            table = load(spark._jsparkSession, name)
    return _data_table(spark, name, table)


def load_path(spark: SparkSession, path: str) -> Any:
    """Load the newest metadata of a table in a folder.

    Raises:
        NotFoundError: There is no such table.
        UnsupportedError: It is a metadata table.
    """
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    with named_errors(path):
        table = java_class(spark, "org.apache.iceberg.hadoop.HadoopTables")(hadoop).load(path)
    return _data_table(spark, path, table)


def _data_table(spark: SparkSession, name: str, table: Any) -> Any:
    """Return the table, unless it is a metadata table such as ``catalog.database.table.files``."""
    types = java_class(spark, "py4j.reflection.TypeUtil")
    if types.isInstanceOf(_METADATA_TABLE, table):
        raise UnsupportedError(
            f"{name} is a metadata table.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Name the table itself.",
        )
    return table
