"""The two stages of a build that run in Python workers: scatter the keys, then cut segments.

``scatter`` turns rows into sorted, duplicate-free (key, ordinal) runs, one payload a key bucket, so
that the shuffle moves a few large rows instead of one row a pair. ``cut`` merges the runs of one
bucket and writes its segments. Memory follows the buffer and the bucket, never the table. Several
indexes of one table go through both at once: each has buckets of its own, and they share the rows.
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
from lakesieve.spark.build.tally import tally_of
from lakesieve.store import stage_segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lakesieve.sieve import Blocks, KeyType
    from lakesieve.spark.tables.workers import Stage
    from lakesieve.storage import Storage

SCATTER_SCHEMA = "bucket int, payload binary"
CUT_SCHEMA = "index int, kind string, body binary"

BUFFER_ROWS = 2_000_000
BUFFER_BYTES = 128 << 20
# arrays of that length come from the heap, not fresh from the system
SEGMENT_PAIRS = 2_000_000

_ROWS = b"rows"

_OUT_SCATTER = pa.schema([("bucket", pa.int32()), ("payload", pa.binary())])
_OUT_CUT = pa.schema([("index", pa.int32()), ("kind", pa.string()), ("body", pa.binary())])


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRuns:
    """The runs of one index among those of a scatter.

    Args:
        columns: Places of its key columns among those that are read.
        key_types: Types of the key columns.
        boundaries: First key code of every bucket but the first, ascending.
        first_bucket: Number of its first bucket; those of another index come before or behind.
    """

    columns: tuple[int, ...]
    key_types: tuple[KeyType, ...]
    boundaries: tuple[int | bytes, ...] = ()
    first_bucket: int = 0

    @property
    def tally_bucket(self) -> int:
        """The bucket after its key buckets, its last one: rows, nulls and repeats per file."""
        return self.first_bucket + len(self.boundaries) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPlan:
    """What the scatter stage must know.

    Args:
        runs: Those of each index.
        hashes: Sorted hashes of the data files' paths, int64.
        ordinals: Ordinal of the file behind each hash, int32.
    """

    runs: tuple[KeyRuns, ...]
    hashes: np.ndarray
    ordinals: np.ndarray

    @property
    def bucket_count(self) -> int:
        """Buckets of all indexes."""
        return self.runs[-1].tally_bucket + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPlan:
    """What the cut stage must know of one index.

    Args:
        storage: Where segments go.
        tally_bucket: Its last bucket, which holds no keys but the tally.
        absent_hits: Share of absent keys that may find a file.
        budget: What blocks may cost or how wrong they may be, where they need not be exact.
    """

    storage: Storage
    tally_bucket: int
    absent_hits: float = ABSENT_HITS
    budget: Budget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlan:
    """What the cut stage must know.

    Args:
        segments: Those of each index, in the order of their buckets.
        catalogue: Id of the catalogue that their ordinals count in.
        unit_count: Files in it.
    """

    segments: tuple[SegmentPlan, ...]
    catalogue: str
    unit_count: int

    def index_of(self, bucket: int) -> int:
        """The number of the index that a bucket is of."""
        return bisect.bisect_left([plan.tally_bucket for plan in self.segments], bucket)


def scatter(plan: ScatterPlan) -> Stage:
    """Make the first stage: batches of (keys..., file hash) to (bucket, payload)."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        buffers = [_Buffer(runs, len(plan.ordinals)) for runs in plan.runs]
        for buffer, keys, ordinals in _filled(batches, plan, buffers):
            distinct, units = sort_pairs(keys, ordinals)
            buffer.note_repeats(ordinals, units)
            yield from _sorted(buffer.runs, distinct, units, rows_a_pair=len(keys) / len(distinct))
        for buffer in buffers:
            yield _payload(buffer.runs.tally_bucket, buffer.tally())

    return run


class _Buffer:
    """Non-null keys of one index that were read and not yet sent on, and its counts of rows.

    Args:
        runs: What becomes of them.
        unit_count: How many data files there are.
    """

    def __init__(self, runs: KeyRuns, unit_count: int) -> None:
        self.runs = runs
        self._rows = np.zeros(unit_count, np.int64)
        self._nulls = np.zeros(unit_count, np.int64)
        self._repeats = np.zeros(unit_count, np.int64)
        self._clear()

    def _clear(self) -> None:
        self._keys: list[pa.Array] = []
        self._ordinals: list[np.ndarray] = []
        self.size = self.bytes = 0

    def add(self, columns: Sequence[pa.Array], units: np.ndarray) -> None:
        """Take the keys of rows, and the ordinals of their files; counts rows and nulls."""
        codes = encode_rows(self.runs.key_types, [columns[at] for at in self.runs.columns])
        self._rows += np.bincount(units, minlength=len(self._rows))
        if codes.null_count:
            valid = codes.is_valid().to_numpy(zero_copy_only=False)
            self._nulls += np.bincount(units[~valid], minlength=len(self._nulls))
            codes = codes.drop_null()
            units = units[valid]
        self._keys.append(codes)
        self._ordinals.append(units)
        self.size += len(units)
        self.bytes += codes.nbytes

    def take(self) -> tuple[pa.Array, np.ndarray]:
        """All keys and ordinals, which it holds no longer."""
        taken = pa.concat_arrays(self._keys), np.concatenate(self._ordinals)
        self._clear()
        return taken

    def note_repeats(self, before: np.ndarray, after: np.ndarray) -> None:
        """Note the data files that have fewer pairs now that each is there once."""
        if len(after) < len(before):
            self._repeats += _fewer(before, np.bincount(after, minlength=len(self._repeats)))

    def tally(self) -> pa.Table:
        """Rows, nulls and repeats of the data files that rows came from."""
        seen = np.flatnonzero(self._rows)
        return pa.table(
            {
                "ordinal": seen.astype(np.int32),
                "rows": self._rows[seen],
                "nulls": self._nulls[seen],
                "repeats": self._repeats[seen],
            }
        )


def _fewer(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """True for units that occur more often in an array than a count of each says."""
    fewer: np.ndarray = np.bincount(before, minlength=len(after)) > after
    return fewer


def _filled(
    batches: Iterable[pa.RecordBatch], plan: ScatterPlan, buffers: Sequence[_Buffer]
) -> Iterator[tuple[_Buffer, pa.Array, np.ndarray]]:
    """Gather keys until the buffer of an index, or all together, hold enough of them."""
    for batch in batches:
        if batch.num_rows == 0:
            continue
        *columns, files = batch.columns
        units = _ordinals(plan, files.to_numpy(zero_copy_only=False))
        for buffer in buffers:
            buffer.add(columns, units)
            if buffer.size >= BUFFER_ROWS:
                yield buffer, *buffer.take()
        while sum(buffer.bytes for buffer in buffers) >= BUFFER_BYTES:
            # the largest alone leaves the runs of the others as long as they can be
            largest = max(buffers, key=lambda buffer: buffer.bytes)
            yield largest, *largest.take()
    for buffer in buffers:
        if buffer.size:
            yield buffer, *buffer.take()


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


def _sorted(
    runs: KeyRuns, keys: pa.Array, ordinals: np.ndarray, *, rows_a_pair: float
) -> Iterator[pa.RecordBatch]:
    cuts = [0, *(_first_at_or_after(keys, b) for b in runs.boundaries), len(keys)]
    for bucket, (start, end) in enumerate(itertools.pairwise(cuts), runs.first_bucket):
        if end > start:
            run = pa.table({"key": keys.slice(start, end - start), "ordinal": ordinals[start:end]})
            # a budget counts rows, of which only the distinct pairs are sent on
            metadata = {_ROWS: str(round(rows_a_pair * run.num_rows))}
            yield _payload(bucket, run.replace_schema_metadata(metadata))


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
            index = plan.index_of(bucket)
            of = plan.segments[index]
            if bucket == of.tally_bucket:
                yield _result_batch(
                    "tally", tally_of(pa.concat_tables(runs), plan.unit_count), index
                )
                continue
            pairs = _pairs(runs)
            counts = np.zeros(plan.unit_count, np.int64)
            for blocks in _blocks(of, pairs, counts):
                entry = stage_segment(
                    of.storage, blocks, unit_count=plan.unit_count, catalogue=plan.catalogue
                )
                yield _result_batch("segment", json.dumps(entry.to_json()).encode(), index)
            # keys of a data file that several tasks read
            repeats = _fewer(pairs[1], counts)
            if repeats.any():
                yield _result_batch("repeats", np.packbits(repeats).tobytes(), index)

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
                document = {
                    "strategy": point.strategy,
                    "bits_per_row": 8 * point.size / rows,
                    "false_files": point.false_units,
                    "blocks": len(point.blocks),
                }
                yield _result_batch("point", json.dumps(document).encode())

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


def _blocks(
    plan: SegmentPlan, pairs: tuple[pa.Array, np.ndarray, int], counts: np.ndarray
) -> Iterable[Blocks]:
    """The blocks of one bucket; ``counts`` gets the distinct pairs of each data file."""
    keys, ordinals, rows = pairs
    unit_count = len(counts)
    if plan.budget is None:
        return blocks_of_pairs(
            keys,
            ordinals,
            max_pairs=SEGMENT_PAIRS,
            absent_hits=plan.absent_hits,
            counts=counts,
        )
    bits = plan.budget.bits_per_row
    distinct, units = sort_pairs(keys, ordinals)
    counts += np.bincount(units, minlength=unit_count)
    return [
        build_budgeted(
            distinct,
            units,
            unit_count=unit_count,
            measure=partial(_measured, unit_count=unit_count),
            size=None if bits is None else bits * rows / 8,
            false=plan.budget.false_files,
            absent_hits=plan.absent_hits,
        )
    ]


def _measured(blocks: Blocks, unit_count: int) -> int:
    return len(encode_segment(blocks, unit_count=unit_count)[0])


def _result_batch(kind: str, body: bytes, index: int = 0) -> pa.RecordBatch:
    columns = [pa.array([index], pa.int32()), pa.array([kind]), pa.array([body], pa.binary())]
    return pa.record_batch(columns, schema=_OUT_CUT)
