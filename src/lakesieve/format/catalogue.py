"""The file catalogue: which data file an ordinal names."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.errors import CorruptIndexError, IndexFormatError
from lakesieve.format.documents import corrupt, pack, unpack
from lakesieve.format.entries import (
    UNIT,
    CatalogueEntry,
    IndexDefinition,
    SegmentEntry,
    check_known,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CATALOGUE_SCHEMA",
    "Origin",
    "catalogue_id",
    "decode_catalogue",
    "encode_catalogue",
    "read_origin",
]

_KEY = b"lakesieve"

CATALOGUE_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("has_null", pa.bool_(), nullable=False),
        pa.field("has_value", pa.bool_(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a catalogue file says of its index, so that the files alone can tell what they are.

    Args:
        definition: What is indexed.
        segments: All segments whose ordinals count in this catalogue.
    """

    definition: IndexDefinition
    segments: tuple[SegmentEntry, ...]


def catalogue_id(paths: pa.ChunkedArray | pa.Array) -> str:
    """The name under which segments know a catalogue: a hash of its data files' paths, in order.

    It is known before the data files are read. Two catalogues of one name cover the same files.

    Args:
        paths: Strings, without nulls.
    """
    chunks = paths.chunks if isinstance(paths, pa.ChunkedArray) else [paths]
    joined = pa.concat_arrays([chunk.cast(pa.large_binary()) for chunk in chunks] or [_NO_PATHS])
    _, offsets, data = joined.buffers()
    ends = np.frombuffer(offsets, "<i8", len(joined) + 1, 8 * joined.offset) if offsets else _ZERO
    digest = hashlib.sha256((ends - ends[0]).astype("<i8").tobytes())
    if data is not None:
        digest.update(memoryview(data)[ends[0] : ends[-1]])
    return digest.hexdigest()[:40]


_DECODED_ROWS = 1 << 16
# paths of one folder take a tenth, and ones that differ in a number a hundredth of their length
_MOST_TIMES = 1_000
_LEAST_DECODED = 16 << 20
_NO_PATHS = pa.array([], pa.large_binary())
_ZERO = np.zeros(1, np.int64)


def encode_catalogue(
    files: pa.Table,
    *,
    segments: Sequence[SegmentEntry] = (),
    definition: IndexDefinition | None = None,
) -> tuple[bytes, CatalogueEntry]:
    """Write a catalogue; row ``i`` is the file of ordinal ``i``.

    Args:
        files: As ``CATALOGUE_SCHEMA``; paths are unique.
        segments: All segments whose ordinals count in it.
        definition: What is indexed; without it the catalogue cannot be told from its file alone.
    """
    sink = io.BytesIO()
    table = pa.Table.from_arrays(
        [files.column(name).combine_chunks() for name in CATALOGUE_SCHEMA.names],
        schema=CATALOGUE_SCHEMA,
    )
    with pq.ParquetWriter(
        sink,
        CATALOGUE_SCHEMA,
        compression="zstd",
        use_dictionary=False,
        column_encoding={"path": "DELTA_BYTE_ARRAY"},
        write_statistics=False,
        store_schema=False,
    ) as writer:
        writer.write_table(table)
        if definition is not None:
            origin = {
                "unit": UNIT,
                "definition": definition.to_json(),
                "segments": [segment.to_json() for segment in segments],
            }
            writer.add_key_value_metadata({_KEY: pack(origin)})
    data = sink.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    return data, CatalogueEntry(
        id=catalogue_id(table.column("path")),
        path=f"files/{digest[:40]}.parquet",
        size=len(data),
        sha256=digest,
        files=table.num_rows,
        records=int(pc.sum(table.column("records")).as_py() or 0),
    )


def read_origin(data: bytes, path: str) -> tuple[CatalogueEntry, Origin | None]:
    """Read a catalogue file that no commit may tell of.

    Args:
        data: The file's bytes.
        path: Its path, which holds their hash.

    Returns:
        The entry that a commit would have for it, and what it says of its index, if it does.

    Raises:
        CorruptIndexError: The bytes are not those that were written.
        IndexFormatError: They were written by a later version.
    """
    digest = hashlib.sha256(data).hexdigest()
    if path != f"files/{digest[:40]}.parquet":
        raise corrupt(path, "it fails the checksum")
    table = _table(data, path, files=None)
    entry = CatalogueEntry(
        id=catalogue_id(table.column("path")),
        path=path,
        size=len(data),
        sha256=digest,
        files=table.num_rows,
        records=int(pc.sum(table.column("records")).as_py() or 0),
    )
    told = (pq.read_metadata(io.BytesIO(data)).metadata or {}).get(_KEY)
    return entry, None if told is None else _origin(told, entry)


def _origin(told: bytes, entry: CatalogueEntry) -> Origin:
    body = unpack(told, entry.path)
    try:
        check_known("unit", body["unit"], UNIT)
        segments = tuple(map(SegmentEntry.from_json, body["segments"]))
        if any(segment.catalogue != entry.id for segment in segments):
            raise ValueError("a segment of another catalogue")
        return Origin(definition=IndexDefinition.from_json(body["definition"]), segments=segments)
    except IndexFormatError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise corrupt(entry.path, f"it does not say where it is from ({error})") from error


def decode_catalogue(data: bytes, entry: CatalogueEntry) -> pa.Table:
    """Check and read a catalogue.

    Raises:
        CorruptIndexError: The bytes are not those that were written.
    """
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise corrupt(entry.path, "it fails the checksum")
    table = _table(data, entry.path, files=entry.files)
    if catalogue_id(table.column("path")) != entry.id:
        raise corrupt(entry.path, "it holds other files")
    return table


def _table(data: bytes, path: str, *, files: int | None) -> pa.Table:
    """Decode a catalogue part by part, so that a lie about its size costs little."""
    most = max(_LEAST_DECODED, _MOST_TIMES * len(data))
    parts: list[pa.RecordBatch] = []
    size = 0
    try:
        stored = pq.ParquetFile(io.BytesIO(data))
        told = stored.metadata
        groups = (told.row_group(at).total_byte_size for at in range(told.num_row_groups))
        if files is not None and told.num_rows != files:
            raise corrupt(path, "it holds other files")
        if told.num_columns > 2 * len(CATALOGUE_SCHEMA.names) or sum(groups) > most:
            raise corrupt(path, "it claims more than it can hold")
        for batch in stored.iter_batches(_DECODED_ROWS):
            size += batch.nbytes
            if size > most:
                raise corrupt(path, f"it has more than {most} bytes when it is decoded")
            parts.append(batch)
        schema = stored.schema_arrow.remove_metadata()
        return pa.Table.from_batches(parts, schema).cast(CATALOGUE_SCHEMA)
    except CorruptIndexError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise corrupt(path, f"it cannot be read ({error})") from error
