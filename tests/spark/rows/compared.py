"""One query without and with skipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lakesieve as ls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.index.result import TablePruning


def compared(spark: SparkSession, query: str) -> list[TablePruning]:
    """Run a query without and with skipping, check equal rows, and return what was read."""
    ls.disable(spark)
    expected = sorted(map(repr, spark.sql(query).collect()))
    ls.enable(spark)
    actual = sorted(map(repr, spark.sql(query).collect()))
    assert actual == expected, query
    return ls.last_pruning(spark)
