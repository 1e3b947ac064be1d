"""The description of directories of Parquet files on Spark."""

from __future__ import annotations

from lakesieve.spark.tables.formats import FormatSpec
from lakesieve.spark.tables.parquet.table import ParquetTable

PARQUET = FormatSpec(
    name="parquet",
    at=lambda spark, path: ParquetTable(spark, path, is_path=True),
    named=lambda spark, name, _: ParquetTable(spark, name, is_path=False),
    runtime="org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    packages=None,
    copying="Copy the files, and create new indexes for the copy.",
    changing="Convert it to a table first, such as with CONVERT TO DELTA or Iceberg's snapshot "
    "procedure.",
)
