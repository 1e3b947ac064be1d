"""Filters of Arrow datasets as predicates; what is not understood becomes unknown.

Arrow hands an expression out as Substrait, which is typed. A predicate is true wherever Arrow keeps
a row, and may be true of more rows: NaN compares as greater than all numbers here and as nothing
there, and a list may hold null there. So all that is negated holds for nulls, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.predicate.converting import DEEPEST, MIRRORED, OddError
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
    from collections.abc import Mapping, Sequence

__all__ = ["from_arrow"]

_COMPARED = {"equal": "=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_INTEGERS = frozenset({"i8", "i16", "i32", "i64"})
# fields of literals that Substrait has given up and Arrow still writes: microseconds
_TIMESTAMP, _TIMESTAMP_TZ = 14, 27


def from_arrow(expression: Any, schema: pa.Schema) -> tuple[Expr, frozenset[str] | None]:
    """Read the filter of a scan.

    Args:
        expression: A ``pyarrow.compute.Expression``.
        schema: The dataset's schema.

    Returns:
        The predicate, and the top-level columns that the filter uses; ``None`` where that is not to
        be found out.
    """
    from substrait.proto import ExtendedExpression

    try:
        document = ExtendedExpression.FromString(bytes(expression.to_substrait(schema)))
    except (pa.ArrowException, NotImplementedError) as error:
        return Unknown(text=str(error)), None
    functions = {
        entry.extension_function.function_anchor: entry.extension_function.name
        for entry in document.extensions
        if entry.WhichOneof("mapping_type") == "extension_function"
    }
    root = document.referred_expr[0].expression
    return _Reader(functions, schema).node(root, 0, negated=False), _used(root, schema)


def _used(root: Any, schema: pa.Schema) -> frozenset[str]:
    found: set[str] = set()
    unread: list[Any] = [root]
    while unread:
        message = unread.pop()
        for field, value in message.ListFields():
            if field.name == "selection":
                found.add(schema.names[value.direct_reference.struct_field.field])
            elif field.type == field.TYPE_MESSAGE:
                unread.extend([value] if hasattr(value, "ListFields") else value)
    return frozenset(found)


class _Reader:
    def __init__(self, functions: Mapping[int, str], schema: pa.Schema) -> None:
        self._functions = functions
        self._schema = schema

    def node(self, node: Any, depth: int, *, negated: bool) -> Expr:
        """A condition, or its opposite."""
        if depth > DEEPEST:
            return Unknown(text="too deep")
        try:
            kind = node.WhichOneof("rex_type")
            if kind == "scalar_function":
                return self._function(node.scalar_function, depth, negated=negated)
            if kind == "singular_or_list":
                return self._listed(node.singular_or_list, negated=negated)
            if kind == "literal" and node.literal.WhichOneof("literal_type") == "boolean":
                return Constant(value=node.literal.boolean != negated)
        except (OddError, AttributeError, TypeError, ValueError, IndexError, KeyError):
            pass
        return Unknown(text="a part of the filter")

    def _function(self, call: Any, depth: int, *, negated: bool) -> Expr:
        name = self._functions[call.function_reference]
        args = [argument.value for argument in call.arguments]
        match name:
            case "and" | "or":
                parts = tuple(self.node(arg, depth + 1, negated=negated) for arg in args)
                return And(args=parts) if (name == "and") != negated else Or(args=parts)
            case "not":
                return self.node(args[0], depth + 1, negated=not negated)
            case "is_null" | "is_not_null":
                is_null = IsNull(column=self._column(args[0])[0])
                return is_null if (name == "is_null") != negated else Not(arg=is_null)
            case "starts_with":
                return self._prefix(call, args, negated=negated)
            case "not_equal":
                return self._compared("=", args, negated=not negated)
        return self._compared(_COMPARED[name], args, negated=negated)

    def _prefix(self, call: Any, args: Sequence[Any], *, negated: bool) -> Expr:
        column, kind = self._column(args[0])
        exact = all(list(option.preference) == ["CASE_SENSITIVE"] for option in call.options)
        text = args[1].literal
        if not _is_text(kind) or not exact or text.WhichOneof("literal_type") != "string":
            raise OddError
        return _either(StartsWith(column=column, prefix=text.string.encode()), column, negated)

    def _compared(self, op: str, args: Sequence[Any], *, negated: bool) -> Expr:
        if args[0].WhichOneof("rex_type") == "literal":
            op, args = MIRRORED[op], args[::-1]
        column, kind = self._column(args[0])
        if args[1].WhichOneof("rex_type") != "literal":
            raise OddError
        if negated and op != "=" and pa.types.is_floating(kind):
            # true of NaN, which is no value of any range here
            raise OddError
        value = _literal(args[1].literal, kind)
        if value is None:
            # compared with null
            raise OddError
        return _either(Compare(column=column, op=op, value=value), column, negated)

    def _listed(self, listed: Any, *, negated: bool) -> Expr:
        column, kind = self._column(listed.value)
        if any(option.WhichOneof("rex_type") != "literal" for option in listed.options):
            raise OddError
        values = [_literal(option.literal, kind) for option in listed.options]
        present = tuple(value for value in values if value is not None)
        found: Expr = In(column=column, values=present)
        if None in values and not negated:
            # a null in the list matches nulls
            found = Or(args=(found, IsNull(column=column)))
        return _either(found, column, negated)

    def _column(self, node: Any) -> tuple[tuple[str, ...], pa.DataType]:
        if node.WhichOneof("rex_type") != "selection":
            raise OddError
        segment = node.selection.direct_reference
        kind: Any = self._schema
        path: list[str] = []
        while True:
            if segment.WhichOneof("reference_type") != "struct_field":
                raise OddError
            field = kind.field(segment.struct_field.field)
            path.append(field.name)
            kind = field.type
            if not segment.struct_field.HasField("child"):
                return tuple(path), kind
            segment = segment.struct_field.child


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _either(found: Expr, column: tuple[str, ...], negated: bool) -> Expr:
    return Or(args=(Not(arg=found), IsNull(column=column))) if negated else found


def _literal(literal: Any, column: pa.DataType) -> Literal | None:
    """A literal of the column's own type; ``None`` for null."""
    kind = literal.WhichOneof("literal_type")
    if kind == "null":
        return None
    if kind is None:
        return _moment(literal, column)
    value = getattr(literal, kind)
    if kind in _INTEGERS and pa.types.is_integer(column):
        return Literal(kind="integer", value=int(value))
    if kind == "boolean" and pa.types.is_boolean(column):
        return Literal(kind="boolean", value=bool(value))
    single = pa.types.is_float32(column)
    if kind == ("fp32" if single else "fp64") and not math.isnan(value):
        if not (single or pa.types.is_float64(column)):
            raise OddError
        return Literal(kind="float", value=float_code(float(value)))
    if kind == "date" and pa.types.is_date32(column):
        return Literal(kind="date", value=int(value))
    if kind == "string" and _is_text(column):
        return Literal(kind="string", value=value.encode())
    is_binary = pa.types.is_binary(column) or pa.types.is_large_binary(column)
    if kind == "binary" and is_binary:
        return Literal(kind="binary", value=bytes(value))
    if kind == "decimal" and pa.types.is_decimal(column):
        unscaled = int.from_bytes(value.value, "little", signed=True)
        return Literal(kind="decimal", value=unscaled, scale=value.scale)
    raise OddError


def _moment(literal: Any, column: pa.DataType) -> Literal:
    from google.protobuf.unknown_fields import UnknownFieldSet

    (field,) = UnknownFieldSet(literal)
    number = int(field.data)
    micros = number - (1 << 64) if number >= 1 << 63 else number
    if pa.types.is_timestamp(column) and column.unit == "us":
        if field.field_number == _TIMESTAMP_TZ and column.tz is not None:
            return Literal(kind="timestamp", value=micros)
        if field.field_number == _TIMESTAMP and column.tz is None:
            return Literal(kind="timestamp_ntz", value=micros)
    raise OddError
