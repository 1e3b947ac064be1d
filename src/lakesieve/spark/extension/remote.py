"""Sessions of Spark Connect, whose server has the extension: they are spoken to in SQL."""

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
    """Have the queries of a session skip files.

    Raises:
        UnsupportedError: The server has no extension.
    """
    report(spark)
    roots = ",".join(locations)
    if roots:
        spark.conf.set(_LOCATIONS, roots)
    spark.conf.set(_ENABLED, "true")
    logging.getLogger(__name__).info("The extension in the server of this session skips files.")


def disable(spark: SparkSession) -> None:
    """Have them read all files."""
    spark.conf.set(_ENABLED, "false")


def report(spark: SparkSession) -> list[dict[str, Any]]:
    """What the latest query did, one entry a table scan."""
    from pyspark.errors import AnalysisException

    try:
        return [row.asDict(recursive=True) for row in spark.sql(_REPORT).collect()]
    except AnalysisException as error:
        raise UnsupportedError(
            "The server of this Spark Connect session does not have lakesieve's extension.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="Start it with the jar that lakesieve spark-jar writes in spark.jars, and "
            "spark.sql.extensions=lakesieve.LakesieveExtensions.",
        ) from error
