"""Memory for an index's data files during planning is bounded, and grows only with new files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.depth import depth

from bench import memory
from lakesieve.spark.rule import installed
from lakesieve.spark.versions.jar import own_class
from lakesieve.store import shared_cache

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PATHS = depth("PATHS", test=20_000, soak=1_000_000)
REFRESHES = depth("REFRESHES", test=3, soak=50)


def _held(spark: SparkSession) -> int:
    """Bytes of indexes in Python and in the JVM."""
    return shared_cache().held + int(own_class(spark, "files.FileOrdinals").bytes())


def test_little_is_held_of_each_file(spark: SparkSession, tmp_path: Path) -> None:
    """A data file takes a few dozen bytes, and a known file takes no more."""
    installed.installed_rule(spark)
    known = _held(spark)
    figures = memory.run(spark, tmp_path, paths=PATHS, refreshes=REFRESHES, queries=4 * REFRESHES)
    first = next(figures)
    files = PATHS + REFRESHES * memory.REFRESHED
    held = _held(spark) - known
    result = dict(first.details)

    assert result["paths"] == str(files)
    assert held < 80 * files + REFRESHES * 10_000
    assert first.holds
    assert next(figures).holds
