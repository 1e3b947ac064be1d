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
        rows: The rows, as :func:`cached_leaf` returns them.
        count: Their number.
        frame: The frame that Spark caches; ``None`` if another object caches it.
    """

    rows: DataFrame
    count: int
    frame: DataFrame | None = None

    def release(self) -> None:
        """Remove the rows from Spark's cache."""
        if self.frame is not None:
            self.frame.unpersist()


def cache_rows(frame: DataFrame, *, shuffled: bool = False) -> CachedRows:
    """Evaluate a frame now, and let Spark cache it.

    Spark answers every query with an equal plan from the cache, whoever cached it. A frame that
    reads only some files of a table must never be mistaken for a frame that reads all files. So the
    cached plan has a mark that no other plan has.

    Args:
        frame: The frame.
        shuffled: True if the frame ends with a shuffle. Spark caches all its partitions, even empty
            ones.
    """
    from pyspark.sql import functions as F

    if shuffled:
        frame = frame.coalesce(frame.sparkSession.sparkContext.defaultParallelism)
    marked = frame.withColumn(_MARK, F.lit(uuid.uuid4().int >> 65)).persist()
    count = marked.count()
    return CachedRows(rows=cached_leaf(marked).drop(_MARK), count=count, frame=marked)


def cached_leaf(frame: DataFrame, spark: SparkSession | None = None) -> DataFrame:
    """Return the cache of a persisted frame as a leaf, which is deterministic.

    Args:
        frame: The frame.
        spark: The session of the result; by default the frame's own. For a batch of a stream, this
            is not the session of the stream.
    """
    from pyspark.sql import DataFrame

    spark = spark or frame.sparkSession
    plan = frame._jdf.queryExecution().withCachedData()
    rows = own_class(spark, "spark.ClassicSessions").rows(spark._jsparkSession, plan)
    return DataFrame(rows, spark)
