"""Filters as SQL that a person can paste: the one place that prints key ranges."""

from __future__ import annotations

import math
import re
import struct
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from lakesieve.predicate.literals import float_code, is_single
from lakesieve.predicate.ranges import Ranges
from lakesieve.predicate.row_filter import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    ColumnRanges,
    ElementRanges,
    EntryRows,
    KeysWith,
    RowFilter,
)
from lakesieve.printable import printable_line
from lakesieve.sieve import HIGHEST, LOWEST, successor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.predicate.bind import ColumnType
    from lakesieve.sieve import Code, Interval, WordPart

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# a call of one function, with at most one level of calls in it, or the value of one entry of a map;
# other expressions need parentheses
_CALL = re.compile(r"\w+\([^()]*(?:\([^()]*\)[^()]*)*\)|[\w.`]+\[[^\]]*\]")
_MANY = re.compile(r"\s*(elements|entries|words)\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
# names an element in the printed condition
_ELEMENT = "x"
# values of a list, and characters in all, of a text that is shortened
_SHOWN, _LONGEST = 10, 500
_SHORT = 24
# words that Spark reserves under ANSI or sqlglot reads as syntax: such names are quoted
_RESERVED = re.compile(
    r"""
    all | alter | and | any | as | between | both | case | cast | check | collate | column |
    constraint | create | cross | current_date | current_timestamp | current_user | distinct
    | drop | else | end | escape | except | false | fetch | filter | for | foreign | from |
    full | glob | grant | group | having | ilike | in | inner | insert | intersect | into |
    is | join | lateral | leading | left | like | minus | natural | not | notnull | null |
    on | only | or | order | outer | overlaps | partitioned_by | primary | qualify |
    references | regexp | returning | revoke | right | rlike | rollback | select |
    serdeproperties | session_user | some | table | tablesample | then | to | trailing |
    true | uncache | union | unique | unknown | user | using | values | when | where | with
    | within | xor
    """,
    re.VERBOSE | re.IGNORECASE,
)
# kinds whose values are counted: both ends of a range are written
_WHOLE = {"boolean", "integer", "decimal", "date"}
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - printed without a zone


def to_sql(
    rows: RowFilter,
    columns: Mapping[tuple[str, ...], ColumnType],
    *,
    shorten: bool = True,
    expressions: Mapping[str, ColumnType] | None = None,
) -> str:
    """Return a filter as SQL in Spark's dialect, key codes decoded into literals.

    ``TRUE`` means that every row may match. Moments of columns with a time zone are printed in
    UTC, so that the text means the same in every session. ``shorten`` prints the first
    values of a long list only, and ``...`` for what is left out. ``expressions`` are the
    expressions of the filter by their SQL text.
    """
    names = {column.field_id: (column_sql(path), column) for path, column in columns.items()}
    for text, value in (expressions or {}).items():
        is_call = _CALL.fullmatch(text) is not None or source_of_many(text) is not None
        names[value.field_id] = (text if is_call else f"({text})", value)
    text = _Printer(names, _SHOWN if shorten else None).text(rows)
    return f"{text[: _LONGEST - 3]}..." if shorten and len(text) > _LONGEST else text


def source_of_many(key: str) -> tuple[str, str] | None:
    """Return what a key of which a row may have many is made of.

    Returns:
        ``elements`` and the list for ``elements(list)``, ``entries`` and the map for
        ``entries(map)``; ``None`` for any other key.
    """
    found = _MANY.fullmatch(key)
    return (found[1].lower(), found[2].strip()) if found else None


def column_sql(path: Sequence[str]) -> str:
    """Return a column's name as SQL, quoted where it must be."""
    return ".".join(
        part
        if _PLAIN_NAME.fullmatch(part) and not _RESERVED.fullmatch(part)
        else f"`{part.replace('`', '``')}`"
        for part in path
    )


class _Printer:
    def __init__(self, columns: Mapping[int, tuple[str, ColumnType]], shown: int | None) -> None:
        self._columns = columns
        self._shown = shown

    def text(self, rows: RowFilter, *, inside: bool = False) -> str:
        match rows:
            case AlwaysTrue():
                return "TRUE"
            case AlwaysFalse():
                return "FALSE"
            case ColumnRanges():
                name, column = self._columns[rows.field_id]
                return _any(self._alternatives(name, rows.ranges, column), inside)
            case ElementRanges():
                return self._of_many(rows)
            case EntryRows():
                return self._of_entry(rows)
            case KeysWith():
                name, column = self._columns[rows.field_id]
                _, source = source_of_many(name) or ("", name)
                condition = _has_part(rows.part, literal_sql(rows.part.text, column))
                return f"exists(words({source}), {_ELEMENT} -> {condition})"
            case AllOf():
                return " AND ".join(self.text(arg, inside=True) for arg in rows.args)
        parts = [self.text(arg) for arg in rows.args]
        return _any(parts, inside)

    def _of_many(self, rows: ElementRanges) -> str:
        """Return a condition that one of many keys meets."""
        name, column = self._columns[rows.field_id]
        condition = _any(self._alternatives(_ELEMENT, rows.ranges, column), inside=False)
        # a stored text may be anything
        what, source = source_of_many(name) or ("", name)
        # Spark has no function that returns words, but people understand it
        source = f"words({source})" if what == "words" else source
        return f"exists({source}, {_ELEMENT} -> {condition})"

    def _of_entry(self, rows: EntryRows) -> str:
        """Return a condition that an entry of a map meets."""
        name, column = self._columns[rows.field_id]
        # the column of the keys has this name
        source = name.removeprefix("map_keys(").removesuffix(")")
        columns = {rows.field_id: (f"{_ELEMENT}.key", column)}
        if column.entry_value is not None:
            value = column.entry_value
            columns[value.field_id] = (f"{_ELEMENT}.value", value)
        condition = _Printer(columns, self._shown).text(rows.entry)
        return f"exists(map_entries({source}), {_ELEMENT} -> {condition})"

    def _alternatives(self, name: str, ranges: Ranges, column: ColumnType) -> list[str]:
        """Return conditions of which one must be true."""
        parts = self._of_values(name, ranges, column)
        return [*parts, f"{name} IS NULL"] if ranges.nulls else parts

    def _of_values(self, name: str, ranges: Ranges, column: ColumnType) -> list[str]:
        pairs = ranges.intervals
        if pairs == ((None, None),):
            return [f"{name} IS NOT NULL"]
        if len(pairs) > 1 and pairs[0][0] is None and pairs[-1][1] is None:
            excluded = ranges.complement(nulls=False).singles()
            if excluded:
                more = len(excluded) - len(excluded[: self._shown])
                alone = _listed(name, excluded[: self._shown], column, more, negated=True)
                return [" AND ".join(alone)]
        shown = pairs[: self._shown]
        more = len(pairs) - len(shown)
        points = [low for low, high in shown if low is not None and _is_single(low, high)]
        others = [_between(name, pair, column) for pair in shown if not _is_single(*pair)]
        if not others:
            return _listed(name, points, column, more)
        return [*_listed(name, points, column), *others, *_left_out(more)]


def _listed(
    name: str, codes: Sequence[Code], column: ColumnType, more: int = 0, *, negated: bool = False
) -> list[str]:
    """Return ``=`` and ``IN``, or ``<>`` and ``NOT IN``, for some values and ``more`` of them."""
    texts = [literal_sql(code, column) for code in codes]
    if len(texts) < 2 or column.kind == "float" or any(text.startswith("CAST") for text in texts):
        # literals of several types in one list would all be converted to one type
        each = [f"{name} {'<>' if negated else '='} {text}" for text in texts]
        return [*each, *_left_out(more)]
    return [f"{name} {'NOT ' if negated else ''}IN ({', '.join([*texts, *_left_out(more)])})"]


def _left_out(count: int) -> list[str]:
    return [f"... {count:,} more"] if count else []


def _has_part(part: WordPart, text: str) -> str:
    """Return SQL for the condition that a word has a part. The part is an SQL literal."""
    word = f"lower({_ELEMENT})" if part.is_folded else _ELEMENT
    if part.at_start and part.at_end:
        return f"{word} = {text}"
    function = "startswith" if part.at_start else "endswith" if part.at_end else "contains"
    return f"{function}({word}, {text})"


def _any(parts: Sequence[str], inside: bool) -> str:
    text = " OR ".join(parts)
    return f"({text})" if inside and len(parts) > 1 else text


def _is_single(low: Code | None, high: Code | None) -> bool:
    return low is not None and high == successor(low)


def _between(name: str, pair: Interval, column: ColumnType) -> str:
    low, high = pair
    if isinstance(low, bytes) and low and Ranges.prefix(low).intervals == (pair,):
        prefix = literal_sql(low, column)
        if column.kind == "string" and prefix.startswith("'"):
            if re.search(r"[%_\\]", prefix):
                return f"startswith({name}, {prefix})"
            return f"{name} LIKE {prefix[:-1]}%'"
    if column.kind in _WHOLE and isinstance(low, int) and isinstance(high, int):
        return f"{name} BETWEEN {literal_sql(low, column)} AND {literal_sql(high - 1, column)}"
    first, last = _above(low, column), _below(high, column)
    ends = [f"{name} {operator} {text}" for operator, text in filter(None, (first, last))]
    return " AND ".join(ends)


def _above(low: Code | None, column: ColumnType) -> tuple[str, str] | None:
    """Return the operator and the literal of a lower bound."""
    if low is None:
        return None
    inclusive, before = _readable(low, column), _predecessor(low)
    exclusive = None if before is None else _readable(before, column)
    if exclusive and (inclusive is None or _is_plainer(exclusive, inclusive, column)):
        return ">", exclusive
    return ">=", inclusive or literal_sql(low, column)


def _below(high: Code | None, column: ColumnType) -> tuple[str, str] | None:
    """Return the operator and the literal of an upper bound."""
    if high is None:
        return None
    exclusive, before = _readable(high, column), _predecessor(high)
    inclusive = None if before is None else _readable(before, column)
    if inclusive and (exclusive is None or _is_plainer(inclusive, exclusive, column)):
        return "<=", inclusive
    return "<", exclusive or literal_sql(high, column)


def _predecessor(code: Code) -> Code | None:
    """Return the code whose successor this is, if there is one."""
    if isinstance(code, int):
        return code - 1
    return code[:-1] if code.endswith(b"\0") else None


def _is_plainer(text: str, other: str, column: ColumnType) -> bool:
    """Return whether a bound reads better than the same bound with the neighbouring value."""
    return column.kind not in _WHOLE and len(text) < len(other)


def literal_sql(code: Code, column: ColumnType) -> str:
    """Return a key code as a literal of its column's type, in Spark's dialect."""
    text = _readable(code, column)
    if text is not None:
        return text
    if column.kind == "date":
        return f"DATE_FROM_UNIX_DATE({code!r})"
    if column.kind in {"timestamp", "timestamp_ntz"}:
        return f"TIMESTAMP_MICROS({code!r})"
    return f"X'{code.hex()}'" if isinstance(code, bytes) else str(code)


def value_text(code: Code, column: ColumnType) -> str:
    """Return a key code as a short text without its type, such as for the axis of a picture."""
    if isinstance(code, bytes) and column.kind == "string":
        # a key of an index may be cut within a character
        return code[:_SHORT].decode(errors="ignore")
    found = re.fullmatch(r"(?:DATE|TIMESTAMP\w*) '(.*?)Z?'", literal_sql(code, column))
    return found[1] if found else literal_sql(code, column)[: 2 * _SHORT]


def _readable(code: Code, column: ColumnType) -> str | None:
    """Return a literal; ``None`` for a code that no literal of the column's type has."""
    if isinstance(code, bytes):
        return _text(code) if column.kind == "string" else f"X'{code.hex()}'"
    match column.kind:
        case "boolean":
            return {0: "FALSE", 1: "TRUE"}.get(code)
        case "decimal":
            sign, digits, _ = Decimal(code).as_tuple()
            return f"{Decimal((sign, digits, -column.scale)):f}" if len(digits) <= 38 else None
        case "float":
            return _number(code)
        case "date":
            moment = _moment(code, 86400)
            return None if moment is None else f"DATE '{moment[:10]}'"
        case "timestamp" | "timestamp_ns" | "timestamp_ntz" | "timestamp_ntz_ns" as kind:
            return _timestamp(code, kind)
    return str(code)


def _text(code: bytes) -> str:
    try:
        text = code.decode()
    except UnicodeDecodeError:
        text = "\0"
    if printable_line(text) != text:
        return f"CAST(X'{code.hex()}' AS STRING)"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _number(code: int) -> str | None:
    bits = code ^ ((code >> 63) & HIGHEST)
    if not LOWEST <= bits <= HIGHEST:
        return None
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    if float_code(value) != code:
        return None
    text = repr(value)
    if not math.isfinite(value):
        return f"CAST('{text}' AS DOUBLE)"
    # SQL makes a whole number single or double as the column is
    return text if "e" in text or is_single(value) or value % 1 else f"{text[:-2]}e0"


def _timestamp(code: int, kind: str) -> str | None:
    digits = 9 if kind.endswith("_ns") else 6
    seconds, fraction = divmod(code, 10**digits)
    moment = _moment(seconds, 1)
    if moment is None:
        return None
    if fraction:
        moment += f".{fraction:0{digits}}".rstrip("0")
    is_local = kind.startswith("timestamp_ntz")
    return f"TIMESTAMP_NTZ '{moment}'" if is_local else f"TIMESTAMP '{moment}Z'"


def _moment(count: int, unit: int) -> str | None:
    try:
        return (_EPOCH + timedelta(seconds=count * unit)).isoformat(sep=" ")
    except OverflowError:
        return None
