"""Plans of point queries in one session, over tables of more and more files.

``python -m bench.scale.planning FORMAT FOLDER SIZE...`` prints one line of JSON for each size.
"""

from __future__ import annotations

import gc
import json
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lakesieve as ls
from bench.processes import live_heap
from bench.scale.hudi_files import OPTIONS, make_hudi
from bench.synthetic import ROWS_A_FILE
from lakesieve.store import shared_cache

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITHOUT = 15
WITH = 45
FIRST = 15


def main() -> None:
    """Plan what the command line names."""
    table_format, folder = sys.argv[1], Path(sys.argv[2])
    sizes = [int(size) for size in sys.argv[3:]]
    conf = {
        "spark.master": "local[2]",
        # Hudi holds several kilobytes of each file
        "spark.driver.memory": "14g" if table_format == "hudi" else "6g",
        # room for what is known of a million files of Delta
        "spark.lakesieve.memory": "512m",
    }
    for size in sizes:
        catalog = f"spark.sql.catalog.m{size}"
        conf |= {
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "hadoop",
            f"{catalog}.warehouse": str(folder / str(size)),
        }
    spark = ls.local_session(folder / "none", formats=[table_format], conf=conf)
    # a JVM takes long over what it has not done before: the least is measured twice
    for size in (sizes[0], *sizes):
        path = folder / str(size)
        complete = folder / f"{size}.complete"
        if table_format == "hudi" and not complete.exists():
            shutil.rmtree(path, ignore_errors=True)
            make_hudi(spark, path, size)
            complete.touch()
        name = f"m{size}.db.t" if table_format == "iceberg" else f"{table_format}:{path}"
        relation = name if table_format == "iceberg" else f"{table_format}.`{path}`"
        if table_format == "hudi":
            # by its path a query would have to be given as a frame
            relation = f"spark_catalog.default.m{size}"
            spark.sql(f"CREATE TABLE IF NOT EXISTS {relation} USING hudi LOCATION '{path}'")
        figures = _measured(spark, name, relation, size)
        print(json.dumps({"files": size, **figures}), flush=True)
    spark.stop()


def _measured(spark: SparkSession, name: str, table: str, size: int) -> dict[str, Any]:
    keys = np.random.default_rng(2).integers(0, ROWS_A_FILE * size, WITHOUT + WITH).tolist()
    ls.disable(spark)
    off = [_plan(spark, table, key) for key in keys[: 5 if size > 100_000 else WITHOUT]]
    # what the format keeps for itself is there now
    before = _held(spark)
    ls.enable(spark)
    on = [_plan(spark, table, key) for key in keys[WITHOUT : WITHOUT + FIRST]]
    # before more look-ups fill what is kept of the segments, up to the limit of memory
    held = _held(spark)
    on += [_plan(spark, table, key) for key in keys[WITHOUT + FIRST :]]
    (scan,) = ls.last_pruning(spark)
    ls.disable(spark)
    _add_a_file(spark, name, table)
    index = ls.open_index(name, "k", spark=spark)
    start = time.perf_counter()
    refreshed = index.refresh()
    took = time.perf_counter() - start
    ls.enable(spark)
    after = _plan(spark, table, keys[-1])
    ls.disable(spark)
    return {
        "off_first": off[0],
        "off": statistics.median(off[1:]),
        "on_first": on[0],
        "on_second": on[1],
        "on": statistics.median(on[2:]),
        "read": scan.files_read,
        "total": scan.files_total,
        "held": held - before,
        "refresh": took,
        "after": after,
        "refreshed": refreshed.files,
    }


def _add_a_file(spark: SparkSession, name: str, table: str) -> None:
    if not name.startswith("hudi:"):
        spark.sql(f"INSERT INTO {table} VALUES (-1, 0.5, 'new')")
        return
    row = spark.sql("SELECT -1L AS k, 0.5D AS v, 'new' AS s, '0' AS p")
    target = name.removeprefix("hudi:")
    row.write.format("hudi").options(**OPTIONS).mode("append").save(target)


def _plan(spark: SparkSession, table: str, key: int) -> float:
    """Seconds until a point query is ready to run, its tasks included."""
    start = time.perf_counter()
    frame = spark.sql(f"SELECT * FROM {table} WHERE k = {key}")
    execution: Any = frame._jdf.queryExecution()  # type: ignore[operator]
    execution.executedPlan().execute().getNumPartitions()
    return time.perf_counter() - start


def _held(spark: SparkSession) -> int:
    """Bytes that are kept of indexes and of the files of tables, in Python and in the JVM."""
    # the plans of the latest queries go with others
    gc.collect()
    for _ in range(3):
        spark.sql("SELECT 1").collect()
    time.sleep(1)
    return live_heap(spark) + shared_cache().held


if __name__ == "__main__":
    main()
