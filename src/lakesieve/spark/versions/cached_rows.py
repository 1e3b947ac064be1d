"""Rows that Spark evaluates once and caches, visible only to the code that cached them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MARK = "lakesieve mark"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CachedRows:
    """Rows that were evaluated, and their number.

    Args:
        rows: The rows, as :func:`cached_leaf` has them.
        count: How many they are.
        frame: The frame that Spark caches; ``None`` where another one caches it.
    """

    rows: DataFrame
    count: int
    frame: DataFrame | None = None

    def release(self) -> None:
        """Remove the rows from Spark's cache."""
        if self.frame is not None:
            self.frame.unpersist()


def cache_rows(frame: DataFrame, *, shuffled: bool = False) -> CachedRows:
    """Evaluate a frame now, and have Spark cache it.

    Spark answers every query from the cache of an equal plan, whoever cached it. A frame that reads
    some files of a table only must never be taken for one that reads all of them, so the cached
    plan has a mark that no other plan has.

    Args:
        frame: The frame.
        shuffled: Whether a shuffle made it: Spark caches all its partitions, however small.
    """
    from pyspark.sql import functions as F

    if shuffled:
        frame = frame.coalesce(frame.sparkSession.sparkContext.defaultParallelism)
    marked = frame.withColumn(_MARK, F.lit(uuid.uuid4().int >> 65)).persist()
    count = marked.count()
    return CachedRows(rows=cached_leaf(marked).drop(_MARK), count=count, frame=marked)


def cached_leaf(frame: DataFrame, spark: SparkSession | None = None) -> DataFrame:
    """Return the cache of a persisted frame as a leaf: however it was made, it is deterministic.

    Args:
        frame: The frame.
        spark: The session of the result; by default the frame's own, which for a batch of a stream
            is another one than the stream's.
    """
    from pyspark.sql import DataFrame

    spark = spark or frame.sparkSession
    plan = frame._jdf.queryExecution().withCachedData()
    rows = own_class(spark, "spark.ClassicSessions").rows(spark._jsparkSession, plan)
    return DataFrame(rows, spark)
