"""Translate the expressions of Polars into predicates.

What this reader does not understand becomes ``Unknown``. Polars compares values as the indexes do:
NaN equals itself and is greater than all numbers. IN and NOT IN of null are both null.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.predicate.converting import (
    MIRRORED,
    OddError,
    decimal_literal,
    or_unknown,
    text_condition,
    uuid_literal,
)
from lakesieve.predicate.expression import (
    ELEMENT,
    And,
    Compare,
    Constant,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    NullSafeEqual,
    OnElements,
    Or,
    Unknown,
)
from lakesieve.predicate.literals import float_code
from lakesieve.predicate.protocol import ELEMENTS, parts_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COMPARED = {"Eq": "=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_AND, _OR = frozenset({"And", "LogicalAnd"}), frozenset({"Or", "LogicalOr"})
_BETWEEN = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
# what has a meaning in regular expressions
_REGEX = re.compile(rb"[\\.+*?()|\[\]{}^$]")
_WITHOUT_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_INTEGERS = frozenset(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))


def from_polars(document: str, schema: pa.Schema) -> Expr:
    """Translate a predicate that Polars has serialized as JSON."""
    try:
        return _Reader(schema).node(json.loads(document), 0)
    except (ValueError, RecursionError):
        return Unknown(text="a filter that cannot be read")


def pushed(predicate: Any, schema: pa.Schema) -> str:
    """Return the filter that Polars pushes into a scan, with literals of their columns' types.

    Returns:
        JSON for :func:`from_polars`. If Polars pushes no filter, this is the JSON of null.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    empty: Any = pl.from_arrow(schema.empty_table())
    filters: list[pl.Expr] = []

    def read(
        _: list[str] | None, filtered: pl.Expr | None, *__: int | None
    ) -> Iterator[pl.DataFrame]:
        if filtered is not None:
            filters.append(filtered)
        yield empty

    register_io_source(read, schema=empty.schema).filter(predicate).collect()
    # Polars may run the scan more than once; then no single filter stands for all of them
    return filters[0].meta.serialize(format="json") if len(filters) == 1 else "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of the scan, or a field inside one."""

    path: tuple[str, ...]  # names from the column down to the field
    kind: pa.DataType


class _Reader:
    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    @or_unknown
    def node(self, node: Any, depth: int) -> Expr:
        ((kind, body),) = node.items()
        match kind:
            case "BinaryExpr":
                return self._binary(body, depth)
            case "Function":
                return self._function(body["function"], body["input"], depth)
            case "Column":
                is_true = Literal(kind="boolean", value=True)
                return Compare(column=self._column(node).path, op="=", value=is_true)
            case "Literal":
                value = _literal(node)
                if value is None or value.kind == "boolean":
                    return Constant(value=None if value is None else bool(value.value))
        raise OddError

    def _binary(self, body: dict[str, Any], depth: int) -> Expr:
        op, left, right = body["op"], body["left"], body["right"]
        if op in _AND | _OR:
            args = (self.node(left, depth + 1), self.node(right, depth + 1))
            return And(args=args) if op in _AND else Or(args=args)
        turned = "Literal" in left
        if turned:
            left, right = right, left
        if "Function" in left and op == "Eq":
            of, is_folded = self._cased(left)
            if is_folded:
                return text_condition(of, _text(right), begins=True, ends=True, is_folded=True)
        column = self._column(left)
        value = _compared(_literal(right, column.kind), column)
        if op in {"EqValidity", "NotEqValidity"}:
            same: Expr = NullSafeEqual(column=column.path, value=value)
            return same if op == "EqValidity" else Not(arg=same)
        if value is None:
            return Constant(value=None)
        if op == "NotEq":
            return Not(arg=Compare(column=column.path, op="=", value=value))
        name = _COMPARED[op]
        return Compare(column=column.path, op=MIRRORED[name] if turned else name, value=value)

    def _function(self, function: Any, args: Sequence[Any], depth: int) -> Expr:
        match function:
            case {"Boolean": "Not"}:
                return Not(arg=self.node(args[0], depth + 1))
            case {"Boolean": "IsNull"}:
                return IsNull(column=self._column(args[0]).path)
            case {"Boolean": "IsNotNull"}:
                return Not(arg=IsNull(column=self._column(args[0]).path))
            case {"StringExpr": how}:
                return self._on_text(how, args)
            case {"ListExpr": {"Contains": _}}:
                return self._on_element(args)
            case {"Boolean": {"IsBetween": {"closed": closed}}}:
                return self._between(args, closed)
            case {"Boolean": {"IsIn": {"nulls_equal": False}}}:
                return self._in_list(args)
        raise OddError

    def _in_list(self, args: Sequence[Any]) -> Expr:
        values = _list(args[1]["Literal"]["Scalar"]["List"])
        if "Function" in args[0]:
            of, is_folded = self._cased(args[0])
            if is_folded:
                texts = (text.encode() for text in values.drop_null().to_pylist())
                return text_condition(of, *texts, begins=True, ends=True, is_folded=True)
        return _listed(self._column(args[0]), values)

    def _on_text(self, how: Any, args: Sequence[Any]) -> Expr:
        text, (column, is_folded) = _text(args[1]), self._cased(args[0])
        match how:
            case "StartsWith":
                return text_condition(column, text, begins=True, is_folded=is_folded)
            case "EndsWith":
                return text_condition(column, text, ends=True, is_folded=is_folded)
            case {"Contains": {"literal": is_literal}} if is_literal or not _REGEX.search(text):
                return text_condition(column, text, is_folded=is_folded)
        raise OddError

    def _on_element(self, args: Sequence[Any]) -> Expr:
        column = self._column(args[0])
        value = _literal(args[1], column.kind.value_type)
        if value is None:
            raise OddError
        return OnElements(
            tree=parts_tree(ELEMENTS, column.path),
            text="an element of a list",
            condition=Compare(column=ELEMENT, op="=", value=value),
        )

    def _cased(self, node: Any) -> tuple[tuple[str, ...], bool]:
        """Return a column, and whether its texts are in lower case."""
        match node:
            case {"Function": {"input": [inner], "function": {"StringExpr": "Lowercase"}}}:
                return self._column(inner).path, True
        return self._column(node).path, False

    def _between(self, args: Sequence[Any], closed: str) -> Expr:
        column = self._column(args[0])
        low, high = (_compared(_literal(arg, column.kind), column) for arg in args[1:])
        if low is None or high is None:
            raise OddError
        above, below = _BETWEEN[closed]
        bounds = (
            Compare(column=column.path, op=above, value=low),
            Compare(column=column.path, op=below, value=high),
        )
        return And(args=bounds)

    def _column(self, node: Any) -> _Column:
        match node:
            case {"Column": str(name)}:
                return _Column(path=(name,), kind=self._schema.field(name).type)
            case {"Function": {"input": [whole], "function": {"StructExpr": of}}}:
                name = str(of["FieldByName"])
                outer = self._column(whole)
                kind = outer.kind.field(name).type
                return _Column(path=(*outer.path, name), kind=kind)
            case {"Cast": {"expr": inner, "dtype": {"Literal": to}}}:
                column = self._column(inner)
                if _widens(column.kind, to):
                    return column
        raise OddError


def _widens(kind: pa.DataType, to: Any) -> bool:
    """Return whether a cast keeps all values and their order. Polars adds such casts by itself."""
    match to:
        case {"Decimal": [int(precision), int(scale)]} if pa.types.is_decimal(kind):
            more = scale - int(kind.scale)
            return more >= 0 and precision - int(kind.precision) >= more
        case "Int16" | "Int32" | "Int64" if pa.types.is_signed_integer(kind):
            return int(to.removeprefix("Int")) >= int(kind.bit_width)
        case "Float64":
            return bool(pa.types.is_float32(kind))
    return False


def _compared(value: Literal | None, column: _Column) -> Literal | None:
    """Return a literal as a value of its column. The 16 bytes of a UUID become its text."""
    if value is None or not isinstance(column.kind, pa.UuidType):
        return value
    return uuid_literal(value.value)


def _list(data: Sequence[int]) -> pa.Array:
    """Read a list of values, which Polars serializes as an Arrow stream."""
    with pa.ipc.open_stream(pa.py_buffer(bytes(data))) as stream:
        values = stream.read_all().column(0).combine_chunks()
    nested = pa.types.is_list(values.type) or pa.types.is_large_list(values.type)
    values = values.flatten() if nested else values
    # Arrow cannot drop the nulls of views
    return values.cast(_WITHOUT_VIEWS.get(values.type, values.type))


def _listed(column: _Column, values: pa.Array) -> Expr:
    present = values.drop_null()
    literals = (_compared(_value(value, present.type), column) for value in present.to_pylist())
    return In(
        column=column.path,
        values=tuple(literal for literal in literals if literal is not None),
        has_null=len(present) < len(values),
    )


def _value(value: Any, kind: pa.DataType) -> Literal:
    if pa.types.is_boolean(kind):
        return Literal(kind="boolean", value=value)
    if pa.types.is_integer(kind):
        return Literal(kind="integer", value=value)
    if pa.types.is_floating(kind):
        return Literal(kind="float", value=float_code(value))
    if pa.types.is_decimal(kind):
        return decimal_literal(value, kind.scale)
    if isinstance(value, str):
        return Literal(kind="string", value=value.encode())
    if isinstance(value, bytes):
        return Literal(kind="binary", value=value)
    if pa.types.is_date32(kind):
        return Literal(kind="date", value=pa.scalar(value, kind).cast(pa.int32()).as_py())
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        zone = "timestamp_ntz" if kind.tz is None else "timestamp"
        return Literal(kind=zone, value=pa.scalar(value, kind).cast(pa.int64()).as_py())
    raise OddError


def _text(node: Any) -> bytes:
    """Return a literal text in UTF-8."""
    literal = _literal(node)
    if literal is None or literal.kind != "string" or not isinstance(literal.value, bytes):
        raise OddError
    return literal.value


def _untyped(number: float, column: pa.DataType | None) -> Literal:
    """Return a number whose type Polars 1 leaves open, if its column's type holds it exactly."""
    if column is not None and pa.types.is_integer(column) and isinstance(number, int):
        return Literal(kind="integer", value=number)
    if column is not None and pa.types.is_floating(column):
        rounded = float(np.float32(number) if pa.types.is_float32(column) else number)
        if rounded == number:
            return Literal(kind="float", value=float_code(rounded))
    raise OddError


def _literal(node: Any, column: pa.DataType | None = None) -> Literal | None:
    """Return a literal that is compared with a column of a type; ``None`` for null."""
    match node["Literal"]:
        case {"Dyn": {"Int": number} | {"Float": number}}:
            return _untyped(number, column)
    scalar = node["Literal"]["Scalar"]
    if scalar == "Null":
        return None
    ((kind, value),) = scalar.items()
    if kind in _INTEGERS and isinstance(value, int):
        return Literal(kind="integer", value=value)
    match kind, value:
        case "Boolean", bool():
            return Literal(kind="boolean", value=value)
        case "Float32", (float() | int()):
            # Polars writes just enough digits to tell the value from its neighbours in single
            # precision
            return Literal(kind="float", value=float_code(float(np.float32(value))))
        case "Float64", (float() | int()):
            return Literal(kind="float", value=float_code(float(value)))
        case (("String" | "StringOwned"), str()):
            return Literal(kind="string", value=value.encode())
        case (("Binary" | "BinaryOwned"), list()):
            return Literal(kind="binary", value=bytes(value))
        case "Date", int():
            return Literal(kind="date", value=value)
        case "Datetime", [int(micros), "Microseconds", zone]:
            return Literal(kind="timestamp_ntz" if zone is None else "timestamp", value=micros)
        case "Decimal", [int(unscaled), _, int(scale)]:
            return Literal(kind="decimal", value=unscaled, scale=scale)
    raise OddError
