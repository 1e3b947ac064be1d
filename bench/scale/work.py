"""One measurement in a session of its own, whose processes are watched.

``python -m bench.scale.work FOLDER MEMORY SLOTS SNAPSHOT COLUMN BLOCK`` builds an index of one
column of one version, with blocks of ``BLOCK`` rows or 0 for data files, uses it, and prints one
line of JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lakesieve as ls
from bench.processes import Peaks
from bench.scale.tables import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

POINTS = 9
LOCATED = 1_000_000
VERIFIED = 2


@dataclass(kw_only=True)
class Steps:
    """Seconds and peaks of memory of each step, by its name."""

    seconds: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, dict[str, int]] = field(default_factory=dict)

    def __call__(self, name: str) -> AbstractContextManager[None]:
        """Measure what is done meanwhile.

        Args:
            name: The step.
        """
        return self._measured(name)

    @contextmanager
    def _measured(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        with Peaks() as peaks:
            yield
        self.seconds[name] = time.perf_counter() - start
        self.peaks[name] = {
            "together": peaks.together,
            "jvm": peaks.jvm,
            "worker": peaks.worker,
        }


def main() -> None:
    """Measure what the command line names."""
    folder, memory, slots, snapshot, column, block = sys.argv[1:]
    conf = {"spark.master": f"local[{slots}]"}
    spark = ls.local_session(Path(folder) / "warehouse", memory=memory, conf=conf)
    spark.sql(f"CALL lake.system.set_current_snapshot('{TABLE}', {snapshot})")
    for info in ls.list_indexes(TABLE, spark=spark):
        ls.open_index(TABLE, info.name, spark=spark).drop()
    print(json.dumps(_measure(spark, column, int(snapshot), int(block))))


def _measure(spark: SparkSession, column: str, snapshot: int, block: int) -> dict[str, Any]:
    steps = Steps()
    spark.range(1).count()
    with steps("build"):
        index = ls.create_index(TABLE, [column], spark=spark, rows_per_block=block or None)
    info = index.info()
    sample = spark.table(TABLE).sample(LOCATED / info.rows, seed=1).select(column)
    folder = f"{info.location}-keys"
    sample.write.mode("overwrite").parquet(folder)
    sampled = spark.read.parquet(folder)
    keys = [row[0] for row in sampled.limit(POINTS + 1).collect()]
    with steps("scan"):
        _point(spark, column, keys[0])
    ls.enable(spark)
    _point(spark, column, keys[0])
    opened = []
    for number, key in enumerate(keys[1:]):
        with steps(f"point {number}"):
            _point(spark, column, key)
        opened += [scan.files_read for scan in ls.last_pruning(spark)]
    ls.disable(spark)
    with steps("locate"):
        index.locate(sampled).pairs.write.format("noop").mode("overwrite").save()
    with steps("verify"):
        index.verify_rows(files=VERIFIED)
    spark.sql(f"INSERT INTO {TABLE} SELECT * FROM {TABLE} WHERE l_receiptdate = DATE '1994-06-01'")
    with steps("refresh"):
        index.refresh()
    with steps("compact"):
        index.compact()
    spark.sql(f"CALL lake.system.set_current_snapshot('{TABLE}', {snapshot})")
    compacted = index.info().bytes
    index.drop()
    shutil.rmtree(folder.removeprefix("file:"))
    return {
        "rows": info.rows,
        "files": info.files,
        "bytes": info.bytes,
        "bytes_compacted": compacted,
        "opened": opened,
        "seconds": steps.seconds,
        "peaks": steps.peaks,
    }


def _point(spark: SparkSession, column: str, key: int) -> None:
    spark.sql(f"SELECT * FROM {TABLE} WHERE {column} = {key}").collect()


if __name__ == "__main__":
    main()
