"""Columns and literals of SQL text, as sqlglot reads them."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import expressions as sql

from lakesieve.predicate.expression import Literal
from lakesieve.predicate.literals import is_single

if TYPE_CHECKING:
    from sqlglot.expressions import Expression


def column_of(node: Expression) -> tuple[str, ...] | None:
    """Return the path of a column or of a field of a struct, or ``None`` for anything else."""
    while isinstance(node, sql.Paren):
        node = node.this
    match node:
        case sql.Column() if isinstance(node.this, sql.Identifier):
            return tuple(identifier.name for identifier in node.parts)
        case sql.Dot():
            names = [identifier.name for identifier in node.flatten(unnest=False)]
            inner = column_of(node.this)
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


def literal_of(node: Expression) -> Literal | None:
    """Return a literal, also with a cast, or ``None`` for anything else."""
    match node:
        case sql.Paren():
            return literal_of(node.this)
        case sql.Neg():
            value = literal_of(node.this)
            if value is None or not isinstance(value.value, Decimal):
                return None
            # the operator minus would round to the context's precision
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
    """Read a literal with a cast, ``DATE '...'`` or a suffix, if they change only its type."""
    value = literal_of(inner)
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
    """Return whether a number, and whole numbers next to it, are exact in single precision."""
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
