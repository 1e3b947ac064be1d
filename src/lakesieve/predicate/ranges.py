"""Represent sets of key codes as sorted half-open intervals, with or without null."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.sieve import Code, Interval, successor

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """A set of key codes that may also contain null."""

    # `[low, high)` pairs, sorted, disjoint and not touching; `None` means no bound
    intervals: tuple[Interval, ...] = ()
    nulls: bool = False  # whether null belongs to the set

    @classmethod
    def of(cls, intervals: Iterable[Interval], *, nulls: bool = False) -> Ranges:
        """Make a set from intervals in any order, which may overlap or be empty."""
        return cls(intervals=_joined(intervals), nulls=nulls)

    @classmethod
    def points(cls, codes: Iterable[Code]) -> Ranges:
        """Return the set of the given codes."""
        return cls.of((code, successor(code)) for code in codes)

    @classmethod
    def of_codes(cls, codes: np.ndarray) -> Ranges:
        """Return the set of some int64 codes, in any order. Neighbours become one interval."""
        if len(codes) == 0:
            return cls()
        distinct = np.unique(codes)
        # the distance between any two int64 values fits into uint64
        gaps = np.flatnonzero(np.diff(distinct.view(np.uint64)) != 1)
        lows = distinct[np.concatenate([[0], gaps + 1])].tolist()
        ends = distinct[np.concatenate([gaps, [len(distinct) - 1]])].tolist()
        intervals = tuple((low, end + 1) for low, end in zip(lows, ends, strict=True))
        return cls(intervals=intervals)

    @classmethod
    def everything(cls, *, nulls: bool = False) -> Ranges:
        """Return the set of all values."""
        return cls(intervals=((None, None),), nulls=nulls)

    @classmethod
    def prefix(cls, prefix: bytes) -> Ranges:
        """Return the set of all byte strings with this prefix."""
        if not prefix:
            return cls.everything()
        stem = prefix.rstrip(b"\xff")
        end = stem[:-1] + bytes([stem[-1] + 1]) if stem else None
        return cls(intervals=((prefix, end),))

    def union(self, other: Ranges) -> Ranges:
        """Return the codes that are in either set."""
        return Ranges.of((*self.intervals, *other.intervals), nulls=self.nulls or other.nulls)

    def intersect(self, other: Ranges) -> Ranges:
        """Return the codes that are in both sets."""
        shared: list[Interval] = []
        i = j = 0
        mine, theirs = self.intervals, other.intervals
        while i < len(mine) and j < len(theirs):
            low = _later(mine[i][0], theirs[j][0])
            mine_first = _ends_before(mine[i][1], theirs[j][1])
            high = mine[i][1] if mine_first else theirs[j][1]
            if not _empty(low, high):
                shared.append((low, high))
            if mine_first:
                i += 1
            else:
                j += 1
        return Ranges(intervals=tuple(shared), nulls=self.nulls and other.nulls)

    def complement(self, *, nulls: bool) -> Ranges:
        """Return all values outside the intervals, and null if ``nulls`` says so."""
        gaps: list[Interval] = []
        low: Code | None = None
        for start, end in self.intervals:
            if start is not None:
                gaps.append((low, start))
            if end is None:
                return Ranges(intervals=tuple(gaps), nulls=nulls)
            low = end
        return Ranges(intervals=(*gaps, (low, None)), nulls=nulls)

    def singles(self) -> list[Code] | None:
        """Return the codes of a set of a few single values, or ``None`` for any other set."""
        codes: list[Code] = []
        for low, high in self.intervals:
            if isinstance(low, int) and isinstance(high, int) and high - low <= len(self.intervals):
                codes += range(low, high)
            elif isinstance(low, bytes) and high == successor(low):
                codes.append(low)
            else:
                return None
        return codes

    def contains(self, code: Code | None) -> bool:
        """Return whether a code, or null, belongs to the set."""
        if code is None:
            return self.nulls
        return any(
            (low is None or _le(low, code)) and (high is None or not _le(high, code))
            for low, high in self.intervals
        )

    @property
    def is_empty(self) -> bool:
        """True if nothing belongs to the set."""
        return not self.intervals and not self.nulls

    @property
    def is_full(self) -> bool:
        """True if every value and null belong to the set."""
        return self.nulls and self.intervals == ((None, None),)


def _le(a: Code, b: Code) -> bool:
    return a <= b  # type: ignore[operator]


def _empty(low: Code | None, high: Code | None) -> bool:
    return low is not None and high is not None and _le(high, low)


def _later(a: Code | None, b: Code | None) -> Code | None:
    if a is None or b is None:
        return b if a is None else a
    return b if _le(a, b) else a


def _ends_before(a: Code | None, b: Code | None) -> bool:
    if a is None:
        return False
    return b is None or _le(a, b)


def _joined(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    whole = [pair for pair in intervals if not _empty(*pair)]
    if not all(low is not None for low, _ in whole):
        ends = [high for low, high in whole if low is None]
        widest = None if any(e is None for e in ends) else max(ends)  # type: ignore[type-var]
        whole = [pair for pair in whole if pair[0] is not None]
        joined: list[Interval] = [(None, widest)]
    else:
        joined = []
    whole.sort(key=lambda pair: pair[0])  # type: ignore[arg-type, return-value]
    for low, high in whole:
        if joined and low is not None and (joined[-1][1] is None or _le(low, joined[-1][1])):
            if joined[-1][1] is not None and not _ends_before(high, joined[-1][1]):
                joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return tuple(joined)
