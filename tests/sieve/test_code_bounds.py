"""Bounds of key codes agree with their slow twins, in integers, bytes, and both together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.strategies import codes, intervals
from tests.kit.twins import do_meet, is_inside, united_ranges
from tests.sieve.arrays import PHYSICALS, keys_of

from lakesieve.sieve import (
    HIGHEST,
    CodeBounds,
    Interval,
    bytewise_code,
    bytewise_codes,
    successor,
)

PLACES = 6

Ranges = list[tuple[int, Interval]]


@st.composite
def ranges_of_places(draw: st.DrawFn, physical: str) -> Ranges:
    """Draw ranges of some places, of one code or many. Some ends are above all codes."""
    found: Ranges = []
    for place in draw(st.lists(st.integers(0, PLACES - 1), max_size=8)):
        low, high = sorted(draw(st.tuples(codes(physical), codes(physical))))
        has_end = physical == "int64" or draw(st.booleans())
        found.append((place, (low, successor(high) if has_end else None)))
    return found


def bounds_of(ranges: Ranges, physical: str) -> tuple[np.ndarray, CodeBounds]:
    """Return places, and their ranges as arrays."""
    # no int64 is above the highest one
    ends = [None if end == HIGHEST + 1 else end for _, (_, end) in ranges]
    lows = keys_of((low for _, (low, _) in ranges), physical)
    numbers = np.array([place for place, _ in ranges], np.int64)
    return numbers, CodeBounds(lows=lows, ends=keys_of(ends, physical))


@given(data=st.data())
def test_files_and_intervals_equal_the_twin(data: st.DataObject) -> None:
    """Whatever types the parts and the interval have, a place is inside or meets as the twin's."""
    physicals = data.draw(st.lists(st.sampled_from(PHYSICALS), max_size=3))
    drawn = [data.draw(ranges_of_places(physical)) for physical in physicals]
    parts = [bounds_of(ranges, one) for ranges, one in zip(drawn, physicals, strict=True)]
    bounds = CodeBounds.united(PLACES, parts)
    united = united_ranges(one for ranges in drawn for one in ranges)

    assert len(bounds.lows) == len(bounds.ends) == PLACES
    physical = data.draw(st.sampled_from(PHYSICALS))
    near = {code for one in united.values() for code in one if isinstance(code, int | bytes)}
    same = {code for code in near if isinstance(code, int) == (physical == "int64")}
    for interval in [*data.draw(intervals(physical, near=same)), (None, None)]:
        expected = [place in united and is_inside(united[place], interval) for place in range(6)]
        assert bounds.inside(interval).tolist() == expected
        expected = [place in united and do_meet(united[place], interval) for place in range(6)]
        assert bounds.meet(interval).tolist() == expected


@given(values=st.lists(st.one_of(st.none(), codes("int64"))))
def test_codes_as_bytes(values: list[int | None]) -> None:
    """An array of integers becomes the same bytes as each of them. Bytes stay."""
    wide = bytewise_codes(keys_of(values, "int64"))

    assert wide.to_pylist() == [bytewise_code(value) for value in values]
    assert bytewise_codes(wide) is wide
