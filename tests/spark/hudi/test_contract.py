"""The contract suite on Hudi tables."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tests.spark.hudi.driver import DRIVERS

from lakesieve.testing.contract import TableContract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.hudi.driver import HudiDriver

_NUMBERS = itertools.count()


@pytest.fixture(params=DRIVERS, ids=str)
def make_table(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[], HudiDriver]]:
    """Makes tables in folders with a plus sign and an accent; Hudi's catalog knows no blanks."""
    made: list[HudiDriver] = []

    def make() -> HudiDriver:
        number = next(_NUMBERS)
        made.append(DRIVERS[request.param](spark, tmp_path / f"ä+{number}", f"t{number}"))
        return made[-1]

    yield make
    for table in made:
        table.drop()


class TestHudiTables(TableContract):
    """Both kinds pass."""
