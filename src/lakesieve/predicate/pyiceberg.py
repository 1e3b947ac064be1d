"""Translate PyIceberg's expressions into predicates, and predicates into PyIceberg's.

What this reader does not understand becomes ``Unknown``. A predicate is true wherever PyIceberg
keeps a row, and may be true of more rows. Two differences make that necessary. In the indexes NaN
is greater than all numbers; in PyIceberg it compares with nothing. And in PyIceberg, NOT IN is true
for nulls. Therefore every negated condition is true for nulls as well.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.predicate.converting import (
    OddError,
    decimal_literal,
    negated_or_null,
    or_unknown,
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
_NAMES = {op: name.removeprefix("Bound") for name, op in _COMPARED.items()}
_OPPOSITES = {
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
    """Bind an expression to the columns of a schema, for :func:`from_pyiceberg`.

    Returns:
        The bound expression, and the path of each column by its field id in that expression.
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

    iceberg_schema = Schema(*fields(schema, ()))
    return visitors.bind(iceberg_schema, expression, case_sensitive=True), paths


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
    """Translate a ``BooleanExpression`` that is bound to a schema; ``paths`` are by field id."""
    return _node(expression, paths, False, 0)


@or_unknown
def _node(node: Any, paths: Mapping[int, tuple[str, ...]], negated: bool, depth: int) -> Expr:
    """Translate a condition, or its opposite if ``negated``."""
    name = type(node).__name__
    match name:
        case "AlwaysTrue" | "AlwaysFalse":
            return Constant(value=(name == "AlwaysTrue") != negated)
        case "And" | "Or":
            args = tuple(_node(arg, paths, negated, depth + 1) for arg in (node.left, node.right))
            return And(args=args) if (name == "And") != negated else Or(args=args)
        case "Not":
            return _node(node.child, paths, not negated, depth + 1)
    if name in _OPPOSITES:
        name, negated = _OPPOSITES[name], not negated
    # a transform of a column has other values than the column
    if type(node.term).__name__ not in {"BoundReference", "BoundReferenceWithName"}:
        raise OddError
    field = node.term.ref().field
    column, field_type = paths[field.field_id], field.field_type
    if name == "BoundIsNull":
        is_null = IsNull(column=column)
        return Not(arg=is_null) if negated else is_null
    if negated and name in _COMPARED and name != "BoundEqualTo" and kind_of(field_type) == "float":
        # PyIceberg's negated comparison is true for NaN, which lies in no range here
        raise OddError
    read: Expr
    match name:
        case "BoundStartsWith" if type(field_type).__name__ == "StringType":
            read = StartsWith(column=column, prefix=str(node.literal.value).encode())
        case "BoundIn":
            read = In(column=column, values=tuple(_literal(v, field_type) for v in node.literals))
        case _:
            value = _literal(node.literal, field_type)
            read = Compare(column=column, op=_COMPARED[name], value=value)
    return negated_or_null(read, column) if negated else read


def kind_of(field_type: Any) -> str:
    """Return the kind of literals of a type of PyIceberg's; ``other`` for one that has none."""
    return _KINDS.get(type(field_type).__name__, "other")


def _literal(literal: Any, field_type: Any) -> Literal:
    kind, value, name = kind_of(field_type), literal.value, type(field_type).__name__
    # a literal beyond the range of its type is a marker, not a number
    if type(literal).__name__.endswith(("AboveMax", "BelowMin")):
        raise OddError
    match kind:
        case "boolean" if isinstance(value, bool):
            return Literal(kind=kind, value=value)
        case "float":
            number = float(value)
            # PyIceberg rounds a literal to single precision before it compares
            if math.isnan(number) or (name == "FloatType" and number != np.float32(number)):
                raise OddError
            return Literal(kind=kind, value=float_code(number))
        case "decimal":
            return decimal_literal(value, field_type.scale)
        case "string":
            is_uuid = name == "UUIDType"
            return uuid_literal(value) if is_uuid else Literal(kind=kind, value=value.encode())
        case "binary":
            return Literal(kind=kind, value=bytes(value))
        case "integer" | "date" | "timestamp" | "timestamp_ntz" if type(value) is int:
            return Literal(kind=kind, value=value)
    raise OddError


def to_pyiceberg(expression: Expr, names: Mapping[tuple[str, ...], str]) -> Any:
    """Return the part of a predicate that PyIceberg can use to skip files and row groups.

    The result is true wherever the predicate is true, and may be true of more rows.
    """
    from pyiceberg import expressions

    library: Any = expressions
    match expression:
        case And() | Or():
            whole = library.AlwaysTrue() if isinstance(expression, And) else library.AlwaysFalse()
            join = library.And if isinstance(expression, And) else library.Or
            for arg in expression.args:
                whole = join(whole, to_pyiceberg(arg, names))
            return whole
        case Constant():
            return library.AlwaysTrue() if expression.value else library.AlwaysFalse()
        case Not(arg=IsNull(column=column)) if column in names:
            return library.NotNull(names[column])
        case IsNull(column=column) if column in names:
            return library.IsNull(names[column])
        case Compare(column=column, op=op, value=value) if column in names:
            literal = _iceberg_literal(value)
            if literal is not None:
                return getattr(library, _NAMES[op])(names[column], literal)
        case In(column=column, values=values) if column in names:
            literals = [_iceberg_literal(value) for value in values]
            if None not in literals:
                return library.In(names[column], literals)
    return library.AlwaysTrue()


def _iceberg_literal(literal: Literal) -> Any:
    """Return PyIceberg's literal, or ``None`` for kinds whose codes are not their values."""
    from pyiceberg.expressions import literals

    library: Any = literals
    value: Any = literal.value
    match literal.kind:
        case "integer":
            return library.LongLiteral(value)
        case "date":
            return library.DateLiteral(value)
        case "timestamp" | "timestamp_ntz":
            return library.TimestampLiteral(value)
        case "string":
            return library.StringLiteral(value.decode())
        case "decimal":
            return library.DecimalLiteral(Decimal(f"{value}e-{literal.scale}"))
    return None
