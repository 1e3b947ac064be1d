"""Conditions as Spark prints them in plans, read back as predicates.

Spark's text of a condition does not quote its literals, and shortens long lists. What cannot be
read for sure is unknown, which an advisor takes for a condition that no index answers.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from lakesieve.errors import LakesieveError
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

__all__ = ["ATTRIBUTE", "read_condition", "read_iceberg_filters", "split_list"]

ATTRIBUTE = r"[^\s#(),\[\]]+#\d+L?(?:\.[^\s#(),\[\]]+)*"
"""A column in a plan: its name, a number that is its own in the plan, and fields of structs."""

_COMPARED = re.compile(rf"(?P<column>{ATTRIBUTE}) (?P<op><=>|<=|>=|=|<|>) (?P<value>.*)", re.DOTALL)
_MIRRORED = re.compile(
    rf"(?P<value>[^#]*) (?P<op><=>|<=|>=|=|<|>) (?P<column>{ATTRIBUTE})", re.DOTALL
)
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<=>": "<=>"}
_NULL = re.compile(rf"(?P<what>isnull|isnotnull)\((?P<column>{ATTRIBUTE})\)")
_IN = re.compile(rf"(?P<column>{ATTRIBUTE}) IN \((?P<values>.*)\)", re.DOTALL)
_IN_SET = re.compile(rf"(?P<column>{ATTRIBUTE}) INSET (?P<values>.*)", re.DOTALL)
_PREFIX = re.compile(rf"StartsWith\((?P<column>{ATTRIBUTE}), (?P<value>.*)\)", re.DOTALL)
_SHORTENED = re.compile(r"\.\.\. \d+ more fields?$")
_DEEPEST = 200
_LONGEST = 1_000_000


def read_condition(text: str, kinds: Mapping[tuple[str, ...], str]) -> Expr:
    """Read a condition of a ``Filter`` node, or of the filters of a scan of files.

    Args:
        text: As Spark prints it, such as ``(isnotnull(k#1L) AND (k#1L = 5))``.
        kinds: Key kinds of the table's columns, by path.
    """
    if len(text) > _LONGEST:
        return Unknown(text="too long")
    return _Reader(kinds).read(text.strip(), 0)


def read_iceberg_filters(text: str, kinds: Mapping[tuple[str, ...], str]) -> Expr:
    """Read the filters of an Iceberg scan, such as ``k IS NOT NULL, s = 'a, b'``.

    Dates and times are numbers there: days and microseconds since the epoch.

    Args:
        text: As Iceberg prints it.
        kinds: Key kinds of the table's columns, by path.
    """
    found = []
    for part in split_list(text):
        try:
            found.append(_with_times(parse_sql(part), kinds))
        except LakesieveError:
            found.append(Unknown(text=part[:80]))
    return And(args=tuple(found))


def split_list(text: str) -> list[str]:
    """The parts of a list, commas in brackets and in quotes left alone.

    Args:
        text: The list without its brackets.
    """
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
    def __init__(self, kinds: Mapping[tuple[str, ...], str]) -> None:
        self._kinds = {tuple(n.lower() for n in path): (path, k) for path, k in kinds.items()}

    def read(self, text: str, depth: int) -> Expr:
        if depth > _DEEPEST:
            return Unknown(text="too deep")
        if text.startswith("NOT "):
            return Not(arg=self.read(text[4:].strip(), depth + 1))
        leaf = self._leaf(text)
        if leaf is not None:
            return leaf
        if text.startswith("(") and text.endswith(")"):
            inner = text[1:-1]
            compared = self._compared(inner)
            if compared is not None:
                return compared
            split = _operands(inner)
            if split is not None:
                left, operator, right = split
                args = (self.read(left, depth + 1), self.read(right, depth + 1))
                return And(args=args) if operator == "AND" else Or(args=args)
        return Unknown(text=text[:80])

    def _leaf(self, text: str) -> Expr | None:
        found = _NULL.fullmatch(text)
        if found is not None:
            column = self._column(found["column"])
            if column is None:
                return None
            null = IsNull(column=column[0])
            return null if found["what"] == "isnull" else Not(arg=null)
        found = _IN.fullmatch(text) or _IN_SET.fullmatch(text)
        if found is not None:
            return self._listed(found["column"], found["values"])
        found = _PREFIX.fullmatch(text)
        column = None if found is None else self._column(found["column"])
        if found is None or column is None or column[1] != "string":
            return None
        return StartsWith(column=column[0], prefix=found["value"].encode())

    def _listed(self, attribute: str, values: str) -> Expr | None:
        column = self._column(attribute)
        if column is None or _SHORTENED.search(values):
            return None
        texts = [value.strip() for value in values.split(",")]
        literals = [_literal(text, column[1]) for text in texts if text != "null"]
        if any(literal is None for literal in literals):
            return None
        known = tuple(literal for literal in literals if literal is not None)
        return In(column=column[0], values=known, has_null="null" in texts)

    def _compared(self, text: str) -> Expr | None:
        found = _COMPARED.fullmatch(text)
        operator = found["op"] if found else ""
        if found is None:
            found = _MIRRORED.fullmatch(text)
            if found is None:
                return None
            operator = _MIRROR[found["op"]]
        column = self._column(found["column"])
        if column is None:
            return None
        path, kind = column
        if operator == "<=>" and found["value"] == "null":
            return NullSafeEqual(column=path, value=None)
        literal = _literal(found["value"], kind)
        if literal is None:
            return None
        if operator == "<=>":
            return NullSafeEqual(column=path, value=literal)
        return Compare(column=path, op=operator, value=literal)

    def _column(self, attribute: str) -> tuple[tuple[str, ...], str] | None:
        """Path and kind of a column of the table."""
        name, _, rest = attribute.partition("#")
        _, *fields = rest.split(".")
        return self._kinds.get(tuple(part.lower() for part in (name, *fields)))


def _operands(text: str) -> tuple[str, str, str] | None:
    """Both sides of the one AND or OR outside of brackets."""
    depth = 0
    for at, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif depth == 0 and char == " ":
            for operator in ("AND", "OR"):
                if text.startswith(f" {operator} ", at):
                    return text[:at], operator, text[at + len(operator) + 2 :]
    return None


def _literal(text: str, kind: str) -> Literal | None:
    """A literal of a column's type; ``None`` where the text is none, such as another column."""
    if kind == "string":
        # a column of the same type is printed as one word with its number
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
        try:
            return Literal(kind="number", value=Decimal(text))
        except InvalidOperation:
            return None
    return None


def _with_times(expression: Expr, kinds: Mapping[tuple[str, ...], str]) -> Expr:
    """The same with the numbers that are compared with dates and times as those."""
    match expression:
        case And():
            return And(args=tuple(_with_times(arg, kinds) for arg in expression.args))
        case Or():
            return Or(args=tuple(_with_times(arg, kinds) for arg in expression.args))
        case Not():
            return Not(arg=_with_times(expression.arg, kinds))
        case Compare():
            kind = kinds.get(expression.column, "other")
            return Compare(
                column=expression.column, op=expression.op, value=_time(expression.value, kind)
            )
        case In():
            kind = kinds.get(expression.column, "other")
            values = tuple(_time(value, kind) for value in expression.values)
            return In(column=expression.column, values=values, has_null=expression.has_null)
        case _:
            return expression


def _time(literal: Literal, kind: str) -> Literal:
    is_time = kind == "date" or kind.startswith("timestamp")
    if is_time and isinstance(literal.value, Decimal) and literal.value == int(literal.value):
        return Literal(kind=kind, value=int(literal.value))
    return literal
