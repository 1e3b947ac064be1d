"""The budgeted mode keeps its limits and never loses a unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.strategies import intervals, key_sets
from tests.sieve.arrays import PHYSICALS, arrays_of, pairs_of, units_of

from lakesieve.errors import InvalidInputError
from lakesieve.sieve import (
    Blocks,
    Budget,
    RangeSet,
    build_blocks,
    build_budgeted,
    lookup_ranges,
    sort_pairs,
    trade_offs,
)

UNITS = 500


def size_of(blocks: Blocks) -> int:
    """Return the bytes of a plain form of the blocks: nine for a separator, two for a unit."""
    return 9 * len(blocks) + 2 * len(blocks.ordinals)


def _small(sets: dict[Any, set[int]]) -> dict[Any, set[int]]:
    return {key: {unit % UNITS for unit in units} for key, units in sets.items()}


def _false_units(blocks: Blocks, sets: dict[Any, set[int]]) -> float:
    answers = units_of(blocks, sets)
    return sum(len(answers[key] - units) for key, units in sets.items()) / len(sets)


@pytest.mark.parametrize("physical", PHYSICALS)
@given(data=st.data())
def test_no_unit_is_lost(physical: str, data: st.DataObject) -> None:
    """Whatever the budget, every key and every range finds at least its units."""
    sets = _small(data.draw(key_sets(physical, min_size=1)))
    result = data.draw(intervals(physical, near=sets))
    size, false = data.draw(
        st.sampled_from([(1, None), (60, None), (200, None), (None, 0.1), (None, 3), (None, 1e6)])
    )
    blocks = build_budgeted(
        *arrays_of(pairs_of(sets), physical),
        unit_count=UNITS,
        measure=size_of,
        size=size,
        false=false,
    )

    blocks.validate()
    assert all(units_of(blocks, sets)[key] >= units for key, units in sets.items())
    found = lookup_ranges(blocks, RangeSet.from_intervals(result, physical, blocks.text))
    for key, units in sets.items():
        if any((a is None or a <= key) and (b is None or key < b) for a, b in result):
            assert units <= set(found.tolist())
    if false is not None:
        assert _false_units(blocks, sets) <= false + 1e-9


def _layout(kind: str) -> tuple[pa.Array, np.ndarray, dict[int, set[int]]]:
    random = np.random.default_rng(3)
    keys = np.arange(20_000)
    if kind == "scattered":
        units = random.integers(0, UNITS, len(keys))
    else:
        late = random.random(len(keys)) < 0.03
        units = np.where(late, random.integers(0, UNITS, len(keys)), keys // 40)
    if kind == "wide":
        keys = np.sort(random.choice(2**60, len(keys), replace=False))
    pairs = sort_pairs(pa.array(keys), units.astype(np.int32))
    return *pairs, {int(k): {int(u)} for k, u in zip(keys, units, strict=True)}


@pytest.mark.parametrize("kind", ["scattered", "late", "wide"])
def test_budgets_are_kept(kind: str) -> None:
    """A budget of bytes is kept and nearly used up; more bytes never mean more false units."""
    keys, units, sets = _layout(kind)
    exact = size_of(build_blocks(keys, units, absent_hits=1))
    before = np.inf
    for share in (0.1, 0.3, 0.6, 0.9):
        blocks = build_budgeted(keys, units, unit_count=UNITS, measure=size_of, size=share * exact)
        assert size_of(blocks) <= share * exact
        assert size_of(blocks) >= 0.7 * share * exact
        false = _false_units(blocks, sets)
        assert false <= before
        before = false


def test_false_units_are_kept_to() -> None:
    """A budget of false units is kept, with fewer bytes than exact blocks."""
    keys, units, sets = _layout("late")
    blocks = build_budgeted(keys, units, unit_count=UNITS, measure=size_of, false=0.5)

    assert 0.1 < _false_units(blocks, sets) <= 0.5
    assert size_of(blocks) < size_of(build_blocks(keys, units))


def test_a_budget_that_exact_blocks_meet_changes_nothing() -> None:
    """If the exact blocks fit the budget, they are used."""
    keys, units, _ = _layout("late")
    exact = build_blocks(keys, units)
    blocks = build_budgeted(keys, units, unit_count=UNITS, measure=size_of, size=1e9)

    assert blocks.keys.equals(exact.keys)
    assert blocks.ordinals.tolist() == exact.ordinals.tolist()


def test_each_way_is_best_somewhere() -> None:
    """Merging neighbours is best for correlated keys, and even blocks for scattered keys."""
    best = {}
    for kind in ("scattered", "late"):
        keys, units, _ = _layout(kind)
        points = trade_offs(keys, units, unit_count=UNITS, measure=size_of)
        half = [p for p in points if p.size <= 0.5 * points[0].size]
        best[kind] = min(half, key=lambda point: point.false_units).strategy

    assert best["late"] == "neighbours"
    assert best["scattered"] in {"even", "grid"}


@pytest.mark.parametrize("text", ["2 bits", " 1.5 bit ", "3 files", ".5 files"])
def test_budgets_are_read_and_written(text: str) -> None:
    """A budget in words is parsed and printed again."""
    budget = Budget.parse(text)

    assert Budget.parse(str(budget)) == budget


@pytest.mark.parametrize("text", ["", "2", "two bits", "-1 bits", "0 files", "1e3 bits", "2 bytes"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    """Any other text is refused, with a hint on how to write a budget."""
    with pytest.raises(InvalidInputError, match="2 bits"):
        Budget.parse(text)
