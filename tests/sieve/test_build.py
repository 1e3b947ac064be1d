"""Sorting and cutting agree with their slow twins."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.strategies import codes, key_sets, ordinals
from tests.kit.twins import as_blocks, as_sets, block_sets, sorted_pairs
from tests.sieve.arrays import PHYSICALS, arrays_of, keys_of, pairs_of, units_of

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.sieve import BlockBuilder, blocks_of_pairs, build_blocks, sort_pairs
from lakesieve.sieve.byte_order import bytewise_order, front_coded, front_decoded


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_sorting_equals_the_twin(physical: str, data: st.DataObject) -> None:
    """Pairs are sorted by key, then unit, without duplicates, whatever their ranges."""
    pairs = data.draw(st.lists(st.tuples(codes(physical), ordinals()), max_size=60))
    keys, units = sort_pairs(*arrays_of(pairs, physical))

    assert list(zip(keys.to_pylist(), units.tolist(), strict=True)) == sorted_pairs(pairs)
    assert units.dtype == np.int32


@pytest.mark.parametrize("low_bits", [1, 8, 30], ids=["alike", "near", "apart"])
@given(data=st.data())
def test_keys_too_wide_for_a_word_are_sorted(low_bits: int, data: st.DataObject) -> None:
    """Keys that span int64 keep their units, even if many share their high bits or are equal."""
    bases = st.sampled_from([-(2**63), -1 << 32, 0, 2**63 - 2**31])
    keys = st.builds(int.__add__, bases, st.integers(0, 2**low_bits))
    pairs = data.draw(st.lists(st.tuples(keys, st.integers(0, 70_000)), max_size=60))
    pairs += [(-(2**63), 0), (2**63 - 1, 70_000)]
    found, units = sort_pairs(*arrays_of(pairs, "int64"))

    assert list(zip(found.to_pylist(), units.tolist(), strict=True)) == sorted_pairs(pairs)


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_slices_are_sorted_alone(physical: str, data: st.DataObject) -> None:
    """Values around a slice of a longer array do not leak into the result."""
    pairs = data.draw(st.lists(st.tuples(codes(physical), ordinals()), min_size=2, max_size=20))
    keys, units = arrays_of(pairs, physical)
    inner_keys, inner_units = sort_pairs(keys[1:-1], units[1:-1])

    inner = list(zip(inner_keys.to_pylist(), inner_units.tolist(), strict=True))
    assert inner == sorted_pairs(pairs[1:-1])


@pytest.mark.parametrize("width", [1, 20, 33, 34, 62, 63, 64])
def test_sorting_at_every_width(width: int) -> None:
    """Keys that are too wide to share a word with the unit are sorted correctly, at both limits."""
    random = np.random.default_rng(width)
    low = -(2 ** (width - 1))
    keys = random.integers(low, -low - 1, 5_000, dtype=np.int64, endpoint=True)
    keys[:4] = [low, -low - 1, low, -low - 1]
    keys = random.choice(keys[:800], 5_000)
    units = random.integers(0, 2**31 - 1, 5_000, dtype=np.int32, endpoint=True)
    units[::2] %= 5
    found_keys, found_units = sort_pairs(pa.array(keys), units)

    found = list(zip(found_keys.to_pylist(), found_units.tolist(), strict=True))
    assert found == sorted_pairs(zip(keys.tolist(), units.tolist(), strict=True))


@given(texts=st.lists(codes("bytes"), unique=True, max_size=80), prefix=codes("bytes"))
def test_byte_order_equals_sorted(texts: list[bytes], prefix: bytes) -> None:
    """Strings of any length, with zero bytes at their ends, sort as Python sorts them."""
    listed = [prefix + text for text in texts]
    twice = [*listed, *listed[::2], b""]
    order, differs = bytewise_order(pa.array(twice, pa.binary()))

    ordered = [twice[i] for i in order]
    assert ordered == sorted(twice)
    assert differs.tolist() == [True, *(a != b for a, b in itertools.pairwise(ordered))]


@pytest.mark.parametrize("words", [0, 1, 2, 3, 4])
def test_byte_order_keeps_ties_apart(words: int) -> None:
    """Tied strings do not mix with others that continue alike, or with those around a slice."""
    # the later the first letter, the earlier the last: mixed up, they would change places
    listed = [
        bytes([97 + i]) * 8 + b"x" * 8 * words + bytes([122 - i, j])
        for i in range(20)
        for j in range(3)
    ]
    shuffled = [listed[i] for i in np.random.default_rng(words).permutation(len(listed))]
    around = pa.array([b"", *shuffled, b"z" * 90], pa.binary())
    order, _ = bytewise_order(around[1:-1])

    assert [shuffled[i] for i in order] == listed


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 31, 32, 33, 40])
def test_byte_order_of_many_ties(length: int) -> None:
    """Thousands of strings that tie word after word still end up in order."""
    random = np.random.default_rng(length)
    letters = random.choice(np.frombuffer(b"\0a\xff", np.uint8), (4_000, length))
    listed = sorted({row.tobytes()[: 1 + i % length] for i, row in enumerate(letters)})
    shuffled = [listed[i] for i in random.permutation(len(listed))]
    order, _ = bytewise_order(pa.array(shuffled, pa.binary()))

    assert [shuffled[i] for i in order] == listed


@given(st.sets(st.binary(max_size=5), min_size=1), st.sampled_from([0, 1, 250, 300, 70_000]))
def test_front_coding_is_undone(texts: set[bytes], length: int) -> None:
    """Front-coded strings, short and long, decode to the original strings."""
    listed = sorted(b"p" * length + text for text in texts)
    strings = pa.array(listed, pa.binary())

    assert front_decoded(*front_coded(strings)).equals(strings)


@given(sets=key_sets("int64", min_size=1))
def test_blocks_equal_the_twin(sets: dict[Any, set[int]]) -> None:
    """Keys are joined exactly when they are neighbours with the same set."""
    blocks = build_blocks(*arrays_of(pairs_of(sets), "int64"), absent_hits=1)

    blocks.validate()
    assert block_sets(blocks) == as_blocks(sets)
    assert blocks.max_key == max(sets)


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data(), absent_hits=st.sampled_from([1, 1 / 256, 1e-9]))
def test_blocks_hold_every_key(physical: str, data: st.DataObject, absent_hits: float) -> None:
    """However short the separators are, every present key has exactly its own units."""
    sets = data.draw(key_sets(physical, min_size=1))
    blocks = build_blocks(*arrays_of(pairs_of(sets), physical), absent_hits=absent_hits)

    blocks.validate()
    assert units_of(blocks, sets) == sets
    assert blocks.bounds == (min(sets), max(sets))
    assert (blocks.key_count, blocks.pair_count) == (len(sets), sum(map(len, sets.values())))


def test_sets_that_differ_in_the_middle_stay_apart() -> None:
    """Sets with equal length, first and last unit are one block only if all units are equal."""
    sets = {1: {0, 1, 9}, 2: {0, 2, 9}, 3: {0, 2, 9}, 4: {0, 1, 2, 9}, 5: {0, 1, 3, 9}}
    blocks = build_blocks(*arrays_of(pairs_of(sets), "int64"))

    assert block_sets(blocks) == [
        (1, [0, 1, 9]),
        (2, [0, 2, 9]),
        (4, [0, 1, 2, 9]),
        (5, [0, 1, 3, 9]),
    ]


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_a_stream_loses_nothing(physical: str, data: st.DataObject) -> None:
    """Pairs pushed in chunks come back complete, in parts that share no key and keep the size."""
    sets = data.draw(key_sets(physical))
    keys, units = arrays_of(pairs_of(sets), physical)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(units)), max_size=8)))
    limit = data.draw(st.integers(1, 30))
    builder = BlockBuilder(max_pairs=limit)
    chunks = []
    for start, end in itertools.pairwise([0, *cuts, len(units)]):
        chunks += builder.push(keys[start:end], units[start:end])
    chunks += builder.finish()

    seen: dict[Any, set[int]] = {}
    for chunk in chunks:
        chunk.validate()
        expected = {k: v for k, v in sets.items() if chunk.bounds[0] <= k <= chunk.bounds[1]}
        assert units_of(chunk, expected) == expected
        assert chunk.key_count == len(expected)
        assert chunk.pair_count <= limit or chunk.key_count == 1
        assert seen.keys().isdisjoint(expected)
        seen.update(expected)
    assert seen == sets
    assert builder.finish() == []


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_pairs_in_any_order_become_blocks(physical: str, data: st.DataObject) -> None:
    """Unsorted pairs, cut into parts of any size, keep every key within the bounds."""
    pairs = data.draw(st.lists(st.tuples(codes(physical), ordinals()), max_size=60))
    limit = data.draw(st.integers(1, 60))
    chunks = list(blocks_of_pairs(*arrays_of(pairs, physical), max_pairs=limit))
    sets = as_sets(pairs)

    answers: dict[Any, set[int]] = {key: set() for key in sets}
    for chunk in chunks:
        chunk.validate()
        for key, units in units_of(chunk, sets).items():
            if chunk.bounds[0] <= key <= chunk.bounds[1]:
                answers[key] |= units
    assert all(answers[key] >= units for key, units in sets.items())
    assert sum(chunk.key_count for chunk in chunks) == len(sets)
    if len(chunks) == 1:
        assert answers == sets


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_disorder_is_refused(physical: str, data: st.DataObject) -> None:
    """Pairs that are not sorted and distinct are refused, because blocks would lose units."""
    pairs = data.draw(st.lists(st.tuples(codes(physical), ordinals()), max_size=12))
    arrays = arrays_of(pairs, physical)

    if pairs and pairs == sorted_pairs(pairs):
        sets = as_sets(pairs)
        assert units_of(build_blocks(*arrays), sets) == sets
    else:
        with pytest.raises(InvalidInputError) as caught:
            build_blocks(*arrays)
        assert caught.value.kind is ErrorKind.INVALID_ARGUMENT


def test_disorder_between_chunks_is_refused() -> None:
    """A chunk that starts below the previous one is refused as well."""
    builder = BlockBuilder(max_pairs=10)
    builder.push(keys_of([5, 7], "int64"), np.array([0, 0], np.int32))
    builder.push(keys_of([6], "int64"), np.array([0], np.int32))

    with pytest.raises(InvalidInputError):
        builder.finish()
