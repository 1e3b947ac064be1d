"""Check whether lakesieve works in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import LakesieveError
from lakesieve.index import Reason, ReasonCode, TablePruning
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.spark_versions import check_session, spark_version_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def problem_of(spark: SparkSession) -> str | None:
    """Return why a session cannot skip files, or ``None`` if it can.

    A version of Spark that lakesieve was tested with needs no check. On a newer version, the JVM
    looks up every class, method and field that the jar uses, and runs one pruned query over two
    files of its own. This happens once; later calls return the same result.
    """
    from py4j.protocol import Py4JError

    check_session(spark)
    version = spark_version_of(spark.version)
    if version.is_tested:
        return None
    try:
        problem = own_class(spark, "check.SparkCheck").problem(spark._jsparkSession)
    except LakesieveError as error:
        problem = error.message
    except Py4JError as error:
        problem = f"the classes of lakesieve cannot be loaded: {str(error).strip()}"
    if problem is None:
        return None
    return f"Spark {spark.version} was not tested with lakesieve, and {problem}"


def report_of(problem: str) -> TablePruning:
    """Return the entry in ``last_pruning`` for a session that cannot skip files."""
    reason = Reason(code=ReasonCode.SPARK_UNSUITED, detail=problem)
    return TablePruning(
        table="",
        files_total=0,
        files_read=0,
        uncovered=0,
        indexes=(),
        reasons=(reason,),
        predicate="",
    )
