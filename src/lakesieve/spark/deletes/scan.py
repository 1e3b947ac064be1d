"""A query's scan with equality deletes as joins, which spill instead of failing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.spark.deletes.plan import plan_scan
from lakesieve.spark.deletes.read import live_rows
from lakesieve.spark.tables.iceberg.spec import ICEBERG
from lakesieve.spark.versions.java_classes import has_class
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS, spark_version_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["join_scan", "joins_deletes"]


def join_scan(spark: SparkSession, scan: Any) -> Any:
    """Read what a scan of Iceberg's would read, without its sets of deletes in memory.

    Runs no job: it is called while a query is planned.

    Args:
        spark: The session of the query.
        scan: A ``java.util.Map``: the table, its name and schema, the columns wanted, the snapshot,
            the tasks, and the names of the scan's output and of the metadata columns in it.

    Returns:
        The Java dataset, with the columns of the scan's output in their order.
    """
    frame = live_rows(plan_scan(spark, scan), list(scan["output"]), list(scan["metadata"]))
    return frame._jdf


def joins_deletes(spark: SparkSession) -> bool:
    """Whether scans of this session can have their equality deletes joined.

    Only scans of the newest Iceberg say which snapshot they read.
    """
    newest = spark_version_of(spark.version) == SPARK_VERSIONS[0]
    return newest and has_class(spark, ICEBERG.runtime)
