"""The workloads: keys of many kinds, and how they came to lie in a table's files."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.core.arrays import offsets_of
from lakesieve.sieve import KeyType, encode_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Draw = Callable[[np.random.Generator, int], pa.Array]

__all__ = ["LAYOUTS", "Layout"]

FILES = 500
BLOCK_ROWS = 20_000
"""Rows of a row block."""
SEED = 20
LATE_MEAN = 0.05
"""Mean delay of a late row, as a share of the time that the table covers."""
DAY = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """A column of a table, as a build of an index meets it: file after file.

    Args:
        name: What the layout is called in reports.
        keys: The key of each row: int64, text or bytes, without nulls.
        ordinals: The file of each row, int32, ascending.
        unit_count: Number of files, some of which may be empty.
        absent: Draws keys that no row has: evenly between the least and the greatest key, or of
            the same form as the others if they are text or bytes. There are none to draw where
            every integer between the two is a key.
    """

    name: str
    keys: pa.Array
    ordinals: np.ndarray
    unit_count: int
    absent: Callable[[np.random.Generator, int], pa.Array]


def _lineitem(column: str, rows: int, scratch: Path) -> Layout:
    """TPC-H lineitem in the order in which goods were received, some of it late."""
    from lakesieve.demo.data import generate

    cached = scratch / f"lineitem-{rows}.parquet"
    if not cached.exists():
        scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=scratch) as raw:
            # 6 M rows at scale 1, but orders are of random size: enough to cut off what is too much
            generate(Path(raw), math.ceil((rows + 5 * math.sqrt(rows)) / 6_000) / 1000)
            columns = ["l_orderkey", "l_partkey", "l_receiptdate"]
            made = pq.read_table(Path(raw) / "lineitem", columns=columns)
            pq.write_table(made[:rows], Path(raw) / "cached.parquet", compression="zstd")
            (Path(raw) / "cached.parquet").rename(cached)
    table = pq.read_table(cached, columns=[column, "l_receiptdate"]).combine_chunks()
    random = np.random.default_rng(SEED)
    days = table["l_receiptdate"].cast(pa.int32()).to_numpy()
    arrival = days + random.random(len(days))
    _delay(random, arrival, np.ptp(arrival), share=0.02)
    return _arrived(f"lineitem {column}", table[column].to_numpy(), arrival)


def _delay(random: np.random.Generator, arrival: np.ndarray, span: float, share: float) -> None:
    late = random.random(len(arrival)) < share
    arrival[late] += random.exponential(LATE_MEAN * span, late.sum())


def _arrived(
    name: str, keys: np.ndarray, arrival: np.ndarray, unit_rows: int | None = None
) -> Layout:
    """Rows in order of arrival, cut into equal files or into row blocks."""
    units = FILES if unit_rows is None else math.ceil(len(keys) / unit_rows)
    ordinals = _equal_files(len(keys), units)
    return _of_ints(name, keys[np.argsort(arrival, kind="stable")], ordinals, units)


def _sorted(rows: int, _: Path) -> Layout:
    return _of_ints("sorted", np.arange(rows) // 4, _equal_files(rows))


def _late(name: str, unit_rows: int | None, rows: int, _: Path) -> Layout:
    """Keys in order but for 3 % that come late and 0.2 % that come at any time."""
    random = np.random.default_rng(SEED)
    arrival = np.arange(rows, dtype=np.float64)
    _delay(random, arrival, rows, share=0.03)
    anywhere = random.random(rows) < 0.002
    arrival[anywhere] = random.uniform(0, rows, anywhere.sum())
    return _arrived(name, np.arange(rows), arrival, unit_rows)


def _upserted(rows: int, _: Path) -> Layout:
    """Sorted files, but a tenth of the keys were rewritten, to the fifty files after them."""
    random = np.random.default_rng(SEED)
    keys = np.arange(rows) // 4
    ordinals = _equal_files(rows, FILES - 50)
    moved = (random.random(rows // 4 + 1) < 0.1)[keys]
    ordinals[moved] = random.integers(FILES - 50, FILES, moved.sum())
    order = np.argsort(ordinals, kind="stable")
    return _of_ints("upserted 10 %", keys[order], ordinals[order])


def _unique(name: str, unit_count: int, rows: int, _: Path) -> Layout:
    random = np.random.default_rng(SEED)
    keys = random.permutation(rows // 4)
    return _of_ints(name, keys, _random_files(random, len(keys), unit_count), unit_count)


def _unique_in_blocks(rows: int, _: Path) -> Layout:
    keys = np.random.default_rng(SEED).permutation(rows)
    return _arrived("unique keys, row blocks", keys, np.arange(rows), BLOCK_ROWS)


def _scattered(rows: int, _: Path) -> Layout:
    random = np.random.default_rng(SEED)
    keys = random.permutation(rows) // 4
    return _of_ints("rows in random files", keys, _random_files(random, rows))


def _random_ints(rows: int, _: Path) -> Layout:
    random = np.random.default_rng(SEED)
    keys = random.integers(0, 1 << 62, rows // 4)
    return _of_ints("random 62-bit keys", keys, _random_files(random, len(keys)))


def _low_cardinality(rows: int, _: Path) -> Layout:
    """Fifty codes, so unequal in size that the common ones are in all files, the rare in few."""
    random = np.random.default_rng(SEED)
    sizes = np.arange(1, 51) ** -3.0
    keys = random.permutation(50)[random.choice(50, rows, p=sizes / sizes.sum())] * 10
    return _of_ints("low cardinality", keys, _random_files(random, rows))


def _uuids(rows: int, _: Path) -> Layout:
    def draw(random: np.random.Generator, count: int) -> pa.Array:
        digits = np.frombuffer(b"0123456789abcdef", np.uint8)
        text = np.full((count, 36), ord("-"), np.uint8)
        dashes = [8, 13, 18, 23]
        text[:, np.delete(np.arange(36), dashes)] = digits[random.integers(0, 16, (count, 32))]
        return _rows_of(text, pa.string())

    random = np.random.default_rng(SEED)
    keys = draw(random, rows // 8)
    return _of_any("UUID text", keys, _random_files(random, len(keys)), draw)


def _customers(rows: int, _: Path) -> Layout:
    """Names in order but for 5 %; as in TPC-H, every third customer has no orders."""
    count = rows // 8

    def named(numbers: np.ndarray) -> pa.Array:
        text = np.empty((len(numbers), 18), np.uint8)
        text[:, :9] = np.frombuffer(b"Customer#", np.uint8)
        text[:, 9:] = numbers[:, None] // 10 ** np.arange(8, -1, -1) % 10 + ord("0")
        return _rows_of(text, pa.string())

    def draw(random: np.random.Generator, wanted: int) -> pa.Array:
        return named(random.integers(1, count * 3 // 2, wanted))

    random = np.random.default_rng(SEED)
    ordinals = _equal_files(count)
    moved = random.random(count) < 0.05
    ordinals[moved] = random.integers(0, FILES, moved.sum())
    order = np.argsort(ordinals, kind="stable")
    return _of_any("customer names", named(order * 3 // 2 + 1), ordinals[order], draw)


def _urls(rows: int, _: Path) -> Layout:
    openings = ["news", "shop", "mail", "docs", "blog", "data", "play", "home", "team", "open"]
    endings = ["", "s", "-list", "-archive", "-today", *(f"-{i}" for i in range(15))]
    pages = pa.array([opening + ending for opening in openings for ending in endings])
    hosts = pa.array([f"https://{o}{i}.example.com" for o in openings for i in range(5)])

    def draw(random: np.random.Generator, count: int) -> pa.Array:
        host = hosts.take(pa.array(random.integers(0, len(hosts), count)))
        page = pages.take(pa.array(random.integers(0, len(pages), count)))
        number = pa.array(random.integers(0, 10_000_000, count)).cast(pa.string())
        return pc.binary_join_element_wise(host, page, number, "/")

    random = np.random.default_rng(SEED)
    keys = draw(random, rows // 8)
    return _of_any("urls", keys, _random_files(random, len(keys)), draw)


def _tenants(rows: int, _: Path) -> Layout:
    """Events in order of time, of a thousand tenants of very unequal size."""
    first = 20_000 * DAY

    def composed(tenants: np.ndarray, micros: np.ndarray) -> pa.Array:
        types = [KeyType(kind="integer"), KeyType(kind="timestamp_ntz")]
        return encode_rows(types, [pa.array(tenants), pa.array(micros).cast(pa.timestamp("us"))])

    def draw(random: np.random.Generator, count: int) -> pa.Array:
        micros = random.integers(first, first + 30 * DAY, count)
        return composed(random.integers(1, 1001, count), micros)

    random = np.random.default_rng(SEED)
    sizes = 1 / np.arange(1, 1001)
    tenants = random.choice(1000, rows, p=sizes / sizes.sum()) + 1
    micros = np.sort(random.integers(first, first + 30 * DAY, rows))
    return _of_any("tenant and time", composed(tenants, micros), _equal_files(rows), draw)


def _equal_files(rows: int, unit_count: int = FILES) -> np.ndarray:
    return (np.arange(rows) * unit_count // rows).astype(np.int32)


def _random_files(random: np.random.Generator, rows: int, unit_count: int = FILES) -> np.ndarray:
    """Files of keys that come in no order: as good as a random file for each."""
    return np.sort(random.integers(0, unit_count, rows, dtype=np.int32))


def _rows_of(matrix: np.ndarray, of_type: pa.DataType) -> pa.Array:
    """Each row of a byte matrix as one value."""
    count, width = matrix.shape
    offsets = offsets_of(np.full(count, width)).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(matrix))]
    return pa.Array.from_buffers(of_type, count, buffers)


def _of_ints(name: str, keys: np.ndarray, ordinals: np.ndarray, unit_count: int = FILES) -> Layout:
    least, greatest = int(keys.min()), int(keys.max())

    def draw(random: np.random.Generator, count: int) -> pa.Array:
        return pa.array(random.integers(least, greatest, count, endpoint=True))

    def from_gaps(random: np.random.Generator, count: int) -> pa.Array:
        missing = np.ones(greatest - least + 1, bool)
        missing[keys - least] = False
        gaps = np.flatnonzero(missing) + least
        return pa.array(random.choice(gaps, count) if len(gaps) else gaps)

    layout = _of_any(name, pa.array(keys, pa.int64()), ordinals, draw, unit_count)
    if greatest - least > 1 << 28:
        return layout
    return Layout(
        name=name,
        keys=layout.keys,
        ordinals=ordinals,
        unit_count=unit_count,
        absent=from_gaps,
    )


def _of_any(
    name: str,
    keys: pa.Array,
    ordinals: np.ndarray,
    draw: Draw,
    unit_count: int = FILES,
) -> Layout:
    def absent(random: np.random.Generator, count: int) -> pa.Array:
        found = keys[:0]
        while len(found) < count:
            drawn = draw(random, 2 * count)
            # the few drawn are hashed, not the many keys
            present = keys.filter(pc.is_in(keys, value_set=drawn))
            new = drawn.filter(pc.invert(pc.is_in(drawn, value_set=present)))
            found = pa.concat_arrays([found, new])
        return found[:count]

    return Layout(name=name, keys=keys, ordinals=ordinals, unit_count=unit_count, absent=absent)


LAYOUTS: Mapping[str, Callable[[int, Path], Layout]] = {
    "lineitem l_orderkey": partial(_lineitem, "l_orderkey"),
    "lineitem l_partkey": partial(_lineitem, "l_partkey"),
    "sorted": _sorted,
    "late arrivals": partial(_late, "late arrivals", None),
    "late arrivals, row blocks": partial(_late, "late arrivals, row blocks", BLOCK_ROWS),
    "upserted 10 %": _upserted,
    "unique keys, 500 files": partial(_unique, "unique keys, 500 files", 500),
    "unique keys, 1,000 files": partial(_unique, "unique keys, 1,000 files", 1_000),
    "unique keys, 20,000 files": partial(_unique, "unique keys, 20,000 files", 20_000),
    "unique keys, row blocks": _unique_in_blocks,
    "rows in random files": _scattered,
    "random 62-bit keys": _random_ints,
    "UUID text": _uuids,
    "customer names": _customers,
    "urls": _urls,
    "tenant and time": _tenants,
    "low cardinality": _low_cardinality,
}
"""Makes each layout from a number of rows and a directory for generated data."""
