"""Timing of things in turn, and the figures that come of it."""

from __future__ import annotations

import json
import multiprocessing
import platform
import signal
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "BUILDS",
    "Measured",
    "after_scans",
    "bytes_below",
    "finish",
    "in_series",
    "in_turn",
    "note",
    "scratch_folder",
]

BUILDS = 5
"""How often an index is built where ours and another are compared; the median counts.

The first two of a process meet fresh memory, which took a virtual machine up to a second each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A figure with the bound that the project holds itself to.

    Args:
        name: What was measured.
        value: The figure.
        unit: Its unit; ``x`` for a ratio.
        at_least: Lower bound, if any.
        at_most: Upper bound, if any.
        details: The figures it was made from.
    """

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_bound(self) -> bool:
        """True when something is held of the figure."""
        return self.at_least is not None or self.at_most is not None

    @property
    def holds(self) -> bool:
        """True when the figure is within its bounds."""
        low = self.at_least is None or self.value >= self.at_least
        return low and (self.at_most is None or self.value <= self.at_most)

    def __str__(self) -> str:
        """One line for a person."""
        bounds = [f"at least {self.at_least:g}"] if self.at_least is not None else []
        bounds += [f"at most {self.at_most:g}"] if self.at_most is not None else []
        verdict = "" if not bounds else f"  ({', '.join(bounds)}: {'ok' if self.holds else 'NO'})"
        details = ", ".join(f"{k} {v}" for k, v in self.details.items())
        return f"  {self.name}: {self.value:.2f} {self.unit}{verdict}  [{details}]"

    def as_json(self) -> dict[str, Any]:
        """The figure as data."""
        return asdict(self) | {"details": dict(self.details), "holds": self.holds}


def in_turn(
    actions: Mapping[str, Callable[[], object]], *, rounds: int = 5, warm_up: bool = True
) -> dict[str, float]:
    """Time actions A B C A B C ... after one warm-up each; seconds, medians."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds + warm_up):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            if number >= warm_up:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def in_series(
    actions: Mapping[str, Callable[[], object]], *, rounds: int = 5, times: int = 8
) -> dict[str, float]:
    """Time actions A A A B B B A A A ..., each first untimed: what a client pays that asks often.

    In turn, a scan of a thousand files leaves nothing of what came before it in the processor's
    caches, which costs a query of few milliseconds as much again.

    Args:
        actions: By name.
        rounds: How many series of each.
        times: How often an action is timed in a series.

    Returns:
        Medians in seconds, by name.
    """
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            for number in range(times + 1):
                start = time.perf_counter()
                action()
                if number:
                    taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def bytes_below(folder: Path) -> int:
    """Return the bytes of all files in a folder and its folders."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def note(text: str) -> None:
    """Say on the error output what is being done, and since when.

    Args:
        text: What.
    """
    print(f"  {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def after_scans(times: Mapping[str, float]) -> dict[str, str]:
    """Details of a figure: what was taken in turn, so each time after a whole scan of its own.

    Args:
        times: Seconds of ``own``, and of the other way.
    """
    own, other = times.values()
    return {"each after a scan of its own": f"{own / other:.1f} times, {other * 1000:.1f} ms"}


@contextmanager
def scratch_folder(within: Path | None = None) -> Iterator[Path]:
    """A folder for gigabytes, which go with it, also when the process is terminated.

    Args:
        within: Where it is made; the system's place for temporary files by default.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if within:
        within.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lakesieve-bench-", dir=within) as folder:
        try:
            yield Path(folder)
        finally:
            # they would write on
            for child in multiprocessing.active_children():
                child.terminate()
                child.join()


def finish(results: Sequence[Measured], record: Path | None, **more: object) -> int:
    """Tell which bounds hold.

    Args:
        results: All measurements.
        record: Where the figures are written as JSON, if at all.
        more: What else goes there.

    Returns:
        The exit status: 1 when a bound is missed.
    """
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    print(f"\n{machine}; medians; ratios are within this run")
    if record:
        document = {"machine": machine, "results": [r.as_json() for r in results], **more}
        record.write_text(json.dumps(document, indent=1) + "\n")
    bounds = [r for r in results if r.is_bound]
    missed = [bound.name for bound in bounds if not bound.holds]
    print(f"{len(bounds) - len(missed)} of {len(bounds)} bounds hold", *missed, sep="\n  missed: ")
    return 1 if missed else 0
