"""Translate the filters of Arrow datasets into predicates.

Arrow converts an expression to Substrait, which is typed. What this reader does not understand
becomes ``Unknown``. The predicate is true wherever Arrow keeps a row, and may be true of more rows.
Two differences make that necessary. In the indexes NaN is greater than all numbers; in Arrow it
compares with nothing. And in Arrow a list of values may hold null. Therefore a negated condition is
always true for nulls as well.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.predicate.converting import (
    MIRRORED,
    OddError,
    negated_or_null,
    or_unknown,
    text_condition,
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
    Unknown,
)
from lakesieve.predicate.literals import float_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COMPARED = {"equal": "=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_INTEGERS = frozenset({"i8", "i16", "i32", "i64"})
_BYTES = frozenset({"binary", "fixed_binary"})
# numbers of two literal fields that Substrait has removed and Arrow still writes, in microseconds
_TIMESTAMP, _TIMESTAMP_TZ = 14, 27


def from_arrow(expression: Any, schema: pa.Schema) -> tuple[Expr, frozenset[str] | None]:
    """Translate the filter of a scan.

    Returns:
        The predicate, and the top-level columns that the filter uses; ``None`` if these columns
        are unknown.
    """
    from substrait.proto import ExtendedExpression

    # older versions of Arrow cannot hash a schema with metadata
    schema = _convertible(schema.remove_metadata())
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
    columns: set[str] = set()
    pending: list[Any] = [root]
    while pending:
        message = pending.pop()
        for field, value in message.ListFields():
            if field.name == "selection":
                columns.add(schema.names[value.direct_reference.struct_field.field])
            elif field.type == field.TYPE_MESSAGE:
                pending.extend([value] if hasattr(value, "ListFields") else value)
    return frozenset(columns)


@lru_cache(maxsize=64)
def _convertible(schema: pa.Schema) -> pa.Schema:
    """Remove metadata, and replace types that Substrait lacks. A filter keeps its meaning.

    Arrow refuses to convert any filter if the schema has one column of such a type, even if the
    filter does not use it. It also does not convert ``starts_with`` on a ``large_string``.
    """
    return pa.schema([_convertible_field(field) for field in schema])


def _convertible_field(field: pa.Field) -> pa.Field:
    return field.with_type(_convertible_type(field.type)).remove_metadata()


def _convertible_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if isinstance(kind, pa.BaseExtensionType):
        return _convertible_type(kind.storage_type)
    if pa.types.is_struct(kind):
        # Arrow refuses fields of structs that have metadata, such as the field ids of Iceberg
        kind = pa.struct([_convertible_field(field) for field in kind])
    try:
        pc.scalar(value=True).to_substrait(pa.schema([("column", kind)]))
    except (pa.ArrowException, NotImplementedError):
        # a filter on this column cannot be converted, but filters on other columns can
        return pa.null()
    return kind


class _Reader:
    def __init__(self, functions: Mapping[int, str], schema: pa.Schema) -> None:
        self._functions = functions
        self._schema = schema

    @or_unknown
    def node(self, node: Any, depth: int, *, negated: bool) -> Expr:
        """Translate a condition, or its opposite if ``negated``."""
        match node.WhichOneof("rex_type"):
            case "scalar_function":
                return self._function(node.scalar_function, depth, negated=negated)
            case "singular_or_list":
                return self._listed(node.singular_or_list, negated=negated)
            case "if_then":
                return self._conditional(node.if_then, depth, negated=negated)
            case "selection":
                return self._flag(node, negated=negated)
            case "literal":
                return _constant(node.literal, negated=negated)
        raise OddError

    def _conditional(self, call: Any, depth: int, *, negated: bool) -> Expr:
        """Translate ``if_else``, which DuckDB puts around an IN list so that null gives null.

        A branch after the first holds only where the earlier conditions are not true. The predicate
        leaves that restriction out, so it may be true of more rows.
        """
        branches = [
            And(
                args=(
                    self.node(getattr(clause, "if"), depth + 1, negated=False),
                    self.node(clause.then, depth + 1, negated=negated),
                )
            )
            for clause in call.ifs
        ]
        return Or(args=(*branches, self.node(getattr(call, "else"), depth + 1, negated=negated)))

    def _flag(self, node: Any, *, negated: bool) -> Expr:
        """Translate a boolean column that stands alone as a condition."""
        column, kind = self._column(node)
        if not pa.types.is_boolean(kind):
            raise OddError
        is_true = Compare(column=column, op="=", value=Literal(kind="boolean", value=True))
        return _either(is_true, column, negated)

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
            case "starts_with" | "ends_with" | "contains":
                return self._on_text(name, call, args, negated=negated)
            case "not_equal":
                return self._compared("=", args, negated=not negated)
        return self._compared(_COMPARED[name], args, negated=negated)

    def _on_text(self, name: str, call: Any, args: Sequence[Any], *, negated: bool) -> Expr:
        column, kind = self._column(args[0])
        exact = all(list(option.preference) == ["CASE_SENSITIVE"] for option in call.options)
        text = args[1].literal
        if not pa.types.is_string(kind) or not exact or text.WhichOneof("literal_type") != "string":
            raise OddError
        begins, ends = name == "starts_with", name == "ends_with"
        condition = text_condition(column, text.string.encode(), begins=begins, ends=ends)
        return _either(condition, column, negated)

    def _compared(self, op: str, args: Sequence[Any], *, negated: bool) -> Expr:
        if args[0].WhichOneof("rex_type") == "literal":
            op, args = MIRRORED[op], args[::-1]
        column, kind = self._column(args[0])
        if args[1].WhichOneof("rex_type") != "literal":
            raise OddError
        if negated and op != "=" and pa.types.is_floating(kind):
            # Arrow's negated comparison is true for NaN, which lies in no range here
            raise OddError
        value = _literal(args[1].literal, kind)
        if value is None:
            # a comparison with null
            raise OddError
        return _either(Compare(column=column, op=op, value=value), column, negated)

    def _listed(self, listed: Any, *, negated: bool) -> Expr:
        column, kind = self._column(listed.value)
        if any(option.WhichOneof("rex_type") != "literal" for option in listed.options):
            raise OddError
        values = [_literal(option.literal, kind) for option in listed.options]
        present = tuple(value for value in values if value is not None)
        matches: Expr = In(column=column, values=present)
        if None in values and not negated:
            # a null in the list matches nulls
            matches = Or(args=(matches, IsNull(column=column)))
        return _either(matches, column, negated)

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


def _constant(literal: Any, *, negated: bool) -> Constant:
    match literal.WhichOneof("literal_type"):
        case "boolean":
            return Constant(value=literal.boolean != negated)
        case "null":
            return Constant(value=None)
    raise OddError


def _either(condition: Expr, column: tuple[str, ...], negated: bool) -> Expr:
    return negated_or_null(condition, column) if negated else condition


def _literal(literal: Any, column: pa.DataType) -> Literal | None:
    """Return a literal of the column's own type, or ``None`` for null."""
    kind = literal.WhichOneof("literal_type")
    if kind == "null":
        return None
    if kind is None:
        return _moment(literal, column)
    value = getattr(literal, kind)
    if kind == "user_defined":
        kind, value = _of_user(value)
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
    if kind == "string" and pa.types.is_string(column):
        return Literal(kind="string", value=value.encode())
    if kind in _BYTES and (pa.types.is_binary(column) or pa.types.is_fixed_size_binary(column)):
        return Literal(kind="binary", value=bytes(value))
    if kind == "decimal" and pa.types.is_decimal(column):
        unscaled = int.from_bytes(value.value, "little", signed=True)
        return Literal(kind="decimal", value=unscaled, scale=value.scale)
    raise OddError


def _of_user(literal: Any) -> tuple[str, Any]:
    """Return the kind and value of one of Arrow's own literals: text, bytes, unsigned numbers."""
    from google.protobuf.wrappers_pb2 import BytesValue, StringValue, UInt64Value

    for kind, wrapper in (("string", StringValue), ("binary", BytesValue), ("i64", UInt64Value)):
        wrapped = wrapper()
        if literal.value.Unpack(wrapped):
            return kind, wrapped.value
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
