"""A point query over 2,500 Iceberg files: skipping off, on, and handed the right files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lakesieve as ls
from bench.measure import Measured, in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["KEY", "TABLE", "make_table", "run"]

FILES = 2500
ROWS = 2_500_000
TABLE = "lake.bench.many_files"
KEY = 777_777


def run(spark: SparkSession, _root: Path) -> Iterator[Measured]:
    """Write the table, index it and time the query three ways in turn."""
    index = make_table(spark)
    found = index.files(f"k = {KEY}")
    condition = f"k = {KEY}"

    def off() -> object:
        ls.disable(spark)
        return spark.sql(f"SELECT * FROM {TABLE} WHERE {condition}").collect()

    def on() -> object:
        ls.enable(spark)
        return spark.sql(f"SELECT * FROM {TABLE} WHERE {condition}").collect()

    def by_hand() -> object:
        ls.disable(spark)
        return spark.read.parquet(*found.paths).where(condition).collect()

    if not off() == on() == by_hand():
        raise AssertionError("the three ways do not agree")
    opened = [p.files_read for p in ls.last_pruning(spark)]
    times = in_turn({"off": off, "on": on, "by hand": by_hand})
    details = {k: f"{1e3 * v:.0f} ms" for k, v in times.items()} | {
        "files": f"{FILES} -> {opened[0]}"
    }
    yield Measured(
        name="point query, speed-up by skipping",
        value=times["off"] / times["on"],
        unit="x",
        at_least=10,
        details=details,
    )
    yield Measured(
        name="point query, skipping against the right files handed by hand",
        value=times["on"] / times["by hand"],
        unit="x",
        at_most=1.5,
        details=details,
    )
    spark.sql(f"DROP TABLE {TABLE} PURGE")


def make_table(spark: SparkSession) -> ls.SparkIndex:
    """Write the table and index it.

    Args:
        spark: The session.
    """
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    spark.sql(
        f"CREATE TABLE {TABLE} (k BIGINT, v DOUBLE, payload STRING) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    rows = spark.range(0, ROWS, 1, FILES).selectExpr(
        f"(id * 7919) % {ROWS + 9} AS k", "CAST(id AS DOUBLE) AS v", "md5(CAST(id AS STRING)) AS p"
    )
    rows.toDF("k", "v", "payload").writeTo(TABLE).append()
    return ls.create_index(TABLE, ["k"], spark=spark)
