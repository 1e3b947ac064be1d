"""Hudi tables as other people make them give the same rows with skipping off and on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.spark.foreign.hudi import HudiStory
from tests.spark.foreign.story import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

FIRST = depth("FIRST_CASE", test=0, soak=0)
SEEDS = range(FIRST, FIRST + depth("CASES", test=1, soak=40))


@pytest.fixture(scope="module")
def tally() -> Tally:
    """The results of the stories."""
    return Tally()


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> Sequence[SparkSession]:
    """Two sessions of one application."""
    return [spark, spark.newSession()]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_foreign_table_loses_no_row(
    sessions: Sequence[SparkSession], tmp_path: Path, tally: Tally, seed: int
) -> None:
    """In a drawn story, every way to read gives the same rows, and their files are found."""
    tally.add(HudiStory(sessions, tmp_path, seed).run())


def test_the_stories_prove_something(tally: Tally) -> None:
    """Most ways to read work, and a good share of them skip files."""
    logging.getLogger(__name__).info("%s", tally)
    assert tally.unreadable < 0.4 * tally.routes
    assert tally.skipping > 0.2 * tally.routes
