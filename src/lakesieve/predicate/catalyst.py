"""Conditions as the optimizer rule sends them; parts that are not understood become unknown."""

from __future__ import annotations

import base64
import re
import struct
from typing import Any

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
    Keys,
    Literal,
    Not,
    NullSafeEqual,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.literals import float_code
from lakesieve.predicate.ranges import Ranges
from lakesieve.sieve import KeyType, encode_keys

__all__ = ["from_catalyst"]

_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_SAME = frozenset({"date", "timestamp", "timestamp_ntz"})
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")


def from_catalyst(document: Any) -> Expr:
    """Read a condition.

    Args:
        document: A JSON object as ``CatalystJson.java`` writes it.

    Returns:
        The predicate, with :class:`Unknown` in place of anything that is not understood.
    """
    return _node(document, 0)


def _node(document: Any, depth: int) -> Expr:
    if depth > DEEPEST:
        return Unknown(text="too deep")
    try:
        op = document["op"]
        if op in {"and", "or"}:
            args = tuple(_node(arg, depth + 1) for arg in document["args"])
            return And(args=args) if op == "and" else Or(args=args)
        if op == "not":
            return Not(arg=_node(document["arg"], depth + 1))
        return _leaf(op, document)
    except (OddError, KeyError, TypeError, ValueError, AttributeError, struct.error):
        return Unknown(text="unreadable condition")


def _leaf(op: str, document: dict[str, Any]) -> Expr:
    if op == "const":
        value = document["value"]
        if value is not None and not isinstance(value, bool):
            raise OddError
        return Constant(value=value)
    if op == "unknown":
        return Unknown(text=str(document["text"]))
    column = tuple(document["col"])
    if not column or not all(isinstance(part, str) for part in column):
        raise OddError
    match op:
        case "isnull":
            return IsNull(column=column)
        case "isnotnull":
            return Not(arg=IsNull(column=column))
        case "startswith":
            return StartsWith(column=column, prefix=_bytes(document["value"]))
        case "in":
            values = tuple(_literal(document["type"], v) for v in document["values"])
            if not isinstance(document["null"], bool):
                raise OddError
            return In(column=column, values=values, has_null=document["null"])
        case "keys":
            return _keys(column, document)
        case "<=>":
            raw = document["value"]
            value = None if raw is None else _literal(document["type"], raw)
            return NullSafeEqual(column=column, value=value)
        case "=" | "<" | "<=" | ">" | ">=":
            return Compare(
                column=column, op=op, value=_literal(document["type"], document["value"])
            )
    raise OddError


def _keys(column: tuple[str, ...], document: dict[str, Any]) -> Keys:
    """Many values at once: 64-bit integers, the bits of doubles, or byte strings end to end."""
    values, data = document["type"], _bytes(document["values"])
    if values in {"string", "binary"}:
        ends = np.cumsum(np.frombuffer(_bytes(document["lengths"]), "<i4"), dtype=np.int64).tolist()
        if ends and ends[-1] != len(data):
            raise OddError
        starts = [0, *ends[:-1]]
        texts = {data[start:end] for start, end in zip(starts, ends, strict=bool(ends))}
        return Keys(column=column, kind=values, values=Ranges.points(texts))
    codes = np.frombuffer(data, "<i8")
    decimal = _DECIMAL.fullmatch(values)
    if decimal:
        scale = int(decimal.group(2))
        return Keys(column=column, kind="decimal", values=Ranges.of_codes(codes), scale=scale)
    kind = (
        "integer" if values in _INTEGERS else "float" if values in {"float", "double"} else values
    )
    if kind == "float":
        codes = encode_keys(KeyType(kind=kind), pa.array(codes.view("<f8"))).to_numpy()
    elif kind not in {"integer", "boolean", *_SAME}:
        raise OddError
    return Keys(column=column, kind=kind, values=Ranges.of_codes(codes))


def _literal(kind: str, value: Any) -> Literal:
    if kind in _INTEGERS:
        return Literal(kind="integer", value=_integer(value))
    if kind in _SAME:
        return Literal(kind=kind, value=_integer(value))
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        return Literal(kind="decimal", value=_integer(value), scale=int(decimal.group(2)))
    if kind in {"string", "binary"}:
        return Literal(kind=kind, value=_bytes(value))
    if kind in {"float", "double"}:
        return Literal(kind="float", value=float_code(_double(value)))
    if kind == "boolean" and isinstance(value, bool):
        return Literal(kind="boolean", value=value)
    raise OddError


def _integer(value: Any) -> int:
    if not isinstance(value, str) or len(value) > 60:
        raise OddError
    return int(value)


def _double(bits: Any) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", _integer(bits)))[0]
    return number


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise OddError
    return base64.b64decode(value, validate=True)
