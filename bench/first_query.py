"""The first query of a session, without lakesieve and with it, each in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import lakesieve as ls
from bench.measure import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["run"]

ROUNDS = 5
FILES, ROWS = 100, 1_000_000
TABLE = "lake.bench.first_query"
_QUERY = f"SELECT * FROM {TABLE} WHERE k = 777777"


def run(root: Path) -> Iterator[Measured]:
    """Index a table, and query it in new sessions, with skipping off and on in turn.

    Args:
        root: A folder for the table.
    """
    warehouse = root / "first-query"
    subprocess.run([sys.executable, "-m", "bench.first_query", str(warehouse), "make"], check=True)
    times: dict[str, list[dict[str, float]]] = {"off": [], "on": [], "later": []}
    for _ in range(ROUNDS):
        for way, taken in times.items():
            ran = subprocess.run(
                [sys.executable, "-m", "bench.first_query", str(warehouse), way],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            taken.append(json.loads(ran.stdout.splitlines()[-1]))
    enable, query = (
        {way: statistics.median(one[what] for one in taken) for way, taken in times.items()}
        for what in ("enable", "query")
    )
    yield Measured(
        name="the first enable of a JVM, in a session that has run no statement",
        value=enable["on"],
        unit="s",
        at_most=0.3,
        details={"in a session that has run one": f"{enable['later']:.2f} s"},
    )
    yield Measured(
        name="what enable and the first query of a session take longer than the query alone",
        value=enable["on"] + query["on"] - query["off"],
        unit="s",
        at_most=0.5,
        details={way: f"{query[way]:.2f} s" for way in ("off", "on")},
    )


def _session(warehouse: str) -> SparkSession:
    return ls.local_session(warehouse, conf={"spark.master": "local[2]"})


def _make(warehouse: str) -> None:
    spark = _session(warehouse)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
    rows = spark.range(0, ROWS, 1, FILES).selectExpr("id * 7919 % 1000003 AS k", "id")
    rows.writeTo(TABLE).using("iceberg").createOrReplace()
    ls.create_index(TABLE, ["k"], spark=spark)


def _first_query(warehouse: str, way: str) -> dict[str, float]:
    """Return the seconds that enabling and the query took."""
    spark = _session(warehouse)
    if way == "later":
        spark.sql("SELECT 1").collect()
    begun = time.perf_counter()
    if way != "off":
        ls.enable(spark)
    enabled = time.perf_counter()
    spark.sql(_QUERY).collect()
    ended = time.perf_counter()
    if way != "off":
        (scan,) = ls.last_pruning(spark)
        assert scan.files_read < scan.files_total
    return {"enable": enabled - begun, "query": ended - enabled}


if __name__ == "__main__":
    _, folder, what = sys.argv
    if what == "make":
        _make(folder)
    else:
        print(json.dumps(_first_query(folder, what)))
