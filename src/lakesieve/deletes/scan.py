"""A query's scan with equality deletes as joins, which spill instead of failing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.deletes.plan import plan_scan
from lakesieve.deletes.read import live_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["join_scan"]


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
