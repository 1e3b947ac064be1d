"""Segments are read back unchanged, and damaged ones are refused."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.kit.strategies import key_sets
from tests.kit.twins import block_sets

from lakesieve.errors import CorruptIndexError, ErrorKind, IndexFormatError, LakesieveError
from lakesieve.format import (
    SegmentEntry,
    decode_footer,
    decode_row_group,
    encode_segment,
)
from lakesieve.format import segment as segment_module
from lakesieve.sieve import Blocks, blocks_of_pairs, build_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable

Sets = dict[Any, set[int]]
"""Units by key code."""

UNITS = 40
codes = (
    st.integers(-(2**63), 2**63 - 1)
    | st.integers(-5, 5)
    | st.integers(-9, 9).map(lambda n: n << 50)
)
texts = st.binary(max_size=6) | st.sampled_from([b"", b"\xff", b"\xff\xff", b"a" * 3000])
sets = st.sets(st.integers(0, UNITS - 1), max_size=6) | st.just(set(range(0, UNITS, 2)))
flips = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1)


def _blocks(content: dict[Any, set[int]], **changes: Any) -> Blocks:
    keys = sorted(content)
    ordered = [sorted(content[key]) for key in keys]
    made = {
        "keys": pa.array(keys, pa.binary() if isinstance(keys[0], bytes) else pa.int64()),
        "offsets": np.cumsum([0, *map(len, ordered)]).astype(np.int64),
        "ordinals": np.array([unit for units in ordered for unit in units], np.int32),
        "max_key": keys[-1],
        "bounds": (keys[0], keys[-1]),
        "key_count": len(keys),
        "pair_count": sum(map(len, ordered)),
    }
    return Blocks(**(made | changes))


def _encode(content: dict[Any, set[int]], group: int = 3) -> tuple[bytes, SegmentEntry]:
    return encode_segment(_blocks(content), unit_count=UNITS, group_blocks=group)


def _decode(data: bytes, entry: SegmentEntry) -> dict[Any, set[int]]:
    footer = decode_footer(data[max(len(data) - entry.footer_length, 0) :], entry)
    found: dict[Any, set[int]] = {}
    for number, group in enumerate(footer.groups):
        piece = data[group.start : group.start + group.length]
        for key, units in block_sets(decode_row_group(footer, number, piece)):
            found[key] = set(units)
    return found


@given(st.dictionaries(codes, sets, min_size=1, max_size=20))
def test_integer_segments_are_read_back(blocks: Sets) -> None:
    """Any integer blocks, empty sets among them, survive the way to bytes and back."""
    assert _decode(*_encode(blocks)) == blocks


@given(st.dictionaries(texts, sets, min_size=1, max_size=20))
def test_byte_segments_are_read_back(blocks: Sets) -> None:
    """Any byte-string blocks survive the way to bytes and back."""
    assert _decode(*_encode(blocks)) == blocks


returning = st.sampled_from([{1}, {1}, {1}, {2}, {2, 7}, {39}, {5, 38, 39}, {30, 39}, set()])


@given(st.dictionaries(codes | st.integers(0, 200), returning, min_size=1, max_size=150))
def test_files_that_come_back_are_read_back(blocks: Sets) -> None:
    """Sets that repeat earlier sets are read back, between gaps of all widths."""
    for group in (7, 1000):
        assert _decode(*_encode(blocks, group)) == blocks


@pytest.mark.parametrize("physical", ["int64", "bytes"])
@given(data=st.data())
def test_built_blocks_are_read_back(physical: str, data: st.DataObject) -> None:
    """Blocks with cut separators, gaps and text codes are read back unchanged."""
    content = data.draw(key_sets(physical, min_size=1))
    keys = pa.array(sorted(content), pa.int64() if physical == "int64" else pa.binary())
    ordered = [sorted(content[key]) for key in keys.to_pylist()]
    lengths = [len(units) for units in ordered]
    pairs = keys.take(pa.array(np.repeat(np.arange(len(keys)), lengths)))
    built = build_blocks(pairs, np.array([unit for units in ordered for unit in units], np.int32))
    stored, entry = encode_segment(built, unit_count=2**31 - 1 + 1, group_blocks=7)
    footer = decode_footer(stored[len(stored) - entry.footer_length :], entry)
    found = []
    for number, group in enumerate(footer.groups):
        piece = stored[group.start : group.start + group.length]
        blocks = decode_row_group(footer, number, piece)
        assert blocks.text == built.text
        found += block_sets(blocks)

    assert found == block_sets(built)
    assert footer.max_key == built.max_key


@given(st.dictionaries(codes, sets, min_size=1, max_size=12), flips)
def test_flipped_bytes_are_refused(blocks: Sets, flips: list[tuple[float, int]]) -> None:
    """Wherever bytes flip, reading ends in a typed error or in the right blocks."""
    data, entry = _encode(blocks)
    harmed = bytearray(data)
    for position, flip in flips:
        harmed[int(position * len(harmed))] ^= flip

    _unharmed_or_refused(bytes(harmed), entry, blocks)


@pytest.mark.parametrize("keys", [range(0, 90, 7), (b"a", b"b" * 9, b"c")], ids=["int64", "bytes"])
def test_any_bit_that_flips_is_refused(keys: Iterable[Any]) -> None:
    """A segment with any flipped bit after its magic number is refused."""
    data, entry = _encode({key: {at, 20 + at} for at, key in enumerate(keys)})
    for position in range(len(b"LSIEVE1\n"), len(data)):
        for bit in (1, 128):
            harmed = bytearray(data)
            harmed[position] ^= bit
            with pytest.raises(LakesieveError):
                _decode(bytes(harmed), entry)


@given(st.dictionaries(texts, sets, min_size=1, max_size=12), st.floats(0, 1, exclude_max=True))
def test_truncated_bytes_are_refused(blocks: Sets, cut: float) -> None:
    """Wherever a segment ends too early, reading ends in a typed error."""
    data, entry = _encode(blocks)

    with pytest.raises(LakesieveError):
        _decode(data[: int(cut * len(data))], entry)


@pytest.mark.parametrize("keys", [codes, texts], ids=["int64", "bytes"])
@given(data=st.data())
def test_bytes_that_lie_are_refused(keys: st.SearchStrategy[Any], data: st.DataObject) -> None:
    """Bytes with correct checksums but wrong content end in a typed error or in valid blocks."""
    stored, entry = _encode(data.draw(st.dictionaries(keys, sets, min_size=1, max_size=12)), 50)
    footer = decode_footer(stored[len(stored) - entry.footer_length :], entry)
    group = footer.groups[0]
    piece = bytearray(stored[group.start : group.start + group.length])
    for position, flip in data.draw(flips):
        piece[int(position * len(piece))] ^= flip
    piece = piece[: data.draw(st.integers(0, len(piece)) | st.just(len(piece)))]
    result = dataclasses.replace(group, length=len(piece), crc32=zlib.crc32(piece))
    lying = dataclasses.replace(footer, groups=(result,))

    with contextlib.suppress(CorruptIndexError):
        decode_row_group(lying, 0, bytes(piece)).validate()


@given(st.dictionaries(texts, sets, min_size=1, max_size=12), st.integers(1, 4))
def test_the_letters_of_separators_are_known(blocks: Sets, group: int) -> None:
    """The footer has the longest length and all bytes of the separators of each row group."""
    data, entry = _encode(blocks, group)
    letters = decode_footer(data[len(data) - entry.footer_length :], entry).letters
    assert letters is not None
    keys = sorted(blocks)
    groups = [keys[at : at + group] for at in range(0, len(keys), group)]
    assert letters.longest.tolist() == [max(map(len, each)) for each in groups]
    found = [set(np.flatnonzero(occurs).tolist()) for occurs in letters.occurs]
    assert found == [set(b"".join(each)) for each in groups]


@pytest.mark.parametrize("keys", [codes, texts], ids=["int64", "bytes"])
@given(data=st.data())
def test_footers_that_lie_are_refused(keys: st.SearchStrategy[Any], data: st.DataObject) -> None:
    """A footer with a correct checksum but wrong content is refused, or blocks stay valid."""
    stored, entry = _encode(data.draw(st.dictionaries(keys, sets, min_size=1, max_size=12)))
    document = json.loads(stored[len(stored) - entry.footer_length :])
    odd: st.SearchStrategy[Any] = st.sampled_from(
        [None, -1, 0, 1, 2**70, "x", [], {}, {"bytes": "!"}, True, 1.5]
    )
    position = data.draw(st.sampled_from(["top", "group", "text", "heads"]))
    if position == "text":
        document["text"] = {"prefix": "", "alphabets": [[0], [1, 0], [300]]}
    elif position == "heads":
        prefixes = {"delimiter": 47, "count": 1, "size": 2, "texts": "KLUv/SACEQAAYS8="}
        prefixes[data.draw(st.sampled_from(sorted(prefixes)))] = data.draw(odd)
        document["text"] = {"prefix": "", "alphabets": [[1, 2]], "heads": prefixes}
    elif position == "top":
        document[data.draw(st.sampled_from(sorted(document)))] = data.draw(odd)
    else:
        document["groups"][0][data.draw(st.integers(0, 4))] = data.draw(odd)
    footer = json.dumps(document).encode()
    body = stored[: len(stored) - entry.footer_length]
    lying = dataclasses.replace(
        entry,
        size=len(body) + len(footer),
        footer_length=len(footer),
        footer_sha256=hashlib.sha256(footer).hexdigest(),
    )

    with contextlib.suppress(LakesieveError):
        _decode(body + footer, lying)


def _unharmed_or_refused(data: bytes, entry: SegmentEntry, blocks: Sets) -> None:
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
def test_lying_entries_are_refused(blocks: Sets, field: str, wrong: int) -> None:
    """An entry whose counts differ from the segment is refused."""
    data, entry = _encode(blocks)
    assume(wrong > 0 and wrong != getattr(entry, field))
    changes: dict[str, Any] = {field: wrong}
    lying = dataclasses.replace(entry, **changes)

    _unharmed_or_refused(data, lying, blocks)


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": pa.array([2, 1])},
        {"keys": pa.array([1, 1])},
        {"offsets": np.array([0, 2, 3]), "ordinals": np.array([3, 1, 0], np.int32)},
        {"offsets": np.array([0, 2, 3]), "ordinals": np.array([1, 1, 0], np.int32)},
        {"ordinals": np.array([0, UNITS], np.int32)},
        {"ordinals": np.array([0, 2**31 - 1], np.int32)},
    ],
    ids=["descending", "repeated", "set-descending", "set-repeated", "unit-beyond", "unit-highest"],
)
def test_blocks_out_of_order_are_refused(changes: dict[str, Any]) -> None:
    """Blocks out of order are refused, even with a correct checksum."""
    data, entry = encode_segment(_blocks({1: {0}, 2: {1}}, **changes), unit_count=UNITS)

    with pytest.raises(CorruptIndexError):
        _decode(data, entry)


def test_a_later_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment of a newer version gets another error than a damaged segment."""
    monkeypatch.setattr(segment_module, "FORMAT_VERSION", 2)
    data, entry = _encode({1: {2}})

    with pytest.raises(IndexFormatError, match="Upgrade") as caught:
        _decode(data, entry)
    assert caught.value.kind is ErrorKind.TOO_NEW


def test_entries_are_read_back() -> None:
    """A segment's entry survives the way to JSON and back, for numbers and for bytes."""
    for content in ({1: {2}}, {b"\xff\x00": {2}}):
        _, entry = _encode(content)
        assert SegmentEntry.from_json(entry.to_json()) == entry


def test_long_bounds_are_cut() -> None:
    """Long first and last keys give bounds of at most a kilobyte that include them."""
    low, high = b"a" * 5000, b"b\xff" + b"c" * 5000
    _, entry = _encode({low: {1}, high: {2}})

    assert isinstance(entry.key_min, bytes)
    assert isinstance(entry.key_max, bytes)
    assert entry.key_min <= low
    assert entry.key_max >= high
    assert len(entry.key_min) + len(entry.key_max) <= 2048


def test_sorted_data_costs_next_to_nothing() -> None:
    """A hundred thousand blocks of a regular layout take a fraction of a bit each."""
    keys = pa.array(np.arange(100_000) * 7)
    data, _ = encode_segment(
        build_blocks(keys, (np.arange(100_000) % 40).astype(np.int32)), unit_count=UNITS
    )

    assert 8 * len(data) / 100_000 < 0.5


def test_random_units_cost_their_logarithm() -> None:
    """Unique keys in random files take hardly more than log2(files) bits a key."""
    for files in (500, 20_000):
        units = np.random.default_rng(1).integers(0, files, 200_000).astype(np.int32)
        data, _ = encode_segment(
            build_blocks(pa.array(np.arange(200_000)), units), unit_count=files
        )

        assert 8 * len(data) / 200_000 < 1.08 * np.log2(files)


def test_late_keys_between_gaps_cost_little_more_than_late_keys() -> None:
    """Regular gaps cost hardly anything, even if other keys arrive late."""
    random = np.random.default_rng(2)
    units = np.arange(200_000) // 5_000
    late = random.random(200_000) < 0.05
    units[late] = random.integers(0, 40, late.sum())
    sizes = []
    for keys in (np.arange(200_000), np.arange(200_000) * 3 // 2):
        blocks = build_blocks(pa.array(keys), units.astype(np.int32))
        data, entry = encode_segment(blocks, unit_count=UNITS)
        assert entry.keys == 200_000
        sizes.append(len(data))

    assert sizes[1] < 1.15 * sizes[0]


def test_rewritten_data_costs_as_much_as_before() -> None:
    """Keys in any old file and one new file cost one logarithm, not two."""
    keys, old = np.arange(100_000), np.random.default_rng(3).integers(0, 500, 100_000)
    pairs = (np.tile(keys, 2), np.concatenate((old, 500 + keys // 20_000)))
    (blocks,) = blocks_of_pairs(pa.array(pairs[0]), pairs[1].astype(np.int32), max_pairs=10**6)
    data, entry = encode_segment(blocks, unit_count=505)

    assert entry.pairs == 200_000
    assert 8 * len(data) / 100_000 < 1.04 * np.log2(500)


def test_keys_with_long_prefixes_are_read_back() -> None:
    """Row groups stay within the limits of readers, however long the shared prefixes are."""
    listed = [b"p" * 4000 + b"%05d" % n + bytes([n % 251]) * (n % 7) for n in range(20_000)]
    keys = pa.array(sorted(listed), pa.binary())
    blocks = build_blocks(keys, (np.arange(20_000) % 30).astype(np.int32))
    plain = dataclasses.replace(
        blocks, keys=keys, offsets=np.arange(20_001), max_key=listed[-1], text=None
    )
    data, entry = encode_segment(plain, unit_count=30)
    footer = decode_footer(data[-entry.footer_length :], entry)

    found = []
    for number, group in enumerate(footer.groups):
        piece = decode_row_group(footer, number, data[group.start : group.start + group.length])
        found += piece.keys.to_pylist()
    assert entry.row_groups > 4
    assert found == keys.to_pylist()
