"""One read of a table planned: the columns, a predicate and the indexes to the files to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.index.definition import type_by_name
from lakesieve.index.key_filters import UsableIndex
from lakesieve.index.planner import plan_files, unanswered
from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.predicate import AllOf, ColumnRanges, ColumnType, Ranges, all_of, bind, rows_where
from lakesieve.predicate.expression import And, Not, Or, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lakesieve.format import KeyColumn
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.planner import Plan
    from lakesieve.predicate import Expr, RowFilter
    from lakesieve.predicate.bind import BoundExpr
    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Planned:
    """What a predicate means for a table, by its indexes.

    Args:
        plan: Which files must be read.
        row_filter: The rows for which the expression is true, fields by id; keys of joins left out.
        usable: The indexes that fit the table.
        reasons: Why others do not, and what became of these.
    """

    plan: Plan
    row_filter: RowFilter
    usable: tuple[UsableIndex, ...]
    reasons: tuple[Reason, ...]


def plan(
    columns: Mapping[tuple[str, ...], Column],
    expression: Expr,
    indexes: Sequence[OpenedIndex],
    table_uuid: str,
    *,
    strict: bool,
    keys: Sequence[Expr] = (),
    timezone: str = "UTC",
    visit: Callable[[OpenedIndex | None], None] = lambda _: None,
) -> Planned:
    """Plan one read of a table: what every engine, function and command calls.

    Args:
        columns: The columns of the version that is read, by path.
        expression: The predicate, from SQL text or from an engine.
        indexes: The indexes found beside the table.
        table_uuid: Identity of the table.
        strict: Whether an unknown column is an error; else it means that every row may match.
        keys: Conditions by the keys of joins, which are true of every row that is needed.
        timezone: For timestamps written without one.
        visit: As for :func:`plan_files`.
    """
    types = column_types(columns)
    bound, *bound_keys = (
        bind(condition, types, timezone=timezone, strict=strict)
        for condition in (expression, *keys)
    )
    row_filter, *of_keys = (rows_where(condition) for condition in (bound, *bound_keys))
    kinds = {c.field_id: (c.kind, c.scale) for c in columns.values()}
    names = {".".join(path): column.type for path, column in columns.items()}
    usable, unfit = usable_indexes(indexes, kinds, table_uuid, types_by_name=names)
    truth = all_of([row_filter, *of_keys])
    found = plan_files(truth, usable, visit=visit)
    if not found.skips and _is_without_value(truth) and _has_unknown(bound):
        # Spark adds IS NOT NULL to conditions such as abs(k) = 9, which alone an index answers
        found = unanswered(usable)
    return Planned(
        plan=found,
        row_filter=row_filter,
        usable=tuple(usable),
        reasons=(*unfit, *found.reasons),
    )


def column_types(
    columns: Mapping[tuple[str, ...], Column],
) -> dict[tuple[str, ...], ColumnType]:
    """Return the columns of a table as predicates are bound to them."""
    return {
        path: ColumnType(field_id=c.field_id, kind=c.kind, scale=c.scale, precision=c.precision)
        for path, c in columns.items()
    }


def _is_without_value(rows: RowFilter) -> bool:
    """Whether rows are restricted by IS NOT NULL of some columns and by nothing else."""
    parts = rows.args if isinstance(rows, AllOf) else (rows,)
    return all(
        isinstance(part, ColumnRanges) and part.ranges == Ranges.everything() for part in parts
    )


def _has_unknown(condition: BoundExpr) -> bool:
    match condition:
        case And() | Or():
            return any(map(_has_unknown, condition.args))
        case Not():
            return _has_unknown(condition.arg)
    return isinstance(condition, Unknown)


def usable_indexes(
    indexes: Sequence[OpenedIndex],
    columns: Mapping[int, tuple[str, int]],
    table_uuid: str,
    *,
    types_by_name: Mapping[str, str] | None = None,
) -> tuple[list[UsableIndex], list[Reason]]:
    """Leave out the indexes that do not fit the table as it is read.

    An index on several columns still answers for those before the first that does not fit.

    Args:
        indexes: The indexes found beside the table.
        columns: By field id: key kind and scale under which the column is read now.
        table_uuid: Identity of the table that is read.
        types_by_name: The type of each column by its name, for the reason why an index does not
            fit a column that has kept its name alone.
    """
    types_by_name = types_by_name or {}
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
            current = columns.get(column.field_id)
            if current != (column.key_kind, column.scale):
                now = current[0] if current else type_by_name(definition, column, types_by_name)
                if now is not None:
                    reasons.append(_type_changed(definition.name, column, now))
                break
            fitting.append(column)
        if fitting:
            usable.append(UsableIndex(index=index, columns=tuple(fitting)))
    return usable, reasons


def _type_changed(name: str, column: KeyColumn, current: str) -> Reason:
    detail = f"{name} was built on {column.name} of type {column.type}, read now as {current}"
    if current == column.type:
        detail = f"{name} was built on another column that had the name {column.name}"
    return Reason(code=ReasonCode.TYPE_CHANGED, detail=detail)
