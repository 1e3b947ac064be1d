"""Read conditions of plans on what keys of indexes can be, other than columns.

These are conditions on expressions, on elements of lists, on entries of maps and on parts of texts,
such as ``(lower(email#1) = anna)`` and ``array_contains(tags#2, red)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakesieve.advisor.printed_expressions import (
    ATTRIBUTE,
    PrintedExpressions,
    arguments,
    has_column,
    printed_comparison,
    printed_list,
    printed_literal,
    quoted,
    split_operand,
)
from lakesieve.errors import LakesieveError
from lakesieve.predicate import ELEMENTS, ENTRIES
from lakesieve.predicate.converting import MIRRORED
from lakesieve.predicate.expression import (
    ELEMENT,
    Compare,
    In,
    OnElements,
    OnText,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.parse import parse_sql
from lakesieve.predicate.parse_parts import of_entry
from lakesieve.predicate.protocol import parts_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakesieve.advisor.described_keys import DescribedKeys
    from lakesieve.advisor.printed_expressions import PlanColumns
    from lakesieve.predicate import Expr
    from lakesieve.predicate.expression import Literal

_CALLED = re.compile(
    r"(?P<name>Contains|StartsWith|EndsWith|RLIKE|array_contains|arrays_overlap|exists)"
    r"\((?P<inner>.*)\)",
    re.DOTALL,
)
_COMPARISON = re.compile(r" (?P<op><=>|<=|>=|=|<|>) (?P<value>.*)", re.DOTALL)
_MIRRORED = re.compile(r"(?P<value>[^#]*?) (?P<op><=>|<=|>=|=|<|>) (?P<operand>.*)", re.DOTALL)
_IN = re.compile(r" (?:IN \((?P<values>.*)\)|INSET (?P<set>.*))", re.DOTALL)
_LIKE = re.compile(r" LIKE (?P<pattern>.*?)(?: ESCAPE '(?P<escape>.)')?", re.DOTALL)
_TEXT = re.compile(rf"lower\((?P<folded>{ATTRIBUTE})\)|(?P<plain>{ATTRIBUTE})")
_LIST = re.compile(rf"map_keys\((?P<map>{ATTRIBUTE})\)|(?P<list>{ATTRIBUTE})")
_CONSTANT_FIRST = re.compile(rf"(?P<values>\[[^\[\]]*\]), (?P<list>{ATTRIBUTE})")
_LAMBDA = re.compile(
    r", lambdafunction\((?P<body>.*), lambda (?P<variable>[^\s#,()]+#\d+L?), (?:true|false)\)"
    r"(?:, (?:true|false))?",
    re.DOTALL,
)
_ENTRY = re.compile(rf"(?P<map>{ATTRIBUTE})\[(?P<key>[^\[\]]*)\]")
_NUMBERS = re.compile(r"#\d+L?")
_FUNCTIONS = {"Contains": "contains", "StartsWith": "startswith", "EndsWith": "endswith"}
# longer conditions are left out, because to read them could take quadratic time
_LONGEST = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operand:
    """An expression, or the value of a constant key in a map, that a condition compares."""

    path: tuple[str, ...]  # stands for the value in the condition
    kind: str
    entry: tuple[str, Literal] | None = None  # the tree of the map's entries, and the key

    def condition(self, on_value: Expr, text: str) -> Expr:
        """Return a condition on the path as one on the expression or on the entry."""
        return on_value if self.entry is None else of_entry(on_value, *self.entry, text)


class KeyConditions:
    """Reads conditions that contain no AND, OR and NOT.

    Args:
        columns: The columns of the table.
        keys: Describes the keys that an index could have.
        read: Reads any condition on columns of some kinds.
    """

    def __init__(
        self,
        columns: PlanColumns,
        keys: DescribedKeys,
        read: Callable[[str, Mapping[tuple[str, ...], str]], Expr],
    ) -> None:
        self._columns = columns
        self._keys = keys
        self._read = read
        self._expressions = PrintedExpressions(columns)

    def read(self, text: str) -> Expr | None:
        """Return a condition, or ``None`` if it is not understood."""
        if len(text) > _LONGEST:
            return None
        operand, rest = split_operand(text)
        if text.startswith("(") and not rest:
            return self._comparison(text[1:-1], text)
        called = _CALLED.fullmatch(text)
        if called is not None:
            return self._called(called["name"], called["inner"], text)
        like = _LIKE.fullmatch(rest)
        if like is not None:
            return self._like(operand, like["pattern"], like["escape"])
        return self._listed(operand, rest, text)

    def _operand(self, text: str) -> _Operand | None:
        entry = _ENTRY.fullmatch(text)
        if entry is not None:
            return self._entry(entry["map"], entry["key"])
        if text.startswith("element_at("):
            # the value for a missing key, and the mode, follow
            of, key, *settings = [*arguments(text[len("element_at(") : -1]), "", ""]
            is_plain = set(settings) <= {"None", "true", "false", ""}
            return self._entry(of, key) if is_plain else None
        sql = self._expressions.sql(text) if text.endswith(")") else None
        column = None if sql is None else self._keys.expression(sql)
        return None if column is None else _Operand(path=column.path, kind=column.kind)

    def _entry(self, attribute: str, key: str) -> _Operand | None:
        column = self._columns.of(attribute)
        parts = self._keys.of(f"{ENTRIES}({self._columns.sql(attribute)})") if column else ()
        if column is None or len(parts) != 2:
            return None
        literal = printed_literal(key, parts[0].kind)
        if literal is None:
            return None
        tree = parts_tree(ENTRIES, column[0])
        return _Operand(path=ELEMENT, kind=parts[1].kind, entry=(tree, literal))

    def _comparison(self, inner: str, text: str) -> Expr | None:
        operand, rest = split_operand(inner)
        if operand:
            return self._compared(operand, rest, text)
        constant_first = _MIRRORED.fullmatch(inner)
        if constant_first is None:
            return None
        operator = MIRRORED.get(constant_first["op"], constant_first["op"])
        operand, rest = split_operand(constant_first["operand"])
        value = constant_first["value"]
        return None if rest else self._compared(operand, f" {operator} {value}", text)

    def _compared(self, operand_text: str, rest: str, text: str) -> Expr | None:
        match = _COMPARISON.fullmatch(rest)
        if match is None or not operand_text or has_column(match["value"]):
            return None
        op, value = match["op"], match["value"]
        operand = self._operand(operand_text)
        condition: Expr | None = None
        if operand is not None:
            on_value = printed_comparison(operand.path, operand.kind, op, value)
            condition = None if on_value is None else operand.condition(on_value, _shown(text))
        if op == "=" and operand_text.startswith("lower("):
            return self._on_text(operand_text, f"= {quoted(value)}", condition)
        return condition

    def _listed(self, operand_text: str, rest: str, text: str) -> Expr | None:
        match = _IN.fullmatch(rest)
        operand = None if match is None else self._operand(operand_text)
        if match is None or operand is None:
            return None
        listed = printed_list(match["values"] or match["set"] or "", operand.kind)
        if listed is None:
            return None
        on_value = In(column=operand.path, values=listed[0], has_null=listed[1])
        return operand.condition(on_value, _shown(text))

    def _called(self, name: str, inner: str, text: str) -> Expr | None:
        operand, rest = split_operand(inner)
        if name == "exists":
            return self._exists(operand, rest, text)
        if name == "arrays_overlap":
            return self._overlap(inner, text)
        if not rest.startswith(", ") or has_column(rest):
            return None
        value = rest[2:]
        if name == "array_contains":
            return self._some(operand, lambda kind: _equal(value, kind), text)
        if name == "RLIKE":
            return self._on_text(operand, f"RLIKE {quoted(value)}", None)
        return self._has_part(name, operand, value)

    def _has_part(self, name: str, operand_text: str, value: str) -> Expr | None:
        """Read a condition that a text contains, begins with or ends with another one."""
        condition: Expr | None = None
        if name == "StartsWith":
            operand = self._operand(operand_text)
            if operand is not None and operand.kind == "string" and operand.entry is None:
                condition = StartsWith(column=operand.path, prefix=value.encode())
        column = self._text(operand_text)
        if column is None:
            return condition
        return self._read_text(f"{_FUNCTIONS[name]}({column}, {quoted(value)})", condition)

    def _like(self, operand: str, pattern: str, escape: str | None) -> Expr | None:
        if has_column(pattern) or escape is not None:
            return None
        return self._on_text(operand, f"LIKE {quoted(pattern)}", None)

    def _on_text(self, operand: str, rest: str, otherwise: Expr | None) -> Expr | None:
        column = self._text(operand)
        return otherwise if column is None else self._read_text(f"{column} {rest}", otherwise)

    def _read_text(self, sql: str, otherwise: Expr | None) -> Expr | None:
        """Read a condition on parts of a text.

        ``otherwise`` is the same condition for indexes that are not on words, if there is one.
        """
        try:
            condition = parse_sql(sql)
        except LakesieveError:
            return otherwise
        if isinstance(condition, OnText):
            return replace(condition, otherwise=otherwise or condition.otherwise)
        return otherwise if isinstance(condition, Unknown) else condition

    def _text(self, operand: str) -> str | None:
        """Return a column of texts, or the lower case of one, as SQL."""
        match = _TEXT.fullmatch(operand)
        column = None if match is None else self._columns.of(match["folded"] or match["plain"])
        if match is None or column is None or column[1] != "string":
            return None
        return self._expressions.sql(operand)

    def _overlap(self, inner: str, text: str) -> Expr | None:
        first = _CONSTANT_FIRST.fullmatch(inner)
        operand, rest = split_operand(inner)
        constant = rest.removeprefix(", ")
        if first is not None:
            operand, constant = first["list"], first["values"]
        if has_column(constant) or not constant.startswith("[") or not constant.endswith("]"):
            return None

        def is_one(kind: str) -> Expr | None:
            listed = printed_list(constant[1:-1], kind)
            # null is equal to no element
            return None if listed is None else In(column=ELEMENT, values=listed[0])

        return self._some(operand, is_one, text)

    def _exists(self, operand: str, rest: str, text: str) -> Expr | None:
        match = _LAMBDA.fullmatch(rest)
        if match is None:
            return None
        variable = match["variable"]
        # as a column, whose number nothing else has
        body = match["body"].replace(f"lambda {variable}", f"{ELEMENT[0]}#0")
        return self._some(operand, lambda kind: self._read(body, {ELEMENT: kind}), text)

    def _some(
        self, operand: str, condition_of: Callable[[str], Expr | None], text: str
    ) -> Expr | None:
        """Return a condition on some element of a list, or on some key of a map.

        ``condition_of`` returns the condition on an element of a kind.
        """
        match = _LIST.fullmatch(operand)
        if match is None:
            return None
        parts = ELEMENTS if match["map"] is None else ENTRIES
        attribute = match["map"] or match["list"]
        column = self._columns.of(attribute)
        described = self._keys.of(f"{parts}({self._columns.sql(attribute)})") if column else ()
        condition = condition_of(described[0].kind) if described else None
        if column is None or condition is None:
            return None
        return OnElements(tree=parts_tree(parts, column[0]), text=_shown(text), condition=condition)


def _equal(value: str, kind: str) -> Expr | None:
    literal = printed_literal(value, kind)
    return None if literal is None else Compare(column=ELEMENT, op="=", value=literal)


def _shown(text: str) -> str:
    """Return the text of a condition for people."""
    return _NUMBERS.sub("", text)[:80]
