"""Parse conditions of the protocol between query engines and the planner."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.predicate import (
    AlwaysFalse,
    AlwaysTrue,
    ColumnRanges,
    ColumnType,
    Ranges,
    RowFilter,
    bind,
    condition_of,
    rows_where,
)
from lakesieve.predicate.expression import Not, Unknown

COLUMNS: dict[tuple[str, ...], ColumnType] = {
    ("i",): ColumnType(field_id=1, kind="integer"),
    ("s",): ColumnType(field_id=2, kind="string"),
    ("m",): ColumnType(field_id=3, kind="decimal", scale=2),
    ("w",): ColumnType(field_id=4, kind="decimal", scale=10, precision=38),
    ("f",): ColumnType(field_id=5, kind="float"),
    ("flag",): ColumnType(field_id=6, kind="boolean"),
    ("y",): ColumnType(field_id=7, kind="binary"),
    ("d",): ColumnType(field_id=8, kind="date"),
    ("tn",): ColumnType(field_id=9, kind="timestamp_ns"),
    ("a", "b"): ColumnType(field_id=10, kind="integer"),
}
EQUAL: dict[str, object] = {"op": "=", "col": ["i"], "type": "integer", "value": "5"}
IN: dict[str, object] = EQUAL | {"op": "in", "values": ["5"], "null": False}
del IN["value"]


def _rows(document: object) -> RowFilter:
    return rows_where(bind(condition_of(document), COLUMNS, strict=False))


def _ranges(document: object) -> Ranges:
    """Return the ranges of the only column of a condition."""
    row_filter = _rows(document)
    assert isinstance(row_filter, ColumnRanges)
    return row_filter.ranges


@pytest.mark.parametrize(
    ("column", "kind", "value", "code"),
    [
        ("i", "integer", str(2**63 - 1), 2**63 - 1),
        ("d", "date", "-719162", -719162),
        ("tn", "timestamp_ns", str(-(2**63)), -(2**63)),
        ("f", "float", "0", 0),
        ("f", "float", str(-(2**63)), 0),
        ("f", "float", str(0x7FF8 << 48), 0x7FF8 << 48),
        ("f", "float", "-1", 0x7FF8 << 48),
        ("flag", "boolean", True, 1),
        ("s", "string", "", b""),
        ("y", "binary", "AP8=", b"\x00\xff"),
    ],
)
def test_values_are_codes(column: str, kind: str, value: object, code: int | bytes) -> None:
    """Values become key codes without any calendar or time zone; doubles are their bits."""
    node = {"op": "=", "col": [column], "type": kind, "value": value}

    assert _ranges(node) == Ranges.points([code])


@pytest.mark.parametrize("value", [10**38 - 1, 1 - 10**38, 0])
def test_decimals_are_unscaled(value: int) -> None:
    """Long decimals keep their last digit; other scales than the column's are compared exactly."""
    node = {"op": "=", "col": ["w"], "type": "decimal", "scale": 10, "value": str(value)}
    finer = {"op": "<", "col": ["m"], "type": "decimal", "scale": 3, "value": "1505"}

    assert _ranges(node) == Ranges.points([value])
    assert _ranges(finer) == Ranges(intervals=((None, 151),))


def test_other_conditions() -> None:
    """Prefixes, lists, nulls, nested fields and constants keep their meaning."""
    prefix = {"op": "startswith", "col": ["s"], "value": "/w=="}
    same = EQUAL | {"op": "<=>", "col": ["a", "b"]}

    assert _ranges(prefix) == Ranges(intervals=((b"\xff", None),))
    assert _ranges(IN | {"values": ["5", "7"], "null": True}) == Ranges.points([5, 7])
    assert _rows({"op": "not", "arg": IN | {"null": True}}) == AlwaysFalse()
    assert _ranges(same) == Ranges.points([5])
    assert _ranges({"op": "isnull", "col": ["i"]}) == Ranges(nulls=True)
    assert _rows({"op": "or", "args": []}) == AlwaysFalse()
    assert _rows({"op": "and", "args": []}) == AlwaysTrue()
    assert _rows({"op": "const", "value": None}) == AlwaysFalse()


ODD: dict[str, object] = {
    "no object": [EQUAL],
    "no operator": {"col": ["i"]},
    "unknown operator": EQUAL | {"op": "~"},
    "unknown type": EQUAL | {"type": "int"},
    "collation": EQUAL | {"col": ["s"], "type": "string collate UNICODE_CI", "value": "YQ=="},
    "unknown field": EQUAL | {"collation": "UNICODE_CI"},
    "number": EQUAL | {"value": 5},
    "blank": EQUAL | {"value": " 5"},
    "underscore": EQUAL | {"value": "1_0"},
    "other digits": EQUAL | {"value": "\u0665"},
    "beyond 64 bits": EQUAL | {"value": str(2**63)},
    "truth": EQUAL | {"value": True},
    "null": EQUAL | {"value": None},
    "null-safe null": EQUAL | {"op": "<=>", "value": None},
    "scale of an integer": EQUAL | {"scale": 0},
    "decimal without a scale": EQUAL | {"col": ["m"], "type": "decimal"},
    "negative scale": EQUAL | {"col": ["m"], "type": "decimal", "scale": -2},
    "huge scale": EQUAL | {"col": ["m"], "type": "decimal", "scale": 10**9},
    "truth as a scale": EQUAL | {"col": ["m"], "type": "decimal", "scale": True},
    "column as a text": EQUAL | {"col": "i"},
    "no column": EQUAL | {"col": []},
    "values as a text": IN | {"values": "5"},
    "values as an object": IN | {"values": {}},
    "one bad value": IN | {"values": ["5", 6]},
    "no null": {name: value for name, value in IN.items() if name != "null"},
    "arguments as an object": {"op": "or", "args": {}},
    "arguments as a text": {"op": "or", "args": ""},
    "no base64": {"op": "startswith", "col": ["s"], "value": "no base64"},
}


@pytest.mark.parametrize("document", ODD.values(), ids=list(ODD))
def test_what_is_odd_is_unknown(document: object) -> None:
    """A condition of an unknown form keeps every row, and so does its negation."""
    assert isinstance(condition_of(document), Unknown)
    assert _rows(document) == _rows({"op": "not", "arg": document}) == AlwaysTrue()


def test_what_is_too_deep_is_unknown() -> None:
    """The nesting depth of conditions is limited, but not the length of a chain."""
    deep = EQUAL
    for _ in range(500):
        deep = {"op": "not", "arg": deep}

    assert _rows(deep) == AlwaysTrue()
    many = [EQUAL | {"value": str(number * 2)} for number in range(3000)]
    assert _ranges({"op": "or", "args": many}) == Ranges.points(range(0, 6000, 2))


NAMES = ["op", "col", "type", "scale", "value", "values", "null", "arg", "args", "count", "lengths"]
json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["integer", "decimal", "string", "float", "5", "AAAAAAAAAAA="])
    | st.just(["i"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=10,
)
operators = st.sampled_from(
    ["and", "or", "not", "=", "in", "keys", "isnull", "startswith", "const", "<=>"]
)


@given(json, operators)
def test_malformed_conditions_are_unknown(document: Any, op: str) -> None:
    """No document makes the reader raise an error, and what it cannot read matches every row."""
    if isinstance(document, dict):
        document["op"] = op
    expr = condition_of(document)
    bound = bind(expr, COLUMNS, strict=False)

    if isinstance(expr, Unknown):
        assert rows_where(bound) == rows_where(Not(arg=bound)) == AlwaysTrue()
