"""Segments: what was written is read back, what was harmed is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.errors import CorruptIndexError, ErrorKind, IndexFormatError, LakesieveError
from lakesieve.format import (
    SegmentEntry,
    decode_footer,
    decode_row_group,
    encode_segment,
)
from lakesieve.format import segment as segment_module

UNITS = 40
codes = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)
texts = st.binary(max_size=6)
sets = st.sets(st.integers(0, UNITS - 1), max_size=6)


def _arrays(blocks: dict[int | bytes, set[int]], kind: pa.DataType):
    keys = sorted(blocks)
    ordered = [sorted(blocks[key]) for key in keys]
    offsets = np.cumsum([0, *map(len, ordered)]).astype(np.int64)
    ordinals = np.array([unit for units in ordered for unit in units], np.int32)
    return pa.array(keys, kind), offsets, ordinals


def _encode(blocks: dict[int | bytes, set[int]], kind: pa.DataType, group: int = 3):
    keys, offsets, ordinals = _arrays(blocks, kind)
    return encode_segment(
        keys,
        offsets,
        ordinals,
        max_key=keys[-1].as_py(),
        key_count=len(keys),
        pair_count=len(ordinals),
        unit_count=UNITS,
        row_group_blocks=group,
    )


def _decode(data: bytes, entry: SegmentEntry) -> dict[int | bytes, set[int]]:
    footer = decode_footer(data[len(data) - entry.footer_length :], entry)
    found: dict[int | bytes, set[int]] = {}
    for number, group in enumerate(footer.groups):
        part = data[group.start : group.start + group.length]
        keys, offsets, ordinals = decode_row_group(footer, number, part)
        for at, key in enumerate(keys.to_pylist()):
            found[key] = set(ordinals[offsets[at] : offsets[at + 1]].tolist())
    return found


@given(st.dictionaries(codes, sets, min_size=1, max_size=20))
def test_integer_segments_are_read_back(blocks) -> None:
    """Any integer blocks, empty sets among them, survive the way to bytes and back."""
    assert _decode(*_encode(blocks, pa.int64())) == blocks


@given(st.dictionaries(texts, sets, min_size=1, max_size=20))
def test_byte_segments_are_read_back(blocks) -> None:
    """Any byte-string blocks survive the way to bytes and back."""
    assert _decode(*_encode(blocks, pa.binary())) == blocks


@given(
    st.dictionaries(codes, sets, min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1),
)
def test_flipped_bytes_are_refused(blocks, flips) -> None:
    """Wherever bytes flip, reading ends in a typed error or in the right blocks."""
    data, entry = _encode(blocks, pa.int64())
    harmed = bytearray(data)
    for place, flip in flips:
        harmed[int(place * len(harmed))] ^= flip

    _unharmed_or_refused(bytes(harmed), entry, blocks)


@given(st.dictionaries(texts, sets, min_size=1, max_size=12), st.floats(0, 1, exclude_max=True))
def test_truncated_bytes_are_refused(blocks, place) -> None:
    """Wherever a segment ends too early, reading ends in a typed error."""
    data, entry = _encode(blocks, pa.binary())

    with pytest.raises(LakesieveError):
        _decode(data[: int(place * len(data))], entry)


def _unharmed_or_refused(data: bytes, entry: SegmentEntry, blocks) -> None:
    try:
        found = _decode(data, entry)
    except CorruptIndexError:
        return
    assert found == blocks


@given(
    st.dictionaries(codes, sets, min_size=1, max_size=12),
    st.sampled_from(["size", "footer_length", "blocks", "row_groups"]),
    st.integers(-3, 1000),
)
def test_lying_entries_are_refused(blocks, field, wrong) -> None:
    """An entry whose counts are not the segment's is never believed."""
    data, entry = _encode(blocks, pa.int64())
    if wrong in {getattr(entry, field), 0} or wrong < 0:
        return
    lying = dataclasses.replace(entry, **{field: wrong})

    _unharmed_or_refused(data, lying, blocks)


@pytest.mark.parametrize(
    ("keys", "offsets", "ordinals"),
    [
        ([2, 1], [0, 1, 2], [0, 1]),
        ([1, 1], [0, 1, 2], [0, 1]),
        ([1, 2], [0, 2, 3], [3, 1, 0]),
        ([1, 2], [0, 2, 3], [1, 1, 0]),
        ([1, 2], [0, 1, 2], [0, UNITS]),
        ([1, 2], [0, 1, 2], [0, 2**31 - 1]),
    ],
)
def test_blocks_out_of_order_are_refused(keys, offsets, ordinals) -> None:
    """A writer's mistake with a right checksum is still found when it is read."""
    data, entry = encode_segment(
        pa.array(keys, pa.int64()),
        np.array(offsets, np.int64),
        np.array(ordinals, np.int32),
        max_key=max(keys),
        key_count=2,
        pair_count=len(ordinals),
        unit_count=UNITS,
    )

    with pytest.raises(CorruptIndexError):
        _decode(data, entry)


def test_a_later_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment of a later version is told from a damaged one."""
    monkeypatch.setattr(segment_module, "FORMAT_VERSION", 2)
    data, entry = _encode({1: {2}}, pa.int64())

    with pytest.raises(IndexFormatError, match="Upgrade") as caught:
        _decode(data, entry)
    assert caught.value.kind is ErrorKind.TOO_NEW


def test_entries_are_read_back() -> None:
    """A segment's entry survives the way to JSON and back, for numbers and for bytes."""
    for blocks, kind in (({1: {2}}, pa.int64()), ({b"\xff\x00": {2}}, pa.binary())):
        _, entry = _encode(blocks, kind)
        assert SegmentEntry.from_json(entry.to_json()) == entry


def test_sorted_data_costs_next_to_nothing() -> None:
    """A hundred thousand blocks of a regular layout take a few bits each."""
    keys = pa.array(np.arange(100_000) * 7)
    ordinals = (np.arange(100_000) % 40).astype(np.int32)
    data, _ = encode_segment(
        keys,
        np.arange(100_001),
        ordinals,
        max_key=700_000,
        key_count=100_000,
        pair_count=100_000,
        unit_count=UNITS,
        row_group_blocks=8192,
    )

    assert 8 * len(data) / 100_000 < 4
