"""Frames that Spark evaluates once and keeps, for nobody but who had them kept."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MARK = "lakesieve mark"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kept:
    """What is kept of a frame.

    Args:
        rows: The rows, as :func:`cached_of` has them.
        count: How many they are.
        frame: What was kept.
    """

    rows: DataFrame
    count: int
    frame: DataFrame | None = None

    def release(self) -> None:
        """Keep it no longer."""
        if self.frame is not None:
            self.frame.unpersist()


def kept(frame: DataFrame, *, shuffled: bool = False) -> Kept:
    """Evaluate a frame now, and have Spark keep it.

    Spark answers every query from what it keeps of an equal plan, whoever had it kept. A frame that
    reads some files of a table only must never be taken for one that reads all of them, so what is
    kept has a mark that no other plan has.

    Args:
        frame: The frame.
        shuffled: Whether a shuffle made it: of what is kept Spark keeps all its partitions, however
            little is in them.
    """
    from pyspark.sql import functions as F

    if shuffled:
        frame = frame.coalesce(frame.sparkSession.sparkContext.defaultParallelism)
    marked = frame.withColumn(_MARK, F.lit(uuid.uuid4().int >> 65)).persist()
    count = marked.count()
    return Kept(rows=cached_of(marked).drop(_MARK), count=count, frame=marked)


def cached_of(frame: DataFrame, spark: SparkSession | None = None) -> DataFrame:
    """What is kept of a persisted frame, as a leaf: however it was made, it is deterministic.

    Args:
        frame: The frame.
        spark: The session that it is to be of; by default its own, which of a stream's batch is
            another one than that of the stream.
    """
    from pyspark.sql import DataFrame

    spark = spark or frame.sparkSession
    plan = frame._jdf.queryExecution().withCachedData()
    rows = own_class(spark, "spark.ClassicSessions").rows(spark._jsparkSession, plan)
    return DataFrame(rows, spark)
