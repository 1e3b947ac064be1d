"""The description of Apache Iceberg tables on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.spark.tables.formats import FormatSpec
from lakesieve.spark.tables.iceberg.branches import selector_of
from lakesieve.spark.tables.iceberg.table import IcebergTable
from lakesieve.tables.names import EMBEDDED_CATALOG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


def _catalog(warehouse: str) -> Mapping[str, str]:
    catalog = f"spark.sql.catalog.{EMBEDDED_CATALOG}"
    return {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": warehouse,
    }


def _named(spark: SparkSession, name: str, entry: Any) -> IcebergTable:
    return IcebergTable(spark, name, selector=selector_of(name, entry))


ICEBERG = FormatSpec(
    name="iceberg",
    at=lambda spark, path: IcebergTable(spark, path, path=True),
    named=_named,
    runtime="org.apache.iceberg.spark.SparkCatalog",
    packages={
        "4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "4.0": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
        "3.5": "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0",
    },
    settings={
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    },
    catalog_settings=_catalog,
    catalog_class="org.apache.iceberg.spark.source.SparkTable",
)
