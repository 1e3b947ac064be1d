"""The contract suite on every table format."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.depth import in_soak, is_soak
from tests.kit.contract import TableContract
from tests.kit.generated import KEYS
from tests.spark.drivers import DRIVERS, DeltaDriver, DeltaIdDriver
from tests.spark.settings import NEWEST
from tests.spark.without_engine import check_alike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from tests.kit.driver import Driver
    from tests.spark.drivers import OpenDriver

_NUMBERS = itertools.count()


def _tables(
    spark: SparkSession, folder: Path, driver: Callable[..., OpenDriver]
) -> Iterator[Callable[[], Driver]]:
    """Makes tables in folders with a blank, a percent sign, a plus sign and an accent."""
    made: list[OpenDriver] = []

    def make() -> Driver:
        number = next(_NUMBERS)
        made.append(driver(spark, folder / f"ä b%25+{number}", f"t{number}"))
        return made[-1]

    yield make
    for table in made:
        path = table.name.removeprefix("parquet:")
        is_there = Path(path).exists() or (path == table.name and spark.catalog.tableExists(path))
        if is_there:
            check_alike(spark, table.name, table.plain_name(), table.versions(), ["l", "s", "i"])
        if not table.name.startswith("parquet:"):
            spark.sql(f"DROP TABLE IF EXISTS {table.name}")


# older versions of Spark do as the newest one does
_ALIKE = (
    *("test_partitions_of_any_name", "test_the_formats_own_skipping_is_told"),
    *("test_a_string_is_one_column", "test_indexes_live_with_their_table"),
    *("test_commands_change_the_same_rows", "test_a_recreated_table_is_not_fooled"),
    *("test_columns_are_not_mistaken", "test_new_files_are_read"),
    "test_a_point_query_opens_one_file",
)


# directories are drawn in test_drawn_partitions, commands in commands/test_model, and the life of
# an index is test_lifecycle
@in_soak(
    *("test_partitions_of_any_name", "test_commands_change_the_same_rows"),
    "test_indexes_live_with_their_table",
)
# Parquet directories have these in tests of their own, or do here as Iceberg does
@in_soak(
    "test_a_string_is_one_column",
    *("test_the_formats_own_skipping_is_told", "test_a_recreated_table_is_not_fooled"),
    *("test_a_handle_is_of_one_table", "test_new_files_are_read"),
    "test_a_point_query_opens_one_file",
    but="iceberg",
)
@in_soak(*(() if NEWEST else _ALIKE))
class TestTables(TableContract):
    """Every format fulfils the contract."""

    @pytest.fixture(params=[name for name in DRIVERS if name != "delta"])
    def make_table(
        self, spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
    ) -> Iterator[Callable[[], Driver]]:
        yield from _tables(spark, tmp_path, DRIVERS[request.param])


# Iceberg runs them in every build, and Delta's listing, commands and logs have their own tests
@in_soak(
    "test_partitions_of_any_name",
    "test_commands_change_the_same_rows",
    "test_indexes_live_with_their_table",
    "test_a_string_is_one_column",
    "test_the_formats_own_skipping_is_told",
    "test_a_recreated_table_is_not_fooled",
    "test_a_handle_is_of_one_table",
    "test_columns_are_not_mistaken",
    "test_a_point_query_opens_one_file",
    "test_new_files_are_read",
)
# on older versions of Spark, Delta tables are read in the tests of expressions and row blocks
@in_soak(*(() if NEWEST else ("test_same_rows_in_every_version",)))
@pytest.mark.skipif("delta" not in DRIVERS, reason="there is no runtime for this Spark")
class TestDelta(TableContract):
    """Delta fulfils the contract."""

    # its data files are those of Parquet, where all types are looked up in every build
    keys = KEYS if is_soak() else ("i", "s", "x", "st.k")

    @pytest.fixture
    def make_table(self, spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[], Driver]]:
        yield from _tables(spark, tmp_path, DeltaDriver)


@pytest.mark.soak
class TestColumnIds(TableContract):
    """Delta with column mapping by id fulfils the contract."""

    keys = ("i", "s", "st.k")

    @pytest.fixture
    def make_table(self, spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[], Driver]]:
        yield from _tables(spark, tmp_path, DeltaIdDriver)
