"""Polars' expressions as predicates; what is not understood becomes unknown.

Polars compares as the indexes do: NaN is equal to itself and greater than all numbers, and null is
neither in a list nor out of it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
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
    NullSafeEqual,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.literals import float_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["from_polars", "pushed"]

_COMPARED = {"Eq": "=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_AND, _OR = frozenset({"And", "LogicalAnd"}), frozenset({"Or", "LogicalOr"})
_BETWEEN = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
_INTEGERS = frozenset(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))


def from_polars(document: str) -> Expr:
    """Read a predicate.

    Args:
        document: The expression as Polars serializes it to JSON.
    """
    try:
        return _node(json.loads(document), 0)
    except (ValueError, RecursionError):
        return Unknown(text="a filter that cannot be read")


def pushed(predicate: Any, schema: pa.Schema) -> str:
    """What Polars gives a scan of a filter, whose literals then have the types of their columns.

    Args:
        predicate: A ``polars.Expr``.
        schema: The columns.

    Returns:
        JSON for :func:`from_polars`; of a filter that Polars keeps for itself, that of null.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    empty: Any = pl.from_arrow(schema.empty_table())
    given: list[pl.Expr] = []

    def read(
        _: list[str] | None, filtered: pl.Expr | None, *__: int | None
    ) -> Iterator[pl.DataFrame]:
        if filtered is not None:
            given.append(filtered)
        yield empty

    register_io_source(read, schema=empty.schema).filter(predicate).collect()
    # where the scan runs more than once, no one filter is the whole of it
    return given[0].meta.serialize(format="json") if len(given) == 1 else "null"


def _node(node: Any, depth: int) -> Expr:
    if depth > DEEPEST:
        return Unknown(text="too deep")
    try:
        ((kind, body),) = node.items()
        match kind:
            case "BinaryExpr":
                return _binary(body, depth)
            case "Function":
                return _function(body["function"], body["input"], depth)
            case "Column":
                return Compare(column=(body,), op="=", value=Literal(kind="boolean", value=True))
            case "Literal":
                value = _literal(node)
                if value is None or value.kind == "boolean":
                    return Constant(value=None if value is None else bool(value.value))
    except (OddError, KeyError, TypeError, ValueError, AttributeError, pa.ArrowException):
        pass
    return Unknown(text="a part of the filter")


def _binary(body: dict[str, Any], depth: int) -> Expr:
    op, left, right = body["op"], body["left"], body["right"]
    if op in _AND | _OR:
        args = (_node(left, depth + 1), _node(right, depth + 1))
        return And(args=args) if op in _AND else Or(args=args)
    turned = "Literal" in left
    if turned:
        left, right = right, left
    column, value = _column(left), _literal(right)
    if op in {"EqValidity", "NotEqValidity"}:
        same: Expr = NullSafeEqual(column=column, value=value)
        return same if op == "EqValidity" else Not(arg=same)
    if value is None:
        return Constant(value=None)
    if op == "NotEq":
        return Not(arg=Compare(column=column, op="=", value=value))
    name = _COMPARED[op]
    return Compare(column=column, op=MIRRORED[name] if turned else name, value=value)


def _function(function: Any, args: Sequence[Any], depth: int) -> Expr:
    match function:
        case {"Boolean": "Not"}:
            return Not(arg=_node(args[0], depth + 1))
        case {"Boolean": "IsNull"}:
            return IsNull(column=_column(args[0]))
        case {"Boolean": "IsNotNull"}:
            return Not(arg=IsNull(column=_column(args[0])))
        case {"StringExpr": "StartsWith"}:
            prefix = _literal(args[1])
            if prefix is None or not isinstance(prefix.value, bytes):
                raise OddError
            return StartsWith(column=_column(args[0]), prefix=prefix.value)
        case {"Boolean": {"IsBetween": {"closed": closed}}}:
            column = _column(args[0])
            low, high = _literal(args[1]), _literal(args[2])
            if low is None or high is None:
                raise OddError
            above, below = _BETWEEN[closed]
            bounds = (
                Compare(column=column, op=above, value=low),
                Compare(column=column, op=below, value=high),
            )
            return And(args=bounds)
        case {"Boolean": {"IsIn": {"nulls_equal": False}}}:
            return _listed(_column(args[0]), args[1]["Literal"]["Scalar"]["List"])
    raise OddError


def _listed(column: tuple[str, ...], data: Sequence[int]) -> Expr:
    """A list of values, which Polars writes as an Arrow stream."""
    with pa.ipc.open_stream(pa.py_buffer(bytes(data))) as stream:
        values = stream.read_all().column(0).combine_chunks()
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        values = values.flatten()
    present = values.drop_null()
    return In(
        column=column,
        values=tuple(_value(value, present.type) for value in present.to_pylist()),
        has_null=len(present) < len(values),
    )


def _value(value: Any, kind: pa.DataType) -> Literal:
    if pa.types.is_boolean(kind):
        return Literal(kind="boolean", value=value)
    if pa.types.is_integer(kind):
        return Literal(kind="integer", value=value)
    if pa.types.is_floating(kind):
        return Literal(kind="float", value=float_code(value))
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


def _column(node: Any) -> tuple[str, ...]:
    match node:
        case {"Column": str(name)}:
            return (name,)
        case {"Function": {"input": [inner], "function": {"StructExpr": {"FieldByName": name}}}}:
            return (*_column(inner), str(name))
    raise OddError


def _literal(node: Any) -> Literal | None:
    """A literal; ``None`` for null."""
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
            # written with as few digits as tell it from its neighbours of single precision
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
