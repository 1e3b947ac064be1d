"""Avro files: their size is checked before they are decoded, so that none takes all memory."""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

# Iceberg ends a manifest at 8 MiB, with a hundred thousand files or two
_MAX_DECODED, _MAX_RECORDS = 512 << 20, 4_000_000
_MAGIC, _SYNC = b"Obj\x01", 16
_PIECE = 1 << 20
_DECOMPRESSORS: dict[str, Any] = {
    "deflate": lambda: zlib.decompressobj(-15),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}


def check_decoded(data: bytes, most: int = _MAX_DECODED) -> None:
    """Check that the blocks of an Avro file are not far larger when they are decompressed.

    They are decompressed piece by piece, and none is held.

    Args:
        data: The file.
        most: How many bytes its blocks may have together.

    Raises:
        ValueError: They have more, or the bytes are no Avro file.
    """
    codec, begin = _header(data)
    records = decoded = 0
    for count, block in _blocks(data, begin):
        try:
            decoded += _decoded_size(codec, data[block], most - decoded)
        except (OSError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
            raise ValueError(f"a block of the Avro file is damaged ({error})") from error
        records += count
        # the smallest record of a manifest takes some bytes
        if decoded > most or records > min(decoded, _MAX_RECORDS):
            raise ValueError(f"an Avro file of {len(data)} bytes has far more when it is decoded")


def check_lengths(data: bytes) -> None:
    """Check that the header and the blocks of an Avro file end where the file has bytes.

    Raises:
        ValueError: A length leads behind the end, or the bytes are no Avro file.
    """
    for _ in _blocks(data, _header(data)[1]):
        pass


def _blocks(data: bytes, at: int) -> Iterator[tuple[int, slice]]:
    """How many records each block has, and where it is."""
    while at < len(data):
        count, at = _long(data, at)
        size, at = _long(data, at)
        if size < 0 or count < 0 or at + size > len(data):
            raise ValueError("a block of the Avro file is cut off")
        yield count, slice(at, at + size)
        at += size + _SYNC


def _header(data: bytes) -> tuple[str, int]:
    """The codec of a file, and where its first block begins."""
    if not data.startswith(_MAGIC):
        raise ValueError("it is not an Avro file")
    codec, at = "null", len(_MAGIC)
    while True:
        entries, at = _long(data, at)
        if entries == 0:
            return codec, at + _SYNC
        if entries < 0:
            _, at = _long(data, at)
        for _ in range(min(abs(entries), len(data))):
            name, at = _bytes(data, at)
            value, at = _bytes(data, at)
            if name == b"avro.codec":
                codec = value.decode("ascii")


def _long(data: bytes, at: int) -> tuple[int, int]:
    """A number in Avro's zigzag code, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
    raise ValueError("a number of the Avro file is cut off")


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _long(data, at)
    if length < 0 or at + length > len(data):
        raise ValueError("the header of the Avro file is cut off")
    return data[at : at + length], at + length


def _decoded_size(codec: str, block: bytes, most: int) -> int:
    """Bytes of a block when it is decompressed, counted no further than beyond the limit."""
    if codec == "null":
        return len(block)
    if codec == "snappy":
        # the bytes begin with their own length when they are decompressed
        length = shift = 0
        for byte in block[:5]:
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        return length
    size = 0
    if codec == "zstandard":
        stream = pa.CompressedInputStream(pa.BufferReader(block), "zstd")
        while size <= most and (piece := stream.read(_PIECE)):
            size += len(piece)
        return size
    if codec not in _DECOMPRESSORS:
        raise ValueError(f"the Avro file is compressed with {codec}")
    unpacker, left = _DECOMPRESSORS[codec](), block
    while size <= most and (piece := unpacker.decompress(left, _PIECE)):
        size += len(piece)
        # zlib gives back what it did not take; the others keep it
        left = getattr(unpacker, "unconsumed_tail", b"")
        if unpacker.eof:
            break
    return size
