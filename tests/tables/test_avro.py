"""Avro files that would decompress to far too much are refused before they are decoded."""

from __future__ import annotations

import bz2
import lzma
import tracemalloc
import zlib
from io import BytesIO
from typing import TYPE_CHECKING

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.errors import UnsupportedError
from lakesieve.storage import StorageOptions
from lakesieve.tables.avro import avro_records, check_decoded
from lakesieve.tables.iceberg.manifests import data_files

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "manifest_path", "type": "string"}]}
CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")


def _number(value: int) -> bytes:
    value = value << 1
    data = b""
    while value >= 0x80:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def _packed(codec: str, data: bytes) -> bytes:
    if codec == "deflate":
        return zlib.compress(data)[2:-4]
    if codec in {"bzip2", "xz"}:
        return bz2.compress(data) if codec == "bzip2" else lzma.compress(data)
    if codec == "null":
        return data
    packed: bytes = pa.Codec({"zstandard": "zstd"}.get(codec, codec)).compress(data, asbytes=True)
    # of four bytes more, with a checksum
    return packed + zlib.crc32(data).to_bytes(4, "big") if codec == "snappy" else packed


def _file(codec: str, data: bytes, count: int) -> bytes:
    """Return an Avro file of one block."""
    sink = BytesIO()
    fastavro.writer(sink, SCHEMA, [])
    head = sink.getvalue().replace(b"\x08null", _number(len(codec)) + codec.encode())
    block = _packed(codec, data)
    return head + _number(count) + _number(len(block)) + block + head[-16:]


@pytest.mark.parametrize("codec", CODECS)
def test_what_fits_is_read(codec: str) -> None:
    """Files of every codec are accepted up to the limit, and decoded as fastavro does."""
    data = _number(3) + b"abc"
    file = _file(codec, data * 1000, 1000)

    check_decoded(file, most=4000)
    if codec in {"null", "deflate", "bzip2", "xz"}:
        assert len(list(fastavro.reader(BytesIO(file)))) == 1000
    with pytest.raises(ValueError, match="exceeds the limit"):
        check_decoded(file, most=3999)


def test_a_small_manifest_list_does_not_take_all_memory(tmp_path: Path) -> None:
    """A list of a few kilobytes that contains hundreds of megabytes is refused by name."""
    path = tmp_path / "snap-1.avro"
    path.write_bytes(_file("zstandard", bytes(600 << 20), 1))

    with pytest.raises(UnsupportedError, match=r"snap-1.avro is not read: it has more than"):
        data_files([{"manifest-list": str(path)}], StorageOptions(conf={}), "t")


@pytest.mark.parametrize("codec", CODECS[1:])
def test_what_does_not_fit_is_not_decompressed(codec: str) -> None:
    """Of a block that is too large, not much more than the limit is decompressed."""
    file = _file(codec, bytes(64 << 20), 1)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="exceeds the limit"):
            check_decoded(file, most=1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", [1000, 1 << 40])
def test_records_without_bytes_are_refused(count: int) -> None:
    """A file with more records than bytes is refused."""
    with pytest.raises(ValueError, match="exceeds the limit"):
        check_decoded(_file("null", b"", count))


def test_items_without_bytes_are_refused() -> None:
    """A list can claim any number of items that take no bytes."""
    schema = {"type": "array", "items": "null"}
    record = {"type": "record", "name": "r", "fields": [{"name": "many", "type": schema}]}
    sink = BytesIO()
    fastavro.writer(sink, record, [{"many": [None]}])

    with pytest.raises(ValueError, match="items without any bytes"):
        list(avro_records(sink.getvalue()))


@given(st.binary(max_size=200), st.integers(0, 60))
def test_damage_is_an_error_of_the_value(garbage: bytes, kept: int) -> None:
    """Any bytes are either accepted or refused with one kind of error."""
    file = _file("deflate", b"abc" * 10, 10)
    for data in (garbage, b"Obj\x01" + garbage, file[: len(file) - kept] + garbage):
        try:
            check_decoded(data)
        except ValueError:
            continue
