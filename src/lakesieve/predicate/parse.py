"""SQL text to a predicate, by sqlglot in Spark's dialect."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import expressions as sql
from sqlglot.errors import SqlglotError

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.predicate.converting import MIRRORED
from lakesieve.predicate.expression import (
    And,
    Compare,
    Constant,
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
from lakesieve.predicate.literals import is_single

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

LONGEST = 32_000_000
DEEPEST = 150

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_QUERY = "SELECT 1 FROM t WHERE "

_OPERATORS: dict[type[Expression], str] = {
    sql.EQ: "=",
    sql.LT: "<",
    sql.LTE: "<=",
    sql.GT: ">",
    sql.GTE: ">=",
}


def parse_sql(text: str) -> Expr:
    """Read a predicate such as ``a = 5 AND s LIKE 'x%'``.

    Returns:
        The predicate, with :class:`Unknown` for parts no index could answer.

    Raises:
        InvalidInputError: It is not a condition.
    """
    if len(text) > LONGEST:
        raise _invalid(
            f"The predicate has {len(text)} characters.", "Use idx.locate for bulk keys."
        )
    try:
        # as a whole query, so that nothing but a condition can stand there
        query = sqlglot.parse(f"{_QUERY}{text}\n", dialect="spark")
    except (SqlglotError, RecursionError) as error:
        raise _invalid(
            f"The predicate {_short(text)!r} cannot be parsed{_place(error)}."
        ) from error
    tree = query[0] if len(query) == 1 else None
    if not isinstance(tree, sql.Select) or tree.args.get("where") is None:
        raise _invalid(f"The text {_short(text)!r} is not one condition.")
    extra = {k for k, v in tree.args.items() if v} - {
        "expressions",
        "from",
        "from_",
        "where",
        "kind",
    }
    if extra:
        raise _invalid(f"The text {_short(text)!r} holds more than a condition.")
    condition = tree.args["where"].this
    if condition.find(sql.Select, sql.Subquery):
        raise _invalid(
            f"The predicate {_short(text)!r} holds a subquery.",
            "Run it in Spark with lakesieve enabled, or give the values themselves.",
        )
    return _expr(condition, 0)


def _invalid(message: str, hint: str = "") -> InvalidInputError:
    return InvalidInputError(
        message,
        kind=ErrorKind.INVALID_PREDICATE,
        hint=hint or "Write a condition as after WHERE, such as: id = 5 AND day >= '2026-01-31'.",
    )


def _place(error: Exception) -> str:
    """Return where in the text the parser stopped, if it says so."""
    found = getattr(error, "errors", None) or [{}]
    line, column = found[0].get("line"), found[0].get("col")
    return f" at character {column - len(_QUERY)}" if line == 1 and column else ""


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _expr(node: Expression, depth: int) -> Expr:
    if depth > DEEPEST:
        return Unknown(text="too deep")
    match node:
        case sql.Paren():
            return _expr(node.this, depth + 1)
        case sql.And() | sql.Or():
            kind = sql.And if isinstance(node, sql.And) else sql.Or
            args = tuple(_expr(arg, depth + 1) for arg in _chain(node, kind))
            return And(args=args) if kind is sql.And else Or(args=args)
        case sql.Not():
            return Not(arg=_expr(node.this, depth + 1))
        case sql.Boolean():
            return Constant(value=bool(node.this))
        case sql.Null():
            return Constant(value=None)
        case sql.Column() | sql.Dot():
            return _truth_of(node)
    return _leaf(node) or _unknown(node)


def _truth_of(node: Expression) -> Expr:
    """Return a column standing alone, which must be of booleans."""
    column = _column(node)
    if column is None:
        return _unknown(node)
    return Compare(column=column, op="=", value=Literal(kind="boolean", value=True))


def _unknown(node: Expression) -> Unknown:
    return Unknown(text=_short(node.sql(dialect="spark", normalize_functions="lower")))


def _chain(node: Expression, kind: type[Expression]) -> list[Expression]:
    """Operands of a chain of one operator, without recursion: chains may be long."""
    found: list[Expression] = []
    waiting = [node]
    while waiting:
        top = waiting.pop()
        if isinstance(top, kind):
            waiting += [top.expression, top.this]
        else:
            found.append(top)
    return found


def _leaf(node: Expression) -> Expr | None:
    for kind, op in _OPERATORS.items():
        if type(node) is kind:
            return _comparison(op, node.this, node.expression)
    match node:
        case sql.NEQ():
            equal = _comparison("=", node.this, node.expression)
            return None if equal is None else Not(arg=equal)
        case sql.NullSafeEQ():
            return _null_safe(node)
        case sql.Is():
            column = _column(node.this)
            if column is not None and isinstance(node.expression, sql.Null):
                return IsNull(column=column)
            if column is not None and isinstance(node.expression, sql.Boolean):
                return NullSafeEqual(column=column, value=_literal(node.expression))
        case sql.Between():
            low = _comparison(">=", node.this, node.args["low"])
            high = _comparison("<=", node.this, node.args["high"])
            if low is not None and high is not None and not node.args.get("symmetric"):
                return And(args=(low, high))
        case sql.In():
            return _in(node)
        case sql.Like():
            return _like(node)
        case sql.StartsWith():
            column, prefix = _column(node.this), node.expression
            if column is not None and isinstance(prefix, sql.Literal) and prefix.is_string:
                return StartsWith(column=column, prefix=str(prefix.this).encode())
    return None


def _comparison(op: str, left: Expression, right: Expression) -> Expr | None:
    for side, other, towards in ((left, right, op), (right, left, MIRRORED[op])):
        column = _day_of(side)
        if column is not None:
            return _on_days(column, towards, other)
    column = _column(left)
    if column is None:
        column, op, right = _column(right), MIRRORED[op], left
    if column is None:
        return None
    if isinstance(right, sql.Null):
        return Constant(value=None)
    value = _literal(right)
    return None if value is None else Compare(column=column, op=op, value=value)


def _day_of(node: Expression) -> tuple[str, ...] | None:
    """Return the column of ``date(column)`` or ``CAST(column AS DATE)``."""
    while isinstance(node, sql.Paren):
        node = node.this
    match node:
        case sql.Cast() if node.to.this == sql.DataType.Type.DATE:
            return _column(node.this)
        case sql.TsOrDsToDate() if not node.args.get("format"):
            return _column(node.this)
    return None


def _on_days(column: tuple[str, ...], op: str, other: Expression) -> Expr | None:
    """Return a comparison of the day of a moment with a constant."""
    if isinstance(other, sql.Null):
        return Constant(value=None)
    value = _literal(other)
    if value is None or value.kind not in {"text", "date_text"}:
        return None
    return _compare_day(column, op, str(value.value))


def _compare_day(column: tuple[str, ...], op: str, day: str) -> Expr | None:
    """Return a comparison of moments that is true where that of their days is."""
    if not _DAY.fullmatch(day):
        return None
    try:
        first = date.fromisoformat(day)
        days = (first, first + timedelta(days=1))
    except (ValueError, OverflowError):
        return None
    begin, end = (Literal(kind="day_text", value=one.isoformat()) for one in days)
    if op == "=":
        bounds = ((">=", begin), ("<", end))
        return And(args=tuple(Compare(column=column, op=of, value=value) for of, value in bounds))
    of, value = {"<": ("<", begin), "<=": ("<", end), ">": (">=", end), ">=": (">=", begin)}[op]
    return Compare(column=column, op=of, value=value)


def _null_safe(node: Expression) -> Expr | None:
    column, other = _column(node.this), node.expression
    if column is None:
        column, other = _column(node.expression), node.this
    if column is None:
        return None
    if isinstance(other, sql.Null):
        return NullSafeEqual(column=column, value=None)
    value = _literal(other)
    return None if value is None else NullSafeEqual(column=column, value=value)


def _in(node: Expression) -> Expr | None:
    column = _column(node.this)
    if column is None or not node.expressions or node.args.get("unnest") or node.args.get("query"):
        return None
    items = [item for item in node.expressions if not isinstance(item, sql.Null)]
    values = [_literal(item) for item in items]
    known = tuple(value for value in values if value is not None)
    if len(known) < len(values):
        return None
    return In(column=column, values=known, has_null=len(items) < len(node.expressions))


def _like(node: Expression) -> Expr | None:
    column, pattern = _column(node.this), node.expression
    if column is None or not isinstance(pattern, sql.Literal) or not pattern.is_string:
        return None
    text = str(pattern.this)
    if "\\" in text:
        return None
    stem = text.split("%", 1)[0].split("_", 1)[0]
    if stem == text:
        # patterns are matched with strings alone, other columns are printed first
        return Compare(column=column, op="=", value=Literal(kind="string", value=stem.encode()))
    starts = StartsWith(column=column, prefix=stem.encode())
    if text == stem + "%":
        return starts
    return And(args=(starts, Unknown(text=text)))


def _column(node: Expression) -> tuple[str, ...] | None:
    while isinstance(node, sql.Paren):
        node = node.this
    match node:
        case sql.Column() if isinstance(node.this, sql.Identifier):
            return tuple(identifier.name for identifier in node.parts)
        case sql.Dot():
            names = [identifier.name for identifier in node.flatten(unnest=False)]
            inner = _column(node.this)
            return (
                (*inner, names[-1])
                if inner and isinstance(node.expression, sql.Identifier)
                else None
            )
    return None


_TIMES = {
    sql.DataType.Type.DATE: "date_text",
    sql.DataType.Type.TIMESTAMP: "timestamp_text",
    sql.DataType.Type.TIMESTAMPTZ: "timestamp_text",
    sql.DataType.Type.TIMESTAMPLTZ: "timestamp_text",
    sql.DataType.Type.TIMESTAMPNTZ: "timestamp_ntz_text",
}
_INTEGERS = {
    sql.DataType.Type.TINYINT: (8, 3),
    sql.DataType.Type.SMALLINT: (16, 5),
    sql.DataType.Type.INT: (32, 10),
    sql.DataType.Type.BIGINT: (64, 20),
}
_DOUBLE = re.compile(
    r"nan|[+-]?(inf|infinity|(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?)", re.ASCII | re.IGNORECASE
)


def _literal(node: Expression) -> Literal | None:
    match node:
        case sql.Paren():
            return _literal(node.this)
        case sql.Neg():
            value = _literal(node.this)
            if value is None or not isinstance(value.value, Decimal):
                return None
            # the operator minus would round it
            return replace(value, value=value.value.copy_negate())
        case sql.Boolean():
            return Literal(kind="boolean", value=bool(node.this))
        case sql.HexString():
            return _binary(str(node.this))
        case sql.Literal() if node.is_string:
            return Literal(kind="text", value=str(node.this))
        case sql.Literal():
            return _written(str(node.this))
        case sql.Cast():
            return _cast(node.this, node.to)
    return None


def _binary(digits: str) -> Literal | None:
    try:
        return Literal(kind="binary", value=bytes.fromhex(digits))
    except ValueError:
        return None


def _written(text: str) -> Literal | None:
    try:
        kind = "double" if "e" in text.lower() else "number"
        return Literal(kind=kind, value=Decimal(text))
    except InvalidOperation:
        return None


def _cast(inner: Expression, to: Expression) -> Literal | None:
    """Return a literal with a cast, ``DATE '...'`` or a suffix that changes only its type."""
    value = _literal(inner)
    if value is None or value.precision:
        return None
    written, kind = value.value, to.this
    if isinstance(written, bytes):
        return _text_of(written) if kind == sql.DataType.Type.TEXT else None
    if isinstance(written, str):
        if kind in _TIMES and value.kind == "text":
            return Literal(kind=_TIMES[kind], value=written)
        if not _DOUBLE.fullmatch(written) or kind in _INTEGERS:
            return None
        written = Decimal(written)
    if not isinstance(written, Decimal):
        return None
    if kind in _INTEGERS and value.kind == "number":
        bits, digits = _INTEGERS[kind]
        if written == written.to_integral_value() and abs(written) < 2 ** (bits - 1):
            return Literal(kind="number", value=written, precision=digits)
    if kind == sql.DataType.Type.DOUBLE or (
        kind == sql.DataType.Type.FLOAT and _is_single(written)
    ):
        return Literal(kind="double", value=written)
    if kind == sql.DataType.Type.DECIMAL and value.kind != "double" and written.is_finite():
        return _decimal(written, to)
    return None


def _text_of(content: bytes) -> Literal | None:
    """Return the string that bytes are; ``None`` where they are no UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return None
    return Literal(kind="string", value=content)


def _is_single(number: Decimal) -> bool:
    """Return whether single precision changes neither a number nor longs next to it."""
    if not number.is_finite():
        return True
    nearest = float(number)
    return is_single(nearest) and Decimal(nearest) == number and abs(nearest) < 2**24


def _decimal(number: Decimal, to: Expression) -> Literal | None:
    sizes = [str(size.this) for size in to.expressions]
    if len(sizes) != 2 or not all(size.isdecimal() for size in sizes):
        return None
    if any(len(size) > 2 for size in sizes):
        return None
    precision, scale = map(int, sizes)
    unscaled = Fraction(number) * 10**scale
    if precision > 38 or unscaled.denominator != 1 or abs(unscaled) >= 10**precision:
        return None
    return Literal(kind="number", value=number, precision=precision, scale=scale)
