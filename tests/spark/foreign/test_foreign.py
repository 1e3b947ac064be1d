"""Tables as other people make them give the same rows with skipping off and on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.spark.foreign.delta import DeltaStory
from tests.spark.foreign.iceberg import IcebergStory
from tests.spark.foreign.parquet import ParquetStory
from tests.spark.foreign.story import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

# those of Delta take longest to write
CASES = {"parquet": (2, 80), "delta": (1, 40), "iceberg": (2, 40)}
STORIES = {story.format: story for story in (ParquetStory, DeltaStory, IcebergStory)}
FIRST = depth("FIRST_CASE", test=0, soak=0)
DRAWN = [
    (name, seed)
    for name, (test, soak) in CASES.items()
    for seed in range(FIRST, FIRST + depth("CASES", test=test, soak=soak))
]


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    """Return the results of the stories of each format."""
    return {name: Tally() for name in STORIES}


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> Sequence[SparkSession]:
    """Two sessions of one application."""
    return [spark, spark.newSession()]


@pytest.mark.parametrize(("name", "seed"), DRAWN)
def test_a_foreign_table_loses_no_row(
    sessions: Sequence[SparkSession],
    tmp_path: Path,
    tallies: dict[str, Tally],
    name: str,
    seed: int,
) -> None:
    """In a drawn story, every way to read gives the same rows, and their files are found."""
    tallies[name].add(STORIES[name](sessions, tmp_path, seed).run())


@pytest.mark.parametrize("name", STORIES)
def test_the_stories_prove_something(tallies: dict[str, Tally], name: str) -> None:
    """Most ways to read work, and a good share of them skip files."""
    tally = tallies[name]
    logging.getLogger(__name__).info("%s: %s", name, tally)
    assert tally.unreadable < 0.4 * tally.routes
    assert tally.skipping > 0.2 * tally.routes
