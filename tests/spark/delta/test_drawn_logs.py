"""Logs that different writers leave, read by Spark and without an engine: the same, or refused."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tests.depth import depth
from tests.spark.delta.drawn_log import DrawnLog
from tests.spark.without_engine import check_alike

from lakesieve.errors import NotFoundError, UnsupportedError
from lakesieve.spark.tables import open_table as open_with_spark
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_CASES = depth("LOGS", test=2, soak=170)
_LEAST_EQUAL = 0.6


def _number(table: Any, spec: str) -> str | None:
    try:
        return str(table.version(spec).id)
    except NotFoundError:
        return None


def check_case(spark: SparkSession, folder: Path, seed: int) -> bool:
    """Compare one drawn table; returns false where it is refused.

    Args:
        spark: The session.
        folder: Where the table is made.
        seed: What is drawn depends on it alone.
    """
    drawn = DrawnLog(spark, folder, seed)
    name = f"delta:{drawn.root}"
    story = f"seed {seed}, checkpoints {drawn.forms}"
    with_spark = open_with_spark(spark, name)
    try:
        without = open_table(name)
    except UnsupportedError as error:
        if "in two ways" not in str(error):
            raise
        return False
    numbers = {}
    for spec in (*drawn.versions(), *drawn.times()):
        with contextlib.suppress(UnsupportedError):
            numbers[spec] = _number(without, spec)
            assert numbers[spec] == _number(with_spark, spec), f"{story}, version {spec}"
    versions = sorted({number for number in numbers.values() if number is not None})
    try:
        check_alike(spark, name, name, versions, ["k"])
    except AssertionError as error:
        raise AssertionError(story) from error
    return True


def test_drawn_logs(spark: SparkSession, tmp_path: Path) -> None:
    """Versions, times, files, deletes and rows are those of Spark, unless refused by name."""
    equal = [check_case(spark, tmp_path / str(seed), seed) for seed in range(_CASES)]

    assert sum(equal) >= _LEAST_EQUAL * _CASES
