"""First rows, highest keys and distinct keys of tables whose data files all overlap."""

from __future__ import annotations

from dataclasses import dataclass
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
# An event comes up to eleven days late. So the time range of a file overlaps those of two hundred
# other files.
# The values of the other columns are in every file: random keys, texts longer than the bounds that
# formats keep, a hundred shops, and a thousand tenants.
_STEP, _LATE = 500, 1_000_000_000  # milliseconds
_COLUMNS = (
    "xxhash64(id) AS k",
    "pmod(xxhash64(id, 2), 1000) AS tenant",
    f"timestamp_millis(1700000000000 + id * {_STEP} - pmod(xxhash64(id, 3), {_LATE})) AS time",
    "xxhash64(id, 4) AS score",
    "sha2(CAST(id AS STRING), 256) AS word",
    "concat('shop ', pmod(xxhash64(id, 1), 100)) AS shop",
    "md5(CAST(id AS STRING)) AS payload",
)
_INDEXES = [["time"], ["k"], ["word"], ["shop"], ["tenant", "time"], ["tenant", "score"]]
_OF_TENANT = "SELECT {key}, payload FROM {{t}} WHERE tenant = 5 ORDER BY {key} DESC LIMIT 100"
_QUERIES = {
    "top 100 of times": ("SELECT time, payload FROM {t} ORDER BY time DESC LIMIT 100", 10),
    "top 100 of random keys": ("SELECT k, payload FROM {t} ORDER BY k DESC LIMIT 100", 10),
    "max of texts": ("SELECT max(word) FROM {t}", 20),
    "top 100 times of a tenant": (_OF_TENANT.format(key="time"), 10),
    "top 100 random keys of a tenant": (_OF_TENANT.format(key="score"), 10),
    "count of distinct shops": ("SELECT count(DISTINCT shop) FROM {t}", 20),
    "latest time of a tenant": ("SELECT max(time) FROM {t} WHERE tenant = 5", 10),
}
"""The queries, each with how many times faster an index has to make it.

The 100 first of random keys lie in some 95 of 1,000 files, so leaving out files alone cannot make
these queries ten times faster.
"""


def run(
    spark: SparkSession, _root: Path, *, rows: int = ROWS, files: int = FILES
) -> Iterator[Measured]:
    """Write the tables, and time each query in turn: with skipping off and on, and of its floor.

    Args:
        spark: The session.
        rows: Rows of each table.
        files: Data files of each table.
    """
    for kind in KINDS:
        database = "lake.bench" if kind == "iceberg" else "bench"
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        table = _Table(spark, kind, f"{database}.ordered", f"{database}.floor", rows // files)
        table.write(table.name, files)
        indexes = ls.create_indexes(table.name, _INDEXES, spark=spark)
        of_shops = indexes[_INDEXES.index(["shop"])]
        try:
            for name, (text, at_least) in _QUERIES.items():
                yield from table.queried(f"{kind}, {name}", text, at_least)
            yield _counted(spark, kind, table.name, of_shops)
        finally:
            ls.disable(spark)
            for made in (table.name, table.floor):
                spark.sql(f"DROP TABLE IF EXISTS {made}")


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, and its floor: a table of as many files as a query of the first one reads."""

    spark: SparkSession
    kind: str
    name: str
    floor: str
    rows_per_file: int

    def write(self, name: str, files: int) -> None:
        """Write so many files to one of the two tables."""
        self.spark.sql(f"DROP TABLE IF EXISTS {name}")
        frame = self.spark.range(0, files * self.rows_per_file, 1, files).selectExpr(*_COLUMNS)
        writer = frame.writeTo(name).using(self.kind)
        if self.kind == "iceberg":
            writer = writer.tableProperty("write.distribution-mode", "none")
        writer.create()

    def queried(self, name: str, text: str, at_least: float) -> Iterator[Measured]:
        """Time a query with skipping off, on, and of the floor."""
        spark = self.spark

        def off() -> object:
            ls.disable(spark)
            return spark.sql(text.format(t=self.name)).collect()

        def on() -> object:
            ls.enable(spark)
            return spark.sql(text.format(t=self.name)).collect()

        def floor() -> object:
            ls.disable(spark)
            return spark.sql(text.format(t=self.floor)).collect()

        if off() != on():
            raise AssertionError(f"{name}: the answers differ")
        (scan,) = ls.last_pruning(spark)
        ways = {"off": off, "on": on}
        if scan.files_read:
            self.write(self.floor, scan.files_read)
            ways["floor"] = floor
        times = in_turn(ways)
        details = {way: f"{1e3 * took:.0f} ms" for way, took in times.items()} | {
            "files": f"{scan.files_total} -> {scan.files_read}"
        }
        yield Measured(
            name=f"{name}, speed-up",
            value=times["off"] / times["on"],
            unit="x",
            at_least=at_least,
            details=details,
        )
        if scan.files_read:
            yield Measured(
                name=f"{name}, against a table of as many files as were read",
                value=times["on"] / times["floor"],
                unit="x",
                at_most=1.25,
                details=details,
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
