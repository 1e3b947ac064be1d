"""From a predicate and a table's indexes to the data files that must be read.

``keep = (live and candidates) or uncovered``: a file that an index has not seen matches every
predicate on that index's column, and so does every file when the index cannot be read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.index.definition import type_by_name
from lakesieve.index.expression_conditions import Expressions
from lakesieve.index.expressions import changed_source
from lakesieve.index.judged_files import KeepLeaf, KeepNode, KeepTree, keeps_all
from lakesieve.index.key_filters import EntryKey, UsableIndex, on_keys
from lakesieve.index.reasons import READ_FAILURES, Reason, ReasonCode, broken_index
from lakesieve.index.row_ranges import Candidates
from lakesieve.predicate import (
    AllOf,
    AlwaysFalse,
    AnyOf,
    ColumnRanges,
    ColumnType,
    ElementRanges,
    KeysWith,
    Ranges,
    all_of,
    rows_where,
    to_sql,
)
from lakesieve.predicate.expression import And, Not, Or, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakesieve.format import KeyColumn, KeyExpression
    from lakesieve.index.needed_rows import NeededRows
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.predicate import Expr, RowFilter
    from lakesieve.predicate.bind import BoundExpr
    from lakesieve.tables import Column


_Leaf = ColumnRanges | ElementRanges | KeysWith
# parts of a predicate that a reason quotes
_SHOWN = 3
# Limit of the answers of one index to one predicate, in bytes. Each answer has a byte for each
# file. A look-up takes some 50 microseconds, which counts like this many bytes.
_MOST_COST = 1 << 28
_LOOK_UP_COST = 1 << 15
# for each part of a word, all keys of an index are read
_MOST_PARTS = 64
_ANYTHING = KeepNode(every=True, args=())
_NOTHING = KeepNode(every=False, args=())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScanDecision:
    """What a predicate means for a scan of a table, by its indexes.

    Args:
        plan: Which files must be read.
        row_filter: The rows for which the expression is true, fields by id; keys of joins left out.
        usable: The indexes that fit the table.
        reasons: Why others do not, and what became of these.
        expressions: The keys of indexes that are expressions, by their SQL text.
    """

    plan: KeepTree
    row_filter: RowFilter
    usable: tuple[UsableIndex, ...]
    reasons: tuple[Reason, ...]
    expressions: Mapping[str, ColumnType]

    def condition(self, columns: Mapping[tuple[str, ...], Column]) -> str:
        """Return the rows of ``row_filter`` as a condition in SQL."""
        return to_sql(self.row_filter, column_types(columns), expressions=self.expressions)


def plan(
    columns: Mapping[tuple[str, ...], Column],
    expression: Expr,
    indexes: Sequence[OpenedIndex],
    table_uuid: str,
    *,
    strict: bool,
    keys: Sequence[Expr] = (),
    needed: NeededRows | None = None,
    timezone: str = "UTC",
    visit: Callable[[OpenedIndex | None], None] = lambda _: None,
) -> ScanDecision:
    """Decide which files one scan of a table reads: every engine, function and command calls this.

    Args:
        columns: The columns of the version that is read, by path.
        expression: The predicate, from SQL text or from an engine.
        indexes: The indexes found beside the table.
        table_uuid: Identity of the table.
        strict: Whether an unknown column, or what cannot be understood, is an error; else it means
            that every row may match.
        keys: Conditions by the keys of joins, which are true of every row that is needed.
        needed: The rows that are enough for the query, if not all of them are needed.
        timezone: For timestamps written without one.
        visit: As for :func:`keep_tree`.
    """
    types = column_types(columns)
    kinds = {c.field_id: (c.kind, c.scale) for c in columns.values()}
    names = {".".join(path): column.type for path, column in columns.items()}
    by_id = {column.field_id: column.type for column in columns.values()}
    usable, unfit = usable_indexes(
        indexes, kinds, table_uuid, types_by_name=names, types_by_id=by_id
    )
    expressions = Expressions.of(expression, usable, columns)
    bound, *bound_keys = (
        expressions.bind(condition, types, timezone=timezone, strict=strict)
        for condition in (expression, *keys)
    )
    row_filter, *of_keys = (rows_where(condition) for condition in (bound, *bound_keys))
    if needed is not None and needed.row_filter is not None:
        row_filter = all_of([row_filter, needed.row_filter])
    truth = all_of([row_filter, *of_keys])
    unknown = _unknown_parts(bound)
    found = keep_tree(truth, usable, unknown=unknown, entries=expressions.entries, visit=visit)
    if not found.skips and unknown and _is_without_value(truth):
        # Spark adds IS NOT NULL to conditions such as abs(k) = 9, which alone an index answers
        found = _reading_all([_no_predicate(usable, unknown)])
    if needed is not None:
        found = needed.narrowed(found)
    return ScanDecision(
        plan=found,
        row_filter=row_filter,
        usable=tuple(usable),
        reasons=(*unfit, *expressions.reasons, *found.reasons),
        expressions=expressions.by_text,
    )


def column_types(
    columns: Mapping[tuple[str, ...], Column],
) -> dict[tuple[str, ...], ColumnType]:
    """Return the columns of a table in the form that binding a predicate needs."""
    return {
        path: ColumnType(field_id=c.field_id, kind=c.kind, scale=c.scale, precision=c.precision)
        for path, c in columns.items()
    }


def _is_without_value(rows: RowFilter) -> bool:
    """Return whether rows are restricted by IS NOT NULL of some columns and by nothing else."""
    parts = rows.args if isinstance(rows, AllOf) else (rows,)
    return all(
        isinstance(part, ColumnRanges) and part.ranges == Ranges.everything() for part in parts
    )


def _unknown_parts(condition: BoundExpr) -> list[str]:
    """Return the parts of a condition that are not understood, as they were written."""
    match condition:
        case And() | Or():
            return [text for arg in condition.args for text in _unknown_parts(arg)]
        case Not():
            return _unknown_parts(condition.arg)
    return [condition.text] if isinstance(condition, Unknown) else []


def usable_indexes(
    indexes: Sequence[OpenedIndex],
    columns: Mapping[int, tuple[str, int]],
    table_uuid: str,
    *,
    types_by_name: Mapping[str, str] | None = None,
    types_by_id: Mapping[int, str] | None = None,
) -> tuple[list[UsableIndex], list[Reason]]:
    """Leave out the indexes that do not fit the table as it is read.

    An index on several columns still answers for those before the first that does not fit.

    Args:
        indexes: The indexes found beside the table.
        columns: By field id: key kind and scale under which the column is read now.
        table_uuid: Identity of the table that is read.
        types_by_name: The type of each column by its name, for the reason why an index does not
            fit a column that has kept its name alone.
        types_by_id: The type of each column by its field id. Without it, no index on an expression
            is used.
    """
    types_by_name = types_by_name or {}
    usable: list[UsableIndex] = []
    reasons: list[Reason] = []
    for index in indexes:
        definition = index.definition
        if definition.table_uuid != table_uuid:
            detail = f"{definition.name} was built for another table of this location"
            reasons.append(Reason(code=ReasonCode.OTHER_TABLE, detail=detail))
            continue
        fitting: list[KeyColumn] = []
        for key in definition.keys:
            if key.expression is not None:
                change = changed_source(key.expression, types_by_id or {})
                if change is None:
                    fitting += key.columns
                    continue
                if _is_noteworthy(key.expression, types_by_id or {}, types_by_name):
                    detail = f"{definition.name}: {change}"
                    reasons.append(Reason(code=ReasonCode.TYPE_CHANGED, detail=detail))
                break
            (column,) = key.columns
            current = columns.get(column.field_id)
            if current != (column.key_kind, column.scale):
                now = current[0] if current else type_by_name(definition, column, types_by_name)
                if now is not None:
                    reasons.append(_type_changed(definition.name, column, now))
                break
            fitting.append(column)
        many = definition.key_of_many
        # a row without elements, entries or words has no key, so the others do not suffice
        if fitting and (many is None or many.columns[0] in fitting):
            usable.append(UsableIndex(index=index, columns=tuple(fitting)))
    return usable, reasons


def _is_noteworthy(
    expression: KeyExpression, types_by_id: Mapping[int, str], types_by_name: Mapping[str, str]
) -> bool:
    """Return whether a reader should learn that columns of an expression have changed.

    A scan that does not read these columns at all has no condition on the expression.
    """
    return any(
        column.field_id in types_by_id or column.name in types_by_name
        for column in expression.columns
    )


def _type_changed(name: str, column: KeyColumn, current: str) -> Reason:
    detail = f"{name} was built on {column.name} of type {column.type}, read now as {current}"
    if current == column.type:
        detail = f"{name} was built on another column that had the name {column.name}"
    return Reason(code=ReasonCode.TYPE_CHANGED, detail=detail)


def keep_tree(
    truth: RowFilter,
    indexes: Sequence[UsableIndex],
    *,
    unknown: Sequence[str] = (),
    entries: Mapping[int, EntryKey] | None = None,
    visit: Callable[[OpenedIndex | None], None] = lambda _: None,
) -> KeepTree:
    """Evaluate a predicate on all files that its indexes cover.

    Every index takes part whose leading column the predicate restricts; their answers intersect.

    Args:
        truth: Where the predicate is true, leaves by field id.
        indexes: The indexes that fit the table.
        unknown: Parts of the predicate that are not understood, for the reason.
        entries: The fields that are the value of an entry of a map.
        visit: Called with each index before it is read, and with ``None`` after all were.
    """
    by_keys = on_keys(truth, indexes, entries=entries)
    leaves = _leaves(by_keys)
    # where nothing can match, whatever an index has seen is skipped
    everyone = isinstance(by_keys, AlwaysFalse)
    numbers = range(len(indexes)) if everyone else sorted({leaf.field_id for leaf in leaves})
    reasons: list[Reason] = []
    answers: dict[_Leaf, KeepLeaf] = {}
    used: list[OpenedIndex] = []
    for number in numbers:
        index = indexes[number].index
        own = [leaf for leaf in leaves if leaf.field_id == number]
        visit(index)
        try:
            index.check()
            found = _answers(index, own)
        except READ_FAILURES as error:
            reasons.append(broken_index(index.definition.name, error))
            continue
        answered = [(leaf, one) for leaf, one in zip(own, found, strict=True) if one is not None]
        if len(answered) < len(own):
            known = {leaf for leaf, _ in answered}
            reasons.append(_too_large(index, [leaf for leaf in own if leaf not in known]))
        if answered or not own:
            answers |= {leaf: KeepLeaf.of_index(len(used), one) for leaf, one in answered}
            used.append(index)
    visit(None)
    if not used:
        return _reading_all(reasons or [_no_predicate(indexes, unknown)])
    keep = _keep(by_keys, answers)
    names = tuple(index.definition.name for index in used)
    code = ReasonCode.NOT_SELECTIVE if keeps_all(keep) else ReasonCode.INDEX_USED
    reasons.append(Reason(code=code, detail=", ".join(names)))
    return KeepTree(indexes=tuple(used), keep=keep, used=names, reasons=tuple(reasons))


def _answers(index: OpenedIndex, leaves: Sequence[_Leaf]) -> list[Candidates | None]:
    """Answer the conditions on the keys of an index, ``None`` for those that would cost too much.

    A predicate such as ``(a = 1 AND b = 2) OR (a = 3 AND b = 4) OR ...`` has many conditions on one
    index, which are looked up one by one.
    """
    files = sum(count for _, count in index.files())
    if len(leaves) * (files + _LOOK_UP_COST) > _MOST_COST:
        return [None] * len(leaves)
    has_few_parts = sum(isinstance(leaf, KeysWith) for leaf in leaves) <= _MOST_PARTS
    return [
        _answer(index, leaf) if has_few_parts or not isinstance(leaf, KeysWith) else None
        for leaf in leaves
    ]


def _answer(index: OpenedIndex, leaf: _Leaf) -> Candidates | None:
    if isinstance(leaf, KeysWith):
        return index.may_contain(leaf.part, leaf.within)
    return index.may_match(leaf.ranges)


def _reading_all(reasons: Iterable[Reason]) -> KeepTree:
    return KeepTree(indexes=(), keep=_ANYTHING, used=(), reasons=tuple(reasons))


def _too_large(index: OpenedIndex, leaves: Iterable[_Leaf]) -> Reason:
    every = list(leaves)
    ranges = sum(len(leaf.ranges.intervals) for leaf in every if not isinstance(leaf, KeysWith))
    name = index.definition.name
    detail = f"{ranges} range{'' if ranges == 1 else 's'} of keys in {name}"
    if any(isinstance(leaf, KeysWith) for leaf in every):
        detail = f"all keys of {name}, to find those with some letters inside"
    return Reason(code=ReasonCode.LOOK_UP_TOO_LARGE, detail=detail)


def _no_predicate(indexes: Sequence[UsableIndex], unknown: Sequence[str]) -> Reason:
    """Return why no index answers: parts of the predicate that name an indexed column, if any."""
    if not indexes:
        return Reason(code=ReasonCode.NO_INDEX, detail="")
    names = sorted({usable.index.definition.key_names[0] for usable in indexes})
    firsts = (usable.index.definition.keys[0] for usable in indexes)
    of_columns = {key.name for key in firsts if key.expression is None}
    details = []
    for name in (name for name in names if name in of_columns):
        word = rf"(?<![\w.])`?{re.escape(name)}(?!\w)"
        for text in (text for text in unknown if re.search(word, text, re.IGNORECASE)):
            if re.search(rf"\w\([^()]*{word}", text, re.IGNORECASE):
                why = f"applies a function to the indexed column {name}"
                details.append(f"{text} {why}, and lakesieve has no index of that expression")
            else:
                details.append(f"{text} does not compare {name} with constants of its type")
    detail = "; ".join(details[:_SHOWN]) or f"no condition on {', '.join(names)}"
    return Reason(code=ReasonCode.NO_USABLE_PREDICATE, detail=detail)


def _leaves(rows: RowFilter) -> set[_Leaf]:
    match rows:
        case ColumnRanges() | ElementRanges() | KeysWith():
            return {rows}
        case AllOf() | AnyOf():
            return set().union(*map(_leaves, rows.args))
        case _:
            return set()


def _keep(rows: RowFilter, answers: Mapping[_Leaf, KeepLeaf]) -> KeepLeaf | KeepNode:
    match rows:
        case AlwaysFalse():
            return _NOTHING
        case ColumnRanges() | ElementRanges() | KeysWith():
            return answers.get(rows, _ANYTHING)
        case AllOf() | AnyOf():
            args = [_keep(arg, answers) for arg in rows.args]
            return _joined(args, every=isinstance(rows, AllOf))
        case _:
            return _ANYTHING


def _joined(args: Sequence[KeepLeaf | KeepNode], *, every: bool) -> KeepLeaf | KeepNode:
    """Join the parts of a tree. Leaves of one index become one: they judge the same files."""
    by_index: dict[int, list[Candidates]] = {}
    others: list[KeepLeaf | KeepNode] = []
    for arg in args:
        if isinstance(arg, KeepLeaf):
            by_index.setdefault(arg.index, []).append(arg)
        elif arg is not (_ANYTHING if every else _NOTHING):
            others.append(arg)
    leaves = (
        KeepLeaf.of_index(number, Candidates.joined(own, every=every))
        for number, own in by_index.items()
    )
    parts = [*leaves, *others]
    return parts[0] if len(parts) == 1 else KeepNode(every=every, args=tuple(parts))
