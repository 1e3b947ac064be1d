"""The contract suite on every table format."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tests.spark.drivers import DRIVERS, DeltaDriver, DeltaIdDriver, IcebergDriver
from tests.spark.without_engine import check_alike

from lakesieve.testing.contract import TableContract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lakesieve.testing.driver import Driver

_NUMBERS = itertools.count()


def _tables(
    spark: SparkSession, folder: Path, driver: Callable[..., Driver]
) -> Iterator[Callable[[], Driver]]:
    """Makes tables in folders with a blank, a percent sign, a plus sign and an accent."""
    made: list[Driver] = []

    def make() -> Driver:
        number = next(_NUMBERS)
        made.append(driver(spark, folder / f"ä b%25+{number}", f"t{number}"))
        return made[-1]

    yield make
    for table in made:
        is_there = table.name.startswith("parquet:") or spark.catalog.tableExists(table.name)
        if is_there and isinstance(table, IcebergDriver | DeltaDriver):
            check_alike(spark, table.name, table.plain_name(), table.versions(), ["l", "s", "i"])
        if not table.name.startswith("parquet:"):
            spark.sql(f"DROP TABLE IF EXISTS {table.name}")


class TestTables(TableContract):
    """Every format passes."""

    @pytest.fixture(params=DRIVERS, ids=str)
    def make_table(
        self, spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
    ) -> Iterator[Callable[[], Driver]]:
        yield from _tables(spark, tmp_path, DRIVERS[request.param])


class TestColumnIds(TableContract):
    """So does Delta with columns bound by ids."""

    keys = ("i", "s", "st.k")

    @pytest.fixture
    def make_table(self, spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[], Driver]]:
        yield from _tables(spark, tmp_path, DeltaIdDriver)
