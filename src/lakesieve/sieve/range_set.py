"""Ranges of key codes in the form that look-ups take."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.sieve.keys import HIGHEST, LOWEST, bytewise_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve.keys import Code, Interval
    from lakesieve.sieve.text import TextCode


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeSet:
    """Ranges of key codes, sorted by their first code.

    Args:
        lows: First codes, ascending: an int64 array, or a list (bytes, or a single range).
        highs: For integers the last codes, *included*, as an int64 array. For bytes a list of the
            *excluded* ends, ``None`` for no end. Ascending if the ranges are disjoint.
    """

    lows: Any
    highs: Any

    def __len__(self) -> int:
        return len(self.lows)

    @classmethod
    def from_intervals(
        cls, intervals: Sequence[Interval], physical: str, text: TextCode | None = None
    ) -> RangeSet:
        """Make ranges from half-open intervals, in which ``None`` means unbounded.

        Intervals may be in any order; empty intervals are dropped. The end of an integer interval
        may exceed the highest code. ``physical`` is the storage type of the blocks' codes, or of
        the keys under their text code. If it is bytes, integers become :func:`bytewise_code`.
        """
        if len(intervals) == 1:
            one = one_range(*intervals[0], physical, text)
            return cls(lows=[], highs=[]) if one is None else cls(lows=[one[0]], highs=[one[1]])
        if physical == "bytes":
            texts: list[tuple[Any, Any]] = [
                (bytewise_code(low) or b"", bytewise_code(high)) for low, high in intervals
            ]
            nonempty = [(low, high) for low, high in texts if high is None or low < high]
            if text is None:
                nonempty.sort(key=itemgetter(0))
                return cls(lows=[low for low, _ in nonempty], highs=[high for _, high in nonempty])
            lows, highs = text.intervals(nonempty)
        else:
            lows, highs = _int_bounds(intervals)
        if (lows[1:] < lows[:-1]).any():
            order = np.lexsort((highs, lows))
            lows, highs = lows[order], highs[order]
        return cls(lows=lows, highs=highs)

    def between(self, low: Code | None, high: Code | None) -> RangeSet:
        """Return the ranges that contain a code of ``[low, high)``. The ranges must be disjoint."""
        if len(self) == 1:
            return self
        if isinstance(self.lows, list):
            start = 0 if low is None else bisect.bisect_right(self.highs, low, key=_or_highest)
            end = len(self) if high is None else bisect.bisect_left(self.lows, high)
        else:
            start = 0 if low is None else int(np.searchsorted(self.highs, low))
            end = len(self) if high is None else int(np.searchsorted(self.lows, high))
        return RangeSet(lows=self.lows[start:end], highs=self.highs[start:end])

    def within(self, first: int, last: int) -> RangeSet:
        """Return those of the disjoint integer ranges with a code from ``first`` to ``last``."""
        start = int(np.searchsorted(self.highs, first))
        end = int(np.searchsorted(self.lows, last, side="right"))
        return RangeSet(lows=self.lows[start:end], highs=self.highs[start:end])

    def row_groups(self, firsts: Sequence[Code]) -> list[int]:
        """Return the indices of the row groups that can hold codes of the ranges.

        Args:
            firsts: First code of each row group, ascending. The first row group has no lower
                bound and the last one no upper bound.
        """
        if len(self.lows) == 1:
            return list(row_groups_of(firsts, self.lows[0], self.highs[0]))
        starts: Any
        ends: Any
        if isinstance(self.lows, list):
            starts = [bisect.bisect_right(firsts, low) - 1 for low in self.lows]
            ends = [_end_of(firsts, high) for high in self.highs]
        else:
            starts = np.searchsorted(firsts, self.lows, side="right") - 1
            ends = np.searchsorted(firsts, self.highs, side="right")
        touched = np.zeros(len(firsts) + 1, np.int64)
        starts = np.maximum(starts, 0)
        np.add.at(touched, starts, 1)
        np.add.at(touched, np.maximum(ends, starts + 1), -1)
        return np.flatnonzero(np.cumsum(touched[:-1])).tolist()


def one_range(
    low: Code | None, high: Code | None, physical: str, text: TextCode | None = None
) -> tuple[Any, Any] | None:
    """Return the only range of :meth:`RangeSet.from_intervals` for one interval, without arrays.

    Returns:
        First and last code, or for bytes first code and excluded end; ``None`` if it is empty.
    """
    first: int
    behind: int
    if physical == "bytes":
        start, end = bytewise_code(low) or b"", bytewise_code(high)
        if end is not None and start >= end:
            return None
        if text is None:
            return start, end
        first, behind = text.interval(start, end)
    else:
        first, behind = _clamp(low, LOWEST), _clamp(high, HIGHEST + 1)
    return (first, behind - 1) if first < behind else None


def row_groups_of(firsts: Sequence[Code], low: Any, high: Any) -> range:
    """Return the indices of the row groups that can hold codes of one range.

    ``low`` and ``high`` are a result of :func:`one_range`. See :meth:`RangeSet.row_groups`.
    """
    first = max(bisect.bisect_right(firsts, low) - 1, 0)
    if low == high:
        return range(first, first + 1)
    return range(first, max(_end_of(firsts, high), first + 1))


def _end_of(firsts: Sequence[Code], high: Any) -> int:
    """Return the index after the last row group that a range can touch."""
    if high is None:
        return len(firsts)
    search = bisect.bisect_left if isinstance(high, bytes) else bisect.bisect_right
    return search(firsts, high)


def _int_bounds(intervals: Sequence[Interval]) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(_clamp(low, LOWEST), _clamp(high, HIGHEST + 1) - 1) for low, high in intervals]
    nonempty = [pair for pair in pairs if pair[0] <= pair[1]]
    bounds = np.array(nonempty, np.int64).reshape(-1, 2)
    return bounds[:, 0], bounds[:, 1]


def _clamp(code: Code | None, absent: int) -> int:
    if not isinstance(code, int):
        return absent
    if LOWEST <= code <= HIGHEST:
        return code
    return LOWEST if code < LOWEST else HIGHEST + 1


class _Highest:
    """A value above all bytes."""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return True


_HIGHEST_BYTES = _Highest()


def _or_highest(end: bytes | None) -> Any:
    return _HIGHEST_BYTES if end is None else end
