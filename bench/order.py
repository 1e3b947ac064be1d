"""First rows, highest keys and distinct keys of tables whose data files all overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lakesieve as ls
from bench.measure import Measured, in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["FILES", "ROWS", "run"]

ROWS, FILES = 20_000_000, 1000
KINDS = ("iceberg", "delta")
# random keys, texts longer than the bounds that formats keep, a hundred keys in every file, and
# tenants whose rows are in every file, at random times
_COLUMNS = (
    "xxhash64(id) AS k",
    "pmod(xxhash64(id, 2), 1000) AS tenant",
    "timestamp_millis(1700000000000 + pmod(xxhash64(id, 3), 10000000000)) AS time",
    "sha2(CAST(id AS STRING), 256) AS word",
    "concat('shop ', pmod(xxhash64(id, 1), 100)) AS shop",
    "md5(CAST(id AS STRING)) AS payload",
)
_QUERIES = {
    "top 100": ("SELECT k, payload FROM {t} ORDER BY k DESC LIMIT 100", 10),
    "max of texts": ("SELECT max(word) FROM {t}", 20),
    "top 100 of a tenant": (
        "SELECT time, payload FROM {t} WHERE tenant = 5 ORDER BY time DESC LIMIT 100",
        10,
    ),
    "count of distinct shops": ("SELECT count(DISTINCT shop) FROM {t}", 20),
    "latest time of a tenant": ("SELECT max(time) FROM {t} WHERE tenant = 5", 10),
}


def run(
    spark: SparkSession, _root: Path, *, rows: int = ROWS, files: int = FILES
) -> Iterator[Measured]:
    """Write the tables, and time each query with skipping off and on in turn.

    Args:
        spark: The session.
        rows: Rows of each table.
        files: Data files of each table.
    """
    for kind in KINDS:
        table = "lake.bench.ordered" if kind == "iceberg" else "bench.ordered"
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {table.rpartition('.')[0]}")
        spark.sql(f"DROP TABLE IF EXISTS {table}")
        properties = {"write.distribution-mode": "none"} if kind == "iceberg" else {}
        frame = spark.range(0, rows, 1, files).selectExpr(*_COLUMNS)
        writer = frame.writeTo(table).using(kind)
        for name, value in properties.items():
            writer = writer.tableProperty(name, value)
        writer.create()
        keys = [["k"], ["word"], ["shop"], ["tenant", "time"]]
        indexes = ls.create_indexes(table, keys, spark=spark)
        try:
            for name, (text, at_least) in _QUERIES.items():
                yield _queried(spark, f"{kind}, {name}", text.format(t=table), at_least)
            yield _counted(spark, kind, table, indexes[2])
        finally:
            ls.disable(spark)
            spark.sql(f"DROP TABLE {table}")


def _queried(spark: SparkSession, name: str, text: str, at_least: float) -> Measured:
    def off() -> object:
        ls.disable(spark)
        return spark.sql(text).collect()

    def on() -> object:
        ls.enable(spark)
        return spark.sql(text).collect()

    if off() != on():
        raise AssertionError(f"{name}: the answers differ")
    read = [f"{scan.files_total} -> {scan.files_read}" for scan in ls.last_pruning(spark)]
    times = in_turn({"off": off, "on": on})
    return Measured(
        name=f"{name}, speed-up",
        value=times["off"] / times["on"],
        unit="x",
        at_least=at_least,
        details={way: f"{1e3 * took:.0f} ms" for way, took in times.items()}
        | {"files": ", ".join(read) or "none"},
    )


def _counted(spark: SparkSession, kind: str, table: str, index: ls.SparkIndex) -> Measured:
    def by_spark() -> object:
        ls.disable(spark)
        return spark.sql(f"SELECT count(DISTINCT shop) FROM {table}").collect()[0][0]

    if by_spark() != index.distinct_count():
        raise AssertionError(f"{kind}: the counts differ")
    times = in_turn({"Spark": by_spark, "index": index.distinct_count})
    return Measured(
        name=f"{kind}, count of distinct keys from the index, speed-up",
        value=times["Spark"] / times["index"],
        unit="x",
        at_least=20,
        details={way: f"{1e3 * took:.0f} ms" for way, took in times.items()},
    )
