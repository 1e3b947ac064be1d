"""Reading and converting equality deletes, compared with Iceberg's own reader."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.spark.deletes.kit import rows_of, stock_rows
from tests.spark.deletes.story import Story

import lakesieve as ls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = int(os.environ.get("LAKESIEVE_FIRST_SEED", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("LAKESIEVE_SEEDS", "4")))
STEPS = 10


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_random_tables(spark: SparkSession, table: str, seed: int) -> None:
    """Every table reads alike, now and in its past, before and after its conversion."""
    story = Story(spark, table, seed)
    story.live(STEPS)
    expected = stock_rows(spark, table)
    snapshots = [
        str(row.snapshot_id) for row in spark.sql(f"SELECT * FROM {table}.snapshots").collect()
    ]
    versions = [*story.draw.sample(snapshots, min(2, len(snapshots))), *story.tags[:1]]
    past = {version: stock_rows(spark, table, version) for version in versions}

    assert rows_of(ls.deletes.read(table, spark=spark)) == expected, story.log
    for version, rows in past.items():
        assert rows_of(ls.deletes.read(table, spark=spark, version=version)) == rows, story.log

    done = ls.deletes.convert(table, spark=spark, partial_progress=bool(seed % 3))
    after = ls.deletes.status(table, spark=spark, count_keys=False)

    assert stock_rows(spark, table) == expected, story.log
    assert rows_of(ls.deletes.read(table, spark=spark)) == expected, story.log
    assert (after.equality_files, done.conflicts) == (0, 0), story.log
    for version, rows in past.items():
        assert stock_rows(spark, table, version) == rows, story.log
