"""Conditions on the elements of lists, without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.index.many_keys import any_of_keys, definition_of, filter_of, tree_of, usable_index

from lakesieve.index.key_filters import on_keys
from lakesieve.predicate import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    ElementRanges,
    Ranges,
    all_of,
    any_of,
    condition_of,
    to_sql,
)
from lakesieve.predicate.expression import OnElements, Unknown
from lakesieve.predicate.parse import parse_sql

if TYPE_CHECKING:
    from lakesieve.predicate import RowFilter

USABLE = [usable_index(definition_of("elements"))]
FIELD = USABLE[0].columns[0].field_id


def _equal(value: int) -> dict[str, Any]:
    return {"op": "=", "col": ["value"], "type": "integer", "value": str(value)}


def _any(arg: Any, **of_tree: str) -> dict[str, Any]:
    return any_of_keys("elements", arg, **of_tree)


def _rows(document: dict[str, Any]) -> RowFilter:
    rows, _ = filter_of(condition_of(document), USABLE)
    return rows


def _points(*values: int) -> ElementRanges:
    return ElementRanges(field_id=FIELD, ranges=Ranges.points(values))


def test_two_elements_of_one_list() -> None:
    """AND keeps a look-up for each element, because one row may have both; OR unites them."""
    both = [_any(_equal(5)), _any(_equal(7))]
    rows = _rows({"op": "and", "args": both})
    assert rows == AllOf(args=(_points(5), _points(7)))
    assert _rows({"op": "or", "args": both}) == _points(5, 7)
    of_keys = on_keys(rows, USABLE)
    zero = [ElementRanges(field_id=0, ranges=Ranges.points([value])) for value in (5, 7)]
    assert of_keys == AllOf(args=tuple(zero))
    nested = on_keys(any_of([all_of([_points(1), rows]), _points(9)]), USABLE)
    assert "args" in str(nested)
    assert on_keys(rows, []) == AlwaysTrue()


def test_negations_and_nulls_are_unknown() -> None:
    """The index answers neither a negation nor a null element, but a negation on one element."""
    negated = {"op": "not", "arg": _any(_equal(5))}
    assert _rows(negated) == AlwaysTrue()
    assert _rows({"op": "not", "arg": negated}) == _points(5)
    assert _rows(_any({"op": "isnull", "col": ["value"]})) == AlwaysTrue()
    or_null = {"op": "or", "args": [_equal(5), {"op": "isnull", "col": ["value"]}]}
    assert _rows(_any(or_null)) == AlwaysTrue()
    other = _rows(_any({"op": "not", "arg": _equal(5)}))
    assert other == ElementRanges(field_id=FIELD, ranges=Ranges.of([(None, 5), (6, None)]))
    present = _rows(_any({"op": "isnotnull", "col": ["value"]}))
    assert present == ElementRanges(field_id=FIELD, ranges=Ranges.everything())


def test_conditions_on_one_element() -> None:
    """A condition that no element can meet is false. An unknown condition may be true."""
    assert _rows(_any({"op": "const", "value": None})) == AlwaysFalse()
    empty = {"op": "in", "col": ["value"], "type": "integer", "values": [], "null": True}
    assert _rows(_any(empty)) == AlwaysFalse()
    for arg in (
        {"op": "unknown", "text": "x"},
        {"op": "const", "value": True},
        _equal(5) | {"col": ["a"]},
        _equal(5) | {"col": ["value", "x"]},
        _equal(5) | {"type": "string", "value": "YQ=="},
        _any(_equal(5)),
        {"op": "=", "expr": {"tree": [1], "text": ""}, "type": "integer", "value": "5"},
    ):
        assert _rows(_any(arg)) == AlwaysTrue()
    both = {"op": "and", "args": [{"op": "unknown", "text": "x"}, _equal(5)]}
    assert _rows(_any(both)) == _points(5)


@pytest.mark.parametrize(
    "condition",
    [
        _any(_equal(5)) | {"more": 1},
        _any(_equal(5)) | {"col": ["a"]},
        _any(_equal(5)) | {"expr": {"tree": ["elementsx", {}], "text": ""}},
        # a condition on the value of an expression, with the tree of elements
        {
            "op": "=",
            "expr": {"tree": tree_of("elements"), "text": ""},
            "type": "integer",
            "value": "5",
        },
        {"op": "any", "expr": {"tree": tree_of("elements")}, "arg": _equal(5)},
        {"op": "any", "arg": _equal(5)},
    ],
)
def test_odd_conditions_are_unknown(condition: Any) -> None:
    """A condition on elements that is not understood matches every row."""
    assert isinstance(condition_of(condition), Unknown)


def test_a_condition_finds_its_list() -> None:
    """Lists of another column or another type of elements are other keys."""
    assert isinstance(condition_of(_any(_equal(5))), OnElements)
    for path in ("m", "a", "odd list", "nothing"):
        assert _rows(_any(_equal(5), path=path)) == AlwaysTrue()
    assert _rows(_any(_equal(5), column_type="array<bigint>")) == AlwaysTrue()


def test_elements_as_sql() -> None:
    """A filter on elements is printed as a condition that Spark understands."""
    both = {"op": "and", "args": [_any(_equal(5)), _any(_equal(7))]}
    rows, found = filter_of(condition_of(both), USABLE)
    types = found.by_text
    printed = to_sql(rows, {}, expressions=types)
    assert printed == "exists(l, x -> x = 5) AND exists(l, x -> x = 7)"
    odd = {"ELEMENTS( `a(b` )": types["elements(l)"]}
    assert to_sql(_points(5), {}, expressions=odd) == "exists(`a(b`, x -> x = 5)"


def _sql(text: str) -> RowFilter:
    rows, _ = filter_of(parse_sql(text), USABLE)
    return rows


def test_conditions_in_sql_text() -> None:
    """SQL text asks for the same elements as conditions of an engine."""
    assert _sql("array_contains(l, 5)") == _points(5)
    assert _sql("array_contains(l, 5) OR array_contains(l, 7)") == _points(5, 7)
    for text in ("arrays_overlap(l, array(5, 7))", "arrays_overlap(array(5, 7), l)"):
        assert _sql(text) == _points(5, 7)
    for unknown in (
        "NOT array_contains(l, 5)",
        "array_contains(l, NULL)",
        "array_contains(l, a)",
        "array_contains(array(5), a)",
        "array_contains(`odd list`, 5)",
        "array_contains(m, 5)",
        "arrays_overlap(l, l)",
        "arrays_overlap(l, array(5, NULL))",
        "arrays_overlap(l, array())",
        "exists(l, x -> x = 5)",
    ):
        assert _sql(unknown) == AlwaysTrue(), unknown
