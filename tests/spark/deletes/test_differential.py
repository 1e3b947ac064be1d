"""Reading and converting equality deletes, compared with Iceberg's own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.spark.deletes.kit import rows_of, stock_rows
from tests.spark.deletes.story import Story

import lakesieve as ls
from lakesieve.index import ReasonCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

FIRST = depth("FIRST_SEED", test=0, soak=0)
SEEDS = range(FIRST, FIRST + depth("SEEDS", test=1, soak=20))
STEPS = depth("STEPS", test=6, soak=10)


def joined_rows(spark: SparkSession, table: str, version: str | None = None) -> list[str]:
    """Return the rows of a query that must not hold deletes in memory."""
    spark.conf.set("spark.lakesieve.deletes.memory", "1b")
    ls.enable(spark)
    try:
        rows = stock_rows(spark, table, version)
        reasons = [reason for scan in ls.last_pruning(spark) for reason in scan.reasons]
    finally:
        ls.disable(spark)
        spark.conf.unset("spark.lakesieve.deletes.memory")
    assert ReasonCode.INTERNAL_ERROR not in {reason.code for reason in reasons}
    return rows


@pytest.fixture(params=SEEDS, ids=str)
def seed(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[int]:
    """What a table is drawn from; with odd ones, all joins are shuffled."""
    threshold = "spark.sql.autoBroadcastJoinThreshold"
    if request.param % 2:
        spark.conf.set(threshold, "-1")
    yield request.param
    spark.conf.unset(threshold)


def test_random_tables(spark: SparkSession, table: str, seed: int) -> None:
    """Every table gives the same rows, now and in its past, before and after its conversion."""
    story = Story(spark, table, seed)
    story.live(STEPS // 2)
    indexed = [story.names[c] for c in ("k", "sk")[seed % 2]]
    block = (None, 3)[seed // 2 % 2]
    ls.create_index(table, indexed, spark=spark, name="i", rows_per_block=block)
    story.live(STEPS - STEPS // 2)
    expected = stock_rows(spark, table)
    snapshots = [
        str(row.snapshot_id) for row in spark.sql(f"SELECT * FROM {table}.snapshots").collect()
    ]
    versions = [*story.draw.sample(snapshots, min(2, len(snapshots))), *story.tags[:1]]
    past = {version: stock_rows(spark, table, version) for version in versions}

    assert rows_of(ls.deletes.read(table, spark=spark)) == expected, story.log
    for number, (version, rows) in enumerate(past.items()):
        if number == 0:
            assert rows_of(ls.deletes.read(table, spark=spark, version=version)) == rows, story.log
        else:
            assert joined_rows(spark, table, version) == rows, story.log
    assert joined_rows(spark, table) == expected, story.log

    done = ls.deletes.convert(table, spark=spark, partial_progress=bool(seed % 3))
    codes = {reason.code for reason in done.reasons}
    after = ls.deletes.status(table, spark=spark, count_keys=False)

    assert stock_rows(spark, table) == expected, story.log
    assert rows_of(ls.deletes.read(table, spark=spark)) == expected, story.log
    assert (after.equality_files, done.conflicts) == (0, 0), story.log
    assert codes <= {ReasonCode.INDEX_USED}, done.reasons
    for version, rows in past.items():
        assert stock_rows(spark, table, version) == rows, story.log
