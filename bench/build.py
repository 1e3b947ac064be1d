"""Building the demo's index against one distinct count of its column, in one session."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import lakesieve as ls
from bench.measure import Measured, in_turn
from bench.processes import Peaks
from lakesieve.demo.data import TABLE, prepare_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["run"]


def run(spark: SparkSession, root: Path) -> Iterator[Measured]:
    """Time both in turn and watch the memory of the Python workers."""
    prepare_table(spark, root, 1.0, lambda message: print(f"  {message}", file=sys.stderr))
    ls.disable(spark)

    def build() -> None:
        ls.create_index(TABLE, ["l_orderkey"], spark=spark, name="bench").drop()

    def count() -> None:
        spark.sql(f"SELECT count(DISTINCT l_orderkey) FROM {TABLE}").collect()

    with Peaks(every=0.05) as peaks:
        times = in_turn({"build": build, "count(DISTINCT)": count}, rounds=3)
    details = {k: f"{v:.1f} s" for k, v in times.items()}
    yield Measured(
        name="index build against count(DISTINCT l_orderkey)",
        value=times["build"] / times["count(DISTINCT)"],
        unit="x",
        at_most=1.0,
        details=details,
    )
    yield Measured(
        name="largest Python worker",
        value=peaks.worker / 2**20,
        unit="MiB",
        at_most=1024,
    )
