"""Which tables are measured in which ways, and what is held of them."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.deletes.case import Case, build
from bench.measure import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["run"]

MILLION = 1_000_000
ROWS = 20 * MILLION
SMALL = Case(rows=ROWS, data_files=40, records=5 * MILLION, delete_files=80)
LARGE = Case(rows=ROWS, data_files=40, records=20 * MILLION, delete_files=320)
FEW_FILES = Case(rows=ROWS, data_files=500, records=100_000, delete_files=10, touched=0.02)
# with ten times the rows Spark's own jobs take less of the time of either way
MORE_ROWS = replace(FEW_FILES, rows=200 * MILLION)
HEAPS = ("1g", "2g", "3g", "6g")
FULL = [
    Case(rows=ROWS, data_files=48, records=records, delete_files=files, key=key, partitions=parts)
    for (records, files), key, parts in itertools.product(
        ((5 * MILLION, 80), (20 * MILLION, 320), (50 * MILLION, 800)), ("bigint", "string"), (1, 6)
    )
]
_PATIENCE = 1800.0


def run(spark: SparkSession, root: Path, *, full: bool = False) -> Iterator[Measured]:
    """Measure; each way in a process of its own.

    Args:
        spark: Writes the tables.
        root: Where the session's warehouse is.
        full: Every table in every way with every heap, which takes most of a day.
    """
    if full:
        for case, heap in itertools.product(FULL, HEAPS):
            for method in ("stock", "read", "enabled", "convert", "after"):
                measured = _once(spark, root, case, heap, method)
                yield _figure(case, heap, method, measured)
                if method == "convert" and "failed" in measured:
                    break
    yield from _small(spark, root)
    yield from _large(spark, root)
    for case in (FEW_FILES, MORE_ROWS):
        yield from _few_files(spark, root, case)


def _small(spark: SparkSession, root: Path) -> Iterator[Measured]:
    measured = {
        method: _once(spark, root, SMALL, "6g", method)
        for method in ("stock", "read", "enabled", "convert", "after")
    }
    for method, result in measured.items():
        yield _figure(SMALL, "6g", method, result)
    answers = {
        (result.get("n"), result.get("v"))
        for method, result in measured.items()
        if method != "convert"
    }
    if len(answers) != 1:
        raise AssertionError(f"the answers differ: {measured}")
    before, after = measured["stock"], measured["after"]
    yield _ratio("stock reader before and after conversion, time", before, after, "seconds", 5)
    yield _ratio("stock reader before and after conversion, memory", before, after, "jvm", 3)


def _large(spark: SparkSession, root: Path) -> Iterator[Measured]:
    """What fails in a small heap, and how the others grow."""
    measured = {
        (case, method): _once(spark, root, case, "1g", method)
        for case in (SMALL, LARGE)
        for method in ("read", "convert")
    }
    stock = _once(spark, root, LARGE, "1g", "stock")
    yield _figure(LARGE, "1g", "stock", stock)
    for (case, method), result in measured.items():
        yield _figure(case, "1g", method, result)
    finished = all("seconds" in measured[LARGE, method] for method in ("read", "convert"))
    yield Measured(
        name="20 M delete records at 1 GB of heap: read and convert finish",
        value=float(finished),
        unit="of 1",
        at_least=1,
        details={"stock": "finishes" if "seconds" in stock else "fails"},
    )
    for method in ("read", "convert"):
        if "seconds" in measured[LARGE, method]:
            slower = measured[LARGE, method]["seconds"] / measured[SMALL, method]["seconds"]
            yield Measured(
                name=f"{method}: time for 4 times the delete records",
                value=slower,
                unit="x",
                at_most=5,
            )


def _few_files(spark: SparkSession, root: Path, case: Case) -> Iterator[Measured]:
    again = ("convert again", "convert with index again")
    measured = {
        method: _once(spark, root, case, "2g", method)
        for method in ("convert", again[0], "index", "convert with index", again[1])
    }
    measured |= {
        method: _once(spark, root, case, "2g", method) for method in ("after", "after index")
    }
    for method, result in measured.items():
        yield _figure(case, "2g", method, result)
    if measured["after"]["v"] != measured["after index"]["v"]:
        raise AssertionError(f"the answers differ: {measured}")
    touched = replace(
        case,
        rows=round(case.rows * case.touched),
        data_files=round(case.data_files * case.touched),
        touched=1.0,
    )
    alone = _once(spark, root, touched, "2g", again[0])
    yield _figure(touched, "2g", again[0], alone)
    size = f"{case.rows:,} rows, 2 % of the files"
    for without, guided, bound in (("convert", "convert with index", None), (*again, 5)):
        name = f"{without} without and with index, {size}"
        yield _ratio(name, measured[without], measured[guided], "seconds", bound)
    # an index can bring no more
    name = f"{again[0]}, against a table of just those files, {size}"
    yield _ratio(name, measured[again[0]], alone, "seconds", None)


def _once(spark: SparkSession, root: Path, case: Case, heap: str, method: str) -> dict[str, Any]:
    """One way in a process of its own; without ``seconds`` if it failed."""
    if not spark.catalog.tableExists(case.table):
        build(spark, case)
    command = [sys.executable, "-m", "bench.deletes.work", str(root / "warehouse")]
    try:
        done = subprocess.run(
            [*command, heap, method, case.table],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {_PATIENCE:g} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        text = done.stderr + done.stdout
        return {"failed": "out of memory" if "OutOfMemory" in text else text.strip()[-300:]}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _figure(case: Case, heap: str, method: str, figures: dict[str, Any]) -> Measured:
    name = case.table.removeprefix("lake.deletes.t_")
    details = {
        key: f"{value / (1 << 20):.0f} MB" if key in {"jvm", "python", "bytes"} else value
        for key, value in figures.items()
        if key != "seconds"
    }
    return Measured(
        name=f"{name}, heap {heap}: {method}",
        value=figures.get("seconds", float("nan")),
        unit="s",
        details=details,
    )


def _ratio(
    name: str, before: dict[str, Any], after: dict[str, Any], note: str, bound: float | None
) -> Measured:
    # what fails before has no figure, and is worse than any
    value = before[note] / after[note] if note in before else float("inf")
    return Measured(name=name, value=value, unit="x", at_least=bound)
