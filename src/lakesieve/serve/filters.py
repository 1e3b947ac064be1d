"""Filters as clients of a REST catalog send them, as predicates.

A predicate is true wherever a client keeps a row, and may be true of more rows. Clients differ: for
some, null is unequal to every value, and NaN is neither less nor greater than a number. So nulls
are among the rows of what is unequal, and NaN is among those of a negated order.

The forms are those of the schema ``Predicate`` in Iceberg's REST specification, the deprecated
ones as well. Literals come without types: they are read by the types of their columns.
"""

from __future__ import annotations

import math
import re
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from pyiceberg.expressions import literals
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.predicate.expression import (
    And,
    Compare,
    Constant,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.literals import float_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField

    from lakesieve.serve.limits import PlanLimits, RequestWork

DEEPEST = 200
"""How deep a filter may be nested."""

_COMPARED = {"eq": "=", "not-eq": "=", "lt": "<", "lt-eq": "<=", "gt": ">", "gt-eq": ">="}
_UNARY = {"is-null", "not-null", "is-nan", "not-nan"}
_SETS = {"in", "not-in"}
_PREFIXES = {"starts-with", "not-starts-with"}
_ORDERS = {"lt", "lt-eq", "gt", "gt-eq"}
_NAN = Literal(kind="float", value=float_code(math.nan))
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_DIGITS = 100
_CHECKED = 1000
_CODES = 1 << 63
_OFFSET = re.compile(r"(Z|[+-][0-9]{2}:?[0-9]{2})$", re.ASCII | re.IGNORECASE)


class _OpaqueError(Exception):
    """A part of a filter that is not understood; the client applies it."""


class FilterReader:
    """Reads the filters of one schema.

    Args:
        schema: The columns.
        paths: The paths of columns by their field ids; columns without one are in lists or maps.
        case_sensitive: How names are compared.
        limits: How many expressions and values a filter may have.
        work: Says when the filter is no longer wanted.
    """

    def __init__(
        self,
        schema: Schema,
        paths: Mapping[int, tuple[str, ...]],
        *,
        case_sensitive: bool,
        limits: PlanLimits,
        work: RequestWork,
    ) -> None:
        self._schema = schema
        self._paths = paths
        self._case_sensitive = case_sensitive
        self._limits = limits
        self._work = work
        self._read = 0
        self.opaque: list[str] = []
        """What was not understood, in the order in which it was met."""

    def read(self, given: Any) -> Expr:
        """Read one filter from JSON; ``None`` is no filter.

        Raises:
            InvalidInputError: It is no filter, or names no column.
        """
        if given is None:
            return Constant(value=True)
        self._count(given)
        return self._node(given, 0, negated=False)

    def _count(self, given: Any) -> None:
        """Count the expressions and values of a filter before anything is made of them."""
        left, nodes, values = [given], 0, 0
        while left:
            node = left.pop()
            nodes += 1
            if not isinstance(node, dict):
                continue
            listed = node.get("values")
            listed = listed.get("values") if isinstance(listed, dict) else listed
            values += len(listed) if isinstance(listed, list) else 0
            if nodes > self._limits.nodes:
                raise _too_large(f"{self._limits.nodes} expressions")
            if values > self._limits.literals:
                raise _too_large(f"{self._limits.literals} values")
            left += [node[name] for name in ("left", "right", "child") if name in node]

    def _node(self, node: Any, depth: int, *, negated: bool) -> Expr:
        if depth > DEEPEST:
            raise _wrong(f"It is nested more than {DEEPEST} levels deep.")
        self._read += 1
        if self._read % _CHECKED == 0:
            self._work.check()
        if isinstance(node, bool):
            return Constant(value=node is not negated)
        kind = _kind_of(node)
        if kind in {"true", "false"}:
            return Constant(value=(kind == "true") is not negated)
        if kind in {"and", "or"}:
            args = tuple(
                self._node(_part(node, side), depth + 1, negated=negated)
                for side in ("left", "right")
            )
            return And(args=args) if (kind == "and") is not negated else Or(args=args)
        if kind == "not":
            return self._node(_part(node, "child"), depth + 1, negated=not negated)
        try:
            return self._leaf(kind, node, negated=negated)
        except _OpaqueError as error:
            self.opaque.append(str(error) or kind)
            return Unknown(text=kind)

    def _leaf(self, kind: str, node: dict[str, Any], *, negated: bool) -> Expr:
        """A comparison, or what is negated of it."""
        if kind in _UNARY or kind in _SETS:
            path, field_type = self._column(_part(node, "child", "term"))
        elif kind in _COMPARED or kind in _PREFIXES:
            path, field_type = self._column(_part(node, "left", "term"))
        else:
            raise _OpaqueError(kind)
        is_float = isinstance(field_type, FloatType | DoubleType)
        if kind in _COMPARED:
            value = _literal(_value(_part(node, "right", "value")), field_type)
            leaf: Expr = Compare(column=path, op=_COMPARED[kind], value=value)
        elif kind in _PREFIXES:
            prefix = _literal(_value(_part(node, "right", "value")), field_type).value
            if not isinstance(field_type, StringType) or not isinstance(prefix, bytes):
                raise _OpaqueError(kind)
            leaf = StartsWith(column=path, prefix=prefix)
        elif kind in _SETS:
            given = _part(node, "values")
            if isinstance(given, dict) and given.get("type") == "literals":
                given = _part(given, "values")
            if not isinstance(given, list):
                raise _wrong(f"The values of {kind!r} are no list.")
            leaf = In(column=path, values=tuple(_literal(_value(v), field_type) for v in given))
        elif kind.endswith("null"):
            null = IsNull(column=path)
            return null if (kind == "is-null") is not negated else Not(arg=null)
        elif not is_float:
            # no other value is NaN
            return Constant(value=(kind == "not-nan") is not negated)
        else:
            leaf = Compare(column=path, op="=", value=_NAN)
        if kind.startswith("not-") is negated:
            return leaf
        if kind not in _ORDERS:
            return Or(args=(Not(arg=leaf), IsNull(column=path)))
        if is_float:
            return Or(args=(Not(arg=leaf), Compare(column=path, op="=", value=_NAN)))
        return Not(arg=leaf)

    def _column(self, term: Any) -> tuple[tuple[str, ...], PrimitiveType]:
        """The path and the type of the column that a term is."""
        name: Any = term
        if isinstance(term, dict):
            kind = _kind_of(term)
            if kind != "reference":
                raise _OpaqueError(kind)
            name = term.get("name", term.get("term"))
            if "id" in term:
                name = self._schema.find_column_name(_whole(term["id"]))
        if not isinstance(name, str):
            raise _wrong("A term names no column.")
        field = self._field(name)
        if not isinstance(field.field_type, PrimitiveType):
            raise _OpaqueError(f"a column of type {field.field_type}")
        path = self._paths.get(field.field_id)
        if path is None:
            raise _OpaqueError("an element of a list or map")
        return path, field.field_type

    def _field(self, name: str) -> NestedField:
        try:
            return self._schema.find_field(name, case_sensitive=self._case_sensitive)
        except ValueError:
            raise _wrong(f"There is no column {name!r}.") from None


def _kind_of(node: Any) -> str:
    kind = node.get("type") if isinstance(node, dict) else None
    if not isinstance(kind, str):
        raise _wrong("An expression is no object with a type.")
    return kind.lower().replace("_", "-")


def _part(node: dict[str, Any], *names: str) -> Any:
    for name in names:
        if name in node:
            return node[name]
    raise _wrong(f"An expression of type {node.get('type')!r} has no {names[-1]!r}.")


def _value(given: Any) -> Any:
    """A literal, bare or wrapped."""
    if isinstance(given, dict):
        kind = _kind_of(given)
        if kind != "literal":
            raise _OpaqueError(kind)
        given = _part(given, "value")
    if given is None:
        # PyIceberg writes infinity so; what was meant cannot be known, nor be its residual
        raise _wrong("A literal is null; a client that means infinity or NaN must plan by itself.")
    return given


def _whole(value: Any) -> int:
    """An integer, also as text."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _OpaqueError("a literal that is no integer")
    return value


def _wrong(why: str) -> InvalidInputError:
    return InvalidInputError(
        f"The filter cannot be read: {why}",
        kind=ErrorKind.INVALID_PREDICATE,
        hint="Send an expression of Iceberg's REST specification over columns of the table.",
    )


def _too_large(most: str) -> InvalidInputError:
    # without the filter in each task, PyIceberg would return rows that do not match
    return InvalidInputError(
        f"The filter has more than {most}.",
        kind=ErrorKind.INVALID_PREDICATE,
        hint="Split it, or let the client plan the scan (scan-planning-mode=client).",
    )


def _literal(value: Any, field_type: PrimitiveType) -> Literal:
    """A literal of a column's type.

    Raises:
        _OpaqueError: The value is none of that type.
    """
    kind, read = _READERS.get(type(field_type), ("", None))
    if read is None:
        raise _OpaqueError(f"a literal of type {field_type}")
    try:
        code = read(value, field_type)
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError) as error:
        raise _OpaqueError(f"a literal that is no {field_type}") from error
    return Literal(kind=kind, value=code, scale=getattr(field_type, "scale", 0))


def _boolean(value: Any, _: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}[value.lower()]
    if not isinstance(value, bool):
        raise TypeError
    return value


def _integer(value: Any, _: Any) -> int:
    return _whole(value)


def _float(value: Any, field_type: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    number = float(value)
    if math.isnan(number):
        raise _OpaqueError("NaN")
    # clients round a literal to single precision, or do not
    if isinstance(field_type, FloatType) and number != np.float32(number):
        raise _OpaqueError("a literal of more than single precision")
    return float_code(number)


def _decimal(value: Any, field_type: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    if abs(Decimal(str(value)).adjusted()) > _DIGITS:
        raise _OpaqueError("a literal with more digits than its column")
    # operators of Decimal would round it
    unscaled = Fraction(str(value)) * 10**field_type.scale
    if unscaled.denominator != 1:
        raise _OpaqueError("a literal with more digits than its column")
    return int(unscaled.numerator)


def _date(value: Any, field_type: Any) -> int:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        return int(literals.StringLiteral(value).to(field_type).value)
    return _in_64_bits(_whole(value))


def _timestamp(value: Any, field_type: Any) -> int:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        # PyIceberg writes no offset; what it means is UTC
        with_offset = isinstance(field_type, TimestamptzType) and _OFFSET.search(value)
        kind = field_type if with_offset else TimestampType()
        return int(literals.StringLiteral(value).to(kind).value)
    return _in_64_bits(_whole(value))


def _in_64_bits(value: int) -> int:
    if not -_CODES <= value < _CODES:
        raise ValueError
    return value


def _string(value: Any, _: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError
    # what is no text cannot be compared
    return value.encode()


def _uuid(value: Any, _: Any) -> bytes:
    return str(uuid.UUID(value)).encode()


def _binary(value: Any, field_type: Any) -> bytes:
    data = bytes.fromhex(value)
    if isinstance(field_type, FixedType) and len(data) != len(field_type):
        raise ValueError
    return data


_READERS: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    BooleanType: ("boolean", _boolean),
    IntegerType: ("integer", _integer),
    LongType: ("integer", _integer),
    FloatType: ("float", _float),
    DoubleType: ("float", _float),
    DecimalType: ("decimal", _decimal),
    DateType: ("date", _date),
    TimestampType: ("timestamp_ntz", _timestamp),
    TimestamptzType: ("timestamp", _timestamp),
    StringType: ("string", _string),
    UUIDType: ("string", _uuid),
    BinaryType: ("binary", _binary),
    FixedType: ("binary", _binary),
}
