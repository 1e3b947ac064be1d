"""Building the demo's index against one distinct count of its column, in one session."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import lakesieve as ls
from bench.measure import Measured, in_turn
from lakesieve.demo.data import TABLE, prepare_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

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

    with _PythonWorkers() as workers:
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
        value=workers.peak / 2**20,
        unit="MiB",
        at_most=1024,
    )


class _PythonWorkers:
    """Largest resident set of any PySpark worker process while the context is open."""

    def __init__(self) -> None:
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self.peak == 0:
            raise AssertionError("no Python worker was seen; is this Linux?")

    def _watch(self) -> None:
        while not self._stop.is_set():
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if b"pyspark.daemon" not in (process / "cmdline").read_bytes():
                        continue
                    for line in (process / "status").read_text().splitlines():
                        if line.startswith("VmRSS:"):
                            self.peak = max(self.peak, int(line.split()[1]) * 1024)
                except OSError:
                    continue
            time.sleep(0.05)
