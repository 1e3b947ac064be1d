"""Control sessions of Spark Connect with SQL. Their server must have the extension."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

_ENABLED = "spark.lakesieve.enabled"
_LOCATIONS = "spark.lakesieve.locations"
_REPORT = "SELECT * FROM lakesieve_last_pruning()"


def enable(spark: SparkSession, locations: Iterable[str]) -> None:
    """Make the queries of a session skip files.

    Raises:
        UnsupportedError: The server does not have the extension.
    """
    report(spark)
    roots = ",".join(locations)
    if roots:
        spark.conf.set(_LOCATIONS, roots)
    spark.conf.set(_ENABLED, "true")
    logging.getLogger("lakesieve.spark").info(
        "The extension in the server of this session skips files."
    )


def disable(spark: SparkSession) -> None:
    """Make the queries of a session read all files."""
    spark.conf.set(_ENABLED, "false")


def report(spark: SparkSession) -> list[dict[str, Any]]:
    """Return what the latest query did, one entry for each table scan."""
    from pyspark.errors import AnalysisException

    try:
        return [row.asDict(recursive=True) for row in spark.sql(_REPORT).collect()]
    except AnalysisException as error:
        raise UnsupportedError(
            "The server of this Spark Connect session does not have lakesieve's extension.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="Start the server with the jar from lakesieve spark-jar in spark.jars, and "
            "spark.sql.extensions=lakesieve.LakesieveExtensions.",
        ) from error
