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
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.format import encode_segment
from lakesieve.sieve import (
    ABSENT_HITS,
    Budget,
    blocks_of_pairs,
    build_budgeted,
    encode_rows,
    sort_pairs,
    trade_offs,
)
from lakesieve.store import stage_segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lakesieve.sieve import Blocks, KeyType
    from lakesieve.storage import Storage
    from lakesieve.tables.workers import Stage

__all__ = ["CUT_SCHEMA", "SCATTER_SCHEMA", "CutPlan", "ScatterPlan", "curve", "cut", "scatter"]

SCATTER_SCHEMA = "bucket int, payload binary"
CUT_SCHEMA = "kind string, body binary"

BUFFER_ROWS = 2_000_000
BUFFER_BYTES = 128 << 20
# arrays of that length come from the heap, not fresh from the system
SEGMENT_PAIRS = 2_000_000

_ROWS = b"rows"

_OUT_SCATTER = pa.schema([("bucket", pa.int32()), ("payload", pa.binary())])
_OUT_CUT = pa.schema([("kind", pa.string()), ("body", pa.binary())])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPlan:
    """What the scatter stage must know.

    Args:
        key_types: Types of the key columns.
        hashes: Sorted hashes of the data files' paths, int64.
        ordinals: Ordinal of the file behind each hash, int32.
        boundaries: First key code of every bucket but the first, ascending.
    """

    key_types: tuple[KeyType, ...]
    hashes: np.ndarray
    ordinals: np.ndarray
    boundaries: tuple[int | bytes, ...]

    @property
    def tally_bucket(self) -> int:
        """The bucket after the key buckets: rows and nulls per file."""
        return len(self.boundaries) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlan:
    """What the cut stage must know.

    Args:
        storage: Where segments go.
        catalogue: Id of the catalogue that their ordinals count in.
        unit_count: Files in it.
        tally_bucket: Which bucket holds no keys but the tally.
        absent_hits: Share of absent keys that may find a file.
        budget: What blocks may cost or how wrong they may be, where they need not be exact.
    """

    storage: Storage
    catalogue: str
    unit_count: int
    tally_bucket: int
    absent_hits: float = ABSENT_HITS
    budget: Budget | None = None


def scatter(plan: ScatterPlan) -> Stage:
    """Make the first stage: batches of (keys..., file hash) to (bucket, payload)."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = np.zeros(len(plan.ordinals), np.int64)
        nulls = np.zeros(len(plan.ordinals), np.int64)
        for keys, ordinals in _buffers(batches, plan, rows, nulls):
            distinct, units = sort_pairs(keys, ordinals)
            yield from _runs(plan, distinct, units, rows_a_pair=len(keys) / len(distinct))
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
        *values, files = batch.columns
        codes = encode_rows(plan.key_types, values)
        units = _ordinals(plan, files.to_numpy(zero_copy_only=False))
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


def _runs(
    plan: ScatterPlan, keys: pa.Array, ordinals: np.ndarray, *, rows_a_pair: float
) -> Iterator[pa.RecordBatch]:
    cuts = [0, *(_first_at_or_after(keys, b) for b in plan.boundaries), len(keys)]
    for bucket, (start, end) in enumerate(itertools.pairwise(cuts)):
        if end > start:
            run = pa.table({"key": keys.slice(start, end - start), "ordinal": ordinals[start:end]})
            # a budget counts rows, of which only the distinct pairs are sent on
            told = {_ROWS: str(round(rows_a_pair * run.num_rows))}
            yield _payload(bucket, run.replace_schema_metadata(told))


def _first_at_or_after(keys: pa.Array, boundary: int | bytes) -> int:
    return bisect.bisect_left(range(len(keys)), boundary, key=lambda i: keys[i].as_py())


def _payload(bucket: int, table: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
    return pa.record_batch([pa.array([bucket], pa.int32()), data], schema=_OUT_SCATTER)


def cut(plan: CutPlan) -> Stage:
    """Make the second stage: the payloads of one bucket to its written segments, or its tally."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for bucket, runs in _by_bucket(batches):
            if bucket == plan.tally_bucket:
                yield _told("tally", _tally(pa.concat_tables(runs), plan.unit_count))
                continue
            for blocks in _blocks(plan, *_pairs(runs)):
                entry = stage_segment(
                    plan.storage, blocks, unit_count=plan.unit_count, catalogue=plan.catalogue
                )
                yield _told("segment", json.dumps(entry.to_json()).encode())

    return run


def curve(unit_count: int) -> Stage:
    """Make another second stage: the payloads of one bucket to its curve of bytes against files."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, runs in _by_bucket(batches):
            keys, ordinals, rows = _pairs(runs)
            measure = partial(_measured, unit_count=unit_count)
            for point in trade_offs(
                *sort_pairs(keys, ordinals), unit_count=unit_count, measure=measure
            ):
                told = {
                    "way": point.way,
                    "bits_per_row": 8 * point.size / rows,
                    "false_files": point.false_units,
                    "blocks": len(point.blocks),
                }
                yield _told("point", json.dumps(told).encode())

    return run


def _by_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, list[pa.Table]]]:
    """The payloads of each bucket."""
    runs: dict[int, list[pa.Table]] = {}
    for batch in batches:
        for bucket, data in zip(batch.column(0), batch.column(1), strict=True):
            table = pa.ipc.open_stream(data.as_buffer()).read_all()
            runs.setdefault(bucket.as_py(), []).append(table)
    for bucket in sorted(runs):
        yield bucket, runs.pop(bucket)


def _pairs(runs: Sequence[pa.Table]) -> tuple[pa.Array, np.ndarray, int]:
    """Keys and ordinals of one bucket, and how many rows they stand for."""
    rows = sum(int(run.schema.metadata[_ROWS]) for run in runs)
    table = pa.concat_tables([run.replace_schema_metadata() for run in runs])
    keys = pa.concat_arrays(table.column("key").chunks)
    return keys, table.column("ordinal").to_numpy(), rows


def _tally(table: pa.Table, unit_count: int) -> bytes:
    ordinals = table.column("ordinal").to_numpy()
    sums = np.zeros((2, unit_count), np.int64)
    np.add.at(sums[0], ordinals, table.column("rows").to_numpy())
    np.add.at(sums[1], ordinals, table.column("nulls").to_numpy())
    return sums.tobytes()


def _blocks(plan: CutPlan, keys: pa.Array, ordinals: np.ndarray, rows: int) -> Iterable[Blocks]:
    if plan.budget is None:
        return blocks_of_pairs(
            keys, ordinals, max_pairs=SEGMENT_PAIRS, absent_hits=plan.absent_hits
        )
    bits = plan.budget.bits_per_row
    return [
        build_budgeted(
            *sort_pairs(keys, ordinals),
            unit_count=plan.unit_count,
            measure=partial(_measured, unit_count=plan.unit_count),
            size=None if bits is None else bits * rows / 8,
            false=plan.budget.false_files,
            absent_hits=plan.absent_hits,
        )
    ]


def _measured(blocks: Blocks, unit_count: int) -> int:
    return len(encode_segment(blocks, unit_count=unit_count)[0])


def _told(kind: str, body: bytes) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([kind], pa.string()), pa.array([body], pa.binary())], schema=_OUT_CUT
    )
