"""A process that indexes, refreshes, merges and drops until it is killed, telling what it does.

Run as ``python victim.py WAREHOUSE TABLE``.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


def append(spark: SparkSession, table: str) -> None:
    """Two more files."""
    rows = spark.range(0, 2_000, 1, 2).selectExpr("(id * 7919) % 100003 AS k", "id AS v")
    rows.writeTo(table).append()


def tell(line: str) -> None:
    """Write a line at once: there may be no later."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(warehouse: str, table: str) -> None:
    """Go round for ever; a line before each operation, and one with its seconds after it."""
    spark = ls.local_session(
        warehouse,
        conf={
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
        },
    )

    def timed(name: str, act: Callable[[], object]) -> None:
        tell(f"begin {name}")
        start = time.monotonic()
        act()
        tell(f"end {name} {time.monotonic() - start}")

    while True:
        # the one that the process before left is there in any state, or is not
        if any(info.name == "k" for info in ls.list_indexes(table, spark=spark)):
            timed("drop", ls.open_index(table, "k", spark=spark).drop)
        timed("create", lambda: ls.create_index(table, ["k"], spark=spark))
        index = ls.open_index(table, "k", spark=spark)
        append(spark, table)
        timed("refresh", index.refresh)
        timed("compact", index.compact)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
