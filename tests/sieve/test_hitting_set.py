"""Of each set of units, one is chosen that may stand for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.twins import hitting_set

from lakesieve.sieve import hitting_units

UNITS = 12
_SETS = st.lists(st.lists(st.integers(0, UNITS - 1), unique=True, max_size=UNITS), max_size=40)
_FLAGS = st.lists(st.booleans(), min_size=UNITS, max_size=UNITS)


def _hit(
    sets: list[list[int]], usable: list[bool], chosen: list[bool], *, comparisons: int = 10**6
) -> set[int]:
    units = hitting_units(
        np.cumsum([0, *(len(one) for one in sets)]),
        np.array([unit for one in sets for unit in sorted(one)], np.int32),
        np.array(usable),
        np.array(chosen),
        comparisons=comparisons,
    )
    return set(np.flatnonzero(units).tolist())


@given(sets=_SETS, usable=_FLAGS, chosen=_FLAGS)
def test_units_equal_the_twin(
    sets: list[list[int]], usable: list[bool], chosen: list[bool]
) -> None:
    """The choice is that of a greedy search with Python's sets."""
    already = [unit for unit, is_chosen in enumerate(chosen) if is_chosen]

    assert _hit(sets, usable, chosen) == hitting_set(sets, usable, already)


@given(sets=_SETS, usable=_FLAGS, chosen=_FLAGS, comparisons=st.integers(0, 4 * UNITS))
def test_each_set_is_hit(
    sets: list[list[int]], usable: list[bool], chosen: list[bool], comparisons: int
) -> None:
    """However little work is allowed, each set has a usable unit, or all of its units."""
    found = _hit(sets, usable, chosen, comparisons=comparisons)

    assert {unit for unit, is_chosen in enumerate(chosen) if is_chosen} <= found
    for units in sets:
        held = {unit for unit in units if usable[unit]}
        assert held & found if held else set(units) <= found


@pytest.mark.parametrize("comparisons", [0, 10**6])
def test_few_units_are_enough(comparisons: int) -> None:
    """One unit that is in all sets is the only one that is chosen."""
    sets = [sorted({5, one % UNITS, one * 7 % UNITS}) for one in range(50)]

    nothing = [False] * UNITS
    assert _hit(sets, [True] * UNITS, nothing, comparisons=comparisons) == {5}
