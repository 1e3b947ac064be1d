"""The file catalogue: which data file an ordinal names."""

from __future__ import annotations

import hashlib
import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.format.documents import corrupt
from lakesieve.format.entries import CatalogueEntry

__all__ = ["CATALOGUE_SCHEMA", "decode_catalogue", "encode_catalogue"]

CATALOGUE_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("has_null", pa.bool_(), nullable=False),
        pa.field("has_value", pa.bool_(), nullable=False),
    ]
)


def encode_catalogue(files: pa.Table) -> tuple[bytes, CatalogueEntry]:
    """Write a catalogue; row ``i`` is the file of ordinal ``i``.

    Args:
        files: As ``CATALOGUE_SCHEMA``; paths are unique.
    """
    sink = io.BytesIO()
    table = pa.Table.from_arrays(
        [files.column(name).combine_chunks() for name in CATALOGUE_SCHEMA.names],
        schema=CATALOGUE_SCHEMA,
    )
    pq.write_table(
        table,
        sink,
        compression="zstd",
        use_dictionary=False,
        column_encoding={"path": "DELTA_BYTE_ARRAY"},
        write_statistics=False,
        store_schema=False,
    )
    data = sink.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    return data, CatalogueEntry(
        id=digest[:40],
        path=f"files/{digest[:40]}.parquet",
        size=len(data),
        sha256=digest,
        files=table.num_rows,
        records=int(pc.sum(table.column("records")).as_py() or 0),
    )


def decode_catalogue(data: bytes, entry: CatalogueEntry) -> pa.Table:
    """Check and read a catalogue.

    Raises:
        CorruptIndexError: The bytes are not those that were written.
    """
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise corrupt(entry.path, "it fails the checksum")
    try:
        table = pq.read_table(io.BytesIO(data)).cast(CATALOGUE_SCHEMA)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise corrupt(entry.path, f"it cannot be read ({error})") from error
    if table.num_rows != entry.files:
        raise corrupt(entry.path, "it holds another number of files")
    return table
