"""Refreshing an index after 1 % more files against building it, and merging its deltas."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import lakesieve as ls
from bench.measure import Measured
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["run"]

FILES = 500
ROWS = 50_000_000
SHARE = 100
TABLE = "lake.bench.refresh"


def run(
    spark: SparkSession, _root: Path, *, files: int = FILES, rows: int = ROWS
) -> Iterator[Measured]:
    """Build an index, append files, refresh it, and merge without the data files; each once.

    Args:
        spark: The session.
        _root: Where tables are written; the session's catalog knows.
        files: Data files of the table.
        rows: Their rows together.
    """
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    spark.sql(
        f"CREATE TABLE {TABLE} (k BIGINT, v DOUBLE) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    _append(spark, 0, rows, files)
    ls.disable(spark)
    # the first build and the first refresh of a session start workers and load classes
    _one_life(spark, files, rows, name="warm_up")[0].drop()
    index, build, refresh = _one_life(spark, files, rows, name="k")
    before = index.info()
    with _without_data(index):
        compact = _seconds(index.compact)
    after = index.info()
    yield Measured(
        name=f"refresh after 1 % more files than {files} against the build",
        value=refresh / build,
        unit="x",
        at_most=0.05,
        details={"build": f"{build:.2f} s", "refresh": f"{refresh:.2f} s"},
    )
    yield Measured(
        name="compaction, its data files out of reach, against the build",
        value=compact / build,
        unit="x",
        details={
            "compaction": f"{compact:.2f} s",
            "segments": f"{before.segments} -> {after.segments}",
            "bytes": f"{before.bytes} -> {after.bytes}",
        },
    )
    index.drop()
    spark.sql(f"DROP TABLE {TABLE} PURGE")


def _one_life(
    spark: SparkSession, files: int, rows: int, *, name: str
) -> tuple[ls.SparkIndex, float, float]:
    """Build, append and refresh; tells the index and the seconds of the build and the refresh."""
    build = _seconds(lambda: ls.create_index(TABLE, ["k"], spark=spark, name=name))
    index = ls.open_index(TABLE, name, spark=spark)
    more = max(1, files // SHARE)
    _append(spark, rows, rows // files * more, more)
    start = time.perf_counter()
    done = index.refresh()
    seconds = time.perf_counter() - start
    if done.files != more:
        raise AssertionError(f"the refresh indexed {done.files} files instead of {more}")
    return index, build, seconds


def _append(spark: SparkSession, start: int, rows: int, files: int) -> None:
    drawn = spark.range(start, start + rows, 1, files).selectExpr(
        "(id * 7919) % 1000000007 AS k", "CAST(id AS DOUBLE) AS v"
    )
    drawn.writeTo(TABLE).append()


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


@contextmanager
def _without_data(index: ls.SparkIndex) -> Iterator[None]:
    """Move the table's data files away: what opens one of them fails."""
    table = local_path(index.info().location).parents[1]
    data, away = table / "data", table / "data_out_of_reach"
    data.rename(away)
    try:
        yield
    finally:
        away.rename(data)
