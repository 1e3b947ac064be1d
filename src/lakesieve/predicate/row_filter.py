"""Find the rows for which a predicate is true, under SQL's three-valued logic.

NOT is pushed down to the leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.predicate.bind import (
    Condition,
    ElementCondition,
    EntryCondition,
    TextCondition,
)
from lakesieve.predicate.expression import And, Constant, Not, Or
from lakesieve.predicate.ranges import Ranges
from lakesieve.predicate.text_words import words_of_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.predicate.bind import BoundExpr
    from lakesieve.predicate.expression import TextPattern
    from lakesieve.sieve import WordPart


@dataclass(frozen=True, slots=True, kw_only=True)
class AlwaysTrue:
    """Accepts every row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlwaysFalse:
    """Accepts no row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRanges:
    """Accepts rows whose value of one field, or of one expression, lies in ``ranges``."""

    field_id: int
    ranges: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementRanges:
    """Accepts rows with at least one element of a list, or one key of a map, in ``ranges``.

    Two such filters are both true if two elements lie in two disjoint ranges. So an AND of them is
    never a filter on the intersection of their ranges.
    """

    field_id: int
    ranges: Ranges  # without null: an index does not tell null elements from empty lists


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRows:
    """Accepts rows with at least one entry of a map that another filter accepts.

    Null as the key stands for a row without entries.
    """

    field_id: int  # of the keys
    entry: RowFilter  # on the fields of the keys and of the values


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysWith:
    """Accepts rows with at least one key of many that has a part, in ranges of keys if any."""

    field_id: int
    part: WordPart
    within: Ranges | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """Accepts the rows that every filter accepts."""

    args: tuple[RowFilter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Accepts the rows that at least one filter accepts."""

    args: tuple[RowFilter, ...]


RowFilter = (
    AllOf | AnyOf | ColumnRanges | ElementRanges | EntryRows | KeysWith | AlwaysTrue | AlwaysFalse
)


def rows_where(expr: BoundExpr, *, negated: bool = False) -> RowFilter:
    """Return a filter that accepts every row for which a predicate is true.

    Where parts of the predicate are unknown, the filter accepts more rows.
    """
    match expr:
        case Not():
            return rows_where(expr.arg, negated=not negated)
        case And() | Or():
            filters = [rows_where(arg, negated=negated) for arg in expr.args]
            return all_of(filters) if isinstance(expr, And) != negated else any_of(filters)
        case Condition():
            return _leaf(expr.field_id, expr.false if negated else expr.true)
        case Constant():
            return AlwaysTrue() if expr.value is (not negated) else AlwaysFalse()
        case ElementCondition() if not negated:
            return _some_element(expr.field_id, rows_where(expr.element))
        case EntryCondition() if not negated:
            entry = rows_where(expr.entry)
            is_known = not isinstance(entry, AlwaysTrue | AlwaysFalse)
            return EntryRows(field_id=expr.field_id, entry=entry) if is_known else entry
        case TextCondition() if negated:
            return rows_where(expr.condition, negated=True)
        case TextCondition():
            of_words = any_of([_with_words(expr.field_id, pattern) for pattern in expr.patterns])
            return all_of([rows_where(expr.condition), of_words])
        case _:
            return AlwaysTrue()


def exact_values(expr: BoundExpr) -> dict[int, Ranges] | None:
    """Return the values of fields that make a predicate true, if these values alone decide.

    Returns:
        By field id: a row fulfils the predicate exactly if each of these fields has one of its
        values, null included. ``None`` if this cannot be said, such as with unknown parts, or with
        OR of two fields.
    """
    if not _is_exact(expr):
        return None
    match rows_where(expr):
        case AlwaysTrue():
            return {}
        case ColumnRanges() as one:
            return {one.field_id: one.ranges}
        case AllOf(args=args):
            columns = [arg for arg in args if isinstance(arg, ColumnRanges)]
            if len(columns) == len(args):
                return {arg.field_id: arg.ranges for arg in columns}
    return None


def _is_exact(expr: BoundExpr) -> bool:
    """Return whether it is known for every row if a predicate is true, false or null."""
    match expr:
        case Not():
            return _is_exact(expr.arg)
        case And() | Or():
            return all(map(_is_exact, expr.args))
        case Condition():
            return expr.is_exact
        case _:
            return isinstance(expr, Constant)


def _with_words(field_id: int, pattern: TextPattern) -> RowFilter:
    """Return a filter on words that accepts every row whose text has a pattern."""
    ranges, part = words_of_pattern(pattern)
    filters: list[RowFilter] = [ElementRanges(field_id=field_id, ranges=one) for one in ranges]
    if part is not None:
        filters.append(KeysWith(field_id=field_id, part=part))
    return all_of(filters)


def _leaf(field_id: int, ranges: Ranges) -> RowFilter:
    if ranges.is_empty:
        return AlwaysFalse()
    return AlwaysTrue() if ranges.is_full else ColumnRanges(field_id=field_id, ranges=ranges)


def _some_element(field_id: int, elements: RowFilter) -> RowFilter:
    """Return a filter that accepts every row with an element that another filter accepts."""
    if isinstance(elements, AlwaysFalse):
        return elements
    if isinstance(elements, ColumnRanges) and not elements.ranges.nulls:
        return ElementRanges(field_id=field_id, ranges=elements.ranges)
    return AlwaysTrue()


def all_of(filters: Sequence[RowFilter]) -> RowFilter:
    """Combine filters with AND, and merge the ranges of each field."""
    flat = _flattened(filters, AllOf)
    if any(isinstance(arg, AlwaysFalse) for arg in flat):
        return AlwaysFalse()
    merged: dict[int, Ranges] = {}
    rest: list[RowFilter] = []
    for arg in flat:
        if isinstance(arg, ColumnRanges):
            merged_ranges = merged.get(arg.field_id)
            merged[arg.field_id] = (
                arg.ranges if merged_ranges is None else merged_ranges.intersect(arg.ranges)
            )
        elif not isinstance(arg, AlwaysTrue):
            rest.append(arg)
    leaves = [_leaf(field, ranges) for field, ranges in merged.items()]
    if any(isinstance(leaf, AlwaysFalse) for leaf in leaves):
        return AlwaysFalse()
    remaining = [leaf for leaf in leaves if not isinstance(leaf, AlwaysTrue)] + rest
    if not remaining:
        return AlwaysTrue()
    return remaining[0] if len(remaining) == 1 else AllOf(args=tuple(remaining))


def any_of(filters: Sequence[RowFilter]) -> RowFilter:
    """Combine filters with OR, and merge the ranges of each field."""
    flat = _flattened(filters, AnyOf)
    if any(isinstance(arg, AlwaysTrue) for arg in flat):
        return AlwaysTrue()
    merged: dict[int, list[Ranges]] = {}
    of_elements: dict[int, list[Ranges]] = {}
    rest: list[RowFilter] = []
    for arg in flat:
        if isinstance(arg, ColumnRanges):
            merged.setdefault(arg.field_id, []).append(arg.ranges)
        elif isinstance(arg, ElementRanges):
            of_elements.setdefault(arg.field_id, []).append(arg.ranges)
        elif not isinstance(arg, AlwaysFalse):
            rest.append(arg)
    rest += [
        ElementRanges(field_id=field, ranges=Ranges.of(i for r in sets for i in r.intervals))
        for field, sets in of_elements.items()
    ]
    leaves = [
        _leaf(
            field,
            Ranges.of((i for r in sets for i in r.intervals), nulls=any(r.nulls for r in sets)),
        )
        for field, sets in merged.items()
    ]
    if any(isinstance(leaf, AlwaysTrue) for leaf in leaves):
        return AlwaysTrue()
    remaining = leaves + rest
    if not remaining:
        return AlwaysFalse()
    return remaining[0] if len(remaining) == 1 else AnyOf(args=tuple(remaining))


def _flattened(filters: Sequence[RowFilter], kind: type[AllOf | AnyOf]) -> list[RowFilter]:
    flat: list[RowFilter] = []
    for arg in filters:
        flat.extend(arg.args if isinstance(arg, kind) else (arg,))
    return flat
