"""Logs of different writers: the reader lists what Spark lists, or refuses by name."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.spark.delta.drawn_log import DrawnLog
from tests.spark.delta.spark_log import SparkLog, check_listed_as_spark_does
from tests.spark.without_engine import check_alike

from lakesieve.errors import NotFoundError, UnsupportedError
from lakesieve.spark.tables import open_table as open_with_spark
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_CASES = depth("LOGS", test=1, soak=170)
_LEAST_EQUAL = 0.6


def _number(table: Any, spec: str) -> str | None:
    try:
        return str(table.version(spec).id)
    except NotFoundError:
        return None


def check_case(spark: SparkSession, folder: Path, seed: int) -> bool:
    """Compare one drawn table with Spark's own list; return false if it is refused."""
    drawn = DrawnLog(spark, folder, seed)
    name = f"delta:{drawn.root}"
    story = f"seed {seed}, checkpoints {drawn.forms}"
    log = SparkLog(spark, drawn.root)
    try:
        table: Any = open_table(name)
    except UnsupportedError as error:
        if "in two ways" not in str(error):
            raise
        return False
    numbers = {}
    for spec in (*drawn.versions(), *drawn.times()):
        with contextlib.suppress(UnsupportedError):
            numbers[spec] = _number(table, spec)
            assert numbers[spec] == log.number(spec), f"{story}, version {spec}"
    versions = sorted({number for number in numbers.values() if number is not None})
    try:
        for version in (None, *versions):
            check_listed_as_spark_does(spark, table, version)
        check_alike(spark, name, name, versions, ["k"])
    except AssertionError as error:
        raise AssertionError(story) from error
    return True


def test_drawn_logs(spark: SparkSession, tmp_path: Path) -> None:
    """Versions, times, files, deletes and rows agree with Spark, unless refused by name."""
    equal = [check_case(spark, tmp_path / str(seed), seed) for seed in range(_CASES)]

    assert sum(equal) >= _LEAST_EQUAL * _CASES


# one setting shows that columns follow
@pytest.mark.in_time("spark.sql.caseSensitive-true")
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.caseSensitive", "true"),
        ("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY"),
        ("spark.sql.parquet.int96TimestampConversion", "true"),
    ],
)
def test_columns_are_those_of_the_session(
    spark: SparkSession, tmp_path: Path, setting: str, value: str
) -> None:
    """A setting that changes the values read changes the columns, from the next version() on."""
    spark.range(3).write.format("delta").save(str(tmp_path / "t"))
    table: Any = open_with_spark(spark, f"delta:{tmp_path / 't'}").reader
    before = table.version().schema
    spark.conf.set(setting, value)
    try:
        check_listed_as_spark_does(spark, table, None)
        assert table.version().schema != before
    finally:
        spark.conf.unset(setting)
