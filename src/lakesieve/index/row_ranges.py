"""Ranges of rows of data files, and their intersection and union.

All functions work on arrays: nothing here loops over files or rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

# 31 bits are left for the number of the file
_BITS = 32
ALL_ROWS = 1 << _BITS
"""End of a range that reaches to the end of its data file, however many rows the file has."""

_MASK = ALL_ROWS - 1


@dataclass(frozen=True, slots=True, eq=False)
class RowRanges:
    """Rows of several numbered data files: disjoint ranges, sorted by file and by row.

    A position is a file's number and a row's number in one int64. A range that begins at row 0 and
    reaches to the end of its file is the whole file.

    Args:
        starts: The position of the first row of each range, int64, ascending.
        ends: The position behind the last row of each range, int64, ascending.
    """

    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def whole(cls, files: np.ndarray) -> Self:
        """Return all rows of some files, whose numbers ascend."""
        starts = files.astype(np.int64) << _BITS
        return cls(starts, starts + ALL_ROWS)

    @classmethod
    def of(cls, files: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> Self:
        """Return ranges of rows in any order, which may touch or overlap.

        Args:
            files: The number of each range's file.
            rows: First row of each range.
            ends: The row behind its last, or ``ALL_ROWS``.
        """
        base = files.astype(np.int64) << _BITS
        starts = base + rows
        order = np.argsort(starts, kind="stable")
        return cls(*_joined(starts[order], (base + ends)[order]))

    @property
    def files(self) -> np.ndarray:
        """The number of each range's file."""
        numbers: np.ndarray = self.starts >> _BITS
        return numbers

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """First row of each range in its file, and the row behind its last."""
        first = self.starts & _MASK
        return first, first + (self.ends - self.starts)

    @property
    def is_whole(self) -> np.ndarray:
        """Whether each range is a whole file."""
        whole: np.ndarray = self.ends - self.starts == ALL_ROWS
        return whole

    def lengths(self, records: np.ndarray) -> np.ndarray:
        """Return the number of rows of each range, by the number of rows of each file."""
        first, end = self.rows
        lengths: np.ndarray = np.minimum(end, records[self.files]) - first
        return lengths

    def renumbered(self, numbers: np.ndarray) -> Self:
        """Return the rows under other file numbers.

        Args:
            numbers: The new number of each file by its old number, -1 for a file to leave out.
        """
        new = numbers[self.files]
        kept = new >= 0
        first, end = self.rows
        return type(self).of(new[kept], first[kept], end[kept])

    @classmethod
    def shared(cls, parts: Sequence[Self]) -> Self:
        """Return the rows that are in every part."""
        return cls._swept(parts, len(parts))

    @classmethod
    def united(cls, parts: Sequence[Self]) -> Self:
        """Return the rows that are in any part."""
        return cls._swept(parts, 1)

    @classmethod
    def _swept(cls, parts: Sequence[Self], least: int) -> Self:
        """Return the rows that are in at least ``least`` of the parts."""
        if len(parts) == 1:
            return parts[0]
        starts = np.concatenate([np.zeros(0, np.int64), *(part.starts for part in parts)])
        ends = np.concatenate([np.zeros(0, np.int64), *(part.ends for part in parts)])
        at, place = np.unique(np.concatenate([starts, ends]), return_inverse=True)
        steps = np.bincount(place[: len(starts)], minlength=len(at))
        steps -= np.bincount(place[len(starts) :], minlength=len(at))
        is_inside = np.cumsum(steps) >= least
        inside = np.flatnonzero(is_inside)
        return cls(*_joined(at[inside], at[inside + 1]))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidates:
    """The data files of an index that can hold a match, and the rows in which they can hold it.

    Args:
        keep: For each covered file whether it can hold a match, in the index's numbering.
        rows: The rows of these files that can match; ``None`` for all their rows.
    """

    keep: np.ndarray
    rows: RowRanges | None = None

    @classmethod
    def of_rows(cls, rows: RowRanges, files: int) -> Self:
        """Return the files of some rows; ``files`` is the number of covered files."""
        keep = np.zeros(files, bool)
        keep[rows.files] = True
        return cls(keep=keep, rows=None if rows.is_whole.all() else rows)

    @property
    def row_ranges(self) -> RowRanges:
        """The rows that can match, also if they are all rows of their files."""
        return RowRanges.whole(np.flatnonzero(self.keep)) if self.rows is None else self.rows

    @classmethod
    def joined(cls, parts: Sequence[Candidates], *, every: bool) -> Candidates:
        """Combine several answers of one index.

        The result has the rows that are in all answers if ``every`` is true, else the rows that are
        in at least one answer.
        """
        if all(part.rows is None for part in parts):
            combine = np.logical_and if every else np.logical_or
            return Candidates(keep=combine.reduce([part.keep for part in parts]))
        join = RowRanges.shared if every else RowRanges.united
        return Candidates.of_rows(join([part.row_ranges for part in parts]), len(parts[0].keep))


def _joined(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join sorted ranges of one file that touch or overlap."""
    if not len(starts):
        return starts, ends
    reach = np.maximum.accumulate(ends)
    apart = (starts[1:] > reach[:-1]) | (starts[1:] >> _BITS != starts[:-1] >> _BITS)
    first = np.concatenate(([True], apart))
    last = np.concatenate((apart, [True]))
    return starts[first], reach[last]
