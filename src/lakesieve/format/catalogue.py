"""File catalogues: which data file each ordinal stands for."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.errors import CorruptIndexError, IndexFormatError, corrupt
from lakesieve.format.documents import pack, unpack
from lakesieve.format.entries import CatalogueEntry, SegmentEntry
from lakesieve.format.index_definition import IndexDefinition
from lakesieve.format.pages import claims
from lakesieve.format.units import DATA_FILE, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = b"lakesieve"

CATALOGUE_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("has_null", pa.bool_(), nullable=False),
        pa.field("has_value", pa.bool_(), nullable=False),
        pa.field("repeats", pa.bool_()),
    ]
)
_OPTIONAL = "repeats"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a catalogue file says about its index, so that the files can be read without the log.

    Args:
        segments: All segments whose ordinals refer to this catalogue.
    """

    definition: IndexDefinition
    segments: tuple[SegmentEntry, ...]


def catalogue_id(paths: pa.ChunkedArray | pa.Array) -> str:
    """Return the id of a catalogue: a hash of the paths of its data files, in their order.

    The id is known before the data files are read. Two catalogues with the same id cover the same
    files.
    """
    chunks = paths.chunks if isinstance(paths, pa.ChunkedArray) else [paths]
    digest = hashlib.sha256(np.zeros(1, "<i8").tobytes())
    end = 0
    for chunk in chunks:
        ends = _offsets(chunk)
        digest.update((ends[1:] - ends[0] + end).astype("<i8").tobytes())
        end += int(ends[-1] - ends[0])
    for chunk in chunks:
        ends, data = _offsets(chunk), chunk.buffers()[2]
        if data is not None:
            digest.update(memoryview(data)[ends[0] : ends[-1]])
    return digest.hexdigest()[:40]


def _offsets(texts: pa.Array) -> np.ndarray:
    """Return the start of each text in the buffer and the end of the last; int64."""
    offsets = texts.buffers()[1]
    if offsets is None:
        return np.zeros(1, np.int64)
    kind = "<i8" if pa.types.is_large_string(texts.type) else "<i4"
    size = np.dtype(kind).itemsize
    return np.frombuffer(offsets, kind, len(texts) + 1, size * texts.offset).astype(np.int64)


_DECODED_ROWS = 1 << 16
# Longest path column, as a multiple of its stored bytes, that a reader accepts. Paths of one folder
# compress to a tenth, paths that differ in a number to a hundredth. Earlier versions stored each
# path without the beginning that it shares with the path before it.
_MAX_TIMES = 1_000
_LEAST_DECODED = 16 << 20


def encode_catalogue(
    files: pa.Table,
    *,
    segments: Sequence[SegmentEntry] = (),
    definition: IndexDefinition | None = None,
) -> tuple[bytes, CatalogueEntry]:
    """Serialize a catalogue, with one row for each data file in the order of the ordinals.

    Paths must be unique. Without ``definition``, a repair cannot restore the index from the
    catalogue file alone.
    """
    sink = io.BytesIO()
    schema = _schema_of(files)
    table = pa.Table.from_arrays(
        [files.column(name).combine_chunks() for name in schema.names], schema=schema
    )
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    ) as writer:
        writer.write_table(table)
        if definition is not None:
            origin = {
                "unit": str(definition.unit),
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
        unit=DATA_FILE if definition is None else definition.unit,
    )


def _schema_of(files: pa.Table) -> pa.Schema:
    """Return the columns to store: those that have a value for at least one file."""
    at = CATALOGUE_SCHEMA.get_field_index(_OPTIONAL)
    has_optional = _OPTIONAL in files.column_names and files.column(_OPTIONAL).null_count < len(
        files
    )
    return CATALOGUE_SCHEMA if has_optional else CATALOGUE_SCHEMA.remove(at)


def read_origin(data: bytes, path: str) -> tuple[CatalogueEntry, Origin | None]:
    """Read a catalogue file that may belong to no commit.

    The path contains the hash of the bytes.

    Returns:
        The entry that a commit would have for the file, and what the file says about its index.
    """
    digest = hashlib.sha256(data).hexdigest()
    if path != f"files/{digest[:40]}.parquet":
        raise corrupt(path, "its checksum does not match")
    table = _table(data, path, files=None)
    entry = CatalogueEntry(
        id=catalogue_id(table.column("path")),
        path=path,
        size=len(data),
        sha256=digest,
        files=table.num_rows,
        records=int(pc.sum(table.column("records")).as_py() or 0),
    )
    stored = (pq.read_metadata(io.BytesIO(data)).metadata or {}).get(_KEY)
    if stored is None:
        return entry, None
    origin = _origin(stored, entry)
    return replace(entry, unit=origin.definition.unit), origin


def _origin(stored: bytes, entry: CatalogueEntry) -> Origin:
    body = unpack(stored, entry.path)
    try:
        unit = Unit.parse(body["unit"])
        segments = tuple(map(SegmentEntry.from_json, body["segments"]))
        if any(segment.catalogue != entry.id for segment in segments):
            raise ValueError("it lists a segment of another catalogue")
        definition = IndexDefinition.from_json(body["definition"])
        if unit != definition.unit:
            raise ValueError(f"its unit is {unit}, and its index has {definition.unit}")
        return Origin(definition=definition, segments=segments)
    except IndexFormatError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise corrupt(
            entry.path, f"its description of the index cannot be read ({error})"
        ) from error


def decode_catalogue(
    data: bytes, entry: CatalogueEntry, columns: Sequence[str] | None = None
) -> pa.Table:
    """Check and decode a catalogue, with all its columns by default."""
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise corrupt(entry.path, "its checksum does not match")
    table = _table(data, entry.path, files=entry.files, columns=columns)
    if "path" not in table.column_names:
        return table
    if catalogue_id(table.column("path")) != entry.id:
        raise corrupt(entry.path, "it lists other files than the commit")
    return table


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Join batches into as few as their rows fit in."""
    if len(batches) < 2:
        return batches
    joined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


def _check_types(stored: pa.Schema, path: str) -> None:
    """Refuse columns whose decoded values may be larger than their pages, such as dictionaries."""
    for field in stored:
        expected = CATALOGUE_SCHEMA.field(field.name).type
        if field.type != expected and (expected, field.type) != (pa.string(), pa.large_string()):
            raise corrupt(path, f"its column {field.name} has the unexpected type {field.type}")


def _table(
    data: bytes, path: str, *, files: int | None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Decode a catalogue batch by batch, so that a false size in it costs little memory."""
    most = max(_LEAST_DECODED, _MAX_TIMES * len(data))
    batches: list[pa.RecordBatch] = []
    few: list[pa.RecordBatch] = []
    size = 0
    try:
        stored = pq.ParquetFile(io.BytesIO(data))
        metadata = stored.metadata
        if files is not None and metadata.num_rows != files:
            raise corrupt(path, "it lists other files than the commit")
        if metadata.num_columns > 2 * len(CATALOGUE_SCHEMA.names):
            raise corrupt(path, "it claims a size that its bytes cannot hold")
        claimed = claims(data, metadata)
        if sum(claim.size for claim in claimed.values()) > most:
            raise corrupt(path, "it claims a size that its bytes cannot hold")
        names = list(columns or CATALOGUE_SCHEMA.names)
        if _OPTIONAL not in stored.schema_arrow.names:
            names = [name for name in names if name != _OPTIONAL]
        stored_as = pa.schema([field for field in stored.schema_arrow if field.name in names])
        _check_types(stored_as, path)
        rows = _DECODED_ROWS
        of_paths = claimed.get("path")
        if "path" in names and of_paths is not None and not of_paths.is_plain:
            # each row may repeat a path that is as long as all pages together
            rows = max(1, min(rows, most // max(1, of_paths.size)))
        for batch in stored.iter_batches(rows, columns=names):
            size += batch.nbytes
            if size > most:
                raise corrupt(path, f"its decoded content exceeds {most} bytes")
            few.append(batch)
            if len(few) * rows >= _DECODED_ROWS:
                batches += _joined(few)
                few = []
        batches += _joined(few)
        schema_read = pa.schema([field for field in CATALOGUE_SCHEMA if field.name in names])
        table = pa.Table.from_batches(batches, stored_as).cast(schema_read)
        if _OPTIONAL in names or (columns and _OPTIONAL not in columns):
            return table
        unknown = CATALOGUE_SCHEMA.field(_OPTIONAL)
        return table.append_column(unknown, pa.nulls(len(table), unknown.type))
    except CorruptIndexError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise corrupt(path, f"it cannot be read ({error})") from error
