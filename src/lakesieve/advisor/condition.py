"""Parse conditions as Spark prints them in plans.

Spark prints literals without quotes, and shortens long lists. A condition that cannot be read for
sure becomes ``Unknown``. For the advisor, no index can answer such a condition.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from lakesieve.advisor.described_keys import DescribedKeys
from lakesieve.advisor.key_conditions import KeyConditions
from lakesieve.advisor.printed_expressions import (
    ATTRIBUTE,
    PlanColumns,
    printed_comparison,
    printed_list,
    split_list,
)
from lakesieve.errors import LakesieveError
from lakesieve.predicate.converting import DEEPEST, MIRRORED
from lakesieve.predicate.expression import (
    And,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.parse import parse_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMPARED = re.compile(rf"(?P<column>{ATTRIBUTE}) (?P<op><=>|<=|>=|=|<|>) (?P<value>.*)", re.DOTALL)
_MIRRORED = re.compile(
    rf"(?P<value>[^#]*) (?P<op><=>|<=|>=|=|<|>) (?P<column>{ATTRIBUTE})", re.DOTALL
)
_NULL = re.compile(rf"(?P<what>isnull|isnotnull)\((?P<column>{ATTRIBUTE})\)")
_IN = re.compile(rf"(?P<column>{ATTRIBUTE}) IN \((?P<values>.*)\)", re.DOTALL)
_IN_SET = re.compile(rf"(?P<column>{ATTRIBUTE}) INSET (?P<values>.*)", re.DOTALL)
_PREFIX = re.compile(rf"StartsWith\((?P<column>{ATTRIBUTE}), (?P<value>.*)\)", re.DOTALL)
_BRACKET = re.compile(r"[()]")
_BRACKET_OR_OPERATOR = re.compile(r"[()]| (?P<operator>AND|OR) ")
_LONGEST_TIME = 19
_LONGEST = 1_000_000


def read_condition(
    text: str, kinds: Mapping[tuple[str, ...], str], keys: DescribedKeys | None = None
) -> Expr:
    """Parse the condition of a ``Filter`` node, or the filters of a file scan.

    ``keys`` describes the keys that indexes on expressions, lists and maps could have.
    """
    if len(text) > _LONGEST:
        return Unknown(text="too long")
    text = text.strip()
    columns = PlanColumns(kinds)
    of_keys = KeyConditions(columns, keys or DescribedKeys(), read_condition)
    return _Reader(text, columns, of_keys).read(0, len(text), 0)


def read_iceberg_filters(text: str, kinds: Mapping[tuple[str, ...], str]) -> Expr:
    """Parse the filters of an Iceberg scan, such as ``k IS NOT NULL, s = 'a, b'``.

    In these filters, dates and times are numbers: days and microseconds since the epoch.
    """
    conditions = []
    for part in split_list(text):
        try:
            conditions.append(_with_times(parse_sql(part), kinds))
        except LakesieveError:
            conditions.append(Unknown(text=part[:80]))
    return And(args=tuple(conditions))


class _Reader:
    """Parses one condition. Brackets are matched only once, so deep nesting is not slow."""

    def __init__(self, text: str, columns: PlanColumns, of_keys: KeyConditions) -> None:
        self._text = text
        self._columns = columns
        self._of_keys = of_keys
        self._closing: dict[int, int] = {}
        opened: list[int] = []
        for bracket in _BRACKET.finditer(text):
            if bracket.group() == "(":
                opened.append(bracket.start())
            elif opened:
                self._closing[opened.pop()] = bracket.start()

    def read(self, start: int, end: int, depth: int) -> Expr:
        """Parse a part of the condition."""
        text = self._text[start:end].strip()
        start = self._text.index(text, start, end) if text else start
        end = start + len(text)
        if depth > DEEPEST:
            return Unknown(text="too deep")
        if text.startswith("NOT "):
            return Not(arg=self.read(start + 4, end, depth + 1))
        leaf = self._leaf(text)
        if leaf is not None:
            return leaf
        if text.startswith("(") and text.endswith(")"):
            inner = text[1:-1]
            if not inner.startswith("("):
                # a comparison begins with a column, a literal or a call
                compared = self._compared(inner) or self._of_keys.read(text)
                if compared is not None:
                    return compared
            split = self._operator(start + 1, end - 1)
            if split is not None:
                operand = self.read(start + 1, split.start(), depth + 1)
                right = self.read(split.end(), end - 1, depth + 1)
                both = (operand, right)
                return And(args=both) if split["operator"] == "AND" else Or(args=both)
        return self._of_keys.read(text) or Unknown(text=text[:80])

    def _operator(self, start: int, end: int) -> re.Match[str] | None:
        """Return the single AND or OR outside brackets."""
        at = start
        while (match := _BRACKET_OR_OPERATOR.search(self._text, at, end)) is not None:
            if match["operator"]:
                return match
            closed = self._closing.get(match.start())
            if closed is None:
                return None
            at = closed + 1
        return None

    def _leaf(self, text: str) -> Expr | None:
        match = _NULL.fullmatch(text)
        if match is not None:
            column = self._columns.of(match["column"])
            if column is None:
                return None
            null = IsNull(column=column[0])
            return null if match["what"] == "isnull" else Not(arg=null)
        match = _IN.fullmatch(text) or _IN_SET.fullmatch(text)
        if match is not None:
            return self._listed(match["column"], match["values"])
        match = _PREFIX.fullmatch(text)
        column = None if match is None else self._columns.of(match["column"])
        if match is None or column is None or column[1] != "string":
            return None
        return StartsWith(column=column[0], prefix=match["value"].encode())

    def _listed(self, attribute: str, values: str) -> Expr | None:
        column = self._columns.of(attribute)
        listed = None if column is None else printed_list(values, column[1])
        if column is None or listed is None:
            return None
        return In(column=column[0], values=listed[0], has_null=listed[1])

    def _compared(self, text: str) -> Expr | None:
        match, operator = _COMPARED.fullmatch(text), ""
        if match is not None:
            operator = match["op"]
        elif (match := _MIRRORED.fullmatch(text)) is not None:
            operator = MIRRORED.get(match["op"], match["op"])
        column = None if match is None else self._columns.of(match["column"])
        if match is None or column is None:
            return None
        return printed_comparison(*column, operator, match["value"])


def _with_times(expression: Expr, kinds: Mapping[tuple[str, ...], str]) -> Expr:
    """Convert numbers that are compared with dates and times to dates and times."""
    match expression:
        case And() | Or():
            args = tuple(_with_times(arg, kinds) for arg in expression.args)
            return replace(expression, args=args)
        case Not():
            return Not(arg=_with_times(expression.arg, kinds))
        case Compare():
            kind = kinds.get(expression.column, "other")
            return replace(expression, value=_time(expression.value, kind))
        case In():
            kind = kinds.get(expression.column, "other")
            return replace(expression, values=tuple(_time(v, kind) for v in expression.values))
        case _:
            return expression


def _time(literal: Literal, kind: str) -> Literal:
    value = literal.value
    is_time = kind == "date" or kind.startswith("timestamp")
    if not is_time or not isinstance(value, Decimal) or not value.is_finite():
        return literal
    # a number with a large exponent would have more digits than memory allows
    if value.adjusted() >= _LONGEST_TIME or value != value.to_integral_value():
        return literal
    return Literal(kind=kind, value=int(value))
