"""Delta Lake tables on Spark: how they are described."""

from __future__ import annotations

from lakesieve.spark.tables.delta.table import CATALOG_CLASS, DeltaTable
from lakesieve.spark.tables.formats import FormatSpec
from lakesieve.tables.struct_schema import delta_columns

__all__ = ["DELTA"]

DELTA = FormatSpec(
    name="delta",
    at=DeltaTable.at,
    named=DeltaTable.named,
    columns=delta_columns,
    runtime="org.apache.spark.sql.delta.DeltaLog",
    packages={
        "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
        "4.0": "io.delta:delta-spark_4.0_2.13:4.4.0",
        "3.5": "io.delta:delta-spark_2.12:3.3.2",
    },
    settings={
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # by default 50 tasks for each reading of a table's log
        "spark.databricks.delta.snapshotPartitions": "2",
    },
    catalog_class=CATALOG_CLASS,
    scans="DeltaScans",
    scan_sources=(
        "spark/tables/delta/DeltaFiles",
        "spark/rule/LogChanges",
        "spark/rule/SnapshotFiles",
        "spark/rule/KeptDeltaFiles",
        "spark/rule/DeltaScans",
    ),
    rule_extension="spark/rule/DeltaListing",
    copying="CREATE TABLE {copy} SHALLOW CLONE {table} VERSION AS OF {version}, then lakesieve "
    "clone {table} INDEX {copy} for each index.",
)
