"""Builds of indexes over a tenth, a third and all of a large table, in bounded memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lakesieve as ls
from bench.measure import Measured, note
from bench.scale.tables import prepare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ROWS", "load", "run"]

ROWS = 600_000_000

COLUMNS = ("l_orderkey", "l_partkey", "event_id")
"""In the order of arrival, in no order, and 64 random bits."""

BLOCKS = {"l_partkey": 20_000}
"""Rows of a block. A part is in 30 files, so an index of data files leaves out little."""

MEMORY = {1: ("1900m", 2.0), 2: ("2800m", 3.0)}
"""By task slots: what a session is given, and the bound in GB."""

_PREPARE = "import sys; from bench.scale.rows import load; load(sys.argv[1], int(sys.argv[2]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    column: str
    slots: int
    share: int
    """Which of the table's versions: 0 a tenth, 1 a third, 2 all."""


def _cases(columns: Sequence[str]) -> list[_Case]:
    return [
        _Case(column=column, slots=slots, share=share)
        for column in columns
        for slots in ((1, 2) if column == columns[0] else (2,))
        for share in ((0, 1, 2) if slots == 1 else (0, 2))
    ]


def load(folder: str, rows: int) -> None:
    """Write the table unless it is there, in a session that ends with it.

    Args:
        folder: Where.
        rows: About how many rows.
    """
    conf = {"spark.master": "local[2]", "spark.driver.memory": "2g"}
    spark = ls.local_session(Path(folder) / "warehouse", conf=conf)
    prepare(spark, Path(folder), rows)
    spark.stop()


def run(folder: Path, rows: int, *, columns: Sequence[str] = COLUMNS) -> Iterator[Measured]:
    """Write the table, and measure each case in a process of its own.

    Args:
        folder: Where the table goes, 20 bytes a row and while it is written 40.
        rows: About how many rows.
        columns: The columns to index.
    """
    subprocess.run([sys.executable, "-c", _PREPARE, str(folder), str(rows)], check=True)
    marker = json.loads((folder / "lineitem.json").read_text(encoding="utf-8"))
    done: dict[_Case, dict[str, Any]] = {}
    for case in _cases(columns):
        note(f"{case.column}, {case.slots} slots, version {case.share + 1} of 3")
        done[case] = _work(folder, case, marker["snapshots"][case.share])
        yield _memory(case, done[case])
        if case.share == 2:
            smallest = _Case(column=case.column, slots=case.slots, share=0)
            yield _speed(case, done[smallest], done[case])
            yield _points(case, done[case])
            yield _others(case, done[case])


def _work(folder: Path, case: _Case, snapshot: int) -> dict[str, Any]:
    command = ["-m", "bench.scale.work", str(folder), MEMORY[case.slots][0]]
    block = str(BLOCKS.get(case.column, 0))
    ran = subprocess.run(
        [sys.executable, *command, str(case.slots), str(snapshot), case.column, block],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _name(case: _Case, found: dict[str, Any]) -> str:
    slots = "one slot" if case.slots == 1 else f"{case.slots} slots"
    return f"{case.column}, {found['rows'] / 1e6:.0f} M rows, {slots}"


def _memory(case: _Case, found: dict[str, Any]) -> Measured:
    peaks = found["peaks"]
    step = max(peaks, key=lambda name: peaks[name]["together"])
    return Measured(
        name=f"{_name(case, found)}: all processes together at most, in any step",
        value=peaks[step]["together"] / 1e9,
        unit="GB",
        at_most=MEMORY[case.slots][1],
        details={
            "in": step,
            "build": f"{peaks['build']['together'] / 1e9:.2f} GB",
            "JVM": f"{max(peak['jvm'] for peak in peaks.values()) / 1e9:.2f} GB",
            "largest worker": f"{max(peak['worker'] for peak in peaks.values()) / 1e9:.2f} GB",
            "seconds to build": f"{found['seconds']['build']:.0f}",
            "bits a row": f"{8 * found['bytes'] / found['rows']:.2f}",
        },
    )


def _speed(case: _Case, small: dict[str, Any], large: dict[str, Any]) -> Measured:
    speeds = [found["rows"] / found["seconds"]["build"] for found in (small, large)]
    return Measured(
        name=f"{_name(case, large)}: rows a second over those of a tenth of the rows",
        value=speeds[1] / speeds[0],
        unit="x",
        at_least=0.8,
        details={
            f"{found['rows'] / 1e6:.0f} M": f"{speed / 1e6:.2f} M rows/s"
            for found, speed in zip((small, large), speeds, strict=True)
        },
    )


def _points(case: _Case, found: dict[str, Any]) -> Measured:
    seconds = found["seconds"]
    point = statistics.median(taken for name, taken in seconds.items() if name.startswith("point"))
    opened = statistics.median(found["opened"])
    return Measured(
        name=f"{_name(case, found)}: a point query, speed-up by skipping",
        value=seconds["scan"] / point,
        unit="x",
        at_least=30,
        details={
            "without": f"{seconds['scan']:.1f} s",
            "with": f"{point:.2f} s",
            "files": f"{found['files']} -> {opened:g}",
        },
    )


def _others(case: _Case, found: dict[str, Any]) -> Measured:
    seconds = found["seconds"]
    steps = ("locate", "verify", "refresh", "compact")
    return Measured(
        name=f"{_name(case, found)}: the index",
        value=found["bytes"] / 1e6,
        unit="MB",
        details={
            "million keys located, two files verified, a file refreshed, compacted": ", ".join(
                f"{seconds[step]:.1f} s" for step in steps
            )
        },
    )
