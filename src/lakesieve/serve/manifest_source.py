"""Manifests and manifest lists, read within bounds: whoever wrote them is not trusted."""

from __future__ import annotations

import bz2
import json
import os
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any, Self

import fastavro
from pyiceberg.avro.codecs import AVRO_CODEC_KEY
from pyiceberg.avro.decoder import new_decoder
from pyiceberg.avro.file import AvroFile, Block

from lakesieve.errors import ErrorKind, LakesieveError, StorageError, UnsupportedError
from lakesieve.serve.limits import PlanLimits, RequestWork
from lakesieve.tables.avro import check_lengths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from enum import Enum

    import pyarrow as pa
    from pyiceberg.io import FileIO
    from pyiceberg.schema import Schema

    from lakesieve.serve.bounds import TableBounds

_PART = 1 << 16
_CHECKED = 1000
_VARINT = 7


class ManifestSource:
    """Reads the manifests of one table for one request.

    Args:
        io: Reads files.
        bounds: The folder in which the table's files must lie, if not every path is trusted.
        limits: The largest manifests that are read.
        work: Says when the records are no longer wanted.
    """

    def __init__(
        self,
        io: FileIO,
        *,
        bounds: TableBounds | None = None,
        limits: PlanLimits | None = None,
        work: RequestWork | None = None,
    ) -> None:
        self._io = io
        self._bounds = bounds
        self._limits = limits or PlanLimits()
        self._work = work or RequestWork()

    def records(
        self, path: str, schema: Schema, *, types: Mapping[int, Any], enums: Mapping[int, Any]
    ) -> Iterator[Any]:
        """The records of an Avro file.

        Raises:
            StorageError: It cannot be read, or the records are no longer wanted.
            UnsupportedError: It lies outside the table, or is larger than a manifest may be.
        """
        self._work.check()
        if self._bounds is not None:
            self._bounds.check_metadata([path])
        try:
            data = self._bytes(path)
            limits = self._limits
            decoded = max(limits.small_decoded, limits.expansion * len(data))
            budget = _Budget(path, min(limits.decoded, decoded))
            with _BoundedAvro(data, schema, types, enums, budget) as reader:
                for number, record in enumerate(reader, 1):
                    if number > limits.entries:
                        raise _too_large(path, f"more than {limits.entries} entries")
                    if number % _CHECKED == 0:
                        self._work.check()
                    yield record
        except LakesieveError:
            raise
        except Exception as error:
            # what an error of the storage or of a decoder says may hold settings or content
            raise StorageError(
                f"{path} cannot be read: {type(error).__name__}.",
                kind=ErrorKind.STORAGE_FAILED,
                hint="If its snapshot has expired, load the table again; else check the storage.",
                public_message=f"{path} cannot be read.",
            ) from error

    def check_data(self, paths: pa.Array) -> None:
        """Check that data files or delete files lie where those of the table may.

        Raises:
            UnsupportedError: One lies elsewhere.
        """
        if self._bounds is not None:
            self._bounds.check_data(paths)

    def _bytes(self, path: str) -> bytes:
        with self._io.new_input(path).open() as stream:
            stream.seek(0, os.SEEK_END)
            if stream.tell() > self._limits.manifest:
                raise _too_large(path, f"more than {self._limits.manifest} bytes")
            stream.seek(0, os.SEEK_SET)
            return stream.read()


def _too_large(path: str, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"This server does not plan scans of the table: {path} has {why}.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Rewrite the table's manifests, or let the client plan (scan-planning-mode=client).",
    )


class _Budget:
    """The decompressed bytes that one file may still take."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._size = size
        self.left = size

    def take(self, size: int) -> None:
        """Count some bytes."""
        self.left -= size
        if self.left < 0:
            raise _too_large(self._path, f"more than {self._size} bytes when it is decompressed")


class _EndOfFileError(EOFError):
    """The file ends behind a whole block."""


class _Input:
    """A file that has been read already, as PyIceberg opens it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def open(self, seekable: bool = True) -> BytesIO:
        """The bytes."""
        del seekable
        return BytesIO(self._data)


class _BoundedAvro(AvroFile[Any]):
    """An Avro file whose blocks are decompressed as far as a budget goes."""

    __slots__ = ("_budget", "_size", "_written")

    def __init__(
        self,
        data: bytes,
        schema: Schema,
        types: Mapping[int, Any],
        enums: Mapping[int, type[Enum]],
        budget: _Budget,
    ) -> None:
        # PyIceberg's decoder does not look where its memory ends
        check_lengths(data)
        given: Any = (_Input(data), schema, dict(types), dict(enums))
        super().__init__(*given)
        self._budget = budget
        self._size = len(data)

    def __enter__(self) -> Self:
        super().__enter__()
        # an array of items without bytes would be skipped for ever
        if not _is_finite(json.loads(self.header.meta["avro.schema"])):
            raise ValueError("an Avro schema has items of no bytes")
        written = json.loads(self.header.meta["avro.schema"], object_hook=_without_logical_type)
        self._written = fastavro.parse_schema(written)
        return self

    def _read_block(self) -> int:
        try:
            records = 0
            while records == 0:
                records = self._read_next()
        except _EndOfFileError:
            raise
        except EOFError as error:
            # PyIceberg would take it for the end of the file
            raise ValueError("a block is not whole") from error
        if records < 0:
            raise ValueError("a block has less than no records")
        return records

    def _read_next(self) -> int:
        if self.block and self.decoder.read(len(self.header.sync)) != self.header.sync:
            raise ValueError("a block does not end with the file's mark")
        if self.decoder.tell() == self._size:
            raise _EndOfFileError
        records = self.decoder.read_int()
        codec = self.header.meta.get(AVRO_CODEC_KEY, "null")
        data = _decompressed(codec, self.decoder.read_bytes(), self._budget, self.header)
        self._check_lengths(records, data)
        self.block = Block(
            reader=self.reader, block_records=records, block_decoder=new_decoder(data)
        )
        return records

    def _check_lengths(self, records: int, data: bytes) -> None:
        """Check that the records of a block are where it has bytes, with a decoder that looks."""
        stream = BytesIO(data)
        if records > len(data):
            raise ValueError("a block has more records than bytes")
        for _ in range(records):
            fastavro.schemaless_reader(stream, self._written)


def _without_logical_type(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without logical types, so that dates and decimals are read as stored."""
    return {name: value for name, value in schema.items() if name != "logicalType"}


def _decompressed(codec: str, data: bytes, budget: _Budget, header: Any) -> bytes:
    """A block, decompressed as far as the budget goes."""
    if codec == "null":
        whole = data
    elif codec in {"deflate", "bzip2"}:
        raw = codec == "deflate"
        reader: Any = zlib.decompressobj(-zlib.MAX_WBITS) if raw else bz2.BZ2Decompressor()
        whole = reader.decompress(data, budget.left + 1)
        if not reader.eof and len(whole) <= budget.left:
            raise ValueError("a compressed block is not whole")
    elif codec == "zstandard":
        whole = _of_zstandard(data, budget.left + 1)
    else:
        # Snappy says in front how long the result is; PyIceberg knows no other codec
        if _snappy_length(data) > budget.left:
            budget.take(budget.left + 1)
        whole = header.compression_codec().decompress(data)
    budget.take(len(whole))
    return whole


def _of_zstandard(data: bytes, most: int) -> bytes:
    from zstandard import ZstdDecompressor

    parts = bytearray()
    with ZstdDecompressor().stream_reader(BytesIO(data)) as reader:
        while len(parts) < most and (part := reader.read(min(_PART, most - len(parts)))):
            parts += part
    return bytes(parts)


def _snappy_length(data: bytes) -> int:
    length = 0
    for at, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << (_VARINT * at)
        if byte < 0x80:
            break
    return length


def _is_finite(schema: Any) -> bool:
    """Whether every item of an array or map in a schema takes at least one byte."""
    if isinstance(schema, list):
        return all(map(_is_finite, schema))
    if not isinstance(schema, dict):
        return True
    items = [schema[name] for name in ("items", "values") if name in schema]
    fields = [field.get("type") for field in schema.get("fields") or ()]
    inner = schema.get("type")
    others = [inner] if isinstance(inner, dict | list) else []
    return all(map(_takes_bytes, items)) and all(map(_is_finite, [*items, *fields, *others]))


def _takes_bytes(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return bool(schema != "null")
    kind = schema.get("type")
    if kind == "record":
        return any(_takes_bytes(field.get("type")) for field in schema.get("fields") or ())
    if kind == "fixed":
        return bool(schema.get("size", 0) > 0)
    return _takes_bytes(kind)
