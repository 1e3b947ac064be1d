"""What a query returns and reads with skipping, also beside the same query without it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.kit.reports import internal_errors

import lakesieve as ls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.index.result import TablePruning


def compared(spark: SparkSession, query: str) -> list[TablePruning]:
    """Run a query without and with skipping, and check that both return the same rows.

    Returns:
        What each scan of the query read.
    """
    ls.disable(spark)
    expected = Counter(map(repr, spark.sql(query).collect()))
    ls.enable(spark)
    actual = Counter(map(repr, spark.sql(query).collect()))
    lost, more = dict(expected - actual), dict(actual - expected)
    assert (lost, more) == ({}, {}), f"{query}: lost {lost}, more {more}"
    scans = ls.last_pruning(spark)
    assert internal_errors(scans) == [], query
    return scans


def read_by(spark: SparkSession, query: str) -> tuple[int, int, set[str]]:
    """Run a query of one scan, and return its number of rows, the files read, and the reasons."""
    rows = spark.sql(query).count()
    (scan,) = ls.last_pruning(spark)
    return rows, scan.files_read, {str(reason.code) for reason in scan.reasons}
