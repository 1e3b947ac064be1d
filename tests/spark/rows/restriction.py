"""Reads of some rows of data files, set up by hand as the pruning rule does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    Ranges = Sequence[tuple[int, int]]

__all__ = ["END", "install", "restricted"]

# stands for the end of a file
END = 2**63 - 1


def install(spark: SparkSession) -> None:
    """Plan scans with row ranges in a session, as ``enable`` does."""
    sessions = own_class(spark, "spark.ClassicSessions")
    scala = own_class(spark, "spark.Scala")
    methods = sessions.experimental(spark._jsparkSession)
    strategy = own_class(spark, "rows.RowRangeStrategy")()
    getattr(methods, "extraStrategies_$eq")(scala.seq([strategy]))


def restricted(
    frame: DataFrame, wanted: Mapping[str, Ranges], *, longer: int = 0, newer: int = 0
) -> DataFrame:
    """Return a frame over one folder of Parquet files that reads only some of their rows.

    Args:
        frame: The frame that ``spark.read.parquet`` returns.
        wanted: Row ranges by the name of a file. Other files are read whole.
        longer: How many bytes longer the files were that the ranges are about.
        newer: How many milliseconds later these files were modified.
    """
    spark: Any = frame.sparkSession
    plan = frame._jdf.queryExecution().analyzed()
    leaf = plan.collectLeaves().apply(0)
    index = leaf.relation().location()
    rows = own_class(spark, "files.FileRows")()
    files = own_class(spark, "folders.FolderFiles")
    count = 0
    for file in files.of(index):
        count += 1
        ranges = wanted.get(file.getPath().getName())
        if ranges is not None:
            identity = (file.getLen() + longer, file.getModificationTime() + newer)
            rows.put(file.getPath().toString(), *identity, longs(spark, ranges), -1)
    skipped = own_class(spark, "files.PathSet")()
    kept = own_class(spark, "folders.KeptFileIndex")(index, skipped, count, rows)
    return with_index(frame, kept)


def longs(spark: Any, ranges: Ranges) -> Any:
    """Return ranges as Java has them."""
    gateway = spark.sparkContext._gateway
    numbers = gateway.new_array(gateway.jvm.long, 2 * len(ranges))
    for at, number in enumerate(number for bounds in ranges for number in bounds):
        numbers[at] = number
    return numbers


def with_index(frame: DataFrame, index: Any) -> DataFrame:
    """Return a frame that reads the files of another index."""
    spark: Any = frame.sparkSession
    plan = frame._jdf.queryExecution().analyzed()
    leaf = plan.collectLeaves().apply(0)
    copy = getattr(own_class(spark, "folders.FileRelations"), "with")(leaf, index)
    sessions = own_class(spark, "spark.ClassicSessions")
    return DataFrame(sessions.rows(spark._jsparkSession, copy), spark)
