"""Binding: names to field ids, literals to key codes; what cannot be bound may be true anywhere."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.predicate.expression import (
    And,
    Compare,
    Constant,
    Expr,
    In,
    IsNull,
    Keys,
    Literal,
    Not,
    NullSafeEqual,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.literals import Bound, are_comparable, code_of
from lakesieve.predicate.ranges import Ranges
from lakesieve.sieve import KINDS, KeyType, successor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """A column as a predicate meets it."""

    field_id: int
    kind: str  # key kind; anything else makes conditions on it unknown
    scale: int = 0  # digits after the point, for decimals
    precision: int = 18  # digits in all, for decimals

    @property
    def key_type(self) -> KeyType:
        """The type of its keys, if it can have any."""
        return KeyType(kind=self.kind, scale=self.scale, precision=self.precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A bound leaf: the values of one field for which it is true, and those for which it is false.

    Values in neither set make it null.
    """

    field_id: int
    true: Ranges
    false: Ranges


BoundExpr = And["BoundExpr"] | Or["BoundExpr"] | Not["BoundExpr"] | Condition | Constant | Unknown


def bind(
    expr: Expr,
    columns: Mapping[tuple[str, ...], ColumnType],
    *,
    timezone: str = "UTC",
    strict: bool,
) -> BoundExpr:
    """Bind a predicate to a table's columns.

    ``strict`` raises ``NotFoundError`` for an unknown column and ``InvalidInputError`` for an
    impossible literal, instead of taking the condition as unknown.
    """
    return _Binder(columns, timezone, strict=strict).bind(expr)


class _Binder:
    def __init__(
        self, columns: Mapping[tuple[str, ...], ColumnType], timezone: str, *, strict: bool
    ) -> None:
        self._columns = columns
        self._timezone = timezone
        self._strict = strict
        self._folded: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for path in columns:
            self._folded.setdefault(tuple(p.lower() for p in path), []).append(path)

    def bind(self, expr: Expr) -> BoundExpr:
        match expr:
            case And():
                return And(args=tuple(self.bind(arg) for arg in expr.args))
            case Or():
                return Or(args=tuple(self.bind(arg) for arg in expr.args))
            case Not():
                return Not(arg=self.bind(expr.arg))
            case Constant() | Unknown():
                return expr
        column = self._column(expr.column)
        if column is None:
            return Unknown(text=".".join(expr.column))
        try:
            return self._condition(expr, column)
        except _UnclearError as unclear:
            if self._strict and unclear.impossible:
                raise InvalidInputError(
                    f"{unclear.text} cannot be compared with the column "
                    f"{'.'.join(expr.column)} ({column.kind}).",
                    kind=ErrorKind.INVALID_PREDICATE,
                    hint="Write dates as 'YYYY-MM-DD', times as 'YYYY-MM-DD HH:MM:SS'.",
                ) from None
            return Unknown(text=f"{'.'.join(expr.column)} ({unclear.text})")

    def _column(self, path: tuple[str, ...]) -> ColumnType | None:
        if path in self._columns:
            return self._columns[path]
        folded = self._folded.get(tuple(part.lower() for part in path), [])
        if len(folded) == 1:
            return self._columns[folded[0]]
        if not self._strict:
            return None
        names = [".".join(known) for known in self._columns]
        near = difflib.get_close_matches(".".join(path), names) or sorted(names)
        raise NotFoundError(
            f"There is no column {'.'.join(path)}.",
            kind=ErrorKind.COLUMN_NOT_FOUND,
            hint=f"Did you mean one of: {', '.join(near[:20])}?",
        )

    def _condition(
        self, expr: Compare | In | IsNull | Keys | NullSafeEqual | StartsWith, column: ColumnType
    ) -> BoundExpr:
        if isinstance(expr, IsNull):
            # IS NULL needs no key codes, so it works for every type
            return _two_valued(column, Ranges(nulls=True))
        if column.kind not in KINDS:
            raise _UnclearError(f"column of kind {column.kind}")
        match expr:
            case Compare():
                return _three_valued(column, self._compared(expr.op, expr.value, column))
            case In():
                points = self._bounds(expr.values, column, listed=True)
                true = Ranges.points(p.code for p in points if p.exact)
                false = Ranges() if expr.has_null else true.complement(nulls=False)
                return Condition(field_id=column.field_id, true=true, false=false)
            case Keys():
                if (expr.kind, expr.scale) != (column.kind, column.scale):
                    raise _UnclearError(f"keys of kind {expr.kind}")
                # keys stand beside conditions, never below NOT: any superset of the others will do
                others = Ranges.everything()
                return Condition(field_id=column.field_id, true=expr.values, false=others)
            case NullSafeEqual():
                if expr.value is None:
                    return _two_valued(column, Ranges(nulls=True))
                if expr.value.kind == "text" and column.kind != "string":
                    # text that is none of the column's type may be null, and so equal to nulls
                    raise _UnclearError(repr(expr.value.value))
                return _two_valued(column, self._compared("=", expr.value, column))
            case StartsWith():
                if column.kind != "string":
                    raise _UnclearError("prefix of a column that is not a string")
                return _three_valued(column, Ranges.prefix(expr.prefix))

    def _compared(self, op: str, value: Literal, column: ColumnType) -> Ranges:
        (bound,) = self._bounds((value,), column)
        above = successor(bound.code)
        match op:
            case "=":
                return Ranges.points([bound.code]) if bound.exact else Ranges()
            case "<":
                return Ranges.of([(None, bound.code if bound.exact else above)])
            case "<=":
                return Ranges.of([(None, above)])
            case ">":
                return Ranges.of([(above, None)])
            case ">=":
                return Ranges.of([(bound.code if bound.exact else above, None)])
        raise _UnclearError(f"operator {op}")

    def _bounds(
        self, values: Sequence[Literal], column: ColumnType, *, listed: bool = False
    ) -> list[Bound]:
        key_type = column.key_type
        if not are_comparable(values, key_type, listed=listed):
            raise _UnclearError("values of another type")
        bounds = []
        for value in values:
            bound = code_of(value, key_type, self._timezone)
            if bound is None:
                impossible = value.kind == "text" and column.kind in {"date", "timestamp"}
                raise _UnclearError(repr(value.value), impossible=impossible)
            bounds.append(bound)
        return bounds


class _UnclearError(Exception):
    """A leaf that cannot be bound."""

    def __init__(self, text: str, *, impossible: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.impossible = impossible


def _three_valued(column: ColumnType, true: Ranges) -> Condition:
    """Null for null, as comparisons are."""
    return Condition(field_id=column.field_id, true=true, false=true.complement(nulls=False))


def _two_valued(column: ColumnType, true: Ranges) -> Condition:
    """True or false for every value and for null."""
    false = true.complement(nulls=not true.nulls)
    return Condition(field_id=column.field_id, true=true, false=false)
