"""A predicate over several indexes to the files to keep: file sets intersect and unite.

``keep = (live and candidates) or uncovered``: a file that an index has not seen matches every
predicate on that index's column, and so does every file when the index cannot be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.index.key_filters import UsableIndex, on_keys
from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.predicate import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    AnyOf,
    ColumnRanges,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.predicate import RowFilter

READ_FAILURES = (
    *(LakesieveError, pa.ArrowException, OSError),
    *(ValueError, TypeError, ArithmeticError, LookupError),
)
"""What reading an index may end in, when its bytes are not what a writer wrote."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """What one index says: it must be read, for each file that it covers.

    Args:
        index: The number of the index in the plan.
        keep: One element a covered file, in the index's numbering.
    """

    index: int
    keep: np.ndarray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Parts:
    """Several parts: a file must be read that all of them keep, or any of them.

    Args:
        every: Whether all of them must keep a file.
        args: The parts; no parts at all keep what ``every`` says.
    """

    every: bool
    args: tuple[Part | Parts, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan:
    """What is known of the files of a table under a predicate.

    A file that an index does not cover is kept by its parts, one that none covers by the plan.

    Args:
        indexes: The indexes that took part; none when nothing can be skipped.
        keep: Their answers.
        used: The indexes' names.
        reasons: Coded reasons.
    """

    indexes: tuple[OpenedIndex, ...]
    keep: Part | Parts
    used: tuple[str, ...]
    reasons: tuple[Reason, ...]

    @property
    def skips(self) -> bool:
        """Whether it can leave files out."""
        return bool(self.indexes) and not _keeps_all(self.keep)

    def of(self, paths: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """Judge files by their paths.

        Returns:
            Two boolean arrays: which must be read, and which some index covers.
        """
        return self.of_numbers([index.numbers(paths) for index in self.indexes], len(paths))

    def of_numbers(
        self, numbers: Sequence[np.ndarray], count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Judge files by their numbers.

        Args:
            numbers: For each index of the plan, the number that it has for each file, or -1.
            count: How many files there are.

        Returns:
            As :meth:`of` does.
        """
        covered = np.zeros(count, bool)
        for at in numbers:
            covered |= at >= 0
        return _judged(self.keep, numbers, count) | ~covered, covered


def _judged(part: Part | Parts, places: Sequence[np.ndarray], size: int) -> np.ndarray:
    if isinstance(part, Part):
        at = places[part.index]
        # files outside this index match: it has not seen them
        keep = np.ones(size, bool)
        keep[at >= 0] = part.keep[at[at >= 0]]
        return keep
    keep = np.full(size, part.every)
    for arg in part.args:
        if part.every:
            keep &= _judged(arg, places, size)
        else:
            keep |= _judged(arg, places, size)
    return keep


def _keeps_all(part: Part | Parts) -> bool:
    """Whether it is plain that a part leaves nothing out."""
    if isinstance(part, Part):
        return bool(part.keep.all())
    answers = [_keeps_all(arg) for arg in part.args]
    return all(answers) if part.every else any(answers)


def plan_files(
    truth: RowFilter,
    indexes: Sequence[UsableIndex],
    *,
    visit: Callable[[OpenedIndex | None], None] = lambda _: None,
) -> Plan:
    """Evaluate a predicate on all files that its indexes cover.

    Every index takes part whose leading column the predicate restricts; their answers intersect.

    Args:
        truth: Where the predicate is true, leaves by field id.
        indexes: The indexes that fit the table.
        visit: Called with each index before it is read, and with ``None`` after all were.
    """
    by_keys = on_keys(truth, indexes)
    reasons: list[Reason] = []
    masks: dict[ColumnRanges, np.ndarray] = {}
    good: dict[int, OpenedIndex] = {}
    # where nothing can match, whatever an index has seen is skipped
    fields = range(len(indexes)) if isinstance(by_keys, AlwaysFalse) else sorted(_fields(by_keys))
    for number in fields:
        index = indexes[number].index
        visit(index)
        try:
            index.check()
            answers = {leaf: index.may_match(leaf.ranges) for leaf in _leaves(by_keys, number)}
        except READ_FAILURES as error:
            reasons.append(broken_index(index.definition.name, error))
            continue
        small = {leaf: mask for leaf, mask in answers.items() if mask is not None}
        masks |= small
        if len(small) < len(answers):
            reasons.append(_too_large(index, answers.keys() - small.keys()))
        if small or not answers:
            good[number] = index
    visit(None)
    if not good:
        return unanswered(indexes) if not reasons else _reading_all(reasons)
    numbers = {field: number for number, field in enumerate(good)}
    keep = _keep(by_keys, numbers, masks)
    used = tuple(index.definition.name for index in good.values())
    code = ReasonCode.NOT_SELECTIVE if _keeps_all(keep) else ReasonCode.INDEX_USED
    reasons.append(Reason(code=code, detail=", ".join(used)))
    return Plan(indexes=tuple(good.values()), keep=keep, used=used, reasons=tuple(reasons))


def unanswered(indexes: Sequence[UsableIndex]) -> Plan:
    """The plan that reads every file, because no index answers any part of the condition."""
    return _reading_all([_no_predicate(indexes)])


def _reading_all(reasons: Iterable[Reason]) -> Plan:
    return Plan(indexes=(), keep=_ANYTHING, used=(), reasons=tuple(reasons))


def _too_large(index: OpenedIndex, leaves: Iterable[ColumnRanges]) -> Reason:
    ranges = sum(len(leaf.ranges.intervals) for leaf in leaves)
    return Reason(
        code=ReasonCode.LOOK_UP_TOO_LARGE,
        detail=f"{ranges} range{'' if ranges == 1 else 's'} of keys in {index.definition.name}",
    )


def _no_predicate(indexes: Sequence[UsableIndex]) -> Reason:
    if not indexes:
        return Reason(code=ReasonCode.NO_INDEX, detail="")
    names = ", ".join(sorted({usable.columns[0].name for usable in indexes}))
    return Reason(
        code=ReasonCode.NO_USABLE_PREDICATE, detail=f"no condition that an index on {names} answers"
    )


def _keep(
    truth: RowFilter, numbers: Mapping[int, int], masks: Mapping[ColumnRanges, np.ndarray]
) -> Part | Parts:
    match truth:
        case AlwaysFalse():
            return _NOTHING
        case ColumnRanges() if truth.field_id in numbers and truth in masks:
            return Part(index=numbers[truth.field_id], keep=masks[truth])
        case AllOf() | AnyOf():
            args = [_keep(arg, numbers, masks) for arg in truth.args]
            return _joined(args, every=isinstance(truth, AllOf))
        case _:
            return _ANYTHING


_ANYTHING = Parts(every=True, args=())
_NOTHING = Parts(every=False, args=())


def _joined(args: Sequence[Part | Parts], *, every: bool) -> Part | Parts:
    """Parts together; those of one index are one, as they cover the same files."""
    by_column: dict[int, np.ndarray] = {}
    others: list[Part | Parts] = []
    for arg in args:
        if not isinstance(arg, Part):
            if arg is not (_ANYTHING if every else _NOTHING):
                others.append(arg)
        elif arg.index not in by_column:
            by_column[arg.index] = arg.keep
        else:
            held = by_column[arg.index]
            by_column[arg.index] = held & arg.keep if every else held | arg.keep
    parts = [*(Part(index=number, keep=keep) for number, keep in by_column.items()), *others]
    if len(parts) == 1:
        return parts[0]
    return Parts(every=every, args=tuple(parts))


def _fields(truth: RowFilter) -> set[int]:
    """Numbers of the indexes that take part."""
    match truth:
        case ColumnRanges():
            return {truth.field_id}
        case AllOf() | AnyOf():
            return set().union(*(_fields(arg) for arg in truth.args))
        case _:
            return set()


def _leaves(truth: RowFilter, field: int) -> set[ColumnRanges]:
    match truth:
        case ColumnRanges():
            return {truth} if truth.field_id == field else set()
        case AllOf() | AnyOf():
            return set().union(*(_leaves(arg, field) for arg in truth.args))
        case AlwaysTrue() | AlwaysFalse():
            return set()


_BROKEN = {
    ErrorKind.OBJECT_NOT_FOUND: ReasonCode.INDEX_MISSING_FILE,
    ErrorKind.CORRUPT: ReasonCode.INDEX_CORRUPT,
    ErrorKind.TOO_NEW: ReasonCode.INDEX_TOO_NEW,
    ErrorKind.UNTRUSTED_ROOT: ReasonCode.INDEX_UNTRUSTED,
}


def broken_index(name: str, error: Exception) -> Reason:
    """The coded reason for an index that cannot be read."""
    code = ReasonCode.INDEX_UNREADABLE
    if isinstance(error, LakesieveError):
        code = _BROKEN.get(error.kind, code)
    text = error.message if isinstance(error, LakesieveError) else str(error)
    return Reason(code=code, detail=f"{name}: {text}")
