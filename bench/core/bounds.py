"""What the index core holds itself to, layout by layout."""

from __future__ import annotations

import math
import multiprocessing
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from bench.measure import Measured
from lakesieve.format import encode_segment
from lakesieve.sieve import BlockBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

    from bench.core.measures import Figures, Probes

__all__ = ["bounds_of", "stream_bound"]

# layouts with a bound of their own: bits for each row, key or pair
ROW_BITS = {
    "late arrivals": 1.0,
    "late arrivals, row blocks": 0.6,
    "lineitem l_orderkey": 6.0,
    "lineitem l_partkey": 6.0,
}
KEY_LOG = 1.08
KEY_LOG_OF_BLOCKS = 1.03
UUID_BITS = 16


def bounds_of(figures: Sequence[Figures], probes: Probes, files: int) -> Iterator[Measured]:
    """The bounds of one layout."""
    by_peer = {figure.peer: figure for figure in figures}
    ours = by_peer["lakesieve"]
    name, rows = ours.layout, probes.rows
    yield Measured(
        name=f"{name}: files read over the optimum, points",
        value=ours.point_files / ours.point_best,
        unit="x",
        at_most=1.0,
    )
    for width, ratio in (ours.range_files or {}).items():
        yield Measured(
            name=f"{name}: files read over the optimum, ranges of {int(width):,} keys",
            value=ratio,
            unit="x",
            at_most=1.004,
        )
    if ours.absent_hits is not None:
        yield Measured(
            name=f"{name}: share of absent keys that read a file",
            value=ours.absent_hits,
            unit="",
            at_most=1 / 128,
        )
    yield from _sizes(ours, probes, files)
    yield from _ratios(ours, by_peer)
    if "Sieve" in by_peer:
        theirs, budget = by_peer["Sieve"], by_peer["lakesieve budget"]
        yield Measured(
            name=f"{name}: files of the budgeted mode over Sieve's, at its bytes",
            value=budget.point_files / theirs.point_files,
            unit="x",
            at_most=1.0,
            details={"our bytes": budget.size, "Sieve's bytes": theirs.size},
        )
    is_text = not pa.types.is_integer(probes.distinct.type)
    yield Measured(
        name=f"{name}: rows sorted and cut into blocks",
        value=rows / ours.more["block_seconds"] / 1e6,
        unit="M rows/s",
        at_least=1.5 if is_text else 5.0,
        details={"with coding": f"{rows / ours.build_seconds / 1e6:.1f}"},
    )
    yield from _lookups(ours)


def _sizes(ours: Figures, probes: Probes, files: int) -> Iterator[Measured]:
    name, keys = ours.layout, len(probes.distinct)
    bits = 8 * ours.size
    if name in ROW_BITS:
        yield Measured(
            name=f"{name}: size", value=bits / probes.rows, unit="bits/row", at_most=ROW_BITS[name]
        )
    elif name.startswith("unique keys"):
        share = KEY_LOG_OF_BLOCKS if name.endswith("row blocks") else KEY_LOG
        at_most = share * math.log2(files)
        yield Measured(name=f"{name}: size", value=bits / keys, unit="bits/key", at_most=at_most)
    elif name == "rows in random files":
        at_most = KEY_LOG * math.log2(files)
        value = bits / probes.pairs
        yield Measured(name=f"{name}: size", value=value, unit="bits/pair", at_most=at_most)
    elif name == "UUID text":
        at_most = math.log2(files) + UUID_BITS
        yield Measured(name=f"{name}: size", value=bits / keys, unit="bits/key", at_most=at_most)


def _ratios(ours: Figures, by_peer: dict[str, Figures]) -> Iterator[Measured]:
    name = ours.layout
    for peer, at_most in (("sorted Parquet", 1.0), ("Lance BTREE", 0.5)):
        share = 0.05 if (peer, name) == ("Lance BTREE", "late arrivals") else at_most
        theirs = by_peer[peer]
        yield Measured(
            name=f"{name}: size over {peer}",
            value=ours.size / theirs.size,
            unit="x",
            at_most=share,
            details={"bytes": f"{ours.size:,} / {theirs.size:,}"},
        )
    lance = by_peer["Lance BTREE"]
    yield Measured(
        name=f"{name}: build time over Lance BTREE",
        value=ours.build_seconds / lance.build_seconds,
        unit="x",
        at_most=1.0,
        details={"seconds": f"{ours.build_seconds:.2f} / {lance.build_seconds:.2f}"},
    )


def _lookups(ours: Figures) -> Iterator[Measured]:
    name, more = ours.layout, ours.more
    yield Measured(
        name=f"{name}: warm point look-up", value=more["warm_point_us"], unit="us", at_most=20
    )
    yield Measured(
        name=f"{name}: many sorted keys in one call",
        value=more["bulk_seconds"],
        unit="s",
        at_most=1.0,
        details={"keys": f"{int(more['bulk_keys']):,}"},
    )
    yield Measured(
        name=f"{name}: bytes of a cold point look-up",
        value=more["cold_bytes"] / 1024,
        unit="KiB",
        at_most=512,
        details={"ranges": int(more["cold_ranges"])},
    )
    yield Measured(
        name=f"{name}: ranges of a cold point look-up",
        value=more["cold_ranges"],
        unit="",
        at_most=3,
    )


def stream_bound(pairs: int) -> Measured:
    """Peak memory of building segments from a stream of sorted pairs, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_stream, args=(pairs, theirs))
    process.start()
    peak, seconds, size = ours.recv()
    process.join()
    return Measured(
        name=f"streaming build of {pairs:,} sorted pairs, peak memory of the process",
        value=peak / 2**20,
        unit="GiB",
        at_most=2.0,
        details={"M pairs/s": f"{pairs / seconds / 1e6:.1f}", "MB": f"{size / 1e6:.0f}"},
    )


def _stream(pairs: int, connection: Connection) -> None:
    chunk = 1_000_000
    random = np.random.default_rng(0)
    builder = BlockBuilder(max_pairs=2_000_000)
    start = time.perf_counter()
    size = 0
    for first in range(0, pairs, chunk):
        keys = pa.array(np.arange(first, min(first + chunk, pairs)))
        units = random.integers(0, 500, len(keys)).astype(np.int32)
        for blocks in builder.push(keys, units):
            size += len(encode_segment(blocks, unit_count=500)[0])
    for blocks in builder.finish():
        size += len(encode_segment(blocks, unit_count=500)[0])
    seconds = time.perf_counter() - start
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    connection.send((peak, seconds, size))
