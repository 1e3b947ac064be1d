"""Translate conditions of the protocol between a query engine and the planner into predicates.

``docs/design/0030-the-protocol-between-jvm-and-python.md`` is the specification. A condition that
is not understood becomes :class:`Unknown`, which keeps every row.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.predicate.converting import OddError, or_unknown
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
    OnElements,
    OnExpression,
    OnText,
    Or,
    StartsWith,
    TextPattern,
    Unknown,
)
from lakesieve.predicate.literals import float_code
from lakesieve.predicate.ranges import Ranges
from lakesieve.predicate.regex_parts import patterns_of_regex
from lakesieve.sieve import HIGHEST, KINDS, LOWEST, KeyType, encode_keys, unscaled

if TYPE_CHECKING:
    from lakesieve.sieve import Code

_COMPARED = {"op", "col", "type", "scale", "value"}
# an unlisted field makes a condition unknown, because it may change the meaning of the others
_FIELDS = {
    "and": {"op", "args"},
    "or": {"op", "args"},
    "not": {"op", "arg"},
    "const": {"op", "value"},
    "unknown": {"op", "text"},
    "isnull": {"op", "col"},
    "isnotnull": {"op", "col"},
    "startswith": {"op", "col", "value"},
    "in": {"op", "col", "type", "scale", "values", "null"},
    "keys": {"op", "col", "type", "scale", "count", "values", "lengths"},
    **dict.fromkeys(("=", "<=>", "<", "<=", ">", ">="), _COMPARED),
}
_OF_TEXT = {"op", "col", "parts", "begins", "ends", "folded", "otherwise"}
_OF_REGEX = {"op", "col", "regex", "folded", "otherwise"}
# the fields of an expression, which may stand in the place of the column
_EXPRESSION = {"tree", "text"}
ELEMENTS = "elements"
"""Begins the tree of the elements of a list. The list is the only other part."""

ENTRIES = "entries"
"""Begins the tree of the entries of a map. The map is the second part.

In the tree of the value of one entry, such as ``m['k']``, the key is the third part.
"""


WORDS = "words"
"""Begins the tree of the words of a text. The text is the only other part."""

# stands for the value of an expression, where conditions have the path of a column
_VALUE = "value"
_TEXTS = frozenset({"string", "binary"})
_INTEGER = re.compile(r"-?\d{1,40}", re.ASCII)
_MOST_DIGITS = 38


def parts_tree(parts: str, column: tuple[str, ...]) -> str:
    """Return the tree of a column's elements or entries without a type.

    Only an engine that runs in a JVM says the type. The planner takes the type of the index.
    """
    return json.dumps([parts, {"col": list(column), "type": None}])


def column_of_parts(tree: str) -> tuple[str, tuple[str, ...]]:
    """Return what the tree of elements or entries begins with, and the path of their column."""
    parts, source, *_ = json.loads(tree)
    return parts, tuple(source["col"])


def condition_of(document: Any) -> Expr:
    """Translate a condition.

    Returns:
        The predicate, with :class:`Unknown` in place of every part that is not understood.
    """
    return _node(document, 0)


@or_unknown
def _node(document: Any, depth: int) -> Expr:
    op = document["op"]
    if op in {"any", "entry"}:
        return _on_elements(document, depth)
    if op in {"text", "matches"}:
        return _on_text(document, depth)
    if "expr" in document:
        return _on_expression(document, depth)
    if not document.keys() <= _FIELDS[op]:
        raise OddError
    if op in {"and", "or"}:
        args = tuple(_node(arg, depth + 1) for arg in _list(document["args"]))
        return And(args=args) if op == "and" else Or(args=args)
    if op == "not":
        return Not(arg=_node(document["arg"], depth + 1))
    return _leaf(op, document)


def _on_expression(document: dict[str, Any], depth: int) -> Expr:
    """Read a condition on the value of an expression. Without a meaning, it has its text."""
    tree, text, entry = _tree(document["expr"], of_many=False)
    plain = {name: value for name, value in document.items() if name != "expr"}
    condition = _node(plain | {"col": [_VALUE]}, depth)
    is_negated = isinstance(condition, Not)
    if isinstance(condition, Not):
        condition = condition.arg
    if not isinstance(condition, Compare | In | IsNull | NullSafeEqual | StartsWith):
        return Unknown(text=text)
    on = OnExpression(tree=tree, text=text, condition=condition, entry=entry)
    return Not(arg=on) if is_negated else on


def _on_elements(document: dict[str, Any], depth: int) -> Expr:
    """Read a condition that some element of a list, or some key or entry of a map, must meet."""
    if set(document) != {"op", "expr", "arg"}:
        raise OddError
    tree, text, _ = _tree(document["expr"], of_many=True)
    condition = _node(document["arg"], depth + 1)
    is_on_entries = document["op"] == "entry"
    if is_on_entries and json.loads(tree)[0] != ENTRIES:
        raise OddError
    return OnElements(tree=tree, text=text, condition=condition, is_on_entries=is_on_entries)


def _on_text(document: dict[str, Any], depth: int) -> Expr:
    """Read a condition on parts of a text. If the parts are odd, the condition itself is left."""
    otherwise = _node(document["otherwise"], depth + 1)
    try:
        of_parts = document["op"] == "text"
        if set(document) != (_OF_TEXT if of_parts else _OF_REGEX):
            raise OddError
        column, is_folded = _column(document["col"]), _flag(document["folded"])
        if of_parts:
            patterns = _pattern(document, is_folded=is_folded)
        else:
            regex = _bytes(document["regex"]).decode()
            patterns = patterns_of_regex(regex, is_folded=is_folded)
    except (OddError, LookupError, ValueError):
        return otherwise
    if not patterns:
        return otherwise
    return OnText(column=column, patterns=patterns, otherwise=otherwise)


def _pattern(document: dict[str, Any], *, is_folded: bool) -> tuple[TextPattern, ...]:
    parts = tuple(_bytes(part) for part in _list(document["parts"]))
    if not parts or not all(parts):
        raise OddError
    begins, ends = _flag(document["begins"]), _flag(document["ends"])
    return (TextPattern(parts=parts, begins=begins, ends=ends, is_folded=is_folded),)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise OddError
    return value


def _column(document: Any) -> tuple[str, ...]:
    column = tuple(_list(document))
    if not column or not all(isinstance(part, str) for part in column):
        raise OddError
    return column


def _tree(expression: dict[str, Any], *, of_many: bool) -> tuple[str, str, Literal | None]:
    """Return the tree of an expression as JSON, and the text of the condition on it.

    The trees of a list's elements and of a map's entries stand in conditions on one of many values,
    and in no others. The tree of the value of one entry is returned without the key of the entry,
    which is the third result.
    """
    if set(expression) != _EXPRESSION:
        raise OddError
    text, tree = expression["text"], _list(expression["tree"])
    if not isinstance(text, str):
        raise OddError
    entry = None
    if tree[:1] == [ENTRIES] and not of_many:
        _, source, key = tree
        if not key.keys() <= {"type", "scale", "value"}:
            raise OddError
        tree, entry = [ENTRIES, source], _literal(*_type(key), key["value"])
    elif (tree[:1] in ([ELEMENTS], [ENTRIES])) != of_many:
        raise OddError
    return json.dumps(tree), text, entry


def _leaf(op: str, document: dict[str, Any]) -> Expr:
    if op == "const":
        value = document["value"]
        if value is not None and not isinstance(value, bool):
            raise OddError
        return Constant(value=value)
    if op == "unknown":
        return Unknown(text=str(document["text"]))
    column = _column(document["col"])
    match op:
        case "isnull":
            return IsNull(column=column)
        case "isnotnull":
            return Not(arg=IsNull(column=column))
        case "startswith":
            return StartsWith(column=column, prefix=_bytes(document["value"]))
        case "in":
            kind, scale = _type(document)
            values = tuple(_literal(kind, scale, value) for value in _list(document["values"]))
            if not isinstance(document["null"], bool):
                raise OddError
            return In(column=column, values=values, has_null=document["null"])
        case "keys":
            return _keys(column, document)
    value = _literal(*_type(document), document["value"])
    if op == "<=>":
        return NullSafeEqual(column=column, value=value)
    return Compare(column=column, op=op, value=value)


def _type(document: dict[str, Any]) -> tuple[str, int]:
    """Return the type of the values: the key kind, and the digits after the point for decimals."""
    kind = document["type"]
    if kind not in KINDS or (kind == "decimal") != ("scale" in document):
        raise OddError
    scale = document.get("scale", 0)
    if type(scale) is not int or not 0 <= scale <= _MOST_DIGITS:
        raise OddError
    return kind, scale


def _keys(column: tuple[str, ...], document: dict[str, Any]) -> Keys:
    """Read a long list of values: 64-bit integers, the bits of doubles, or joined byte strings."""
    (kind, scale), data = _type(document), _bytes(document["values"])
    if kind in _TEXTS:
        lengths = np.frombuffer(_bytes(document["lengths"]), "<i4").astype(np.int64)
        ends = np.cumsum(lengths)
        if np.any(lengths < 0) or lengths.sum() != len(data):
            raise OddError
        starts = (ends - lengths).tolist()
        texts = {data[start:end] for start, end in zip(starts, ends.tolist(), strict=True)}
        return Keys(column=column, kind=kind, values=Ranges.points(texts))
    if "lengths" in document:
        raise OddError
    codes = np.frombuffer(data, "<i8")
    if kind == "float":
        codes = encode_keys(KeyType(kind=kind), pa.array(codes.view("<f8"))).to_numpy()
    return Keys(column=column, kind=kind, values=Ranges.of_codes(codes), scale=scale)


def _literal(kind: str, scale: int, value: Any) -> Literal:
    if kind in _TEXTS:
        return Literal(kind=kind, value=_bytes(value))
    if kind == "boolean":
        if not isinstance(value, bool):
            raise OddError
        return Literal(kind=kind, value=value)
    number = _integer(value)
    if kind == "decimal":
        return Literal(kind=kind, value=number, scale=scale)
    if not LOWEST <= number <= HIGHEST:
        raise OddError
    if kind == "float":
        (double,) = struct.unpack("<d", struct.pack("<q", number))
        number = float_code(double)
    return Literal(kind=kind, value=number)


def written_value(kind: str, scale: int, code: Code) -> dict[str, Any] | None:
    """Write the value of a whole key with its type.

    Args:
        kind: The kind of the key.
        scale: Digits after the point, for decimals.
        code: The code of the key.

    Returns:
        The fields ``type``, ``scale`` for decimals, and ``value``. ``None`` if several values have
        this code, as 0.0 and -0.0 have, or if the protocol has no value with this code.
    """
    if kind in _TEXTS and isinstance(code, bytes):
        return {"type": kind, "value": base64.b64encode(code).decode("ascii")}
    if kind == "boolean":
        # a code behind the last value is no value
        return {"type": kind, "value": bool(code)} if code in {0, 1} else None
    if kind == "decimal":
        number = unscaled(code) if isinstance(code, bytes) else code
        return {"type": kind, "scale": scale, "value": str(number)}
    if kind == "float" or isinstance(code, bytes):
        return None
    return {"type": kind, "value": str(code)}


def _integer(value: Any) -> int:
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        raise OddError
    return int(value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise OddError
    return base64.b64decode(value, validate=True)


def _list(value: Any) -> list[Any]:
    # iterating over a text or an object would give something other than its elements
    if not isinstance(value, list):
        raise OddError
    return value
