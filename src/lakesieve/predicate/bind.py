"""Bind predicates to a table: names become field ids, and literals become key codes.

A condition that cannot be bound becomes ``Unknown``, which may be true of any row.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.predicate.expression import (
    ELEMENT,
    ENTRY,
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
    OnElements,
    OnExpression,
    OnText,
    Or,
    StartsWith,
    TextPattern,
    Unknown,
)
from lakesieve.predicate.literals import Bound, are_comparable, code_of
from lakesieve.predicate.ranges import Ranges
from lakesieve.predicate.text_words import MOST_PATTERNS, patterns_of
from lakesieve.sieve import KINDS, KeyType, successor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """The type of a column or of an expression, as far as predicates need it."""

    field_id: int  # of an expression, see `KeyExpression.field_id`
    kind: str  # key kind; for any other kind, conditions on the column are unknown
    scale: int = 0  # for decimals: digits after the point
    precision: int = 18  # for decimals: total number of digits
    entry_value: ColumnType | None = None  # for keys of a map that are keys of an index

    @property
    def key_type(self) -> KeyType:
        """Key type of the column's values."""
        return KeyType(kind=self.kind, scale=self.scale, precision=self.precision)


AskedKey = tuple[str, Literal | None]
"""A key of an index in a condition: its tree, and the key of an entry, if it is one's value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A bound leaf: the values of a field or expression that make it true, and that make it false.

    Values in neither set make it null. If it is not exact, the sets may have more values.
    """

    field_id: int
    true: Ranges
    false: Ranges
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementCondition:
    """A bound condition that is true if some element or some key of a map meets another condition.

    It says nothing of the rows for which it is not true: they may be false or null.
    """

    field_id: int  # of the elements, see `KeyExpression.field_id`
    element: BoundExpr  # on the elements, which have the same field id


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCondition:
    """The same, if some entry of a map meets a condition on its key and its value."""

    field_id: int  # of the keys
    entry: BoundExpr  # on the fields of the keys and of the values


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCondition:
    """A bound condition on a text column. The words of this column are the keys of an index.

    Every row for which it is true has a text with one of the patterns.
    """

    condition: BoundExpr
    field_id: int  # of the words, see `KeyExpression.field_id`
    patterns: tuple[TextPattern, ...]


_NUMBERS = frozenset({"integer", "float", "decimal"})
# Spark also reads text such as ' 5 ', '5d', '+Infinity' and 'NaN' as numbers
_MAY_BE_NUMBER = re.compile(r"\d|inf|nan", re.IGNORECASE)

BoundExpr = (
    And["BoundExpr"]
    | Or["BoundExpr"]
    | Not["BoundExpr"]
    | Condition
    | Constant
    | ElementCondition
    | EntryCondition
    | TextCondition
    | Unknown
)


def bind(
    expr: Expr,
    columns: Mapping[tuple[str, ...], ColumnType],
    *,
    timezone: str = "UTC",
    strict: bool,
    expressions: Mapping[AskedKey, ColumnType] | None = None,
    words: Mapping[int, int] | None = None,
    lower_cases: Mapping[int, ColumnType] | None = None,
) -> BoundExpr:
    """Bind a predicate to a table's columns.

    ``expressions`` are the expressions that are keys of indexes, as the condition has them.
    ``words`` are the field ids of words that are keys, by the field ids of their texts, and
    ``lower_cases`` the texts in lower case that are keys. If ``strict``, an unknown column raises
    ``NotFoundError`` and an impossible literal raises ``InvalidInputError``. Otherwise the
    condition becomes ``Unknown``.
    """
    keys = _TextKeys(words=words or {}, lower_cases=lower_cases or {})
    return _Binder(columns, timezone, expressions or {}, keys, strict=strict).bind(expr)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TextKeys:
    """Keys of indexes that follow from texts, by the field ids of the texts."""

    words: Mapping[int, int]  # field ids of the words
    lower_cases: Mapping[int, ColumnType]  # the texts in lower case


class _Binder:
    def __init__(
        self,
        columns: Mapping[tuple[str, ...], ColumnType],
        timezone: str,
        expressions: Mapping[AskedKey, ColumnType],
        text_keys: _TextKeys,
        *,
        strict: bool,
    ) -> None:
        self._columns = columns
        self._expressions = expressions
        self._text_keys = text_keys
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
            case Unknown():
                self._check_quotes(expr)
                return expr
            case Constant():
                return expr
            case OnExpression():
                return self._on_expression(expr)
            case OnElements():
                return self._on_elements(expr)
            case OnText():
                otherwise = self.bind(expr.otherwise)
                return self._of_text(otherwise, self._known(expr.column), expr.patterns)
        column = self._column(expr.column)
        if column is None:
            return Unknown(text=".".join(expr.column))
        try:
            return self._of_text(self._condition(expr, column), column, patterns_of(expr))
        except _UnclearError as unclear:
            if self._strict and unclear.hint:
                raise InvalidInputError(
                    f"{unclear.text} cannot be compared with the column "
                    f"{'.'.join(expr.column)} ({column.kind}).",
                    kind=ErrorKind.INVALID_PREDICATE,
                    hint=unclear.hint,
                ) from None
            return Unknown(text=f"{'.'.join(expr.column)} ({unclear.text})")

    def _on_expression(self, expr: OnExpression) -> BoundExpr:
        value = self._expressions.get((expr.tree, expr.entry))
        if value is None:
            return Unknown(text=expr.text)
        try:
            return self._condition(expr.condition, value)
        except _UnclearError:
            return Unknown(text=expr.text)

    def _on_elements(self, expr: OnElements) -> BoundExpr:
        value = self._expressions.get((expr.tree, None))
        if value is None:
            return Unknown(text=expr.text)
        # an element has no other columns and no keys of its own
        known = partial(bind, expr.condition, timezone=self._timezone, strict=False)
        if not expr.is_on_entries:
            return ElementCondition(field_id=value.field_id, element=known({ELEMENT: value}))
        if value.entry_value is None:
            return Unknown(text=expr.text)
        entry = known(dict(zip(ENTRY, (value, value.entry_value), strict=True)))
        return EntryCondition(field_id=value.field_id, entry=entry)

    def _of_text(
        self, condition: BoundExpr, column: ColumnType | None, patterns: tuple[TextPattern, ...]
    ) -> BoundExpr:
        """Add the patterns of a text to a condition, if the words of the text are keys."""
        if column is None or column.kind != "string":
            return condition
        words = self._text_keys.words.get(column.field_id)
        lower_case = self._text_keys.lower_cases.get(column.field_id)
        if isinstance(condition, Unknown) and lower_case is not None and patterns:
            condition = _of_lower_case(patterns, lower_case) or condition
        if words is None or not 0 < len(patterns) <= MOST_PATTERNS:
            return condition
        return TextCondition(condition=condition, field_id=words, patterns=patterns)

    def _column(self, path: tuple[str, ...]) -> ColumnType | None:
        column = self._known(path)
        if column is not None or not self._strict:
            return column
        names = [".".join(column_path) for column_path in self._columns]
        near = difflib.get_close_matches(".".join(path), names) or sorted(names)
        raise NotFoundError(
            f"There is no column {'.'.join(path)}.",
            kind=ErrorKind.COLUMN_NOT_FOUND,
            hint=f"Did you mean one of: {', '.join(near[:20])}?",
        )

    def _known(self, path: tuple[str, ...]) -> ColumnType | None:
        if path in self._columns:
            return self._columns[path]
        folded = self._folded.get(tuple(part.lower() for part in path), [])
        return self._columns[folded[0]] if len(folded) == 1 else None

    def _check_quotes(self, unknown: Unknown) -> None:
        """Refuse text without its quotes, which SQL reads as a column or as a subtraction."""
        if not self._strict:
            return
        missing = [path for path in unknown.compared if self._known(path) is None]
        names = [".".join(column_path) for column_path in self._columns]
        texts = [
            text for text in map(".".join, missing) if not difflib.get_close_matches(text, names)
        ]
        if missing and not texts:
            # a name much like that of a column is a mistyped column
            self._column(missing[0])
        for text in (*texts, *unknown.bare_dates):
            what = f"There is no column {text}." if text in texts else f"{text} is a subtraction."
            raise InvalidInputError(
                what,
                kind=ErrorKind.INVALID_PREDICATE,
                hint=f"Did you mean '{text}'? Write text and dates in quotes.",
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
                condition = _three_valued(column, self._compared(expr.op, expr.value, column))
                if expr.value.kind == "text" and column.kind in _NUMBERS:
                    # depending on the session, text that does not fit the column's type is null
                    return replace(condition, is_exact=False)
                return condition
            case In():
                points = self._bounds(expr.values, column, listed=True)
                true = Ranges.points(p.code for p in points if p.exact)
                false = Ranges() if expr.has_null else true.complement(nulls=False)
                return Condition(field_id=column.field_id, true=true, false=false)
            case Keys():
                if (expr.kind, expr.scale) != (column.kind, column.scale):
                    raise _UnclearError(f"keys of kind {expr.kind}")
                # a key list stands beside other conditions, never below NOT, so "false" may be any
                # superset
                others = Ranges.everything()
                return Condition(
                    field_id=column.field_id, true=expr.values, false=others, is_exact=False
                )
            case NullSafeEqual():
                if expr.value is None:
                    return _two_valued(column, Ranges(nulls=True))
                if expr.value.kind == "text" and column.kind != "string":
                    # Spark may read text that is no value of this type as null, which equals nulls
                    # here
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
                raise _UnclearError(_written(value), hint=_hint(value, column))
            bounds.append(bound)
        return bounds


def _of_lower_case(patterns: tuple[TextPattern, ...], lower_case: ColumnType) -> Condition | None:
    """Return a condition on texts in lower case, or ``None`` if it says nothing about them.

    Engines and versions differ in the lower case of characters, but not in which characters become
    letters of ASCII.
    """
    true = Ranges()
    for pattern in patterns:
        first = pattern.parts[0]
        if not (pattern.is_folded and pattern.begins and first.isascii()):
            return None
        is_whole = pattern.ends and len(pattern.parts) == 1
        true = true.union(Ranges.points([first]) if is_whole else Ranges.prefix(first))
    # other texts may not fulfil the condition either
    others = Ranges.everything()
    return Condition(field_id=lower_case.field_id, true=true, false=others, is_exact=False)


class _UnclearError(Exception):
    """Raised for a leaf that cannot be bound."""

    def __init__(self, text: str, *, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint  # how to write a literal with which Spark can compare the column


def _written(value: Literal) -> str:
    """Return a literal as SQL has it."""
    return str(value.value).upper() if value.kind == "boolean" else repr(value.value)


def _hint(value: Literal, column: ColumnType) -> str:
    """Return how to write a literal instead of one that is no value of a column's type."""
    if value.kind == "boolean" and column.kind != "boolean":
        return "A column that is not boolean needs a comparison, such as: id = 5."
    if value.kind != "text":
        return ""
    if column.kind in {"date", "timestamp"}:
        return "Write dates as 'YYYY-MM-DD', times as 'YYYY-MM-DD HH:MM:SS'."
    if column.kind in _NUMBERS and not _MAY_BE_NUMBER.search(str(value.value)):
        return "Compare a column of numbers with a number, such as: id = 5."
    return ""


def _three_valued(column: ColumnType, true: Ranges) -> Condition:
    """Return a condition that is null for null, like a comparison."""
    return Condition(field_id=column.field_id, true=true, false=true.complement(nulls=False))


def _two_valued(column: ColumnType, true: Ranges) -> Condition:
    """Return a condition that is true or false for every value and for null."""
    false = true.complement(nulls=not true.nulls)
    return Condition(field_id=column.field_id, true=true, false=false)
