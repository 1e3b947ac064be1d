"""Bounds of data files beside ranges of key codes: the arrays say what each file's bounds say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.predicate import Ranges
from lakesieve.tables.contract import Column
from lakesieve.tables.statistics import bounds_of

if TYPE_CHECKING:
    from lakesieve.sieve import Code

# the ends of int64 and the codes next to them, and beyond
INTEGERS = st.integers(-5, 5) | st.sampled_from([-(2**63), 1 - 2**63, 2**63 - 2, 2**63 - 1, 2**63])
TEXTS = st.binary(max_size=2)


def _column(kind: str) -> Column:
    return Column(path=("c",), field_id=1, type=kind, kind=kind)


def _can_hold(kind: str, low: Code | None, high: Code | None, ranges: Ranges) -> bool:
    """Return whether a value between two bounds can be in a set, one interval after another."""
    if low is None:
        low = b"" if kind == "string" else -(2**63)
    if high is None and kind == "integer":
        high = 2**63 - 1
    return any(
        (start is None or high is None or start <= high)  # type: ignore[operator]
        and (end is None or low < end)  # type: ignore[operator]
        for start, end in ranges.intervals
    )


@pytest.mark.parametrize(("kind", "codes"), [("integer", INTEGERS), ("string", TEXTS)])
@given(data=st.data())
def test_bounds_overlap_ranges(
    kind: str, codes: st.SearchStrategy[Code], data: st.DataObject
) -> None:
    """A file can match if an interval overlaps its bounds, of which each may be unknown."""
    ends = st.none() | codes
    of_files = codes.filter(lambda code: isinstance(code, bytes) or code < 2**63)
    low, high = (data.draw(st.lists(st.none() | of_files, min_size=3, max_size=3)) for _ in "ab")
    ranges = Ranges.of(data.draw(st.lists(st.tuples(ends, ends), max_size=4)))

    all_of = np.ones(3, bool)
    known = bounds_of(_column(kind), low, high, has_null=~all_of, has_value=all_of)

    expected = [_can_hold(kind, *pair, ranges) for pair in zip(low, high, strict=True)]
    assert known.may_match(ranges).tolist() == expected


@pytest.mark.parametrize(("nulls", "expected"), [(True, [True, False]), (False, [False, False])])
def test_files_of_nulls(nulls: bool, expected: list[bool]) -> None:
    """A file without values matches null alone, and only if it can hold one."""
    never = np.zeros(2, bool)
    known = bounds_of(
        _column("integer"), [None, None], [None, None], has_null=~never, has_value=never
    )
    known.has_null[1] = False
    assert known.may_match(Ranges(intervals=((None, None),), nulls=nulls)).tolist() == expected
