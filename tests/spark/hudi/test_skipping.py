"""Hudi tables: Spark and the engines without a JVM skip files, for every type of key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.depth import is_soak
from tests.skipping import CONDITIONS
from tests.spark.hudi.driver import DRIVERS, HudiDriver
from tests.spark.skipping import NAMES, checked, frame_of

import lakesieve as ls
from lakesieve.engines.table_rows import rows_of
from lakesieve.predicate.parse import parse_sql
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Hudi stores timestamps without a zone as timestamps with one
_KEYS = tuple(n for n in NAMES if n != "plain") if is_soak() else ("large", "text", "wide", "real")


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HudiDriver]:
    """A table with an index on each column, and skipping on."""
    made = DRIVERS["copy_on_write"](spark, tmp_path_factory.mktemp("skipping") / "t", "skipping")
    made.append(frame_of(spark, _KEYS).selectExpr("uuid() AS id", "*"))
    ls.create_indexes(made.name, [[name] for name in _KEYS], spark=spark)
    ls.enable(spark)
    yield made
    ls.disable(spark)


def test_spark(spark: SparkSession, table: HudiDriver) -> None:
    """Each condition on each column, and each join by it, opens only the files of its rows."""
    assert checked(spark, table.entry, _KEYS, forms=("in", "null", "prefix", "join")) == {}


def test_without_spark(table: HudiDriver) -> None:
    """A point query of each column opens one file, and ``find_files`` names the same file."""
    rows = rows_of(open_table(table.name, warehouse="warehouse"), None)
    wrong = {}
    for name in _KEYS:
        text = CONDITIONS["="].text(name, "spark")
        found = len(ls.find_files(table.name, text).paths)
        list(rows.batches(parse_sql(text), ["id"])[1])
        (scan,) = ls.last_pruning()
        if (found, scan.files_read) != (1, 1):
            wrong[name] = (found, scan.files_read)
    assert wrong == {}
