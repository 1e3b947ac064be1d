"""Keys answered by the index: look-ups, rows inserted once, duplicates and references."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import lakesieve as ls
from bench.commands.table import KEY
from bench.measure import Measured, in_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["run"]

TABLE, CHILD = "lake.bench.keys", "lake.bench.references"
ROWS, FILES = 20_000_000, 1000
# every so many rows have the key of another one
TWICE = 10_000
KNOWN, MANY_KNOWN = 1_000_000, 5_000_000
ROUNDS = 3
_PATIENCE = 600


def run(
    spark: SparkSession, root: Path, *, rows: int = ROWS, files: int = FILES
) -> Iterator[Measured]:
    """Write the tables, and time each question beside Spark's own way to answer it.

    Args:
        spark: The session.
        root: Where the warehouse is.
        rows: Rows of the table.
        files: Its data files.
    """
    _write(spark, rows, files)
    try:
        yield from _looked_up(root, rows)
        yield _located(spark, rows)
        for count, at_least in ((100_000, 5), (1000, 10)):
            yield from _inserted(spark, rows, min(count, rows // 2), at_least=at_least)
        yield _duplicates(spark)
        yield _references(spark, rows)
    finally:
        for table in (TABLE, CHILD):
            spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")


def _key(number: str) -> str:
    return KEY.replace("id", f"({number})")


def _write(spark: SparkSession, rows: int, files: int) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.bench")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE}")
    spark.sql(
        f"CREATE TABLE {TABLE} (id BIGINT, k BIGINT, payload STRING) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    number = f"IF(id % {TWICE} = 0, (id + {rows // 3}) % {rows}, id)"
    written = spark.range(0, rows, 1, files).selectExpr(
        "id", f"{_key(number)} AS k", "md5(CAST(id AS STRING)) AS payload"
    )
    written.writeTo(TABLE).append()
    ls.create_index(TABLE, ["k"], spark=spark)


def _keys(spark: SparkSession, rows: int, count: int, turn: int = 0) -> DataFrame:
    """Keys at random, every second one of a row that is there."""
    step = max(1, 2 * rows // count)
    new = f"{rows} + id + {turn} * {count}"
    number = f"IF(id % 2 = 0, id DIV 2 * {step} % {rows} + 1, {new})"
    return spark.range(0, count, 1, 2).selectExpr(f"{_key(number)} AS k")


def _looked_up(root: Path, rows: int) -> Iterator[Measured]:
    """Keys in memory without Spark, in a process of its own."""
    table = f"iceberg:{root}/warehouse/bench/keys"
    count = min(KNOWN, rows)
    command = [sys.executable, "-m", "bench.contains", table, str(rows), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise RuntimeError(f"contains failed: {(done.stderr + done.stdout)[-500:]}")
    found = json.loads(lines[-1])
    details = {"cold": f"{found['cold']:.2f} s", "absent": f"{found['absent']:,} of {count:,}"}
    name = f"contains of {count:,} keys without Spark"
    yield Measured(name=f"{name}, warm", value=found["warm"], unit="s", at_most=2, details=details)
    yield Measured(name=f"{name}, peak memory", value=found["peak"], unit="GB", at_most=1)


def _located(spark: SparkSession, rows: int) -> Measured:
    count = min(MANY_KNOWN, rows)
    keys = _keys(spark, rows, count).persist()
    keys.count()
    index = ls.open_index(TABLE, "k", spark=spark)

    def contained() -> None:
        answer = index.contains(keys)
        answer.keys.selectExpr("count_if(absent)", "sum(size(files))").collect()
        spark.catalog.clearCache()
        keys.persist().count()

    def located() -> None:
        index.locate(keys).pairs.selectExpr("count(*)", "approx_count_distinct(file)").collect()
        spark.catalog.clearCache()
        keys.persist().count()

    times = in_turn({"locate": located, "contains": contained}, rounds=ROUNDS)
    keys.unpersist()
    return Measured(
        name=f"contains of {count:,} keys on Spark, against locate",
        value=times["contains"] / times["locate"],
        unit="x",
        at_most=1.1,
        details={name: f"{seconds:.2f} s" for name, seconds in times.items()},
    )


def _inserted(spark: SparkSession, rows: int, count: int, *, at_least: float) -> Iterator[Measured]:
    """Rows of which half are new, from the same version of the table each time."""
    java: Any = spark._jvm
    load = java.org.apache.iceberg.spark.Spark3Util.loadIcebergTable
    start = load(spark._jsparkSession, TABLE).currentSnapshot().snapshotId()
    given = _keys(spark, rows, count).selectExpr("-1L AS id", "k", "'new' AS payload").persist()
    given.count()
    given.createOrReplaceTempView("given")
    insert = f"INSERT INTO {TABLE} SELECT * FROM given g LEFT ANTI JOIN {TABLE} t ON g.k = t.k"
    merge = f"MERGE INTO {TABLE} t USING given g ON t.k = g.k WHEN NOT MATCHED THEN INSERT *"
    ways: Mapping[str, Callable[[], object]] = {
        "MERGE": lambda: spark.sql(merge),
        "anti join": lambda: spark.sql(insert),
        "insert_new": lambda: ls.insert_new(given, TABLE, on=["k"], spark=spark),
        "insert_new, index left": lambda: ls.insert_new(
            given, TABLE, on=["k"], spark=spark, refresh=None
        ),
    }
    new: dict[str, int] = {}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            taken = time.perf_counter() - begin
            if turn:
                seconds[name].append(taken)
            else:
                new[name] = spark.table(TABLE).where("id = -1").count()
            spark.sql(f"CALL lake.system.rollback_to_snapshot('bench.keys', {start})")
    if len(set(new.values())) != 1:
        raise AssertionError(f"the ways do not agree: {new}")
    times = {name: statistics.median(taken) for name, taken in seconds.items()}
    details = {name: f"{taken:.2f} s" for name, taken in times.items()}
    for peer in ("MERGE", "anti join"):
        yield Measured(
            name=f"insert_new of {count:,} rows, over Spark's {peer}",
            value=times[peer] / times["insert_new"],
            unit="x",
            at_least=at_least,
            details=details | {"new": new["MERGE"]},
        )
    given.unpersist()


def _duplicates(spark: SparkSession) -> Measured:
    found: dict[str, int] = {}

    def grouped() -> None:
        query = f"SELECT k, count(*) FROM {TABLE} GROUP BY k HAVING count(*) > 1"
        found["GROUP BY"] = len(spark.sql(query).collect())

    def ours() -> None:
        answer = ls.duplicates(TABLE, ["k"], spark=spark)
        found["duplicates"] = len(answer.keys.collect())
        spark.catalog.clearCache()

    times = in_turn({"GROUP BY": grouped, "duplicates": ours}, rounds=ROUNDS)
    if len(set(found.values())) != 1:
        raise AssertionError(f"the ways do not agree: {found}")
    return Measured(
        name="duplicates, over GROUP BY ... HAVING",
        value=times["GROUP BY"] / times["duplicates"],
        unit="x",
        at_least=3,
        details={name: f"{taken:.2f} s" for name, taken in times.items()}
        | {"keys": found["duplicates"]},
    )


def _references(spark: SparkSession, rows: int) -> Measured:
    """A million keys of which a hundred are missing."""
    count = min(KNOWN, rows)
    number = f"IF(id % {count // 100} = 0, id + {rows}, id * {rows // count} + 1)"
    child = spark.range(0, count, 1, 8).selectExpr(f"{_key(number)} AS ref")
    child.writeTo(CHILD).using("iceberg").createOrReplace()
    found: dict[str, int] = {}

    def joined() -> None:
        query = f"SELECT DISTINCT ref FROM {CHILD} LEFT ANTI JOIN {TABLE} ON ref = k"
        found["anti join"] = len(spark.sql(query).collect())

    def ours() -> None:
        checked = ls.check_references(CHILD, ["ref"], TABLE, ["k"], spark=spark)
        found["check_references"] = checked.violations
        spark.catalog.clearCache()

    times = in_turn({"anti join": joined, "check_references": ours}, rounds=ROUNDS)
    if len(set(found.values())) != 1:
        raise AssertionError(f"the ways do not agree: {found}")
    return Measured(
        name=f"check_references of {count:,} keys, over the anti join",
        value=times["anti join"] / times["check_references"],
        unit="x",
        at_least=3,
        details={name: f"{taken:.2f} s" for name, taken in times.items()}
        | {"missing": found["check_references"]},
    )
