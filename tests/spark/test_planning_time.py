"""Planning of a query waits a set time for the storage of indexes, and no longer."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.index.test_waiting import local_index

import lakesieve as ls
from lakesieve.index import OpenedIndex
from lakesieve.spark.rule.planning import Pruner

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from pyspark.sql import SparkSession

    from lakesieve.predicate import Ranges

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "k", "type": "long", "required": False}]}


class Gate:
    """Holds all look-ups up until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.event = threading.Event()
        self.calls = 0
        may_match = OpenedIndex.may_match

        def slow(index: OpenedIndex, ranges: Ranges) -> np.ndarray | None:
            self.calls += 1
            self.event.wait(30)
            return may_match(index, ranges)

        monkeypatch.setattr(OpenedIndex, "may_match", slow)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A storage that hangs in every look-up."""
    return Gate(monkeypatch)


def request(location: str, scans: int, seconds: float) -> str:
    """A request for equal scans of one table."""
    scan = {
        "location": location,
        "uuid": "t",
        "format": "iceberg",
        "schema": json.dumps(SCHEMA),
        "filter": {"op": "=", "col": ["k"], "type": "bigint", "value": "7"},
    }
    result = [scan | {"id": number} for number in range(scans)]
    return json.dumps({"seconds": seconds, "memory": 1 << 28, "catalogues": [], "scans": result})


def codes(answer: dict[str, Any]) -> list[list[str]]:
    """The codes said of each scan."""
    return [[reason["code"] for reason in scan["reasons"]] for scan in answer["scans"]]


def test_one_deadline_for_all_scans(tmp_path: Path, gate: Gate) -> None:
    """Three scans that hang cost the time of one; few threads are left; then all is as ever."""
    pruner, table = Pruner(), local_index(tmp_path)

    for _ in range(3):
        started = time.monotonic()
        late = json.loads(pruner.answer(request(table, 3, 1.0)))
        assert time.monotonic() - started < 2.5
        assert codes(late) == [["planning-timeout"]] * 3
    assert gate.calls <= 6
    gate.event.set()
    deadline = time.monotonic() + 20
    # those that nobody waits for end first
    while codes(json.loads(pruner.answer(request(table, 3, 10)))) != [["index-used"]] * 3:
        assert time.monotonic() < deadline
    assert codes(json.loads(pruner.answer(request(table, 1, 0)))) == [["planning-timeout"]]


def test_a_query_runs_without_the_index(spark: SparkSession, table: str, gate: Gate) -> None:
    """The rows are those of the table, soon, and the report says why nothing was skipped."""
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
