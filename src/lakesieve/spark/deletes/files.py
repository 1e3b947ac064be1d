"""The stage of a conversion that runs in Python workers: positions to delete files."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.spark.deletes.vectors import PuffinFile, VectorBlob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakesieve.spark.tables.workers import Stage
    from lakesieve.storage import Storage

WRITTEN_SCHEMA = (
    "file string, data_file string, offset long, length long, positions long, new long, "
    "size long, first long, last long"
)
PUFFIN_BYTES = 64 << 20

_NAMES = [field.split()[0] for field in WRITTEN_SCHEMA.split(",")]
_FIELD_ID = b"PARQUET:field_id"
_POSITION_DELETES = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {_FIELD_ID: b"2147483546"}),
        pa.field("pos", pa.int64(), False, {_FIELD_ID: b"2147483545"}),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """What the stage must know.

    Args:
        storage: The folder that the files are written to.
        location: The same folder as the table spells it.
        vectors: Write deletion vectors instead of position delete files.
    """

    storage: Storage
    location: str
    vectors: bool


def write_deletes(plan: WritePlan) -> Stage:
    """Make the stage: sorted (data file, position, is new) rows to delete files.

    Rows that are not new are positions deleted before: a deletion vector must repeat them. A data
    file without a new one gets no file.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        marked = ((name, pos, new) for name, pos, new in _files(batches) if new)
        yield from _vectors(plan, marked) if plan.vectors else _position_files(plan, marked)

    return run


def _files(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, np.ndarray, int]]:
    """Gather each data file's positions; how many of them are new."""
    current: str | None = None
    gathered: list[np.ndarray] = []
    new = 0
    for batch in batches:
        for name, positions, fresh in _stretches(batch):
            if current is not None and name != current:
                yield current, np.unique(np.concatenate(gathered)), new
                gathered, new = [], 0
            current = name
            gathered.append(positions)
            new += int(np.count_nonzero(fresh))
    if current is not None:
        yield current, np.unique(np.concatenate(gathered)), new


def _stretches(batch: pa.RecordBatch) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Cut a batch where the data file changes."""
    if batch.num_rows == 0:
        return
    names = batch.column(0).dictionary_encode()
    codes = names.indices.to_numpy()
    positions = batch.column(1).to_numpy()
    fresh = batch.column(2).to_numpy(zero_copy_only=False)
    cuts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    starts = np.concatenate(([0], cuts))
    for start, end in zip(starts, np.append(cuts, len(codes)), strict=True):
        name = names.dictionary[int(codes[start])].as_py()
        yield name, positions[start:end], fresh[start:end]


def _position_files(
    plan: WritePlan, files: Iterable[tuple[str, np.ndarray, int]]
) -> Iterator[pa.RecordBatch]:
    for data_file, positions, new in files:
        repeated = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(len(positions), np.int32)), pa.array([data_file])
        )
        table = pa.table(
            [repeated.cast(pa.string()), pa.array(positions)], schema=_POSITION_DELETES
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
        blob = VectorBlob(data_file=data_file, offset=0, length=0, positions=len(positions))
        name = _put(plan, data, "parquet")
        yield _vector_batch([(name, blob, new, len(data), int(positions[0]), int(positions[-1]))])


def _vectors(
    plan: WritePlan, files: Iterable[tuple[str, np.ndarray, int]]
) -> Iterator[pa.RecordBatch]:
    puffin = PuffinFile()
    held: list[tuple[VectorBlob, int, int, int]] = []

    def flush() -> pa.RecordBatch:
        data = puffin.finish()
        name = _put(plan, data, "puffin")
        return _vector_batch(
            [(name, blob, new, len(data), first, last) for blob, new, first, last in held]
        )

    for data_file, positions, new in files:
        blob = puffin.add(data_file, positions)
        held.append((blob, new, int(positions[0]), int(positions[-1])))
        if puffin.size >= PUFFIN_BYTES:
            yield flush()
            puffin, held = PuffinFile(), []
    if held:
        yield flush()


def _put(plan: WritePlan, data: bytes, extension: str) -> str:
    name = f"{uuid.uuid4().hex}-deletes.{extension}"
    plan.storage.create(name, data)
    return f"{plan.location}/{name}"


def _vector_batch(rows: list[tuple[str, VectorBlob, int, int, int, int]]) -> pa.RecordBatch:
    columns = [
        [name for name, *_ in rows],
        *([getattr(row[1], n) for row in rows] for n in ("data_file", "offset", "length")),
        [row[1].positions for row in rows],
        *([row[n] for row in rows] for n in (2, 3, 4, 5)),
    ]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=_NAMES)
