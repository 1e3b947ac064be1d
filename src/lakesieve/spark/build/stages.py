"""The two stages of a build that run in Python workers: scatter keys, then cut segments.

``scatter`` turns rows into sorted (key, ordinal) runs without duplicates, one payload for each key
bucket. So the shuffle moves a few large rows instead of one row for each pair. ``cut`` merges the
runs of one bucket and writes its segments. Memory depends on the buffer and the bucket, never on
the table. Several indexes of one table go through both stages at once: they share the rows, and
each index has its own buckets.
"""

from __future__ import annotations

import bisect
import itertools
import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.format import DATA_FILE, SegmentEntry, encode_segment
from lakesieve.sieve import (
    ABSENT_HITS,
    Budget,
    KeysOfRow,
    blocks_of_pairs,
    build_budgeted,
    keys_of_rows,
    sort_pairs,
    trade_offs,
)
from lakesieve.store import stage_segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lakesieve.format import Unit
    from lakesieve.sieve import Blocks, KeyType
    from lakesieve.spark.build.file_hashes import FileHashes
    from lakesieve.storage import Storage

SCATTER_SCHEMA = "bucket int, payload binary"
CUT_SCHEMA = "index int, kind string, body binary"

BUFFER_ROWS = 2_000_000
BUFFER_BYTES = 128 << 20
# arrays of this length come from the heap, not fresh from the operating system
SEGMENT_PAIRS = 2_000_000

_ROWS = b"rows"
_COUNTS = ("rows", "nulls", "repeats")

_OUT_SCATTER = pa.schema([("bucket", pa.int32()), ("payload", pa.binary())])
_OUT_CUT = pa.schema([("index", pa.int32()), ("kind", pa.string()), ("body", pa.binary())])


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTask:
    """What the tasks of a build must know about one index.

    Args:
        columns: Positions of its key columns among the columns that are read.
        key_types: Types of the key columns.
        keys_of_row: For each column, how the keys of a row follow from it; empty for one key.
        boundaries: First key code of every bucket except the first, ascending.
        first_bucket: Number of its first bucket. Other indexes have the buckets before and after.
        storage: The storage for its segments; ``None`` if none are written.
        absent_hits: Share of absent keys that may find a file.
        budget: Limit of the size or of false files, if blocks need not be exact.
        unit: What its ordinals stand for.
        first_ordinals: The first ordinal of each data file, and the number of units at the end.
    """

    columns: tuple[int, ...]
    key_types: tuple[KeyType, ...]
    keys_of_row: tuple[KeysOfRow, ...] = ()
    boundaries: tuple[int | bytes, ...] = ()
    first_bucket: int = 0
    storage: Storage | None = None
    absent_hits: float = ABSENT_HITS
    budget: Budget | None = None
    unit: Unit = DATA_FILE
    first_ordinals: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    @property
    def unit_count(self) -> int:
        """Number of units of the data files."""
        return int(self.first_ordinals[-1])

    def ordinals(self, files: np.ndarray, positions: np.ndarray | None) -> np.ndarray:
        """Return the ordinal of each row, int32, from its file and its position in the file."""
        if not self.unit.rows:
            return files
        assert positions is not None
        ordinals = self.first_ordinals[files] + positions // self.unit.rows
        if (ordinals >= self.first_ordinals[files + 1]).any():
            raise LakesieveError(
                "A data file has more rows than its metadata says.",
                kind=ErrorKind.BUILD_INCONSISTENT,
                hint="Nothing was committed. Check whether files of the table were changed in "
                "place.",
            )
        blocks: np.ndarray = ordinals.astype(np.int32)
        return blocks

    @property
    def tally_bucket(self) -> int:
        """Number of the index's last bucket, which has the counts of each file instead of keys."""
        return self.first_bucket + len(self.boundaries) + 1

    def keys_of(self, columns: Sequence[pa.Array]) -> tuple[pa.Array, np.ndarray | None]:
        """Return the keys of some rows, and each key's row (``None`` if rows have one key each)."""
        own = [columns[at] for at in self.columns]
        return keys_of_rows(self.key_types, own, self.keys_of_row)


def scatter(
    batches: Iterable[pa.RecordBatch],
    *,
    indexes: Sequence[IndexTask],
    files: FileHashes,
    buffer_rows: int = BUFFER_ROWS,
    buffer_bytes: int = BUFFER_BYTES,
) -> Iterator[pa.RecordBatch]:
    """The first stage: turn batches of (keys..., position, file hash) into (bucket, payload).

    Args:
        batches: The rows. ``position``, the number of a row in its file, is there only if an index
            has row blocks.
        indexes: The indexes, in the order of their buckets.
        files: The data files, by their hashes.
        buffer_rows: Keys of one index that are sorted at once.
        buffer_bytes: Most bytes of keys, over all indexes, that are in memory.
    """
    buffers = [_KeyBuffer(index) for index in indexes]
    has_positions = any(index.unit.rows for index in indexes)
    for batch in batches:
        if batch.num_rows == 0:
            continue
        *columns, hashed = batch.columns
        numbers = files.numbers(hashed.to_numpy(zero_copy_only=False))
        positions = columns.pop().to_numpy() if has_positions else None
        for buffer in buffers:
            buffer.add(columns, buffer.index.ordinals(numbers, positions))
            if buffer.size >= buffer_rows:
                yield from buffer.sorted_runs()
        while sum(buffer.bytes for buffer in buffers) >= buffer_bytes:
            # flushing only the largest buffer keeps the runs of the other indexes long
            yield from max(buffers, key=lambda buffer: buffer.bytes).sorted_runs()
    for buffer in buffers:
        if buffer.size:
            yield from buffer.sorted_runs()
        yield _payload(buffer.index.tally_bucket, buffer.tally())


class _KeyBuffer:
    """Keys of one index that were read and not yet sorted, and counts of all rows."""

    def __init__(self, index: IndexTask) -> None:
        self.index = index
        unit_count = index.unit_count
        self._rows = np.zeros(unit_count, np.int64)
        self._nulls = np.zeros(unit_count, np.int64)
        self._repeats = np.zeros(unit_count, np.int64)
        self._clear()

    def _clear(self) -> None:
        self._keys: list[pa.Array] = []
        self._ordinals: list[np.ndarray] = []
        self.size = self.bytes = 0

    def add(self, columns: Sequence[pa.Array], ordinals: np.ndarray) -> None:
        """Add the keys of rows, and the ordinal of each row's unit."""
        unit_count = len(self._rows)
        self._rows += np.bincount(ordinals, minlength=unit_count)
        codes, rows = self.index.keys_of(columns)
        if rows is not None:
            has_key = np.zeros(len(ordinals), bool)
            has_key[rows] = True
            self._nulls += np.bincount(ordinals[~has_key], minlength=unit_count)
            ordinals = ordinals[rows]
        if len(codes):
            self._keys.append(codes)
            self._ordinals.append(ordinals)
            self.size += len(codes)
            self.bytes += codes.nbytes

    def sorted_runs(self) -> Iterator[pa.RecordBatch]:
        """Yield all keys as sorted runs without duplicates, one payload for each bucket."""
        keys, ordinals = pa.concat_arrays(self._keys), np.concatenate(self._ordinals)
        self._clear()
        distinct, units = sort_pairs(keys, ordinals)
        if len(units) < len(ordinals):
            self._repeats += _fewer(ordinals, np.bincount(units, minlength=len(self._repeats)))
        # a budget counts rows, but only distinct pairs are sent on
        rows_a_pair = len(keys) / len(distinct)
        starts = (_first_at_or_after(distinct, code) for code in self.index.boundaries)
        cuts = [0, *starts, len(distinct)]
        for bucket, (start, end) in enumerate(itertools.pairwise(cuts), self.index.first_bucket):
            if end > start:
                run = pa.table({"key": distinct[start:end], "ordinal": units[start:end]})
                metadata = {_ROWS: str(round(rows_a_pair * run.num_rows))}
                yield _payload(bucket, run.replace_schema_metadata(metadata))

    def tally(self) -> pa.Table:
        """Return the rows, nulls and repeats of the units that rows came from."""
        seen = np.flatnonzero(self._rows)
        counts = (self._rows[seen], self._nulls[seen], self._repeats[seen])
        return pa.table([seen.astype(np.int32), *counts], names=["ordinal", *_COUNTS])


def _fewer(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return true for units that occur more often in ``before`` than ``after`` counts."""
    fewer: np.ndarray = np.bincount(before, minlength=len(after)) > after
    return fewer


def _first_at_or_after(keys: pa.Array, boundary: int | bytes) -> int:
    return bisect.bisect_left(range(len(keys)), boundary, key=lambda i: keys[i].as_py())


def _payload(bucket: int, table: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
    return pa.record_batch([pa.array([bucket], pa.int32()), data], schema=_OUT_SCATTER)


def cut(
    batches: Iterable[pa.RecordBatch],
    *,
    indexes: Sequence[IndexTask],
    catalogue: str,
) -> Iterator[pa.RecordBatch]:
    """The second stage: write the segments of each bucket, and yield a description of them.

    Args:
        batches: The results of :func:`scatter`. All payloads of a bucket are in one task.
        indexes: The same indexes as in the first stage.
        catalogue: Id of the catalogue to which the ordinals refer.
    """
    last_buckets = [index.tally_bucket for index in indexes]
    for bucket, runs in _by_bucket(batches):
        at = bisect.bisect_left(last_buckets, bucket)
        index = indexes[at]
        unit_count = index.unit_count
        if bucket == index.tally_bucket:
            yield _result_batch("tally", _tally_of(pa.concat_tables(runs), unit_count), at)
            continue
        assert index.storage is not None
        pairs = _pairs(runs)
        counts = np.zeros(unit_count, np.int64)
        for blocks in _blocks(index, pairs, counts):
            entry = stage_segment(index.storage, blocks, unit_count=unit_count, catalogue=catalogue)
            yield _result_batch("segment", json.dumps(entry.to_json()).encode(), at)
        # keys of a unit that several tasks have read
        repeats = _fewer(pairs[1], counts)
        if repeats.any():
            yield _result_batch("repeats", np.packbits(repeats).tobytes(), at)


def curve(batches: Iterable[pa.RecordBatch], *, unit_count: int) -> Iterator[pa.RecordBatch]:
    """Draw the curve of bytes against false files of one bucket, in place of :func:`cut`."""
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


def _by_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, list[pa.Table]]]:
    """Yield the payloads of each bucket."""
    runs: dict[int, list[pa.Table]] = {}
    for batch in batches:
        for bucket, data in zip(batch.column(0), batch.column(1), strict=True):
            table = pa.ipc.open_stream(data.as_buffer()).read_all()
            runs.setdefault(bucket.as_py(), []).append(table)
    for bucket in sorted(runs):
        yield bucket, runs.pop(bucket)


def _pairs(runs: Sequence[pa.Table]) -> tuple[pa.Array, np.ndarray, int]:
    """Return the keys and ordinals of one bucket, and the number of their rows."""
    rows = sum(int(run.schema.metadata[_ROWS]) for run in runs)
    table = pa.concat_tables([run.replace_schema_metadata() for run in runs])
    keys = pa.concat_arrays(table.column("key").chunks)
    return keys, table.column("ordinal").to_numpy(), rows


def _blocks(
    index: IndexTask, pairs: tuple[pa.Array, np.ndarray, int], counts: np.ndarray
) -> Iterable[Blocks]:
    """Return the blocks of one bucket, and add each unit's distinct pairs to ``counts``."""
    keys, ordinals, rows = pairs
    unit_count = len(counts)
    if index.budget is None:
        return blocks_of_pairs(
            keys,
            ordinals,
            max_pairs=SEGMENT_PAIRS,
            absent_hits=index.absent_hits,
            counts=counts,
            whole=KeysOfRow.WORDS in index.keys_of_row,
        )
    bits = index.budget.bits_per_row
    distinct, units = sort_pairs(keys, ordinals)
    counts += np.bincount(units, minlength=unit_count)
    return [
        build_budgeted(
            distinct,
            units,
            unit_count=unit_count,
            measure=partial(_measured, unit_count=unit_count),
            size=None if bits is None else bits * rows / 8,
            false=index.budget.false_files,
            absent_hits=index.absent_hits,
        )
    ]


def _measured(blocks: Blocks, unit_count: int) -> int:
    return len(encode_segment(blocks, unit_count=unit_count)[0])


def _result_batch(kind: str, body: bytes, index: int = 0) -> pa.RecordBatch:
    columns = [pa.array([index], pa.int32()), pa.array([kind]), pa.array([body], pa.binary())]
    return pa.record_batch(columns, schema=_OUT_CUT)


def _tally_of(table: pa.Table, unit_count: int) -> bytes:
    """Add up the counts of all tasks of the first stage, by unit."""
    ordinals = table.column("ordinal").to_numpy()
    sums = np.zeros((len(_COUNTS), unit_count), np.int64)
    for at, name in enumerate(_COUNTS):
        np.add.at(sums[at], ordinals, table.column(name).to_numpy())
    return sums.tobytes()


def read_results(results: pa.Table, unit_count: int) -> tuple[tuple[SegmentEntry, ...], np.ndarray]:
    """Read the results of :func:`cut` for one index.

    Returns:
        The written segments; and an int64 array of three rows with a column for each unit: its
        rows, its nulls, and whether several of its rows have the same key.
    """
    segments = []
    tally = np.zeros((len(_COUNTS), unit_count), np.int64)
    kinds, bodies = (results.column(name).to_pylist() for name in ("kind", "body"))
    for kind, body in zip(kinds, bodies, strict=True):
        if kind == "tally":
            tally += np.frombuffer(body, np.int64).reshape(tally.shape)
        elif kind == "repeats":
            tally[2] += np.unpackbits(np.frombuffer(body, np.uint8), count=unit_count)
        else:
            segments.append(SegmentEntry.from_json(json.loads(body)))
    return tuple(segments), tally
