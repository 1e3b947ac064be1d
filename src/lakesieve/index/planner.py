"""A predicate over several indexes to the files to keep: file sets intersect and unite.

``keep = (live and candidates) or uncovered``: a file that an index has not seen matches every
predicate on that index's column, and so does every file when the index cannot be read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.errors import (
    CorruptIndexError,
    ErrorKind,
    IndexFormatError,
    LakesieveError,
    NotFoundError,
)
from lakesieve.index.keyed import UsableIndex, on_keys
from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.predicate import AllOf, AnyOf, Everything, Leaf, Nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakesieve.format import KeyColumn
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.predicate import Truth

__all__ = ["READ_FAILURES", "Plan", "Universe", "broken_index", "plan_files", "usable_indexes"]


READ_FAILURES = (
    *(LakesieveError, pa.ArrowException, OSError),
    *(ValueError, TypeError, ArithmeticError, LookupError),
)
"""What reading an index may end in, when its bytes are not what a writer wrote."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Universe:
    """All files that some of the indexes cover, each once.

    Args:
        id: Names this list of files among all others.
        paths: The files.
        positions: By index identity: the place in ``paths`` of each of its covered files.
    """

    id: str
    paths: pa.Array
    positions: Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan:
    """What is known of the files of a table under a predicate.

    Args:
        universe: The files the indexes have seen; ``None`` when nothing can be skipped.
        keep: For each of those whether it must be read.
        used: Names of the indexes that took part.
        reasons: Coded reasons.
    """

    universe: Universe | None
    keep: np.ndarray
    used: tuple[str, ...]
    reasons: tuple[Reason, ...]


def usable_indexes(
    indexes: Sequence[OpenedIndex], columns: Mapping[int, tuple[str, int]], table_uuid: str
) -> tuple[list[UsableIndex], list[Reason]]:
    """Leave out the indexes that do not fit the table as it is read.

    An index on several columns still answers for those before the first that does not fit.

    Args:
        indexes: The indexes found beside the table.
        columns: By field id: key kind and scale under which the column is read now.
        table_uuid: Identity of the table that is read.
    """
    usable: list[UsableIndex] = []
    reasons: list[Reason] = []
    for index in indexes:
        definition = index.definition
        if definition.table_uuid != table_uuid:
            reasons.append(
                Reason(
                    code=ReasonCode.OTHER_TABLE,
                    detail=f"{definition.name} was built for another table of this location",
                )
            )
            continue
        fitting: list[KeyColumn] = []
        for column in definition.columns:
            now = columns.get(column.field_id)
            if now != (column.key_kind, column.scale):
                if now is not None:
                    reasons.append(_type_changed(definition.name, column, now[0]))
                break
            fitting.append(column)
        if fitting:
            usable.append(UsableIndex(index=index, columns=tuple(fitting)))
    return usable, reasons


def _type_changed(name: str, column: KeyColumn, now: str) -> Reason:
    return Reason(
        code=ReasonCode.TYPE_CHANGED,
        detail=f"{name} was built on {column.name} of type {column.type}, read now as {now}",
    )


def plan_files(
    truth: Truth,
    indexes: Sequence[UsableIndex],
    *,
    visit: Callable[[OpenedIndex | None], None] = lambda _: None,
) -> Plan:
    """Evaluate a predicate on all files that its indexes cover.

    Every index takes part whose leading column the predicate tells of; their answers intersect.

    Args:
        truth: Where the predicate is true, leaves by field id.
        indexes: The indexes that fit the table.
        visit: Called with each index before it is read, and with ``None`` after all were.
    """
    where = on_keys(truth, indexes)
    reasons: list[Reason] = []
    masks: dict[Leaf, np.ndarray] = {}
    good: dict[int, OpenedIndex] = {}
    # where nothing can match, whatever an index has seen is skipped
    fields = range(len(indexes)) if isinstance(where, Nothing) else sorted(_fields(where))
    for number in fields:
        index = indexes[number].index
        visit(index)
        try:
            index.paths()
            told = {leaf: index.may_match(leaf.ranges) for leaf in _leaves(where, number)}
        except READ_FAILURES as error:
            reasons.append(broken_index(index.definition.name, error))
            continue
        small = {leaf: mask for leaf, mask in told.items() if mask is not None}
        masks |= small
        if len(small) < len(told):
            reasons.append(_too_large(index, told.keys() - small.keys()))
        if small or not told:
            good[number] = index
    visit(None)
    if not good:
        if not reasons:
            reasons.append(_no_predicate(indexes))
        return Plan(universe=None, keep=np.zeros(0, bool), used=(), reasons=tuple(reasons))
    universe = _universe(tuple(good.values()))
    keep = _keep(where, good, masks, universe)
    used = tuple(index.definition.name for index in good.values())
    code = ReasonCode.NOT_SELECTIVE if bool(keep.all()) else ReasonCode.INDEX_USED
    reasons.append(Reason(code=code, detail=", ".join(used)))
    return Plan(universe=universe, keep=keep, used=used, reasons=tuple(reasons))


def _too_large(index: OpenedIndex, leaves: Iterable[Leaf]) -> Reason:
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
    truth: Truth,
    indexes: Mapping[int, OpenedIndex],
    masks: Mapping[Leaf, np.ndarray],
    universe: Universe,
) -> np.ndarray:
    size = len(universe.paths)
    match truth:
        case Nothing():
            return np.zeros(size, bool)
        case Leaf() if truth.field_id in indexes and truth in masks:
            # files outside this index match: it has not seen them
            keep = np.ones(size, bool)
            keep[universe.positions[indexes[truth.field_id].identity]] = masks[truth]
            return keep
        case AllOf():
            keep = np.ones(size, bool)
            for arg in truth.args:
                keep &= _keep(arg, indexes, masks, universe)
            return keep
        case AnyOf():
            keep = np.zeros(size, bool)
            for arg in truth.args:
                keep |= _keep(arg, indexes, masks, universe)
            return keep
        case _:
            return np.ones(size, bool)


@lru_cache(maxsize=32)
def _universe(indexes: tuple[OpenedIndex, ...]) -> Universe:
    identity = hashlib.sha256("\n".join(i.identity for i in indexes).encode()).hexdigest()[:32]
    everything = pa.chunked_array([c for i in indexes for c in i.paths().chunks], pa.string())
    encoded = everything.combine_chunks().dictionary_encode()
    positions: dict[str, np.ndarray] = {}
    places = encoded.indices.to_numpy()
    start = 0
    for index in indexes:
        end = start + len(index.paths())
        positions[index.identity] = places[start:end]
        start = end
    return Universe(id=identity, paths=encoded.dictionary, positions=positions)


def _fields(truth: Truth) -> set[int]:
    """Numbers of the indexes that take part."""
    match truth:
        case Leaf():
            return {truth.field_id}
        case AllOf() | AnyOf():
            return set().union(*(_fields(arg) for arg in truth.args))
        case _:
            return set()


def _leaves(truth: Truth, field: int) -> set[Leaf]:
    match truth:
        case Leaf():
            return {truth} if truth.field_id == field else set()
        case AllOf() | AnyOf():
            return set().union(*(_leaves(arg, field) for arg in truth.args))
        case Everything() | Nothing():
            return set()


_BROKEN = {
    ErrorKind.OBJECT_NOT_FOUND: ReasonCode.INDEX_MISSING_FILE,
    ErrorKind.CORRUPT: ReasonCode.INDEX_CORRUPT,
    ErrorKind.TOO_NEW: ReasonCode.INDEX_TOO_NEW,
}


def broken_index(name: str, error: Exception) -> Reason:
    """The coded reason for an index that cannot be read."""
    code = ReasonCode.INDEX_UNREADABLE
    if isinstance(error, (NotFoundError, CorruptIndexError, IndexFormatError)):
        code = _BROKEN.get(error.kind, code)
    text = error.message if isinstance(error, LakesieveError) else str(error)
    return Reason(code=code, detail=f"{name}: {text}")
