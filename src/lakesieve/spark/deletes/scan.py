"""A query's scan with equality deletes as joins, which spill instead of failing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.spark.deletes.plan import plan_scan
from lakesieve.spark.deletes.read import live_rows
from lakesieve.spark.tables.iceberg.spec import ICEBERG
from lakesieve.spark.versions.java_classes import as_python, has_class
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def join_scan(spark: SparkSession, scan: Any) -> Any:
    """Read what a scan of Iceberg's would read, without its sets of deletes in memory.

    Runs no job: it is called while a query is planned.

    Args:
        spark: The session of the query.
        scan: A Java ``QueryScan``.

    Returns:
        The Java dataset, with the columns of the scan's output in their order.
    """
    output, metadata = as_python(spark, scan.output()), as_python(spark, scan.metadata())
    return live_rows(plan_scan(spark, scan), output, metadata)._jdf


def joins_deletes(spark: SparkSession) -> bool:
    """Whether scans of this session can have their equality deletes joined.

    Only scans of Iceberg 1.12 and newer say which snapshot they read, and Spark 3.5 and 4.0 have
    older ones.
    """
    is_told = spark_version_of(spark.version).jar not in {"3.5", "4.0"}
    return is_told and has_class(spark, ICEBERG.runtime)
