"""Conditions on the entries of maps, without an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.index.many_keys import (
    any_of_keys,
    definition_of,
    filter_of,
    text_value,
    tree_of,
    usable_index,
)

from lakesieve.format import IndexDefinition
from lakesieve.index.key_filters import on_keys
from lakesieve.predicate import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    ElementRanges,
    Ranges,
    condition_of,
    to_sql,
)
from lakesieve.predicate.expression import OnExpression, Unknown
from lakesieve.sieve import component_code

if TYPE_CHECKING:
    from lakesieve.predicate import RowFilter

USABLE = [usable_index(definition_of("entries"))]


def _of_value(key: str = "k", **more: Any) -> dict[str, Any]:
    """The operand m[key] in a condition."""
    constant = {"type": "string", "value": text_value(key)} | more
    return {"expr": {"tree": [*tree_of("entries"), constant], "text": "the condition"}}


def _value(op: str, value: int, key: str = "k") -> dict[str, Any]:
    return {"op": op, "type": "integer", "value": str(value)} | _of_value(key)


def _any_key(key: str) -> dict[str, Any]:
    arg = {"op": "=", "col": ["value"], "type": "string", "value": text_value(key)}
    return any_of_keys("entries", arg)


def _keys(document: dict[str, Any]) -> RowFilter:
    rows, found = filter_of(condition_of(document), USABLE)
    return on_keys(rows, USABLE, entries=found.entries)


def _between(low: int | None, high: int | None, key: str = "k") -> ElementRanges:
    """The keys of the entries of one key whose values lie in a range."""
    stem = component_code("string", key.encode())
    ends = (
        stem + (b"\x01" if low is None else component_code("integer", low)),
        stem + (b"\x02" if high is None else component_code("integer", high)),
    )
    return ElementRanges(field_id=0, ranges=Ranges.of([ends]))


def test_values_of_one_key() -> None:
    """Conditions on the value of one key become ranges of its entries."""
    assert _keys(_value("=", 5)) == _between(5, 6)
    assert _keys(_value("<=>", 5)) == _between(5, 6)
    assert _keys(_value("<", 5)) == _between(None, 5)
    assert _keys({"op": "not", "arg": _value("<", 5)}) == _between(5, None)
    assert _keys({"op": "isnotnull"} | _of_value()) == _between(None, None)
    listed = {"op": "in", "type": "integer", "values": ["5", "6"], "null": True} | _of_value()
    assert _keys(listed) == _between(5, 7)
    # the value is the same in both conditions
    both = {"op": "and", "args": [_value(">=", 5), _value("<", 9)]}
    assert _keys(both) == _between(5, 9)
    assert _keys({"op": "and", "args": [_value("=", 5), _value("=", 9)]}) == AlwaysFalse()


def test_values_of_several_keys() -> None:
    """AND keeps a look-up for each key, because one row may have both; OR unites them."""
    both = [_value("=", 5), _value("=", 7, "z")]
    assert _keys({"op": "and", "args": both}) == AllOf(args=(_between(5, 6), _between(7, 8, "z")))
    either = _keys({"op": "or", "args": both})
    intervals = (*_between(5, 6).ranges.intervals, *_between(7, 8, "z").ranges.intervals)
    assert either == ElementRanges(field_id=0, ranges=Ranges.of(intervals))


def test_keys_of_a_map() -> None:
    """A condition on the keys alone finds entries with any value, also null."""
    stem = component_code("string", b"k")
    (ends,) = Ranges.points([b"k"]).intervals
    low, high = (component_code("string", code) for code in ends if isinstance(code, bytes))
    assert low == stem
    assert _keys(_any_key("k")) == ElementRanges(field_id=0, ranges=Ranges.of([(low, high)]))
    for component in (component_code("integer", None), component_code("integer", 2**63 - 1)):
        assert low <= stem + component < high
    assert high <= component_code("string", b"k\x00")
    assert _keys({"op": "not", "arg": _any_key("k")}) == AlwaysTrue()


def test_nulls_are_not_answered() -> None:
    """A row without the key has no value, and the index does not know such rows."""
    null = {"op": "isnull"} | _of_value()
    negated = {"op": "not", "arg": _value("<=>", 5)}
    for document in (null, negated, {"op": "or", "args": [_value("=", 5), null]}):
        assert _keys(document) == AlwaysTrue()
    assert _keys({"op": "and", "args": [_value("=", 5, "z"), null]}) == _between(5, 6, "z")


@pytest.mark.parametrize(
    "condition",
    [
        _value("=", 5) | _of_value(more=1),
        _value("=", 5) | _of_value(type="unheard"),
        _value("=", 5) | _of_value(value="?"),
        _value("=", 5) | {"expr": {"tree": tree_of("entries"), "text": ""}},
        _value("=", 5) | {"expr": {"tree": [*tree_of("entries"), {}, {}], "text": ""}},
        _value("=", 5) | {"expr": {"tree": [*tree_of("entries"), "k"], "text": ""}},
        _any_key("k") | _of_value(),
    ],
)
def test_odd_conditions_are_unknown(condition: Any) -> None:
    """A condition on entries that is not understood matches every row."""
    rows, _ = filter_of(condition_of(condition), USABLE)
    assert rows == AlwaysTrue()


def test_a_condition_finds_its_map() -> None:
    """Maps of another column or other types are other keys, and so are keys of another type."""
    assert isinstance(condition_of(_value("=", 5)), OnExpression)
    constant = {"type": "string", "value": text_value("k")}
    trees = [tree_of("entries", path) for path in ("odd map", "l", "a")]
    for tree in (*trees, tree_of("entries", column_type="map<string,bigint>")):
        other = {"tree": [*tree, constant], "text": ""}
        assert _keys(_value("=", 5) | {"expr": other}) == AlwaysTrue()
    assert _keys(_value("=", 5) | _of_value(type="integer", value="5")) == AlwaysTrue()
    assert isinstance(condition_of(_value("=", 5) | _of_value(value=5)), Unknown)


def test_entries_as_sql() -> None:
    """A filter on entries is printed as a condition that Spark understands."""
    document = {"op": "and", "args": [_value("=", 5), _value(">", 7, "it's"), _any_key("z")]}
    rows, found = filter_of(condition_of(document), USABLE)
    printed = to_sql(rows, {}, expressions=found.by_text)
    assert printed == "m['k'] = 5 AND m['it\\'s'] >= 8 AND exists(map_keys(m), x -> x = 'z')"


def test_columns_of_a_definition() -> None:
    """A definition has the key and the value of an entry as columns. Their fields never change."""
    definition = definition_of("entries")
    assert definition.types == ("map<string,int>",)
    assert [column.name for column in definition.columns] == ["map_keys(m)", "map_values(m)"]
    document = json.loads(json.dumps(definition.to_json()))
    key, value = document["columns"]
    fields = [1795859939529827089, 2930826479005025195]
    assert [key["field_id"], value["field_id"]] == fields
    for columns in ([key], [value, key], [key, value | {"field_id": 1}]):
        with pytest.raises((ValueError, TypeError)):
            IndexDefinition.from_json(document | {"columns": columns})
