"""What is measured of one peer on one layout."""

from __future__ import annotations

import gc
import multiprocessing
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.core.ours import Lakesieve, half_open
from bench.measure import in_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.core.layouts import Layout

__all__ = ["Figures", "Probes", "measured", "probes_of"]

WIDTHS = (10, 1_000, 100_000)
"""Widths of the ranges looked up, in distinct keys."""
PROBES = 400
RANGES = 40
ABSENT = 20_000
# Lance answers a filter a millisecond at best
SLOW_PROBES = 40
BULK = 1_000_000
ROUNDS, IN_A_ROW, PAUSE = 60, 4, 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Probes:
    """The look-ups of every peer, and the right answers.

    Args:
        rows: Rows of the layout.
        pairs: Distinct pairs of key and file.
        distinct: Distinct keys, ascending.
        points: Present keys.
        point_files: How many files hold each of those.
        ranges: For each width: first keys, last keys, and how many files hold a key between them.
        absent: Keys that no file holds.
    """

    rows: int
    pairs: int
    distinct: pa.Array
    points: pa.Array
    point_files: np.ndarray
    ranges: dict[int, tuple[pa.Array, pa.Array, np.ndarray]]
    absent: pa.Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one peer on one layout.

    Args:
        size: Bytes stored.
        build_seconds: From the unsorted keys to the stored bytes.
        peak_mib: Memory that building and asking took on top of the layout.
        point_files: Files read for a present key, on average, and ``point_best`` at best.
        range_files: By width: files read for a range over the right number of them; ``None`` where
            the peer reads them all.
        absent_hits: Share of the absent keys for which a file is read.
        more: What else there is to tell.
    """

    layout: str
    peer: str
    size: int
    build_seconds: float
    peak_mib: float
    point_files: float
    point_best: float
    range_files: dict[str, float] | None
    absent_hits: float | None
    more: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The figures as data."""
        return asdict(self)


def probes_of(layout: Layout, random: np.random.Generator) -> Probes:
    """Draw the look-ups, and find the right answers by plain sorting."""
    encoded = layout.keys.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    ranks = rank[encoded.indices.to_numpy()]
    distinct = encoded.dictionary.take(pa.array(order))
    pairs = np.unique(ranks * layout.unit_count + layout.ordinals)
    key_of, files = pairs // layout.unit_count, pairs % layout.unit_count
    starts = np.searchsorted(key_of, np.arange(len(distinct) + 1))
    chosen = random.integers(0, len(distinct), PROBES)
    ranges = {}
    for width in WIDTHS:
        if width >= len(distinct):
            continue
        first = random.integers(0, len(distinct) - width, RANGES)
        best = [len(np.unique(files[starts[f] : starts[f + width]])) for f in first]
        lows, highs = distinct.take(pa.array(first)), distinct.take(pa.array(first + width - 1))
        ranges[width] = (lows, highs, np.array(best))
    return Probes(
        rows=len(layout.keys),
        pairs=len(pairs),
        distinct=distinct,
        points=distinct.take(pa.array(chosen)),
        point_files=np.diff(starts)[chosen],
        ranges=ranges,
        absent=layout.absent(random, ABSENT),
    )


def measured(
    layout: Layout, probes: Probes, name: str, build: Callable[[], Any], *, slow: bool = False
) -> Figures:
    """Build and ask a peer in a process of its own, so that its memory is its own."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    gc.collect()

    def run() -> None:
        try:
            theirs.send(_measured(layout, probes, name, build, slow=slow))
        except BaseException as error:
            theirs.send(error)
            raise

    process = context.Process(target=run)
    process.start()
    result = ours.recv()
    process.join()
    if isinstance(result, BaseException):
        raise result
    figures: Figures = result
    return figures


def _measured(
    layout: Layout, probes: Probes, name: str, build: Callable[[], Any], *, slow: bool
) -> Figures:
    # the peak is counted again from here
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    start = time.perf_counter()
    peer = build()
    seconds = time.perf_counter() - start
    seconds = getattr(peer, "build_seconds", seconds)
    count = SLOW_PROBES if slow else PROBES
    files = _sizes(peer.points(probes.points.slice(0, count)))
    best = probes.point_files[:count]
    if (files < best).any():
        raise AssertionError(f"{name} misses a file on {layout.name}")
    ranges: dict[str, float] | None = {}
    for width, (lows, highs, right) in probes.ranges.items():
        answer = peer.ranges(lows[: count // 4], highs[: count // 4])
        if answer is None:
            ranges = None
            break
        found = _sizes(answer)
        if (found < right[: len(found)]).any():
            raise AssertionError(f"{name} misses a file of a range on {layout.name}")
        ranges[str(width)] = float(found.sum() / right[: len(found)].sum())
    absent = None
    if len(probes.absent):
        hits = _sizes(peer.points(probes.absent.slice(0, count if slow else ABSENT)))
        absent = float((hits > 0).mean())
    more = _ours(peer, probes) if isinstance(peer, Lakesieve) else {}
    peak = _status("VmHWM") - before
    return Figures(
        layout=layout.name,
        peer=name,
        size=peer.size,
        build_seconds=seconds,
        peak_mib=peak / 1024,
        point_files=float(files.mean()),
        point_best=float(best.mean()),
        range_files=ranges,
        absent_hits=absent,
        more=more,
    )


def _status(name: str) -> int:
    """A figure of this process, KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def _sizes(answer: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.diff(answer[0])


def _ours(peer: Lakesieve, probes: Probes) -> dict[str, float]:
    """Times and reads of look-ups, for which the others have no counterpart."""
    keys = probes.points.to_pylist()
    intervals = [[half_open(key, key)] for key in keys]
    for interval in intervals:
        peer.reader.lookup(interval)
    times = []
    for number in range(ROUNDS):
        # the least of several seconds: neighbours of a virtual machine slow it down for a while.
        # What comes first after a pause finds the processor's caches cold
        if number % IN_A_ROW == 0:
            time.sleep(PAUSE)
        start = time.perf_counter()
        for interval in intervals:
            peer.reader.lookup(interval)
        times.append((time.perf_counter() - start) / len(intervals))
    bulk = _bulk(probes)
    bulk_seconds = in_turn({"bulk": lambda: peer.reader.points(bulk)}, rounds=3)["bulk"]
    reads = [peer.cold_reads(key) for key in keys[:50]]
    return {
        "warm_point_us": 1e6 * min(times),
        "bulk_keys": len(bulk),
        "bulk_seconds": bulk_seconds,
        "cold_ranges": max(map(len, reads)),
        "cold_bytes": max(map(sum, reads)),
        "block_seconds": peer.block_seconds,
    }


def _bulk(probes: Probes) -> pa.Array:
    """Up to a million sorted present keys."""
    distinct = probes.distinct
    keys = distinct.take(pa.array(np.arange(0, len(distinct), max(1, len(distinct) // BULK))))
    return (keys if keys.type == pa.int64() else keys.cast(pa.binary())).slice(0, BULK)
