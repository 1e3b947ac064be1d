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
from typing import TYPE_CHECKING, Any

import numpy as np
from pyiceberg.expressions.literals import StringLiteral
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
from lakesieve.predicate.converting import (
    DEEPEST,
    OddError,
    decimal_literal,
    negated_or_null,
    uuid_literal,
)
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
from lakesieve.predicate.pyiceberg import kind_of
from lakesieve.sieve import HIGHEST, LOWEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.schema import Schema

    from lakesieve.serve.limits import PlanLimits, RequestWork

_COMPARED = {"eq": "=", "not-eq": "=", "lt": "<", "lt-eq": "<=", "gt": ">", "gt-eq": ">="}
_UNARY = {"is-null", "not-null", "is-nan", "not-nan"}
_SETS = {"in", "not-in"}
_PREFIXES = {"starts-with", "not-starts-with"}
_ORDERS = {"lt", "lt-eq", "gt", "gt-eq"}
_NAN = Literal(kind="float", value=float_code(math.nan))
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_DIGITS = 100
_CHECKED = 1000
_OFFSET = re.compile(r"(Z|[+-][0-9]{2}:?[0-9]{2})$", re.ASCII | re.IGNORECASE)


class _OpaqueError(Exception):
    """Raised for a part of a filter that is not understood. The client applies this part."""


class FilterReader:
    """Reads the filters of one schema."""

    def __init__(
        self,
        schema: Schema,
        # paths of columns by their field ids; columns without a path are in lists or maps
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
        # the parts that are not understood, in the order of the filter
        self.opaque: list[str] = []

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
        """Read a comparison, or its opposite."""
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
                raise _wrong(f"The values of {kind!r} are not a list.")
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
            return negated_or_null(leaf, path)
        if is_float:
            return Or(args=(Not(arg=leaf), Compare(column=path, op="=", value=_NAN)))
        return Not(arg=leaf)

    def _column(self, term: Any) -> tuple[tuple[str, ...], PrimitiveType]:
        """Return the path and the type of the column that a term names."""
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
        try:
            field = self._schema.find_field(name, case_sensitive=self._case_sensitive)
        except ValueError:
            raise _wrong(f"There is no column {name!r}.") from None
        if not isinstance(field.field_type, PrimitiveType):
            raise _OpaqueError(f"a column of type {field.field_type}")
        path = self._paths.get(field.field_id)
        if path is None:
            raise _OpaqueError("an element of a list or map")
        return path, field.field_type


def _kind_of(node: Any) -> str:
    kind = node.get("type") if isinstance(node, dict) else None
    if not isinstance(kind, str):
        raise _wrong("An expression is not an object with a type.")
    return kind.lower().replace("_", "-")


def _part(node: dict[str, Any], *names: str) -> Any:
    for name in names:
        if name in node:
            return node[name]
    raise _wrong(f"An expression of type {node.get('type')!r} has no field {names[-1]!r}.")


def _value(given: Any) -> Any:
    """Return a literal, which may be wrapped in an object."""
    if isinstance(given, dict):
        kind = _kind_of(given)
        if kind != "literal":
            raise _OpaqueError(kind)
        given = _part(given, "value")
    if given is None:
        # PyIceberg writes infinity as null: nobody can know what was meant
        raise _wrong("A literal is null; a client that means infinity or NaN must plan by itself.")
    return given


def _whole(value: Any) -> int:
    """Return an integer, which may be text."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _OpaqueError("a literal that is not an integer")
    return value


def _wrong(why: str) -> InvalidInputError:
    return InvalidInputError(
        f"The filter cannot be read: {why}",
        kind=ErrorKind.INVALID_PREDICATE,
        hint="Send an expression that follows Iceberg's REST specification and names columns of "
        "the table.",
    )


def _too_large(most: str) -> InvalidInputError:
    # without the filter in each task, PyIceberg would return rows that do not match
    return InvalidInputError(
        f"The filter has more than {most}.",
        kind=ErrorKind.INVALID_PREDICATE,
        hint="Split the filter, or let the client plan the scan (scan-planning-mode=client).",
    )


def _literal(value: Any, field_type: PrimitiveType) -> Literal:
    """Read a literal of a column's type.

    Raises:
        _OpaqueError: The value is none of that type.
    """
    kind = kind_of(field_type)
    try:
        # true and false would pass for numbers
        if isinstance(value, bool) and kind != "boolean":
            raise OddError
        if isinstance(field_type, UUIDType):
            return uuid_literal(uuid.UUID(value))
        if isinstance(field_type, DecimalType):
            number = Decimal(str(value))
            if abs(number.adjusted()) > _DIGITS:
                raise OddError
            return decimal_literal(number, field_type.scale)
        return Literal(kind=kind, value=_code(value, field_type))
    except (
        *(OddError, ValueError, TypeError),
        *(ArithmeticError, AttributeError, LookupError),
    ) as error:
        raise _OpaqueError(f"a literal that is not of type {field_type}") from error


def _code(value: Any, field_type: PrimitiveType) -> Any:
    """Return the value of a literal of most types."""
    match field_type:
        case BooleanType():
            return {"true": True, "false": False}[str(value).lower()]
        case IntegerType() | LongType():
            return _whole(value)
        case FloatType() | DoubleType():
            number = float(value)
            # some clients round a literal to single precision, others do not
            is_rounded = isinstance(field_type, FloatType) and number != np.float32(number)
            if math.isnan(number) or is_rounded:
                raise OddError
            return float_code(number)
        case DateType() | TimestampType() | TimestamptzType():
            if isinstance(value, str) and not _INTEGER.fullmatch(value):
                # PyIceberg writes UTC without an offset
                is_utc = isinstance(field_type, TimestamptzType) and not _OFFSET.search(value)
                read: Any = StringLiteral(value).to(TimestampType() if is_utc else field_type)
                return int(read.value)
            number = _whole(value)
            if LOWEST <= number <= HIGHEST:
                return number
        case StringType() if isinstance(value, str):
            # half of a surrogate pair cannot be encoded
            return value.encode()
        case BinaryType() | FixedType():
            data = bytes.fromhex(value)
            if isinstance(field_type, BinaryType) or len(data) == len(field_type):
                return data
    raise OddError
