"""Planning waits for the storage of indexes only for a limited time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from tests.planner.gate import Gate

import lakesieve as ls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A storage that hangs in every look-up."""
    return Gate(monkeypatch)


def test_a_query_runs_without_the_index(spark: SparkSession, table: str, gate: Gate) -> None:
    """The query soon returns the right rows, and the report says why nothing was skipped."""
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING iceberg")
    spark.range(0, 400, 1, 4).toDF("k").writeTo(table).append()
    ls.create_index(table, ["k"], spark=spark)
    ls.enable(spark)
    spark.conf.set("spark.lakesieve.planning.seconds", "0.3")
    try:
        query = f"SELECT a.k FROM {table} a JOIN {table} b ON a.k = b.k + 1 WHERE b.k = 7"
        started = time.monotonic()
        frame = spark.sql(query)
        frame._jdf.queryExecution().optimizedPlan()
        planned = time.monotonic() - started
        assert [row.k for row in frame.collect()] == [8]
    finally:
        gate.event.set()
        spark.conf.unset("spark.lakesieve.planning.seconds")

    assert planned < 10
    assert {str(r.code) for p in ls.last_pruning(spark) for r in p.reasons} == {"planning-timeout"}
    assert spark.sql(f"SELECT * FROM {table} WHERE k = 7").count() == 1
    assert [p.files_read for p in ls.last_pruning(spark)] == [1]
