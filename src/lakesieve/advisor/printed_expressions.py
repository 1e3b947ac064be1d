"""Read columns, literals and expressions that Spark prints in plans.

A plan has names with numbers, and texts without quotes: ``get_json_object(payload#7, $.user.id)``.
Expressions become SQL text. An expression that cannot be read for sure has none. Spark decides
whether an expression can be the key of an index.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from lakesieve.predicate import ColumnType, literal_sql
from lakesieve.predicate.expression import Compare, Literal, NullSafeEqual
from lakesieve.predicate.sql_text import column_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

ATTRIBUTE = r"(?<![^\s#(),\[\]])[^\s#(),\[\]]+#\d+L?(?:\.[^\s#(),\[\]]+)?"
"""A column in a plan: its name, its number within the plan, and fields of structs.

It matches only at the start of a word. Otherwise a search would start again at each character of a
long word, and take quadratic time.
"""

_ATTRIBUTE = re.compile(ATTRIBUTE)
_CALL = re.compile(r"([a-z_][a-z0-9_]*)\(", re.ASCII)
_CAST = re.compile(r"(?P<value>.*) as (?P<type>[a-z]+(?:\(\d+,\d+\))?)", re.DOTALL)
_OPERATION = re.compile(r" ([-+*%&|^]) ")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_ENTRY = re.compile(r"\[[^\[\]]*\]")
# the time zone of a function, and settings that SQL text does not have
_SETTING = re.compile(r"None|Some\([\w/+:-]+\)|true|false|LEGACY|ANSI|TRY")
# a text among any number of arguments may itself be several arguments
_OF_ANY_COUNT = frozenset({"concat", "concat_ws", "coalesce", "greatest", "least"})
_TRIMS = frozenset({"trim", "ltrim", "rtrim", "btrim"})
_TEXT = ColumnType(field_id=0, kind="string")
_SHORTENED = re.compile(r"\.\.\. \d+ more fields?$")
# Spark also prints NaN and Infinity for a column of floats; no column has longer numbers
_LITERAL_NUMBER = re.compile(
    r"NaN|[+-]?(?:Infinity|(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,3})?)",
    re.ASCII,
)
_DEEPEST = 20


class PlanColumns:
    """The columns of a table, by the names that plans print.

    Args:
        kinds: The key kinds of the columns, by path.
    """

    def __init__(self, kinds: Mapping[tuple[str, ...], str]) -> None:
        self._kinds = {tuple(n.lower() for n in path): (path, k) for path, k in kinds.items()}

    def of(self, attribute: str) -> tuple[tuple[str, ...], str] | None:
        """Return path and kind of a column of the table."""
        name, _, rest = attribute.partition("#")
        _, *fields = rest.split(".")
        return self._kinds.get(tuple(part.lower() for part in (name, *fields)))

    def sql(self, attribute: str) -> str | None:
        """Return a column of the table as SQL."""
        column = self.of(attribute)
        return None if column is None else column_sql(column[0])


def printed_literal(text: str, kind: str) -> Literal | None:
    """Return a literal of a key kind, or ``None`` for other text, such as a column."""
    if kind == "string":
        # Spark prints another column of the same type as one word with its number
        return None if has_column(text) else Literal(kind="text", value=text)
    if kind == "boolean":
        return Literal(kind="boolean", value=text == "true") if text in {"true", "false"} else None
    if kind == "date":
        return Literal(kind="date_text", value=text) if text[:1].isdigit() else None
    if kind.startswith("timestamp"):
        is_local = "ntz" in kind
        of = "timestamp_ntz_text" if is_local else "timestamp_text"
        return Literal(kind=of, value=text) if text[:1].isdigit() else None
    if kind in {"integer", "decimal", "float"} and _LITERAL_NUMBER.fullmatch(text):
        return Literal(kind="number", value=Decimal(text))
    return None


def printed_comparison(
    path: tuple[str, ...], kind: str, op: str, text: str
) -> Compare | NullSafeEqual | None:
    """Return the comparison of a column with a printed literal of its kind."""
    if op == "<=>" and text == "null":
        return NullSafeEqual(column=path, value=None)
    literal = printed_literal(text, kind)
    if literal is None:
        return None
    if op == "<=>":
        return NullSafeEqual(column=path, value=literal)
    return Compare(column=path, op=op, value=literal)


def printed_list(text: str, kind: str) -> tuple[tuple[Literal, ...], bool] | None:
    """Return the literals of a list, and whether it has null, or ``None`` for other text."""
    if _SHORTENED.search(text):
        return None
    texts = [value.strip() for value in text.split(",")]
    literals = [printed_literal(value, kind) for value in texts if value != "null"]
    present = tuple(literal for literal in literals if literal is not None)
    return (present, "null" in texts) if len(present) == len(literals) else None


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return literal_sql(text.encode("utf-8", "surrogatepass"), _TEXT)


def has_column(text: str) -> bool:
    """Return whether a part of a plan may name a column, so that it may be no constant."""
    return _ATTRIBUTE.search(text) is not None


def split_operand(text: str) -> tuple[str, str]:
    """Split a text behind the expression with which it begins. Without one, the first is empty."""
    begin = _CALL.match(text)
    if begin is not None or text.startswith("("):
        end = _closing(text, begin.end() - 1 if begin else 0) + 1
    else:
        column = _ATTRIBUTE.match(text)
        end = 0 if column is None else column.end()
        entry = _ENTRY.match(text, end) if column else None
        end = end if entry is None else entry.end()
    return text[:end], text[end:]


def split_list(text: str) -> list[str]:
    """Split a list at its commas, except inside brackets and quotes."""
    parts = (part.strip() for part in _split(text, ",", has_quotes=True))
    return [part for part in parts if part]


def arguments(text: str) -> list[str]:
    """Split the printed arguments of a function at the commas outside brackets.

    Spark prints the texts among them without quotes.
    """
    return _split(text, ", ", has_quotes=False)


def _split(text: str, separator: str, *, has_quotes: bool) -> list[str]:
    parts, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(text):
        if has_quotes and char == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0 and text.startswith(separator, at):
            parts.append(text[start:at])
            start = at + len(separator)
    return [*parts, text[start:]]


def _closing(text: str, opening: int) -> int:
    """Return the place of the bracket that closes another one, or -1."""
    depth = 0
    for at in range(opening, len(text)):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at
    return -1


class PrintedExpressions:
    """Writes expressions over the columns of a table as SQL."""

    def __init__(self, columns: PlanColumns) -> None:
        self._columns = columns

    def sql(self, text: str) -> str | None:
        """Return an expression as SQL, without the brackets around it."""
        if text.startswith("("):
            return self._operation(text, 0)
        return self._value(text, 0)

    def _value(self, text: str, depth: int) -> str | None:
        """Return a column, a call or an operation as SQL."""
        if depth > _DEEPEST:
            return None
        if _ATTRIBUTE.fullmatch(text):
            return self._columns.sql(text)
        call = _CALL.match(text)
        if call is not None and _closing(text, call.end() - 1) == len(text) - 1:
            return self._called(call[1], text[call.end() : -1], depth)
        operation = self._operation(text, depth)
        return None if operation is None else f"({operation})"

    def _called(self, name: str, inner: str, depth: int) -> str | None:
        if name in {"cast", "try_cast"}:
            cast = _CAST.fullmatch(inner)
            value = None if cast is None else self._value(cast["value"], depth + 1)
            return None if cast is None or value is None else f"{name}({value} as {cast['type']})"
        given = arguments(inner)
        while len(given) > 1 and name not in _OF_ANY_COUNT and _SETTING.fullmatch(given[-1]):
            if name in _TRIMS and given[-1] != "None":
                # the text that is cut off
                return None
            given.pop()
        written = [self._argument(one, name, depth) for one in given]
        known = [one for one in written if one is not None]
        return f"{name}({', '.join(known)})" if len(known) == len(written) else None

    def _argument(self, text: str, name: str, depth: int) -> str | None:
        if has_column(text):
            return self._value(text, depth + 1)
        if _NUMBER.fullmatch(text):
            return text
        # constants are printed as values, so a call is no constant
        is_unclear = not text or _CALL.match(text) is not None or name in _OF_ANY_COUNT
        return None if is_unclear else quoted(text)

    def _operation(self, text: str, depth: int) -> str | None:
        """Return ``(left operator right)`` as SQL without the brackets around it."""
        if not text.startswith("(") or _closing(text, 0) != len(text) - 1:
            return None
        left, rest = split_operand(text[1:-1])
        if not left:
            number = _NUMBER.match(rest)
            left, rest = (number[0], rest[number.end() :]) if number else ("", rest)
        operator = _OPERATION.match(rest)
        if operator is None:
            return None
        sides = [
            side if _NUMBER.fullmatch(side) else self._value(side, depth + 1)
            for side in (left, rest[operator.end() :])
        ]
        if None in sides:
            return None
        return f"{sides[0]} {operator[1]} {sides[1]}"
