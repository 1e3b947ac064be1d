"""PyIceberg's expressions as predicates; what is not understood becomes unknown.

A predicate is true wherever PyIceberg's reader keeps a row, and may be true of more rows. The two
differ about NaN, which compares as greater than all numbers here and as nothing there, and about
nulls: for them NOT IN is true there. So all that is negated holds for nulls, too.
"""

from __future__ import annotations

import math
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.predicate.converting import DEEPEST, OddError
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
    from collections.abc import Mapping

_COMPARED = {
    "BoundEqualTo": "=",
    "BoundLessThan": "<",
    "BoundLessThanOrEqual": "<=",
    "BoundGreaterThan": ">",
    "BoundGreaterThanOrEqual": ">=",
}
_NEGATED = {
    "BoundNotEqualTo": "BoundEqualTo",
    "BoundNotIn": "BoundIn",
    "BoundNotStartsWith": "BoundStartsWith",
    "BoundNotNull": "BoundIsNull",
}
_KINDS = {
    "BooleanType": "boolean",
    "IntegerType": "integer",
    "LongType": "integer",
    "FloatType": "float",
    "DoubleType": "float",
    "DateType": "date",
    "TimestampType": "timestamp_ntz",
    "TimestamptzType": "timestamp",
    "StringType": "string",
    "UUIDType": "string",
    "BinaryType": "binary",
    "FixedType": "binary",
    "DecimalType": "decimal",
}


def bound(expression: Any, schema: pa.Schema) -> tuple[Any, dict[int, tuple[str, ...]]]:
    """An expression bound to columns, for :func:`from_pyiceberg`.

    Returns:
        The bound expression, and the path of each column by the number that it has there.

    Raises:
        ValueError: It names no column, or a literal does not fit its column.
        TypeError: A literal does not fit its column.
    """
    from pyiceberg.expressions import visitors
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField, StructType

    paths: dict[int, tuple[str, ...]] = {}

    def fields(parent: Any, above: tuple[str, ...]) -> list[NestedField]:
        made = []
        for field in parent:
            path = (*above, field.name)
            number = len(paths) + 1
            paths[number] = path
            inner = pa.types.is_struct(field.type)
            kind = StructType(*fields(field.type, path)) if inner else _iceberg_type(field.type)
            made.append(NestedField(number, field.name, kind, required=False))
        return made

    known = Schema(*fields(schema, ()))
    return visitors.bind(known, expression, case_sensitive=True), paths


def _iceberg_type(kind: pa.DataType) -> Any:
    from pyiceberg import types

    if pa.types.is_decimal(kind):
        return types.DecimalType(kind.precision, kind.scale)
    named = {
        pa.bool_(): types.BooleanType,
        pa.int64(): types.LongType,
        pa.float32(): types.FloatType,
        pa.float64(): types.DoubleType,
        pa.date32(): types.DateType,
        pa.timestamp("us"): types.TimestampType,
        pa.timestamp("us", tz="UTC"): types.TimestamptzType,
        pa.string(): types.StringType,
        pa.uuid(): types.UUIDType,
    }
    return named.get(kind, types.BinaryType)()


def from_pyiceberg(expression: Any, paths: Mapping[int, tuple[str, ...]]) -> Expr:
    """Read an expression that PyIceberg has bound to a schema."""
    return _node(expression, paths, 0)


def _node(node: Any, paths: Mapping[int, tuple[str, ...]], depth: int) -> Expr:
    if depth > DEEPEST:
        return Unknown(text="too deep")
    name = type(node).__name__
    match name:
        case "AlwaysTrue":
            return Constant(value=True)
        case "AlwaysFalse":
            return Constant(value=False)
        case "And" | "Or":
            args = tuple(_node(arg, paths, depth + 1) for arg in (node.left, node.right))
            return And(args=args) if name == "And" else Or(args=args)
        case "Not":
            return _not(node.child, paths, depth + 1)
    try:
        return _leaf(name, node, paths)
    except (OddError, AttributeError, TypeError, ValueError, OverflowError, KeyError):
        return Unknown(text=name)


def _not(child: Any, paths: Mapping[int, tuple[str, ...]], depth: int) -> Expr:
    """NOT, of which NaN makes a difference: there it is true wherever a comparison is not."""
    name = type(child).__name__
    if name in {"And", "Or"}:
        args = tuple(_not(arg, paths, depth + 1) for arg in (child.left, child.right))
        return Or(args=args) if name == "And" else And(args=args)
    if name == "Not":
        return _node(child.child, paths, depth + 1)
    if name in _COMPARED and name != "BoundEqualTo" and _kind(child) == "float":
        return Unknown(text=f"NOT {name}")
    read = _node(child, paths, depth + 1)
    if isinstance(read, Unknown):
        # what may be true anywhere may be false anywhere, too
        return Unknown(text=f"NOT {name}")
    if isinstance(read, Constant):
        return Not(arg=read)
    if name in _NEGATED:
        return _leaf(_NEGATED[name], child, paths)
    return _negated(read, paths[child.term.ref().field.field_id])


def _negated(read: Expr, column: tuple[str, ...]) -> Expr:
    if isinstance(read, IsNull):
        return Not(arg=read)
    return Or(args=(Not(arg=read), IsNull(column=column)))


def _kind(node: Any) -> str:
    return _KINDS.get(type(node.term.ref().field.field_type).__name__, "other")


def _leaf(name: str, node: Any, paths: Mapping[int, tuple[str, ...]]) -> Expr:
    field = node.term.ref().field
    # a transform of the column is another thing than the column
    if type(node.term).__name__ not in {"BoundReference", "BoundReferenceWithName"}:
        raise OddError
    column = paths[field.field_id]
    match name:
        case "BoundIsNull":
            return IsNull(column=column)
        case "BoundNotNull":
            return Not(arg=IsNull(column=column))
        case "BoundIsNaN" | "BoundNotNaN":
            raise OddError
        case "BoundStartsWith" | "BoundNotStartsWith":
            if type(field.field_type).__name__ != "StringType":
                raise OddError
            prefix = StartsWith(column=column, prefix=str(node.literal.value).encode())
            return prefix if name == "BoundStartsWith" else _negated(prefix, column)
        case "BoundNotEqualTo" | "BoundNotIn":
            return _negated(_values(_NEGATED[name], node, column, field.field_type), column)
    return _values(name, node, column, field.field_type)


def _values(name: str, node: Any, column: tuple[str, ...], field_type: Any) -> Expr:
    if name == "BoundIn":
        return In(
            column=column, values=tuple(_literal(value, field_type) for value in node.literals)
        )
    return Compare(column=column, op=_COMPARED[name], value=_literal(node.literal, field_type))


def _literal(literal: Any, field_type: Any) -> Literal:
    kind, value = _KINDS[type(field_type).__name__], literal.value
    # one beyond the range of its type is a mark, not a number
    if type(literal).__name__.endswith(("AboveMax", "BelowMin")):
        raise OddError
    match kind:
        case "boolean" if isinstance(value, bool):
            return Literal(kind=kind, value=value)
        case "float":
            number = float(value)
            # of single precision PyIceberg rounds a literal before it compares
            if math.isnan(number) or (
                type(field_type).__name__ == "FloatType" and number != np.float32(number)
            ):
                raise OddError
            return Literal(kind=kind, value=float_code(number))
        case "decimal":
            # operators of Decimal would round it
            unscaled = Fraction(value) * 10**field_type.scale
            if unscaled.denominator != 1:
                raise OddError
            return Literal(kind=kind, value=unscaled.numerator, scale=field_type.scale)
        case "string":
            if type(field_type).__name__ == "UUIDType":
                value = str(value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=value))
            return Literal(kind=kind, value=str(value).encode())
        case "binary":
            return Literal(kind=kind, value=bytes(value))
    if isinstance(value, bool) or not isinstance(value, int):
        raise OddError
    return Literal(kind=kind, value=value)


def to_pyiceberg(expression: Expr, names: Mapping[tuple[str, ...], str]) -> Any:
    """The part of a predicate by which PyIceberg can leave out files and row groups.

    It is true wherever the predicate is, and of more rows.
    """
    from pyiceberg import expressions

    made: Any = expressions
    match expression:
        case And() | Or():
            whole = made.AlwaysTrue() if isinstance(expression, And) else made.AlwaysFalse()
            join = made.And if isinstance(expression, And) else made.Or
            for arg in expression.args:
                whole = join(whole, to_pyiceberg(arg, names))
            return whole
        case Constant():
            return made.AlwaysTrue() if expression.value else made.AlwaysFalse()
        case Not(arg=IsNull(column=column)) if column in names:
            return made.NotNull(names[column])
        case IsNull(column=column) if column in names:
            return made.IsNull(names[column])
        case Compare(column=column, op=op, value=value) if column in names:
            literal = _iceberg_literal(value)
            if literal is not None:
                return getattr(made, _OPERATORS[op])(names[column], literal)
        case In(column=column, values=values) if column in names:
            literals = [_iceberg_literal(value) for value in values]
            if None not in literals:
                return made.In(names[column], literals)
    return made.AlwaysTrue()


_OPERATORS = {
    "=": "EqualTo",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
}


def _iceberg_literal(literal: Literal) -> Any:
    """A literal of PyIceberg's; ``None`` for kinds whose codes are not their values."""
    from pyiceberg.expressions import literals

    made: Any = literals
    value: Any = literal.value
    match literal.kind:
        case "integer":
            return made.LongLiteral(value)
        case "date":
            return made.DateLiteral(value)
        case "timestamp" | "timestamp_ntz":
            return made.TimestampLiteral(value)
        case "string":
            return made.StringLiteral(value.decode())
        case "decimal":
            return made.DecimalLiteral(Decimal(f"{value}e-{literal.scale}"))
    return None
