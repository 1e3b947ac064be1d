"""Avro files that are damaged or forged: an error, never fewer records or a process that ends."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib

import pytest

from lakesieve.errors import LakesieveError
from lakesieve.tables.iceberg.manifest_cache import ManifestCache
from lakesieve.tables.iceberg.table_manifests import ManifestSource, TableManifests

SYNC = b"0123456789abcdef"
FIELD = {"name": "manifest_path", "type": "string", "field-id": 500}


def _long(number: int) -> bytes:
    left = ((number << 1) ^ (number >> 63)) & ((1 << 64) - 1)
    found = b""
    while left > 127:
        found += bytes([left & 127 | 128])
        left >>= 7
    return found + bytes([left])


def _text(data: bytes) -> bytes:
    return _long(len(data)) + data


def _header(*before: dict[str, object]) -> bytes:
    schema = json.dumps({"type": "record", "name": "r", "fields": [*before, FIELD]}).encode()
    codec = _text(b"avro.schema") + _text(schema) + _text(b"avro.codec") + _text(b"deflate")
    return b"Obj\x01" + _long(2) + codec + _long(0) + SYNC


def _block(records: int, content: bytes, *, cut: int = 0) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(content) + packer.flush()
    return _long(records) + _text(packed[: len(packed) - cut]) + SYNC


def _count(data: bytes) -> int:
    source = ManifestSource(read=lambda _: data, owner=lambda _: ())
    return len(TableManifests(source, ManifestCache.of(1 << 20)).listed("x"))


TEN = _text(b"abc") * 10


def test_a_block_that_is_cut_short() -> None:
    """Records behind it are not lost without an error."""
    assert _count(_header() + _block(10, TEN) * 3) == 30
    assert _count(_header() + _block(10, TEN) + _block(0, b"") + _block(10, TEN)) == 20
    with pytest.raises(LakesieveError):
        _count(_header() + _block(10, TEN) + _block(10, TEN, cut=3) + _block(10, TEN))


def test_a_file_that_is_cut_short() -> None:
    """A file that ends inside a block is an error; one that ends after a block is not."""
    whole = _header() + _block(10, TEN) * 3
    ends = {len(_header()) + len(_block(10, TEN)) * blocks: blocks * 10 for blocks in range(4)}
    # the first mark is part of the header, the others are read with the next block
    for end in range(len(_header()), len(whole)):
        if end in ends:
            assert _count(whole[:end]) == ends[end]
        elif end + len(SYNC) in ends:
            continue
        else:
            with pytest.raises(LakesieveError):
                _count(whole[:end])


def _forged(length: int) -> bytes:
    before = {"name": "x", "type": "string", "field-id": 900}
    return _header(before) + _block(1, _long(length) + b"aaaa")


@pytest.mark.parametrize("length", [-100_000_000, -73, -1, 100_000_000])
def test_a_forged_length_of_a_value_that_is_skipped(length: int) -> None:
    """The process goes on: in another one, which a signal would end alone."""
    program = (
        "import sys\n"
        "from tests.serve.test_damaged_manifests import _count, _forged\n"
        "from lakesieve.errors import LakesieveError\n"
        "try:\n    _count(_forged(int(sys.argv[1])))\n"
        "except LakesieveError:\n    sys.exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(length)], check=False)
    assert done.returncode == 7
