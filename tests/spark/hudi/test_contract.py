"""The contract suite on Hudi tables."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tests.depth import in_soak
from tests.kit.contract import TableContract
from tests.spark.hudi.driver import HudiDriver, MergeOnReadDriver
from tests.spark.hudi.own_view import check_files
from tests.spark.settings import VARIANT
from tests.spark.without_engine import check_alike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

_NUMBERS = itertools.count()


def _tables(
    spark: SparkSession, folder: Path, driver: type[HudiDriver]
) -> Iterator[Callable[[], HudiDriver]]:
    """Makes tables in folders with a plus sign and an accent; Hudi's catalog knows no blanks."""
    made: list[HudiDriver] = []

    def make() -> HudiDriver:
        number = next(_NUMBERS)
        made.append(driver(spark, folder / f"ä+{number}", f"t{number}"))
        return made[-1]

    yield make
    for table in made:
        if (table.folder / ".hoodie").exists():
            columns = ["l", "s", "i"]
            check_files(table, table.versions())
            check_alike(spark, table.name, table.plain_name(), table.versions(), columns)
        table.drop()


# for commands test_commands has a model; the others run on Iceberg in every build
@in_soak(
    "test_commands_change_the_same_rows",
    "test_same_rows_in_every_version",
    "test_the_formats_own_skipping_is_told",
    "test_a_string_is_one_column",
    "test_indexes_live_with_their_table",
    "test_partitions_of_any_name",
    "test_a_recreated_table_is_not_fooled",
    "test_a_handle_is_of_one_table",
    "test_new_files_are_read",
)
class TestCopyOnWrite(TableContract):
    """Copy-on-write tables fulfil the contract."""

    @pytest.fixture
    def make_table(self, spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[], HudiDriver]]:
        yield from _tables(spark, tmp_path, HudiDriver)


# test_foreign draws stories in which every version is read
@in_soak("test_same_rows_in_every_version")
@VARIANT
class TestMergeOnRead(TableContract):
    """Merge-on-read tables, which have the same base files, fulfil the contract."""

    keys = ("i", "s", "x", "st.k")

    @pytest.fixture
    def make_table(self, spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[], HudiDriver]]:
        yield from _tables(spark, tmp_path, MergeOnReadDriver)
