"""The description of Delta Lake tables on Spark."""

from __future__ import annotations

from lakesieve.spark.tables.delta.table import CATALOG_CLASS, DeltaTable
from lakesieve.spark.tables.formats import FormatSpec

DELTA = FormatSpec(
    name="delta",
    at=DeltaTable.at,
    named=DeltaTable.named,
    runtime="org.apache.spark.sql.delta.DeltaLog",
    packages={
        "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
        "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
        "4.0": "io.delta:delta-spark_4.0_2.13:4.4.0",
        "3.5": "io.delta:delta-spark_2.12:3.3.2",
    },
    settings={
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # by default, Spark uses 50 tasks whenever it reads a table's log
        "spark.databricks.delta.snapshotPartitions": "2",
    },
    catalog_class=CATALOG_CLASS,
    copying="CREATE TABLE {copy} SHALLOW CLONE {table} VERSION AS OF {version}, then lakesieve "
    "clone {table} INDEX {copy} for each index.",
)
