"""Look-ups agree with their slow twins and never miss a unit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.strategies import codes, intervals, key_sets
from tests.kit.twins import block_sets, point_units, range_units
from tests.sieve.arrays import PHYSICALS, arrays_of, keys_of, pairs_of

from lakesieve.errors import InvalidInputError
from lakesieve.sieve import (
    ABSENT_HITS,
    Blocks,
    RangeSet,
    build_blocks,
    lookup_points,
    lookup_ranges,
    lookup_spans,
    with_gaps,
)
from lakesieve.sieve.blocks import single_offsets


def blocks_of(sets: dict[Any, set[int]], physical: str, absent_hits: float = ABSENT_HITS) -> Blocks:
    return build_blocks(*arrays_of(pairs_of(sets), physical), absent_hits=absent_hits)


def no_blocks(physical: str) -> Blocks:
    return Blocks(
        keys=keys_of([], physical),
        offsets=np.zeros(1, np.int64),
        ordinals=np.zeros(0, np.int32),
        max_key=0 if physical == "int64" else b"",
        bounds=(0, 0),
        key_count=0,
        pair_count=0,
    )


@given(data=st.data(), absent_hits=st.sampled_from([1, ABSENT_HITS]))
def test_points_equal_the_twin(data: st.DataObject, absent_hits: float) -> None:
    """Absent keys get the units of the block around them, which is empty in a gap."""
    sets = data.draw(key_sets("int64", min_size=2))
    result = data.draw(st.lists(st.one_of(st.sampled_from(sorted(sets)), codes("int64"))))
    blocks = blocks_of(sets, "int64", absent_hits)
    offsets, units = lookup_points(blocks, keys_of(result, "int64"))

    found = [units[offsets[i] : offsets[i + 1]].tolist() for i in range(len(result))]
    assert found == point_units(block_sets(blocks), max(sets), result)
    assert offsets[-1] == len(units)
    assert units.dtype == np.int32


@given(data=st.data(), absent_hits=st.sampled_from([1, ABSENT_HITS]))
def test_ranges_equal_the_twin(data: st.DataObject, absent_hits: float) -> None:
    """Intervals, open or not, get the units of all blocks that overlap them."""
    sets = data.draw(key_sets("int64", min_size=2))
    result = data.draw(intervals("int64", near=sets))
    blocks = blocks_of(sets, "int64", absent_hits)
    units = lookup_ranges(blocks, RangeSet.from_intervals(result, "int64"))

    assert units.tolist() == range_units(block_sets(blocks), max(sets), result)
    assert units.dtype == np.int32


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data(), absent_hits=st.sampled_from([1, ABSENT_HITS]))
def test_ranges_between_keys_are_exact(
    physical: str, data: st.DataObject, absent_hits: float
) -> None:
    """A range from one present key to another, both included, finds exactly the units between."""
    sets = data.draw(key_sets(physical, min_size=2))
    low, high = sorted(data.draw(st.lists(st.sampled_from(sorted(sets)), min_size=2, max_size=2)))
    end = high + 1 if physical == "int64" else high + b"\0"
    blocks = blocks_of(sets, physical, absent_hits)
    units = lookup_ranges(blocks, RangeSet.from_intervals([(low, end)], physical, blocks.text))

    assert set(units.tolist()) == set().union(*(u for k, u in sets.items() if low <= k <= high))


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_ranges_never_miss_a_unit(physical: str, data: st.DataObject) -> None:
    """Every unit of every key inside an interval is found, checked without blocks."""
    sets = data.draw(key_sets(physical, min_size=2))
    result = data.draw(intervals(physical, near=sets))
    blocks = blocks_of(sets, physical)
    units = lookup_ranges(blocks, RangeSet.from_intervals(result, physical, blocks.text))
    inside = [
        key
        for key in sets
        for low, high in result
        if (low is None or low <= key) and (high is None or key < high)
    ]

    assert set(units.tolist()) >= set().union(*(sets[key] for key in inside))


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_any_intervals_will_do(physical: str, data: st.DataObject) -> None:
    """Intervals out of order, overlapping or empty give the union of their single results."""
    sets = data.draw(key_sets(physical, min_size=2))
    bound = st.none() | st.sampled_from(sorted(sets)) | codes(physical)
    result = data.draw(st.lists(st.tuples(bound, bound), max_size=4))
    blocks = blocks_of(sets, physical)

    def ask(intervals: list[tuple[Any, Any]]) -> set[int]:
        ranges = RangeSet.from_intervals(intervals, physical, blocks.text)
        return set(lookup_ranges(blocks, ranges).tolist())

    alone = [ask([(a, b)]) for a, b in result]
    assert ask(result) == set().union(*alone)
    for (low, high), found in zip(result, alone, strict=True):
        inside = (
            u for k, u in sets.items() if (low is None or low <= k) and (high is None or k < high)
        )
        assert found >= set().union(*inside)
        assert not found or low is None or high is None or low < high


@pytest.mark.parametrize("physical", PHYSICALS)
def test_order_and_empty_intervals_do_not_matter(physical: str) -> None:
    """Intervals in descending order lose nothing, and an empty one inside a block finds nothing."""
    names = [1, 3, 5, 7, 9] if physical == "int64" else [b"1", b"3", b"5", b"7", b"9"]
    one, three, five, seven, nine = names
    four = 4 if physical == "int64" else b"4"
    blocks = blocks_of({one: {0}, three: {1}, five: {2}, seven: {3}, nine: {4}}, physical)

    def ask(*wanted: tuple[Any, Any]) -> list[int]:
        ranges = RangeSet.from_intervals(wanted, physical, blocks.text)
        return list(lookup_ranges(blocks, ranges).tolist())

    assert ask((nine, None), (five, seven), (one, three)) == [0, 2, 4]
    assert ask((four, four), (seven, three)) == []


@pytest.mark.parametrize("physical", PHYSICALS)
def test_few_and_many_points_take_the_same_way(physical: str) -> None:
    """One key gets the same units alone and among thousands."""
    names = [3 * i if physical == "int64" else b"%05d" % (3 * i) for i in range(2_000)]
    sets = {name: {i % 7, i % 11} for i, name in enumerate(names)}
    blocks = blocks_of(sets, physical)
    result = [
        3 * i + i % 2 if physical == "int64" else b"%05d" % (3 * i + i % 2) for i in range(2_000)
    ]
    offsets, units = lookup_points(blocks, keys_of(result, physical))
    ends = [(k, k + 1 if isinstance(k, int) else k + b"\0") for k in result]

    for i in range(0, 2_000, 97):
        together = units[offsets[i] : offsets[i + 1]].tolist()
        _, alone = lookup_points(blocks, keys_of(result[i : i + 1], physical))
        one = RangeSet.from_intervals(ends[i : i + 1], physical, blocks.text)
        assert together == alone.tolist()
        assert set(together) <= set(lookup_ranges(blocks, one).tolist())
    everything = lookup_ranges(blocks, RangeSet.from_intervals(ends, physical, blocks.text))
    assert everything.tolist() == sorted(set(units.tolist()))


@pytest.mark.parametrize("physical", PHYSICALS)
def test_nothing_gives_nothing(physical: str) -> None:
    """Without blocks, keys or ranges, the result is empty."""
    blocks = blocks_of({1 if physical == "int64" else b"a": {0}}, physical)
    everything = RangeSet.from_intervals([(None, None)], physical, None)
    key = keys_of([7 if physical == "int64" else b"x"], physical)

    assert lookup_ranges(no_blocks(physical), everything).tolist() == []
    assert lookup_ranges(blocks, RangeSet.from_intervals([], physical, blocks.text)).tolist() == []
    assert lookup_points(no_blocks(physical), key)[0].tolist() == [0, 0]
    assert lookup_points(blocks, key[:0])[0].tolist() == [0]


def test_a_block_may_have_an_empty_set() -> None:
    """A gap that is a block without units finds nothing, and its neighbours find their units."""
    blocks = Blocks(
        keys=keys_of([0, 10, 20], "int64"),
        offsets=np.array([0, 1, 1, 3]),
        ordinals=np.array([4, 1, 2], np.int32),
        max_key=25,
        bounds=(0, 25),
        key_count=3,
        pair_count=3,
    )
    blocks.validate()
    offsets, units = lookup_points(blocks, keys_of([5, 15, 25, 26], "int64"))

    assert (offsets.tolist(), units.tolist()) == ([0, 1, 1, 3, 3], [4, 1, 2])
    found = lookup_ranges(blocks, RangeSet.from_intervals([(10, 20), (25, 99)], "int64"))
    assert found.tolist() == [1, 2]


GOOD = blocks_of({1: {0, 3}, 5: {2}, 9: {1, 2}}, "int64")


@pytest.mark.parametrize(
    "broken",
    [
        {"keys": keys_of([1, 5, 5], "int64")},
        {"keys": keys_of([1, 9, 5], "int64")},
        {"keys": keys_of([1, None, 9], "int64")},
        {"keys": keys_of([1, 5, 9], "int64").cast("int32")},
        {"keys": keys_of([1, 5], "int64")},
        {"max_key": 8},
        {"offsets": np.array([0, 2, 3, 4])},
        {"offsets": np.array([1, 2, 3, 5])},
        {"offsets": np.array([0, 3, 2, 5])},
        {"ordinals": np.array([3, 0, 2, 1, 2], np.int32)},
        {"ordinals": np.array([0, 0, 2, 1, 2], np.int32)},
        {"ordinals": np.array([-1, 3, 2, 1, 2], np.int32)},
    ],
    ids=[
        "keys-repeated",
        "keys-descending",
        "keys-null",
        "keys-of-another-type",
        "keys-too-few",
        "max-key-too-low",
        "offsets-end-early",
        "offsets-start-late",
        "offsets-descending",
        "ordinals-descending",
        "ordinals-repeated",
        "ordinals-negative",
    ],
)
def test_broken_blocks_are_reported(broken: dict[str, Any]) -> None:
    """``validate`` checks everything that a look-up relies on."""
    GOOD.validate()

    with pytest.raises(InvalidInputError):
        dataclasses.replace(GOOD, **broken).validate()


@pytest.mark.parametrize(
    "broken",
    [
        {"keys": keys_of([1, 9, 5], "int64")},
        {"max_key": 8},
        {"offsets": single_offsets(6)[::2]},
        {"offsets": single_offsets(4)[1:]},
        {"offsets": single_offsets(2)},
        {"ordinals": np.array([0, 2], np.int32)},
        {"ordinals": np.array([0, 2, -1], np.int32)},
    ],
    ids=[
        "keys-descending",
        "max-key-too-low",
        "offsets-of-every-other",
        "offsets-start-late",
        "offsets-end-early",
        "ordinals-too-few",
        "ordinals-negative",
    ],
)
def test_broken_blocks_of_one_unit_each_are_reported(broken: dict[str, Any]) -> None:
    """Offsets that many blocks share are accepted only if they are correct."""
    keys, ordinals = keys_of([1, 5, 9], "int64"), np.array([0, 2, 1], np.int32)
    _, offsets = with_gaps(keys, np.ones(3, np.int64), np.zeros(0, np.int64), keys[:0])
    good = dataclasses.replace(GOOD, keys=keys, offsets=offsets, ordinals=ordinals)
    good.validate()

    with pytest.raises(InvalidInputError):
        dataclasses.replace(good, **broken).validate()


@given(data=st.data(), absent_hits=st.sampled_from([1, ABSENT_HITS]))
def test_spans_hold_the_units_of_their_keys(data: st.DataObject, absent_hits: float) -> None:
    """Each of many ranges of byte strings finds exactly the units of the keys in it."""
    sets = data.draw(key_sets("bytes", min_size=2))
    edges = st.one_of(st.sampled_from(sorted(sets)), codes("bytes"))
    result = sorted({key + b"\x01" for key in data.draw(st.lists(edges, min_size=1))})
    ends = [low + b"\xff\xff" for low in result]
    blocks = blocks_of(sets, "bytes", absent_hits)
    lows, highs = pa.array(result, pa.binary()), pa.array(ends, pa.binary())
    if any(end in sets for end in ends):
        return
    offsets, units = lookup_spans(blocks, lows, highs)

    known = set().union(*sets.values())
    for at, (low, high) in enumerate(zip(result, ends, strict=True)):
        found = set(units[offsets[at] : offsets[at + 1]].tolist())
        inside = [sets[key] for key in sets if low <= key < high]
        assert set().union(*inside) <= found <= known
