"""The supported versions of Spark, and everything that differs between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.versions.java_classes import java_class

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkVersion:
    """One version of Spark.

    Args:
        name: Major and minor version.
        jar: The version of Spark against which the jar for this version is built.
        is_tested: True if the tests of lakesieve run on it.
    """

    name: str
    jar: str
    is_tested: bool = True


# tools/build_jars.py reads these lines as well
SPARK_VERSIONS = (
    SparkVersion(name="4.3", jar="4.1"),
    SparkVersion(name="4.2", jar="4.1"),
    SparkVersion(name="4.1", jar="4.1"),
    SparkVersion(name="4.0", jar="4.0"),
    SparkVersion(name="3.5", jar="3.5"),
)
"""The tested versions, the newest first."""


def spark_version_of(version: str) -> SparkVersion:
    """Return the entry for a full version number of Spark.

    A version newer than all tested ones gets the jar of the newest one. Sessions check this jar
    before they use it.
    """
    for tested in SPARK_VERSIONS:
        if version.startswith(f"{tested.name}."):
            return tested
    number = re.match(r"(\d+)\.(\d+)\.", version)
    newest = SPARK_VERSIONS[0]
    if number and (int(number[1]), int(number[2])) > tuple(map(int, newest.name.split("."))):
        return SparkVersion(name=f"{number[1]}.{number[2]}", jar=newest.jar, is_tested=False)
    raise UnsupportedError(
        f"Spark {version} is not supported.",
        kind=ErrorKind.UNSUPPORTED_SESSION,
        hint=f"Use Spark {' or '.join(tested.name for tested in SPARK_VERSIONS)}.",
    )


def is_remote(spark: SparkSession) -> bool:
    """Return whether a session is a Spark Connect session, whose JVM is in another process."""
    return not hasattr(spark, "_jsparkSession")


def check_session(spark: SparkSession) -> None:
    """Check that lakesieve can work in the session."""
    if is_remote(spark):
        raise UnsupportedError(
            "This is a Spark Connect session. lakesieve cannot reach its JVM.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="If the server has the jar that the command lakesieve spark-jar writes, queries "
            "skip files, and SQL statements such as CREATE INDEX work. Otherwise use a classic "
            "session, or the command lakesieve create.",
        )
    spark_version_of(spark.version)


def arrow_of(frame: DataFrame) -> pa.Table:
    """Return all rows of a frame as an Arrow table."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    collected: Any = frame
    return pa.Table.from_batches(collected._collect_as_arrow(), to_arrow_schema(frame.schema))


def local_frame(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame | None:
    """Return a frame of a few rows without a job, or ``None`` if Spark cannot do that."""
    from pyspark.sql import DataFrame

    if not hasattr(DataFrame, "toArrow"):
        return None
    make: Any = spark.createDataFrame
    frame: DataFrame = make(rows, schema=schema)
    return frame


def frame_of(spark: SparkSession, texts: pa.Table, *, at_once: int = 10_000) -> DataFrame:
    """Return a frame of text columns, without nulls and U+0000, using few py4j calls.

    A literal of Spark 3.5 contains ``at_once`` texts.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    if hasattr(DataFrame, "toArrow"):
        return spark.createDataFrame(texts)
    parts = [
        F.arrays_zip(
            *(
                F.split(F.lit("\0".join(part.column(name).to_pylist())), "\0").alias(name)
                for name in part.column_names
            )
        )
        for part in (texts.slice(at, at_once) for at in range(0, max(len(texts), 1), at_once))
    ]
    rows = spark.range(1 if len(texts) else 0, numPartitions=1)
    return rows.select(F.inline(F.flatten(F.array(*parts))))


def by_number(frame: DataFrame, count: int, column: str) -> DataFrame:
    """Move the rows of each number from 0 to ``count - 1`` to a partition of their own."""
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(count, column)
    from pyspark.sql import functions as F

    # older versions hash, so give each number a stand-in whose hash leads to its own partition
    spark, stand_ins = frame.sparkSession, [0] * count
    tried = spark.range(16 * count + 64).selectExpr("id", f"pmod(hash(id), {count}) AS partition")
    for row in tried.groupBy("partition").min("id").collect():
        stand_ins[row[0]] = row[1]
    literals = F.array(*(F.lit(stand_in).cast("long") for stand_in in stand_ins))
    return frame.repartition(count, literals[F.col(column)])


def error_class(error: PySparkException) -> str:
    """Return Spark's name of an error, such as ``TABLE_OR_VIEW_NOT_FOUND``."""
    name: Any = error
    return str(name.getCondition() if hasattr(name, "getCondition") else name.getErrorClass())


def delta_snapshot_at(spark: SparkSession, log: Any, version: int, entry: Any) -> Any:
    """Return the snapshot of a ``DeltaLog`` with a version number.

    ``entry`` is its catalog entry.
    """
    none = java_class(spark, "scala.Option").empty()
    more = () if spark_version_of(spark.version).name == "3.5" else (False,)
    return log.getSnapshotAt(version, none, entry, *more)
