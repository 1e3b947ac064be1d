"""Drawn conditions of the protocol, and a slow evaluation of them over rows."""

from __future__ import annotations

import base64
import math
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.engines.tables import COLUMNS, rows

if TYPE_CHECKING:
    import random

__all__ = ["compared_with", "drawn_condition", "drawn_keys", "order_of", "truth"]

_TYPES: dict[str, dict[str, Any]] = {
    "id": {"type": "integer"},
    "small": {"type": "integer"},
    "text": {"type": "string"},
    "real": {"type": "float"},
    "single": {"type": "float"},
    "money": {"type": "decimal", "scale": 2},
    "day": {"type": "date"},
    "moment": {"type": "timestamp"},
    "plain": {"type": "timestamp_ntz"},
    "data": {"type": "binary"},
    "flag": {"type": "boolean"},
}
_COMPARISONS = ("=", "<=>", "<", "<=", ">", ">=")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _written(value: Any) -> Any:
    """A value as the protocol writes it."""
    match value:
        case bool():
            return value
        case int():
            return str(value)
        case float():
            return str(struct.unpack("<q", struct.pack("<d", value))[0])
        case str() | bytes():
            data = value.encode() if isinstance(value, str) else value
            return base64.b64encode(data).decode()
        case Decimal():
            sign, digits, exponent = value.as_tuple()
            assert exponent == -2
            return f"{'-' * sign}{''.join(map(str, digits))}"
        case datetime():
            return str((value.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1))
        case date():
            return str((value - _EPOCH.date()).days)
    raise TypeError(value)


def order_of(value: Any) -> Any:
    """What values compare by: bytes for texts; NaN is above all numbers and equal to itself."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def _values(drawn: random.Random, name: str, count: int) -> list[Any]:
    found: list[Any] = rows(drawn, 3 * count + 5).column(name).drop_null().to_pylist()
    return found[:count]


def _leaf(drawn: random.Random) -> dict[str, Any]:
    name = drawn.choice(list(COLUMNS))
    column = {"col": [name]}
    kind = drawn.randrange(10)
    if kind == 0:
        return column | {"op": drawn.choice(["isnull", "isnotnull"])}
    if kind == 1:
        return {"op": "const", "value": drawn.choice([True, False, None])}
    if kind == 2:
        # the text is what the slow evaluation takes it for
        return {"op": "unknown", "text": drawn.choice(["true", "false", "null"])}
    if kind == 3:
        prefix = drawn.choice(["", "a", "ab", "z", "日"]).encode()
        return {"op": "startswith", "col": ["text"], "value": base64.b64encode(prefix).decode()}
    if kind == 4:
        values = [_written(value) for value in _values(drawn, name, drawn.randrange(4))]
        null = drawn.random() < 0.3
        return column | {"op": "in", "values": values, "null": null} | _TYPES[name]
    (value,) = _values(drawn, name, 1)
    comparison = {"op": drawn.choice(_COMPARISONS), "value": _written(value)}
    return column | comparison | _TYPES[name]


def compared_with(op: str, name: str, value: Any) -> dict[str, Any]:
    """Return the comparison of a column with a value that is not null.

    Args:
        op: The operator, or ``in``.
        name: The column.
        value: The value.
    """
    written = _written(value)
    what = {"values": [written], "null": False} if op == "in" else {"value": written}
    return {"op": op, "col": [name], **_TYPES[name], **what}


def drawn_condition(drawn: random.Random, deep: int = 3) -> dict[str, Any]:
    """Draw a condition over the columns of the tables.

    Args:
        drawn: Draws it.
        deep: How many conditions stand in one another at most.
    """
    kind = drawn.randrange(6)
    if deep == 0 or kind < 3:
        return _leaf(drawn)
    if kind == 3:
        return {"op": "not", "arg": drawn_condition(drawn, deep - 1)}
    args = [drawn_condition(drawn, deep - 1) for _ in range(drawn.randrange(1, 4))]
    return {"op": "and" if kind == 4 else "or", "args": args}


def drawn_keys(drawn: random.Random) -> dict[str, Any]:
    """Draw keys of a join; the slow evaluation knows them by ``plain``, which is to be taken out.

    Args:
        drawn: Draws them.
    """
    name = drawn.choice([name for name in COLUMNS if name != "money"])
    values = _values(drawn, name, drawn.randrange(1, 6))
    keys: dict[str, Any] = {"op": "keys", "col": [name], "count": len(values), **_TYPES[name]}
    if isinstance(values[0], (str, bytes)):
        texts = [base64.b64decode(_written(value)) for value in values]
        lengths = struct.pack(f"<{len(texts)}i", *map(len, texts))
        keys |= {"lengths": base64.b64encode(lengths).decode()}
        data = b"".join(texts)
    else:
        data = b"".join(struct.pack("<q", int(_written(value))) for value in values)
    keys["values"] = base64.b64encode(data).decode()
    same = {"op": "in", "col": [name], "values": list(map(_written, values)), "null": False}
    return keys | {"plain": same | _TYPES[name]}


def truth(condition: dict[str, Any], row: dict[str, Any]) -> bool | None:
    """Evaluate a condition over a row: true, false or null.

    Args:
        condition: The condition.
        row: The values by column.
    """
    op = condition["op"]
    if op in {"and", "or"}:
        answers = [truth(arg, row) for arg in condition["args"]]
        decisive = bool(op == "or")
        if decisive in answers:
            return decisive
        return None if None in answers else not decisive
    if op == "not":
        inner = truth(condition["arg"], row)
        return None if inner is None else not inner
    if op == "const":
        value = condition["value"]
        return None if value is None else bool(value)
    if op == "unknown":
        return {"true": True, "false": False, "null": None}[condition["text"]]
    value = row[condition["col"][0]]
    if op in {"isnull", "isnotnull"}:
        return bool((value is None) == (op == "isnull"))
    if value is None:
        return False if op == "<=>" else None
    if op == "startswith":
        return bool(value.encode().startswith(base64.b64decode(condition["value"])))
    if op == "in":
        known = [order_of(_read(one, value)) for one in condition["values"]]
        if order_of(value) in known:
            return True
        return None if condition["null"] else False
    return _compared(op, order_of(value), order_of(_read(condition["value"], value)))


def _read(written: Any, like: Any) -> Any:
    """A value that the protocol has written, as the rows have it."""
    match like:
        case bool():
            return written
        case int():
            return int(written)
        case float():
            return struct.unpack("<d", struct.pack("<q", int(written)))[0]
        case str() | bytes():
            # texts compare by their bytes, and a bound need not be a text
            return base64.b64decode(written)
        case Decimal():
            return Decimal(f"{written}e-2")
        case datetime():
            moment = _EPOCH + timedelta(microseconds=int(written))
            return moment.replace(tzinfo=like.tzinfo)
    return _EPOCH.date() + timedelta(days=int(written))


def _compared(op: str, left: Any, right: Any) -> bool:
    match op:
        case "=" | "<=>":
            return bool(left == right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
    return bool(left >= right)
