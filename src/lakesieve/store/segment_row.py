"""The segments of an index in the order of their keys, and which of them a look-up reads."""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING

from lakesieve.sieve import wide_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.format import SegmentEntry

Code = int | bytes
Interval = tuple[Code | None, Code | None]


class SegmentRow:
    """Segments whose keys are of one physical type, by their first key.

    Args:
        entries: The segments; their key ranges may overlap.
    """

    def __init__(self, entries: list[SegmentEntry]) -> None:
        self.entries = sorted(entries, key=lambda entry: (entry.key_min, entry.catalogue))
        self.is_bytewise = any(isinstance(entry.key_min, bytes) for entry in entries)
        self._firsts = [entry.key_min for entry in self.entries]
        # ascending, as the ends of overlapping segments are not
        self._ends = list(itertools.accumulate((e.key_max for e in self.entries), max))

    def with_type(self, code: Code | None) -> Code | None:
        """A code in the physical type of these segments."""
        return wide_code(code) if self.is_bytewise and isinstance(code, int) else code

    def touching(self, intervals: Sequence[Interval]) -> list[tuple[SegmentEntry, list[Interval]]]:
        """The segments that hold codes of any interval, each with those intervals."""
        if not intervals:
            return []
        if self.is_bytewise:
            intervals = [(self.with_type(low), self.with_type(high)) for low, high in intervals]
        touched = [
            (entry, _overlapping(intervals, entry.key_min, entry.key_max))
            for entry in self.meeting(intervals[0][0], intervals[-1][1])
        ]
        return [(entry, mine) for entry, mine in touched if mine]

    def meeting(self, low: Code | None, high: Code | None) -> list[SegmentEntry]:
        """The segments that hold codes of one interval, given in their physical type.

        Args:
            low: First code of the interval, ``None`` for no start.
            high: First code behind it, ``None`` for no end.
        """
        start = 0 if low is None else bisect.bisect_left(self._ends, low)
        end = len(self.entries) if high is None else bisect.bisect_left(self._firsts, high)
        # a segment that ends before the interval may follow one that does not
        return [
            entry
            for entry in self.entries[start:end]
            if low is None or entry.key_max >= low  # type: ignore[operator]
        ]


def least_groups(entry: SegmentEntry, intervals: Sequence[Interval]) -> int:
    """Row groups that must be read for sure, known without the footer."""
    low, high = intervals[0]
    below = low is None or low <= entry.key_min  # type: ignore[operator]
    above = high is None or high > entry.key_max  # type: ignore[operator]
    return entry.row_groups if below and above else 1


def _overlapping(intervals: Sequence[Interval], low: Code, high: Code) -> list[Interval]:
    """The sorted disjoint intervals that hold a code from low to high, both included."""
    # only the first interval can lack a start, only the last an end
    start = bisect.bisect_right(
        intervals, low, hi=len(intervals) - (intervals[-1][1] is None), key=_end
    )
    end = bisect.bisect_right(intervals, high, lo=int(intervals[0][0] is None), key=_start)
    return list(intervals[start:end])


def _start(interval: Interval) -> Code:
    return interval[0]  # type: ignore[return-value]


def _end(interval: Interval) -> Code:
    return interval[1]  # type: ignore[return-value]
