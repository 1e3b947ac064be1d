"""File catalogues: what was written is read back, what was harmed is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.errors import CorruptIndexError
from lakesieve.format import CATALOGUE_SCHEMA, decode_catalogue, encode_catalogue

paths = st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=20, unique=True)


def _catalogue(files: list[str]) -> pa.Table:
    count = len(files)
    columns = {
        "path": files,
        "size": range(count),
        "records": range(100, 100 + count),
        "has_null": [at % 2 == 0 for at in range(count)],
        "has_value": [at % 3 == 0 for at in range(count)],
    }
    return pa.table({name: list(told) for name, told in columns.items()}, CATALOGUE_SCHEMA)


@given(paths)
def test_catalogues_are_read_back(files: list[str]) -> None:
    """Any names of data files, their sizes and flags survive the way to bytes and back."""
    table = _catalogue(files)

    data, entry = encode_catalogue(table)

    assert decode_catalogue(data, entry).equals(table)
    assert (entry.files, entry.size) == (len(files), len(data))


def test_any_bit_that_flips_is_refused() -> None:
    """No byte of a catalogue can change and be read: a flag that is wrong would skip a file."""
    data, entry = encode_catalogue(_catalogue(["a", "b/c", "d"]))
    for place in range(len(data)):
        harmed = bytearray(data)
        harmed[place] ^= 1
        with pytest.raises(CorruptIndexError):
            decode_catalogue(bytes(harmed), entry)


def test_the_catalogue_of_other_files_is_refused() -> None:
    """A catalogue that is well formed, but not the one asked for, is not taken for it."""
    data, entry = encode_catalogue(_catalogue(["a", "b"]))
    other, _ = encode_catalogue(_catalogue(["a", "c"]))

    assert len(other) == len(data)
    with pytest.raises(CorruptIndexError):
        decode_catalogue(other, entry)
