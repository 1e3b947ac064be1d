"""Filters as clients of a REST catalog send them, as expressions of PyIceberg.

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

from pyiceberg import expressions as made
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
from lakesieve.serve.limits import PlanLimits, RequestWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField

DEEPEST = 200
"""How deep a filter may be nested."""

_UNARY: dict[str, Any] = {
    "is-null": made.IsNull,
    "not-null": made.NotNull,
    "is-nan": made.IsNaN,
    "not-nan": made.NotNaN,
}
_COMPARED: dict[str, Any] = {
    "eq": made.EqualTo,
    "not-eq": made.NotEqualTo,
    "lt": made.LessThan,
    "lt-eq": made.LessThanOrEqual,
    "gt": made.GreaterThan,
    "gt-eq": made.GreaterThanOrEqual,
}
_PREFIXES: dict[str, Any] = {
    "starts-with": made.StartsWith,
    "not-starts-with": made.NotStartsWith,
}
_SETS: dict[str, Any] = {"in": made.In, "not-in": made.NotIn}
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_DIGITS = 100
_CHECKED = 1000
_MICROS = 1 << 63
_OFFSET = re.compile(r"(Z|[+-][0-9]{2}:?[0-9]{2})$", re.ASCII | re.IGNORECASE)


class _OpaqueError(Exception):
    """A part of a filter that is not understood; the client applies it."""


class FilterReader:
    """Reads the filters of one schema.

    Args:
        schema: The columns.
        case_sensitive: How names are compared.
        limits: How many expressions and values a filter may have.
        work: Says when the filter is no longer wanted.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        case_sensitive: bool = True,
        limits: PlanLimits | None = None,
        work: RequestWork | None = None,
    ) -> None:
        self._schema = schema
        self._case_sensitive = case_sensitive
        self._limits = limits or PlanLimits()
        self._work = work or RequestWork()
        self.nodes = 0
        """How many expressions, columns and values the filter has."""
        self._read = 0
        self.opaque: list[str] = []
        """What was not understood, in the order in which it was met."""

    def read(self, given: Any) -> BooleanExpression:
        """Read one filter.

        Args:
            given: As JSON gives it; ``None`` is no filter.

        Returns:
            An expression that is true wherever the filter is, and where something of it was not
            understood of more rows.

        Raises:
            InvalidInputError: It is no filter, or names no column.
        """
        if given is None:
            return made.AlwaysTrue()
        self._count(given)
        return self._node(given, 0, negated=False)

    def _count(self, given: Any) -> None:
        """Count the expressions and values of a filter before anything is made of them."""
        left, values = [given], 0
        while left:
            node = left.pop()
            self.nodes += 1
            if not isinstance(node, dict):
                continue
            listed = node.get("values")
            listed = listed.get("values") if isinstance(listed, dict) else listed
            values += len(listed) if isinstance(listed, list) else 0
            if self.nodes > self._limits.nodes:
                raise _too_large(f"{self._limits.nodes} expressions")
            if values > self._limits.literals:
                raise _too_large(f"{self._limits.literals} values")
            left += [node[name] for name in ("left", "right", "child") if name in node]

    def _node(self, node: Any, depth: int, *, negated: bool) -> BooleanExpression:
        if depth > DEEPEST:
            raise _wrong(f"It is nested more than {DEEPEST} levels deep.")
        self._read += 1
        if self._read % _CHECKED == 0:
            self._work.check()
        if isinstance(node, bool):
            return made.AlwaysTrue() if node else made.AlwaysFalse()
        kind = _kind_of(node)
        if kind in {"true", "false"}:
            return made.AlwaysTrue() if kind == "true" else made.AlwaysFalse()
        if kind in {"and", "or"}:
            left = self._node(_part(node, "left"), depth + 1, negated=negated)
            right = self._node(_part(node, "right"), depth + 1, negated=negated)
            return made.And(left, right) if kind == "and" else made.Or(left, right)
        if kind == "not":
            return made.Not(self._node(_part(node, "child"), depth + 1, negated=not negated))
        try:
            return self._leaf(kind, node)
        except _OpaqueError as error:
            self.opaque.append(str(error) or kind)
            # may be true of any row, and below a NOT false of any
            return made.AlwaysFalse() if negated else made.AlwaysTrue()

    def _leaf(self, kind: str, node: dict[str, Any]) -> BooleanExpression:
        if kind in _UNARY:
            name, _ = self._column(_part(node, "child", "term"))
            leaf: BooleanExpression = _UNARY[kind](name)
        elif kind in _SETS:
            name, field_type = self._column(_part(node, "child", "term"))
            given = _part(node, "values")
            if isinstance(given, dict) and given.get("type") == "literals":
                given = _part(given, "values")
            if not isinstance(given, list):
                raise _wrong(f"The values of {kind!r} are no list.")
            leaf = _SETS[kind](name, [_literal(_value(one), field_type) for one in given])
        elif kind in _COMPARED or kind in _PREFIXES:
            name, field_type = self._column(_part(node, "left", "term"))
            value = _literal(_value(_part(node, "right", "value")), field_type)
            if kind in _PREFIXES and not isinstance(field_type, StringType):
                raise _OpaqueError(kind)
            leaf = (_COMPARED | _PREFIXES)[kind](name, value)
        else:
            raise _OpaqueError(kind)
        return leaf

    def _column(self, term: Any) -> tuple[str, PrimitiveType]:
        """The column that a term is, by its whole name."""
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
        full = self._schema.find_column_name(field.field_id)
        try:
            self._schema.accessor_for_field(field.field_id)
        except ValueError:
            raise _OpaqueError("an element of a list or map") from None
        return str(full), field.field_type

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


def _literal(value: Any, field_type: PrimitiveType) -> Any:
    """A literal of a column's type.

    Raises:
        _OpaqueError: The value is none of that type.
    """
    read = _READERS.get(type(field_type))
    if read is None:
        raise _OpaqueError(f"a literal of type {field_type}")
    try:
        return read(value, field_type)
    except _OpaqueError:
        raise
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError) as error:
        raise _OpaqueError(f"a literal that is no {field_type}") from error


def _boolean(value: Any, _: Any) -> Any:
    if isinstance(value, str):
        value = {"true": True, "false": False}[value.lower()] if value else value
    if not isinstance(value, bool):
        raise TypeError
    return literals.BooleanLiteral(value)


def _integer(value: Any, field_type: Any) -> Any:
    return literals.LongLiteral(_whole(value)).to(field_type)


def _float(value: Any, _: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError
    number = float(value)
    if math.isnan(number):
        raise _OpaqueError("NaN")
    return literals.DoubleLiteral(number)


def _decimal(value: Any, field_type: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError
    if abs(Decimal(str(value)).adjusted()) > _DIGITS:
        raise _OpaqueError("a literal with more digits than its column")
    # operators of Decimal would round it
    unscaled = Fraction(str(value)) * 10**field_type.scale
    if unscaled.denominator != 1:
        raise _OpaqueError("a literal with more digits than its column")
    return literals.DecimalLiteral(Decimal(f"{unscaled.numerator}e-{field_type.scale}"))


def _date(value: Any, field_type: Any) -> Any:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        return literals.StringLiteral(value).to(field_type)
    return literals.DateLiteral(_whole(value))


def _timestamp(value: Any, field_type: Any) -> Any:
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        # PyIceberg writes no offset; what it means is UTC
        with_offset = isinstance(field_type, TimestamptzType) and _OFFSET.search(value)
        return literals.StringLiteral(value).to(field_type if with_offset else TimestampType())
    micros = _whole(value)
    if not -_MICROS <= micros < _MICROS:
        raise ValueError
    return literals.TimestampLiteral(micros)


def _string(value: Any, _: Any) -> Any:
    if not isinstance(value, str):
        raise TypeError
    # what is no text cannot be compared
    value.encode()
    return literals.StringLiteral(value)


def _uuid(value: Any, _: Any) -> Any:
    return literals.UUIDLiteral(uuid.UUID(value).bytes)


def _binary(value: Any, field_type: Any) -> Any:
    found = bytes.fromhex(value)
    if isinstance(field_type, FixedType) and len(found) != len(field_type):
        raise ValueError
    return literals.BinaryLiteral(found)


_READERS: dict[type, Callable[[Any, Any], Any]] = {
    BooleanType: _boolean,
    IntegerType: _integer,
    LongType: _integer,
    FloatType: _float,
    DoubleType: _float,
    DecimalType: _decimal,
    DateType: _date,
    TimestampType: _timestamp,
    TimestamptzType: _timestamp,
    StringType: _string,
    UUIDType: _uuid,
    BinaryType: _binary,
    FixedType: _binary,
}
