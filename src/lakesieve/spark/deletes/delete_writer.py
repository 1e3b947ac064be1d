"""Write delete files in Python workers, from the positions that a conversion found."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

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

_WRITTEN = pa.schema(
    [
        (name, pa.string() if kind == "string" else pa.int64())
        for name, kind in (field.split() for field in WRITTEN_SCHEMA.split(","))
    ]
)
_FIELD_ID = b"PARQUET:field_id"
_POSITION_DELETES = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {_FIELD_ID: b"2147483546"}),
        pa.field("pos", pa.int64(), False, {_FIELD_ID: b"2147483545"}),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFolder:
    """The folder for delete files, and its spelling in the table.

    With ``vectors``, deletion vectors are written instead of position delete files.
    """

    storage: Storage
    location: str
    vectors: bool


def write_deletes(folder: DeleteFolder) -> Stage:
    """Return the stage that turns sorted (data file, position, is new) rows into delete files.

    Rows that are not new are positions that were deleted before, which a deletion vector must
    repeat. A data file without new positions gets no delete file.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        marked = ((name, pos, new) for name, pos, new in _files(batches) if new)
        yield from _vectors(folder, marked) if folder.vectors else _position_files(folder, marked)

    return run


def _files(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, np.ndarray, int]]:
    """Yield each data file's positions and how many of them are new."""
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
    """Split a batch where the data file changes."""
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
    folder: DeleteFolder, files: Iterable[tuple[str, np.ndarray, int]]
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
        blob = VectorBlob(data_file=data_file, offset=0, length=0, positions=len(positions))
        row = _row(blob, positions, new)
        yield _put(folder, sink.getvalue().to_pybytes(), "parquet", [row])


def _vectors(
    folder: DeleteFolder, files: Iterable[tuple[str, np.ndarray, int]]
) -> Iterator[pa.RecordBatch]:
    puffin, rows = PuffinFile(), []
    for data_file, positions, new in files:
        rows.append(_row(puffin.add(data_file, positions), positions, new))
        if puffin.size >= PUFFIN_BYTES:
            yield _put(folder, puffin.finish(), "puffin", rows)
            puffin, rows = PuffinFile(), []
    if rows:
        yield _put(folder, puffin.finish(), "puffin", rows)


def _row(blob: VectorBlob, positions: np.ndarray, new: int) -> dict[str, Any]:
    return asdict(blob) | {"new": new, "first": int(positions[0]), "last": int(positions[-1])}


def _put(
    folder: DeleteFolder, data: bytes, extension: str, rows: list[dict[str, Any]]
) -> pa.RecordBatch:
    """Write a delete file. Return a row for each data file to which its deletes apply."""
    name = f"{uuid.uuid4().hex}-deletes.{extension}"
    folder.storage.create(name, data)
    file = {"file": f"{folder.location}/{name}", "size": len(data)}
    return pa.RecordBatch.from_pylist([row | file for row in rows], schema=_WRITTEN)
