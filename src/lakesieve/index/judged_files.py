"""Which data files, and which of their rows, must be read: the answers of indexes as a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from lakesieve.index.row_ranges import Candidates, RowRanges

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.reasons import Reason


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeepLeaf(Candidates):
    """Which of the data files that an index covers must be read, by one of its answers.

    Args:
        index: The number of the index in the plan.
    """

    index: int

    @classmethod
    def of_index(cls, index: int, candidates: Candidates) -> Self:
        """Return the answer of an index of the plan."""
        return cls(index=index, keep=candidates.keep, rows=candidates.rows)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeepNode:
    """Keeps the files that all of its parts keep, or the files that any of them keeps.

    Args:
        every: Whether all of them must keep a file; without parts it is the answer.
        args: The parts.
    """

    every: bool
    args: tuple[KeepLeaf | KeepNode, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeepTree:
    """What indexes say of the files of a table under a predicate.

    A leaf keeps the files that its index does not cover; the plan keeps those that none covers.

    Args:
        indexes: The indexes that took part; none when nothing can be skipped.
        keep: Their answers.
        used: The indexes' names.
        reasons: Coded reasons.
    """

    indexes: tuple[OpenedIndex, ...]
    keep: KeepLeaf | KeepNode
    used: tuple[str, ...]
    reasons: tuple[Reason, ...]

    @property
    def skips(self) -> bool:
        """Whether it can leave files out."""
        return bool(self.indexes) and not keeps_all(self.keep)

    def of(self, paths: pa.Array | pa.ChunkedArray) -> JudgedFiles:
        """Judge data files by their paths."""
        return self.of_numbers([index.numbers(paths) for index in self.indexes], len(paths))

    def of_numbers(self, numbers: Sequence[np.ndarray], count: int) -> JudgedFiles:
        """Judge files as :meth:`of` does, by the numbers that each index has for them, or -1."""
        covered = np.zeros(count, bool)
        for at in numbers:
            covered |= at >= 0
        keep = _judged(self.keep, numbers, count) | ~covered
        if not _has_rows(self.keep):
            return JudgedFiles(keep=keep, covered=covered)
        kept = np.flatnonzero(keep)
        rows = _judged_rows(self.keep, numbers, kept)
        uncovered = RowRanges.whole(kept[~covered[kept]])
        rows = RowRanges.united([rows, uncovered])
        # two indexes may name rows of one file that have none in common
        keep = np.zeros(count, bool)
        keep[rows.files] = True
        records = np.full(count, -1, np.int64)
        for index, at in zip(self.indexes, numbers, strict=True):
            records[at >= 0] = index.records()[at[at >= 0]]
        return JudgedFiles(keep=keep, covered=covered, rows=rows, records=records)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedFiles:
    """The data files of a list that must be read, and the rows to read in them.

    Args:
        keep: Whether each file must be read.
        covered: Whether some index covers each file.
        rows: The rows that must be read. The number of a file is its position in the list. ``None``
            means all rows of the files.
        records: The total number of rows in each file; -1 for a file that no index covers. Empty if
            ``rows`` is ``None``.
    """

    keep: np.ndarray
    covered: np.ndarray
    rows: RowRanges | None = None
    records: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))


def _has_rows(part: KeepLeaf | KeepNode) -> bool:
    """Return whether an answer names rows and not only files."""
    if isinstance(part, KeepLeaf):
        return part.rows is not None
    return any(_has_rows(arg) for arg in part.args)


def _judged_rows(
    part: KeepLeaf | KeepNode, numbers: Sequence[np.ndarray], kept: np.ndarray
) -> RowRanges:
    """Return the rows that a part keeps of some files, given by their ascending positions."""
    if isinstance(part, KeepLeaf):
        at = numbers[part.index][kept]
        positions = np.full(len(part.keep), -1)
        positions[at[at >= 0]] = kept[at >= 0]
        of_index = part.row_ranges.renumbered(positions)
        # files outside this index match: it has not seen them
        return RowRanges.united([of_index, RowRanges.whole(kept[at < 0])])
    if not part.args:
        return RowRanges.whole(kept if part.every else kept[:0])
    rows = [_judged_rows(arg, numbers, kept) for arg in part.args]
    return RowRanges.shared(rows) if part.every else RowRanges.united(rows)


def _judged(part: KeepLeaf | KeepNode, numbers: Sequence[np.ndarray], count: int) -> np.ndarray:
    if isinstance(part, KeepLeaf):
        at = numbers[part.index]
        # files outside this index match: it has not seen them
        keep = np.ones(count, bool)
        keep[at >= 0] = part.keep[at[at >= 0]]
        return keep
    keep = np.full(count, part.every)
    for arg in part.args:
        if part.every:
            keep &= _judged(arg, numbers, count)
        else:
            keep |= _judged(arg, numbers, count)
    return keep


def keeps_all(part: KeepLeaf | KeepNode) -> bool:
    """Return whether it is plain that a part leaves nothing out."""
    if isinstance(part, KeepLeaf):
        return part.rows is None and bool(part.keep.all())
    answers = [keeps_all(arg) for arg in part.args]
    return all(answers) if part.every else any(answers)
