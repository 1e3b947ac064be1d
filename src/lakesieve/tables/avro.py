"""Read Avro files from storage: decompress them within a limit, then decode them with fastavro.

A small file can decompress to more than memory holds, and a schema can describe records without any
bytes. Therefore this module decompresses the blocks itself, and gives fastavro the same file
without compression.
"""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

# Iceberg ends a manifest at 8 MiB, which holds one or two hundred thousand files
_MAX_DECODED, _MAX_RECORDS = 512 << 20, 4_000_000
_MAX_DICTIONARY = 256 << 20
_MAGIC, _SYNC = b"Obj\x01", 16
_PIECE = 1 << 20
_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "deflate": lambda: zlib.decompressobj(-15),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(memlimit=_MAX_DICTIONARY),
}
_PRIMITIVES = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}


class AvroTooLargeError(ValueError):
    """Raised for an Avro file with too many decompressed bytes or records."""


def check_decoded(data: bytes, most: int = _MAX_DECODED) -> None:
    """Check that an Avro file's blocks are complete and not too large when decompressed.

    Raises:
        ValueError: A block is incomplete or too large, or the bytes are not an Avro file.
    """
    for _ in _decompressed(data, most):
        pass


def avro_records(
    data: bytes,
    fields: Mapping[str, Collection[str] | None] | None = None,
    most: int = _MAX_DECODED,
) -> Iterator[dict[str, Any]]:
    """Decode the records of an Avro file. Dates and times become numbers.

    Args:
        data: The file.
        fields: The wanted fields, and for each record among them its wanted fields; by default all.
            Statistics take most of the decoding time.
        most: Largest number of bytes of all decompressed blocks.

    Raises:
        AvroTooLargeError: The blocks are larger.
        ValueError: The file is damaged. fastavro may also raise ``EOFError`` and other errors.
    """
    import fastavro

    meta, start = _header(data)
    schema = json.loads(meta["avro.schema"], object_hook=_without_times)
    named: dict[str, Any] = {}
    if not all(_takes_bytes(item, named) for item in list(_items(schema, named))):
        raise ValueError("an Avro schema has items without any bytes")
    plain = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}
    pairs = [_number(len(part)) + part for kv in plain.items() for part in (kv[0].encode(), kv[1])]
    sync = data[start - _SYNC : start]
    parts = [_MAGIC, _number(len(plain)), *pairs, _number(0), sync]
    for count, block in _decompressed(data, most):
        parts += [_number(count), _number(len(block)), block, sync]
    reader_schema = None if fields is None else _chosen(schema, fields)
    records: Iterator[Any] = fastavro.reader(BytesIO(b"".join(parts)), reader_schema)
    return records


def _without_times(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with numbers as dates and times.

    Python has neither all years nor nanoseconds.
    """
    if schema.get("logicalType") in {None, "decimal"}:
        return schema
    return {name: value for name, value in schema.items() if name != "logicalType"}


def _chosen(schema: Any, fields: Mapping[str, Collection[str] | None]) -> dict[str, Any]:
    """Return a record schema with only the wanted fields."""
    chosen = []
    for field in schema["fields"]:
        inner = fields.get(field["name"])
        if inner is not None:
            wanted_fields = [one for one in field["type"]["fields"] if one["name"] in inner]
            chosen.append(field | {"type": field["type"] | {"fields": wanted_fields}})
        elif field["name"] in fields:
            chosen.append(field)
    return {**schema, "fields": chosen}


def _decompressed(data: bytes, most: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number of records and the decompressed bytes of each block."""
    meta, at = _header(data)
    codec, sync = meta.get("avro.codec", b"null").decode("ascii"), data[at - _SYNC : at]
    records = decoded = 0
    while at < len(data):
        count, at = _long(data, at)
        size, at = _long(data, at)
        if size < 0 or count < 0 or data[at + size : at + size + _SYNC] != sync:
            raise ValueError("a block of the Avro file is incomplete")
        try:
            block = _block(codec, data[at : at + size], most - decoded)
        except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
            raise ValueError(f"a block of the Avro file is damaged ({error})") from error
        decoded += len(block)
        records += count
        if decoded > most or records > _MAX_RECORDS or count > len(block):
            raise AvroTooLargeError(
                f"an Avro file of {len(data)} bytes exceeds the limit when it is decompressed"
            )
        yield count, block
        at += size + _SYNC


def _block(codec: str, block: bytes, most: int) -> bytes:
    """Decompress a block, to at most one byte more than the limit."""
    if codec == "null":
        return block
    if codec == "snappy":
        length, _ = _varint(block, 0)
        if length > most:
            return bytes(most + 1)
        whole: bytes = pa.Codec("snappy").decompress(block[:-4], length, asbytes=True)
        if zlib.crc32(whole).to_bytes(4, "big") != block[-4:]:
            raise ValueError("the checksum of a block of the Avro file does not match")
        return whole
    if codec == "zstandard":
        stream = pa.CompressedInputStream(pa.BufferReader(block), "zstd")
        pieces, rest = bytearray(), most + 1
        while rest > 0 and (piece := stream.read(min(_PIECE, rest))):
            pieces += piece
            rest -= len(piece)
        return bytes(pieces)
    if codec not in _DECOMPRESSORS:
        raise ValueError(f"the Avro file is compressed with {codec}, which is not supported")
    unpacker = _DECOMPRESSORS[codec]()
    whole = unpacker.decompress(block, most + 1)
    if not unpacker.eof and len(whole) <= most:
        raise ValueError("a block of the Avro file is incomplete")
    return whole


def _header(data: bytes) -> tuple[dict[str, bytes], int]:
    """Return a file's metadata, and the position of its first block, after the sync marker."""
    if not data.startswith(_MAGIC):
        raise ValueError("it is not an Avro file")
    meta, at = {}, len(_MAGIC)
    while True:
        entries, at = _long(data, at)
        if entries == 0:
            break
        if entries < 0:
            _, at = _long(data, at)
        for _ in range(min(abs(entries), len(data))):
            name, at = _bytes(data, at)
            meta[name.decode("utf-8")], at = _bytes(data, at)
    if at + _SYNC > len(data):
        raise ValueError("the header of the Avro file is incomplete")
    return meta, at + _SYNC


def _long(data: bytes, at: int) -> tuple[int, int]:
    """Read a number in Avro's zigzag code. Return it and the position after it."""
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise ValueError("a number in the Avro file is incomplete")


def _number(value: int) -> bytes:
    """Encode a non-negative number in Avro's zigzag code."""
    value <<= 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _long(data, at)
    if length < 0 or at + length > len(data):
        raise ValueError("the header of the Avro file is incomplete")
    return data[at : at + length], at + length


def _items(schema: Any, named: dict[str, Any]) -> Iterator[Any]:
    """Yield the item schemas of all arrays and maps, and collect the named types in ``named``."""
    if isinstance(schema, list):
        for one in schema:
            yield from _items(one, named)
    if not isinstance(schema, dict):
        return
    if "name" in schema and schema.get("type") in {"record", "fixed"}:
        named[schema["name"]] = schema
    items = [schema[name] for name in ("items", "values") if name in schema]
    yield from items
    fields = [field.get("type") for field in schema.get("fields") or ()]
    for inner in (*items, *fields, schema.get("type")):
        yield from _items(inner, named)


def _takes_bytes(schema: Any, named: Mapping[str, Any]) -> bool:
    """Return whether each value of a schema takes at least one byte."""
    if isinstance(schema, str) and schema not in _PRIMITIVES:
        # a name with another namespace than expected is not trusted
        schema = named.get(schema.rpartition(".")[2], named.get(schema, schema))
    if not isinstance(schema, dict):
        return bool(schema != "null")
    kind = schema.get("type")
    if kind == "record":
        return any(_takes_bytes(field.get("type"), named) for field in schema.get("fields") or ())
    if kind == "fixed":
        return bool(schema.get("size", 0) > 0)
    return _takes_bytes(kind, named)
