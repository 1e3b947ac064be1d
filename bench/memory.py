"""Memory and planning time with an index over a million data files, refreshed again and again.

The table is real and small; its index says that it covers a million files more, of no data, so that
everything that planning keeps of files is in memory: catalogues and segments in Python, digests in
the JVM.
"""

from __future__ import annotations

import gc
import re
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import lakesieve as ls
from bench.measure import Measured
from bench.processes import live_heap
from lakesieve.format import catalogue_id
from lakesieve.index import ReasonCode
from lakesieve.sieve import build_blocks
from lakesieve.storage import open_storage
from lakesieve.store import Changes, IndexStore, stage_catalogue, stage_segment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["run"]

PATHS = 1_000_000
REFRESHES = 50
QUERIES = 1_000
REFRESHED = 200
TABLE = "lake.bench.memory"
MEGABYTE = 1 << 20
KEYS = 1_009


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """Megabytes held: Python's resident set, and the live part of the JVM's heap."""

    python: float
    jvm: float

    @classmethod
    def current(cls, spark: SparkSession) -> _Held:
        """After what is garbage has gone."""
        gc.collect()
        pa.default_memory_pool().release_unused()
        return cls(python=_status("VmRSS"), jvm=live_heap(spark) / MEGABYTE)


def _status(name: str) -> float:
    text = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert text is not None
    return int(text[1]) / 1024


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def run(
    spark: SparkSession,
    _root: Path,
    *,
    paths: int = PATHS,
    refreshes: int = REFRESHES,
    queries: int = QUERIES,
) -> Iterator[Measured]:
    """Ask a small table whose index covers many files more, while refreshes add to them.

    Args:
        spark: The session.
        _root: Where tables are written; the session's catalog knows.
        paths: Files that the index covers at first.
        refreshes: How often it grows.
        queries: How many are run in all.
    """
    location = _made(spark)
    _ask(spark, 0, 20)
    before = _Held.current(spark)
    # in a process of its own, whose memory does not count
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        apart.submit(_add, location, 0, paths).result()
    gc.collect()
    pa.default_memory_pool().release_unused()
    _forget_peak()
    first = _ask(spark, 0, 1)
    result = 1
    heaps = [live_heap(spark) / MEGABYTE]
    for number in range(refreshes):
        _add(location, paths + REFRESHED * number, REFRESHED)
        share = (queries - 1) * (number + 1) // refreshes
        _ask(spark, result, share + 1 - result)
        result = share + 1
        if number % 10 == 0:
            heaps.append(live_heap(spark) / MEGABYTE)
    peak = _status("VmHWM")
    after = _Held.current(spark)
    start = time.perf_counter()
    _ask(spark, result, 50)
    warm = (time.perf_counter() - start) / 50
    python, jvm = after.python - before.python, after.jvm - before.jvm
    details = {
        "paths": f"{paths + refreshes * REFRESHED}",
        "queries": f"{result}",
        "Python": f"{python:.0f} MB",
        "Python at most": f"{peak - before.python:.0f} MB",
        "JVM heap": f"{jvm:.0f} MB",
        "JVM heap at most": f"{max(heaps) - before.jvm:.0f} MB",
    }
    yield Measured(
        name="memory of planning over its own of a small index, Python and JVM",
        value=python + jvm,
        unit="MB",
        at_most=300,
        details=details,
    )
    yield Measured(
        name="the most that Python and the JVM's heap held meanwhile",
        value=peak - before.python + max(heaps) - before.jvm,
        unit="MB",
        at_most=300,
        details=details,
    )
    yield Measured(
        name="first query after the index grew by all of them",
        value=first,
        unit="s",
        at_most=2,
        details={"warm": f"{1e3 * warm:.0f} ms"},
    )
    spark.sql(f"DROP TABLE {TABLE} PURGE")


def _made(spark: SparkSession) -> str:
    """Create the small table and its index; return the location of the index."""
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    spark.sql(
        f"CREATE TABLE {TABLE} (k BIGINT, v BIGINT) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    rows = spark.range(0, 1_200, 1, 12).selectExpr(f"(id * 7919) % {KEYS} AS k", "id AS v")
    rows.writeTo(TABLE).append()
    index = ls.create_index(TABLE, ["k"], spark=spark)
    ls.enable(spark)
    return index.info().location


def _add(location: str, start: int, count: int) -> None:
    """Commit a catalogue of files that no version of the table has, with one key each."""
    store = IndexStore(open_storage(location))
    state = store.snapshot()
    names = np.arange(start, start + count)
    # numbers as different as those of writers' random names
    scattered = (names.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).tolist()
    files = pa.table(
        {
            "path": [
                f"s3://bucket/warehouse/db/table/data/{at:05d}-{at % 977}-{word:016x}-00001.parquet"
                for at, word in zip(names.tolist(), scattered, strict=True)
            ],
            "size": np.full(count, 1 << 27),
            "records": np.full(count, 1),
            "has_null": np.zeros(count, bool),
            "has_value": np.ones(count, bool),
        }
    )
    keys = pa.array(names + 10 * KEYS)
    catalogue = catalogue_id(files.column("path"))
    blocks = build_blocks(keys, np.arange(count, dtype=np.int32))
    segment = stage_segment(store.storage, blocks, unit_count=count, catalogue=catalogue)
    entry = stage_catalogue(store.storage, files, segments=[segment], definition=state.definition)
    changes = Changes(operation="refresh", add_catalogues=(entry,), add_segments=(segment,))
    store.commit(state, changes)


def _ask(spark: SparkSession, start: int, count: int) -> float:
    """Point queries; the seconds of the first."""
    first = 0.0
    for number in range(start, start + count):
        key = number * 7919 % KEYS
        began = time.perf_counter()
        rows = spark.sql(f"SELECT * FROM {TABLE} WHERE k = {key}").collect()
        first = first or time.perf_counter() - began
        (scan,) = ls.last_pruning(spark)
        codes = {reason.code for reason in scan.reasons}
        if not rows or not codes & {ReasonCode.INDEX_USED, ReasonCode.NOT_SELECTIVE}:
            raise AssertionError("; ".join(map(str, scan.reasons)))
    return first
