"""Deletion vectors and Puffin files, read back by other code."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from lakesieve.spark.deletes.vectors import PuffinFile, encode_vector

SHAPES = {
    "one": [7],
    "dense": range(70_000),
    "array and bitmap": [*range(4096), *range(1 << 16, (1 << 16) + 4097)],
    "beyond 32 bits": [0, (1 << 32) - 1, 1 << 32, (5 << 32) + 9],
}


def decoded(blob: bytes) -> list[int]:
    """Positions of a blob, by pyroaring; checks the frame around them."""
    (length,) = struct.unpack(">I", blob[:4])
    (crc,) = struct.unpack(">I", blob[-4:])
    body = blob[4:-4]
    assert (length, crc) == (len(body), zlib.crc32(body))
    assert body[:4] == b"\xd1\xd3\x39\x64"
    return list(BitMap64.deserialize(body[4:]))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape: str) -> None:
    """Each shape of a container is read back by another Roaring library."""
    positions = np.array(SHAPES[shape], np.int64)

    assert decoded(encode_vector(positions)) == positions.tolist()


@given(st.sets(st.integers(0, 1 << 34), min_size=1, max_size=200))
def test_any_positions(positions: set[int]) -> None:
    """Any positions are read back by another Roaring library."""
    ascending = np.array(sorted(positions), np.int64)

    assert decoded(encode_vector(ascending)) == ascending.tolist()


def test_puffin_footer_finds_the_vectors() -> None:
    """The footer of a Puffin file tells where each data file's vector stands."""
    puffin = PuffinFile()
    result = [
        puffin.add(name, np.array(rows, np.int64)) for name, rows in (("ä", [3]), ("b", [1, 2]))
    ]
    data = puffin.finish()
    (length,) = struct.unpack("<i", data[-12:-8])
    footer = json.loads(data[-12 - length : -12])

    assert (data[:4], data[-4:]) == (b"PFA1", b"PFA1")
    assert data[-16 - length : -12 - length] == b"PFA1"
    for blob, (name, rows) in zip(footer["blobs"], (("ä", [3]), ("b", [1, 2])), strict=True):
        found = data[blob["offset"] : blob["offset"] + blob["length"]]
        assert blob["properties"] == {"referenced-data-file": name, "cardinality": str(len(rows))}
        assert decoded(found) == rows
    assert [(b.offset, b.length) for b in result] == [
        (b["offset"], b["length"]) for b in footer["blobs"]
    ]
