"""Merged blocks give the same answers as the blocks they were made from."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.strategies import codes, intervals, key_sets
from tests.sieve.arrays import PHYSICALS, arrays_of, pairs_of, units_of

from lakesieve.sieve import (
    Blocks,
    RangeSet,
    build_blocks,
    lookup_ranges,
    merge_blocks,
    merge_streams,
)

UNITS = 12_000


def _renumbered(draw: st.DrawFn, units: int = UNITS) -> np.ndarray:
    """Draw new ordinals in any order, with some units dropped."""
    seed = draw(st.integers(0, 99))
    new = np.random.default_rng(seed).permutation(units)
    new[np.random.default_rng(seed).random(units) < draw(st.sampled_from([0, 0.5]))] = -1
    return new


@st.composite
def _inputs(draw: st.DrawFn, physical: str) -> list[tuple[dict[Any, set[int]], np.ndarray]]:
    inputs = []
    for _ in range(draw(st.integers(1, 3))):
        sets = draw(key_sets(physical, min_size=1))
        small = {key: {unit for unit in units if unit < UNITS} for key, units in sets.items()}
        inputs.append(({k: u or {0} for k, u in small.items()}, _renumbered(draw)))
    return inputs


def _blocks(sets: dict[Any, set[int]], physical: str) -> Blocks:
    return build_blocks(*arrays_of(pairs_of(sets), physical))


def _piece(blocks: Blocks, start: int, end: int) -> Blocks:
    """Some of the blocks, as a row group holds them."""
    return dataclasses.replace(
        blocks,
        keys=blocks.keys.slice(start, end - start),
        offsets=blocks.offsets[start : end + 1] - blocks.offsets[start],
        ordinals=blocks.ordinals[blocks.offsets[start] : blocks.offsets[end]],
    )


def _expected(inputs: list[tuple[dict[Any, set[int]], np.ndarray]]) -> dict[Any, set[int]]:
    found: dict[Any, set[int]] = {}
    for sets, new in inputs:
        for key, units in sets.items():
            alive = {int(new[unit]) for unit in units if new[unit] >= 0}
            found.setdefault(key, set()).update(alive)
    return found


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_merged_blocks_answer_like_their_parts(physical: str, data: st.DataObject) -> None:
    """Points and ranges find the living units that the parts find, under their new numbers."""
    inputs = data.draw(_inputs(physical))
    made = [_blocks(sets, physical) for sets, _ in inputs]
    merged = merge_blocks(made, [new for _, new in inputs])
    expected = _expected(inputs)
    result = data.draw(intervals(physical, near=expected))

    if merged is None:
        assert not any(expected.values())
        return
    merged.validate()
    absent = data.draw(st.lists(codes(physical), max_size=5))
    answers = units_of(merged, [*expected, *absent])
    for key in {*expected, *absent}:
        alone = [
            {int(new[u]) for u in units_of(blocks, [key])[key] if new[u] >= 0}
            for blocks, (_, new) in zip(made, inputs, strict=True)
        ]
        assert answers[key] >= expected.get(key, set())
        # a string that one part never saw the like of may be familiar to another
        assert answers[key] <= set().union(*alone) or physical == "bytes"
    found = lookup_ranges(merged, RangeSet.from_intervals(result, physical, merged.text))
    inside = (
        units
        for key, units in expected.items()
        for low, high in result
        if (low is None or low <= key) and (high is None or key < high)
    )
    assert set(found.tolist()) >= set().union(*inside)


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_streams_merge_like_whole_lists(physical: str, data: st.DataObject) -> None:
    """Lists that come piece by piece merge into pieces that know every key."""
    inputs = data.draw(_inputs(physical))
    streams = []
    for sets, _ in inputs:
        whole = _blocks(sets, physical)
        cuts = sorted({0, len(whole), *data.draw(st.lists(st.integers(0, len(whole)), max_size=3))})
        streams.append([_piece(whole, a, b) for a, b in itertools.pairwise(cuts)])
    limit = data.draw(st.sampled_from([1, 10, 10**9]))
    merged = list(merge_streams(streams, [new for _, new in inputs], max_ordinals=limit))
    expected = _expected(inputs)

    answers: dict[Any, set[int]] = {key: set() for key in expected}
    for blocks in merged:
        blocks.validate()
        for key, units in units_of(blocks, expected).items():
            answers[key] |= units
    assert all(answers[key] >= units for key, units in expected.items())
    starts = [blocks.bounds[0] for blocks in merged]
    assert starts == sorted(starts)


def test_dead_units_and_their_blocks_are_gone() -> None:
    """Blocks of dropped units vanish, and their neighbours are joined."""
    blocks = _blocks({1: {0}, 2: {1}, 3: {0}, 9: {2}}, "int64")
    merged = merge_blocks([blocks], [np.array([5, -1, -1])])

    assert merged is not None
    assert units_of(merged, [1, 2, 3, 9]) == {1: {5}, 2: set(), 3: {5}, 9: set()}
    assert merge_blocks([blocks], [np.full(3, -1)]) is None


def test_text_codes_unite() -> None:
    """Strings with letters that the first list lacks still get distinct integers."""
    low = _blocks({b"Customer#%09d" % i: {i % 7} for i in range(0, 3000, 3)}, "bytes")
    high = _blocks({b"Customer#9%08d" % i: {i % 5} for i in range(1000)}, "bytes")
    merged = merge_blocks([low, high], [np.arange(7), np.arange(5) + 10])

    assert merged is not None
    assert low.text is not None
    assert merged.text is not None
    found = units_of(merged, [b"Customer#000000003", b"Customer#900000004", b"Customer#1"])
    assert list(found.values()) == [{3}, {14}, set()]


@pytest.mark.parametrize("physical", PHYSICALS)
def test_keys_of_no_part_find_nothing_behind_the_end(physical: str) -> None:
    """A code above the last key of a part does not match this part."""
    names = [1, 2, 50] if physical == "int64" else [b"1", b"2", b"50"]
    merged = merge_blocks(
        [_blocks({names[0]: {0}}, physical), _blocks({names[0]: {1}, names[2]: {1}}, physical)],
        [np.arange(2), np.arange(2)],
    )

    assert merged is not None
    found = units_of(merged, names)
    assert found[names[0]] == {0, 1}
    assert found[names[2]] == {1}
