"""The two stages of a build that run in Python workers: scatter the keys, then cut segments.

``scatter`` turns rows into sorted, duplicate-free (key, ordinal) runs, one payload a key bucket, so
that the shuffle moves a few large rows instead of one row a pair. ``cut`` merges the runs of one
bucket and writes its segments. Memory follows the buffer and the bucket, never the table.
"""

from __future__ import annotations

import bisect
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.sieve import BlockBuilder, KeyType, encode_keys, sort_pairs
from lakesieve.store import stage_segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lakesieve.storage import Storage

__all__ = ["CUT_SCHEMA", "SCATTER_SCHEMA", "CutPlan", "ScatterPlan", "cut", "scatter"]

SCATTER_SCHEMA = "bucket int, payload binary"
CUT_SCHEMA = "kind string, body binary"

BUFFER_ROWS = 2_000_000
BUFFER_BYTES = 128 << 20
SEGMENT_PAIRS = 4_000_000

_OUT_SCATTER = pa.schema([("bucket", pa.int32()), ("payload", pa.binary())])
_OUT_CUT = pa.schema([("kind", pa.string()), ("body", pa.binary())])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPlan:
    """What the scatter stage must know.

    Args:
        key_type: Type of the keys.
        hashes: Sorted hashes of the data files' paths, int64.
        ordinals: Ordinal of the file behind each hash, int32.
        boundaries: First key code of every bucket but the first, ascending.
    """

    key_type: KeyType
    hashes: np.ndarray
    ordinals: np.ndarray
    boundaries: tuple[int | bytes, ...]

    @property
    def tally_bucket(self) -> int:
        """The bucket after the key buckets: rows and nulls per file."""
        return len(self.boundaries) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlan:
    """What the cut stage must know: where segments go and how many files there are."""

    storage: Storage
    unit_count: int
    tally_bucket: int


def scatter(plan: ScatterPlan) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """Make the first stage: batches of (key, file hash) to (bucket, payload)."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = np.zeros(len(plan.ordinals), np.int64)
        nulls = np.zeros(len(plan.ordinals), np.int64)
        for keys, ordinals in _buffers(batches, plan, rows, nulls):
            yield from _runs(plan, *sort_pairs(keys, ordinals))
        seen = np.flatnonzero(rows)
        tally = pa.table(
            {"ordinal": seen.astype(np.int32), "rows": rows[seen], "nulls": nulls[seen]}
        )
        yield _payload(plan.tally_bucket, tally)

    return run


def _buffers(
    batches: Iterable[pa.RecordBatch], plan: ScatterPlan, rows: np.ndarray, nulls: np.ndarray
) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """Gather non-null keys into buffers; count rows and nulls per ordinal on the way."""
    keys: list[pa.Array] = []
    ordinals: list[np.ndarray] = []
    size = held = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        codes = encode_keys(plan.key_type, batch.column(0))
        units = _ordinals(plan, batch.column(1).to_numpy(zero_copy_only=False))
        rows += np.bincount(units, minlength=len(rows))
        if codes.null_count:
            valid = codes.is_valid().to_numpy(zero_copy_only=False)
            nulls += np.bincount(units[~valid], minlength=len(nulls))
            codes = codes.drop_null()
            units = units[valid]
        keys.append(codes)
        ordinals.append(units)
        size += len(units)
        held += codes.nbytes
        if size >= BUFFER_ROWS or held >= BUFFER_BYTES:
            yield pa.concat_arrays(keys), np.concatenate(ordinals)
            keys, ordinals, size, held = [], [], 0, 0
    if size:
        yield pa.concat_arrays(keys), np.concatenate(ordinals)


def _ordinals(plan: ScatterPlan, hashes: np.ndarray) -> np.ndarray:
    """Ordinals of rows by the hash of their file; rows come in long runs of one file."""
    starts = np.concatenate(([0], np.flatnonzero(hashes[1:] != hashes[:-1]) + 1))
    wanted = hashes[starts]
    at = np.minimum(np.searchsorted(plan.hashes, wanted), len(plan.hashes) - 1)
    if not np.array_equal(plan.hashes[at], wanted):
        raise LakesieveError(
            "A row came from a data file that is not in the list of live files.",
            kind=ErrorKind.BUILD_INCONSISTENT,
            hint="Nothing was committed; report this with the table's format version.",
        )
    lengths = np.diff(np.append(starts, len(hashes)))
    return np.repeat(plan.ordinals[at], lengths)


def _runs(plan: ScatterPlan, keys: pa.Array, ordinals: np.ndarray) -> Iterator[pa.RecordBatch]:
    cuts = [0, *(_first_at_or_after(keys, b) for b in plan.boundaries), len(keys)]
    for bucket, (start, end) in enumerate(itertools.pairwise(cuts)):
        if end > start:
            run = pa.table({"key": keys.slice(start, end - start), "ordinal": ordinals[start:end]})
            yield _payload(bucket, run)


def _first_at_or_after(keys: pa.Array, boundary: int | bytes) -> int:
    return bisect.bisect_left(range(len(keys)), boundary, key=lambda i: keys[i].as_py())


def _payload(bucket: int, table: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
    return pa.record_batch([pa.array([bucket], pa.int32()), data], schema=_OUT_SCATTER)


def cut(plan: CutPlan) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """Make the second stage: the payloads of one bucket to its written segments, or its tally."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runs: dict[int, list[pa.Table]] = {}
        for batch in batches:
            for bucket, data in zip(batch.column(0), batch.column(1), strict=True):
                table = pa.ipc.open_stream(data.as_buffer()).read_all()
                runs.setdefault(bucket.as_py(), []).append(table)
        for bucket in sorted(runs):
            table = pa.concat_tables(runs.pop(bucket))
            if bucket == plan.tally_bucket:
                yield _told("tally", _tally(table, plan.unit_count))
            else:
                yield from _segments(plan, table)

    return run


def _tally(table: pa.Table, unit_count: int) -> bytes:
    ordinals = table.column("ordinal").to_numpy()
    sums = np.zeros((2, unit_count), np.int64)
    np.add.at(sums[0], ordinals, table.column("rows").to_numpy())
    np.add.at(sums[1], ordinals, table.column("nulls").to_numpy())
    return sums.tobytes()


def _segments(plan: CutPlan, table: pa.Table) -> Iterator[pa.RecordBatch]:
    keys = table.column("key").combine_chunks()
    if isinstance(keys, pa.ChunkedArray):
        keys = pa.concat_arrays(keys.chunks)
    keys, ordinals = sort_pairs(keys, table.column("ordinal").to_numpy())
    builder = BlockBuilder(max_pairs=SEGMENT_PAIRS)
    for blocks in (*builder.push(keys, ordinals), *builder.finish()):
        entry = stage_segment(plan.storage, blocks, unit_count=plan.unit_count)
        yield _told("segment", json.dumps(entry.to_json()).encode())


def _told(kind: str, body: bytes) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([kind], pa.string()), pa.array([body], pa.binary())], schema=_OUT_CUT
    )
