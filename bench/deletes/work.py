"""One measurement, in a process of its own.

``python -m bench.deletes.work WAREHOUSE HEAP WAY TABLE`` prints one line of JSON: seconds,
peak memory, and what the table's rows come to.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import lakesieve as ls
from bench.processes import Peaks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BRANCHES = {"convert": "converted", "convert with index": "converted_by_index"}
AGAIN = " again"
_ASK = ("count(*) AS n", "sum(v) AS v")
_OUT_OF_MEMORY = "-XX:+ExitOnOutOfMemoryError"


def rows_of(spark: SparkSession, method: str, table: str) -> DataFrame:
    """The table as a way reads it."""
    if method == "read":
        return ls.deletes.read(table, spark=spark)
    if method == "enabled":
        ls.enable(spark)
    branch = {"after": "converted", "after index": "converted_by_index"}.get(method)
    reader = spark.read.format("iceberg")
    return (reader.option("versionAsOf", branch) if branch else reader).load(table)


def measure(spark: SparkSession, method: str, table: str) -> dict[str, Any]:
    """Do one thing once; seconds of it alone.

    A way that ends with *again* is done twice, on branches of its own, and the second time counts:
    that of a process which converts at intervals.
    """
    spark.range(1).count()
    if method.endswith(AGAIN):
        method = method.removesuffix(AGAIN)
        measure(spark, method, table)
    if method in BRANCHES:
        spark.sql(f"ALTER TABLE {table} CREATE OR REPLACE BRANCH {BRANCHES[method]}")
    start = time.perf_counter()
    if method == "index":
        expected: dict[str, Any] = {
            "bytes": ls.create_index(table, ["k"], spark=spark).info().bytes
        }
    elif method in BRANCHES:
        done = ls.deletes.convert(table, spark=spark, branch=BRANCHES[method])
        expected = {"positions": done.positions, "scanned": done.scanned_files}
    else:
        (row,) = rows_of(spark, method, table).selectExpr(*_ASK).collect()
        expected = {"n": row.n, "v": row.v}
    return {"seconds": time.perf_counter() - start, **expected}


def main() -> None:
    """Measure what the command line names."""
    warehouse, heap, method, table = sys.argv[1:]
    conf = {
        "spark.master": "local[2]",
        "spark.driver.memory": heap,
        "spark.driver.extraJavaOptions": _OUT_OF_MEMORY,
        "spark.sql.shuffle.partitions": "16",
    }
    spark = ls.local_session(warehouse, conf=conf)
    with Peaks() as peaks:
        measured = measure(spark, method, table)
    print(json.dumps({**measured, "jvm": peaks.jvm, "python": peaks.workers}))


if __name__ == "__main__":
    main()
