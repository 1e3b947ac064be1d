"""Parse conditions as Spark prints them in plans.

Spark prints literals without quotes, and shortens long lists. A condition that cannot be read for
sure becomes ``Unknown``. For the advisor, no index can answer such a condition.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

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
    NullSafeEqual,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.parse import parse_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

ATTRIBUTE = r"(?<![^\s#(),\[\]])[^\s#(),\[\]]+#\d+L?(?:\.[^\s#(),\[\]]+)?"
"""A column in a plan: its name, its number within the plan, and fields of structs.

It matches only at the start of a word. Otherwise a search would start again at each character of a
long word, and take quadratic time.
"""

_COMPARED = re.compile(rf"(?P<column>{ATTRIBUTE}) (?P<op><=>|<=|>=|=|<|>) (?P<value>.*)", re.DOTALL)
_MIRRORED = re.compile(
    rf"(?P<value>[^#]*) (?P<op><=>|<=|>=|=|<|>) (?P<column>{ATTRIBUTE})", re.DOTALL
)
_NULL = re.compile(rf"(?P<what>isnull|isnotnull)\((?P<column>{ATTRIBUTE})\)")
_IN = re.compile(rf"(?P<column>{ATTRIBUTE}) IN \((?P<values>.*)\)", re.DOTALL)
_IN_SET = re.compile(rf"(?P<column>{ATTRIBUTE}) INSET (?P<values>.*)", re.DOTALL)
_PREFIX = re.compile(rf"StartsWith\((?P<column>{ATTRIBUTE}), (?P<value>.*)\)", re.DOTALL)
_SHORTENED = re.compile(r"\.\.\. \d+ more fields?$")
_BRACKET = re.compile(r"[()]")
_BRACKET_OR_OPERATOR = re.compile(r"[()]| (?P<operator>AND|OR) ")
# Spark also prints NaN and Infinity for a column of floats; no column has longer numbers
_NUMBER = re.compile(
    r"NaN|[+-]?(?:Infinity|(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,3})?)",
    re.ASCII,
)
_LONGEST_TIME = 19
_LONGEST = 1_000_000


def read_condition(text: str, kinds: Mapping[tuple[str, ...], str]) -> Expr:
    """Parse the condition of a ``Filter`` node, or the filters of a file scan."""
    if len(text) > _LONGEST:
        return Unknown(text="too long")
    text = text.strip()
    return _Reader(text, kinds).read(0, len(text), 0)


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


def split_list(text: str) -> list[str]:
    """Split a list at its commas, except inside brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(text):
        if char == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


class _Reader:
    """Parses one condition. Brackets are matched only once, so deep nesting is not slow."""

    def __init__(self, text: str, kinds: Mapping[tuple[str, ...], str]) -> None:
        self._text = text
        self._kinds = {tuple(n.lower() for n in path): (path, k) for path, k in kinds.items()}
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
            # a comparison begins with a column or a literal
            compared = None if inner.startswith("(") else self._compared(inner)
            if compared is not None:
                return compared
            split = self._operator(start + 1, end - 1)
            if split is not None:
                operand = self.read(start + 1, split.start(), depth + 1)
                right = self.read(split.end(), end - 1, depth + 1)
                both = (operand, right)
                return And(args=both) if split["operator"] == "AND" else Or(args=both)
        return Unknown(text=text[:80])

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
            column = self._column(match["column"])
            if column is None:
                return None
            null = IsNull(column=column[0])
            return null if match["what"] == "isnull" else Not(arg=null)
        match = _IN.fullmatch(text) or _IN_SET.fullmatch(text)
        if match is not None:
            return self._listed(match["column"], match["values"])
        match = _PREFIX.fullmatch(text)
        column = None if match is None else self._column(match["column"])
        if match is None or column is None or column[1] != "string":
            return None
        return StartsWith(column=column[0], prefix=match["value"].encode())

    def _listed(self, attribute: str, values: str) -> Expr | None:
        column = self._column(attribute)
        if column is None or _SHORTENED.search(values):
            return None
        texts = [value.strip() for value in values.split(",")]
        literals = [_literal(text, column[1]) for text in texts if text != "null"]
        if any(literal is None for literal in literals):
            return None
        present = tuple(literal for literal in literals if literal is not None)
        return In(column=column[0], values=present, has_null="null" in texts)

    def _compared(self, text: str) -> Expr | None:
        match, operator = _COMPARED.fullmatch(text), ""
        if match is not None:
            operator = match["op"]
        elif (match := _MIRRORED.fullmatch(text)) is not None:
            operator = MIRRORED.get(match["op"], match["op"])
        column = None if match is None else self._column(match["column"])
        if match is None or column is None:
            return None
        path, kind = column
        is_null = operator == "<=>" and match["value"] == "null"
        literal = None if is_null else _literal(match["value"], kind)
        if literal is None and not is_null:
            return None
        if operator == "<=>":
            return NullSafeEqual(column=path, value=literal)
        return None if literal is None else Compare(column=path, op=operator, value=literal)

    def _column(self, attribute: str) -> tuple[tuple[str, ...], str] | None:
        """Return path and kind of a column of the table."""
        name, _, rest = attribute.partition("#")
        _, *fields = rest.split(".")
        return self._kinds.get(tuple(part.lower() for part in (name, *fields)))


def _literal(text: str, kind: str) -> Literal | None:
    """Return a literal of a column's type, or ``None`` for other text, such as a column."""
    if kind == "string":
        # Spark prints another column of the same type as one word with its number
        return None if re.fullmatch(ATTRIBUTE, text) else Literal(kind="text", value=text)
    if kind == "boolean":
        return Literal(kind="boolean", value=text == "true") if text in {"true", "false"} else None
    if kind == "date":
        return Literal(kind="date_text", value=text) if text[:1].isdigit() else None
    if kind.startswith("timestamp"):
        is_local = "ntz" in kind
        of = "timestamp_ntz_text" if is_local else "timestamp_text"
        return Literal(kind=of, value=text) if text[:1].isdigit() else None
    if kind in {"integer", "decimal", "float"}:
        return Literal(kind="number", value=Decimal(text)) if _NUMBER.fullmatch(text) else None
    return None


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
