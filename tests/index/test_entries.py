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
from lakesieve.predicate.parse import parse_sql
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


def _entry(arg: Any) -> dict[str, Any]:
    return any_of_keys("entries", arg) | {"op": "entry"}


def _key_is(key: str) -> dict[str, Any]:
    return {"op": "=", "col": ["key"], "type": "string", "value": text_value(key)}


def _value_is(op: str, value: int) -> dict[str, Any]:
    return {"op": op, "col": ["value"], "type": "integer", "value": str(value)}


def _both(*args: Any) -> dict[str, Any]:
    return {"op": "and", "args": list(args)}


def _either(*args: Any) -> dict[str, Any]:
    return {"op": "or", "args": list(args)}


def test_conditions_on_one_entry() -> None:
    """Conditions on the key and the value of one entry are intervals of composite keys."""
    five = _both(_key_is("k"), _value_is("=", 5))
    assert _keys(_entry(five)) == _between(5, 6)
    ranges = _both(_key_is("k"), _value_is(">=", 5), _value_is("<", 9))
    assert _keys(_entry(ranges)) == _between(5, 9)
    assert _keys(_entry(_key_is("k"))) == _keys(_any_key("k"))
    nine = _both(_key_is("z"), _value_is("=", 9))
    both = (_between(5, 6), _between(9, 10, "z"))
    assert _keys(_both(_entry(five), _entry(nine))) == AllOf(args=both)
    intervals = [interval for one in both for interval in one.ranges.intervals]
    either = ElementRanges(field_id=0, ranges=Ranges.of(intervals))
    assert _keys(_entry(_either(five, nine))) == either
    # each part of an AND holds for the entry, also without a key beside it
    assert _keys(_entry(_both(_either(five, nine), _value_is("<", 7)))) == either
    null = {"op": "isnull", "col": ["value"]}
    stem, below = component_code("string", b"k"), b"\x01"
    of_null = Ranges.of([(stem + component_code("integer", None), stem + below)])
    with_null = _entry(_both(_key_is("k"), null))
    assert _keys(with_null) == ElementRanges(field_id=0, ranges=of_null)
    assert _keys(_entry({"op": "const", "value": None})) == AlwaysFalse()


@pytest.mark.parametrize(
    "arg",
    [
        _value_is("=", 5),
        {"op": "isnull", "col": ["value"]},
        {"op": "isnull", "col": ["key"]},
        {"op": "isnotnull", "col": ["key"]},
        _either(_key_is("k"), _value_is("=", 5)),
        _either(_key_is("k"), {"op": "isnull", "col": ["key"]}),
        _either(_key_is("k"), {"op": "unknown", "text": "?"}),
        {"op": "unknown", "text": "?"},
        {"op": "const", "value": True},
    ],
)
def test_entries_with_any_key(arg: dict[str, Any]) -> None:
    """Without a condition on the key, and where a row without entries counts, any row matches."""
    assert _keys(_entry(arg)) == AlwaysTrue()
    assert _keys({"op": "not", "arg": _entry(_both(_key_is("k"), arg))}) == AlwaysTrue()


def test_odd_conditions_on_entries() -> None:
    """Elements have no entries, and nothing else may stand beside the condition."""
    five = _both(_key_is("k"), _value_is("=", 5))
    for odd in (
        any_of_keys("elements", five) | {"op": "entry"},
        _entry(five) | {"more": 1},
        _entry(five) | {"expr": {"tree": tree_of("entries", "odd map"), "text": ""}},
    ):
        assert _keys(odd) == AlwaysTrue()


def _sql(text: str) -> RowFilter:
    rows, found = filter_of(parse_sql(text), USABLE)
    return on_keys(rows, USABLE, entries=found.entries)


def test_conditions_in_sql_text() -> None:
    """SQL text asks for the same entries as conditions of an engine."""
    for text in ("m['k'] = 5", "5 = m['k']", "element_at(m, 'k') <=> 5", "m['k'] IN (5)"):
        assert _sql(text) == _between(5, 6), text
    assert _sql("m['k'] BETWEEN 5 AND 8") == _between(5, 9)
    assert _sql("NOT m['k'] < 5") == _between(5, None)
    assert _sql("m['k'] >= 5 AND try_element_at(m, 'k') < 9") == _between(5, 9)
    assert _sql("m['k'] IS NOT NULL") == _between(None, None)
    assert _sql("map_contains_key(m, 'k')") == _keys(_any_key("k"))
    for unknown in (
        "m['k'] IS NULL",
        "m['k'] = a",
        "m['k'] = value",
        "m['k'] = m['z']",
        "m[s] = 5",
        "m[1] = 5",
        "m[DATE'2026-01-01'] = 5",
        "m['k']['z'] = 5",
        "`odd map`['k'] = 5",
        "l[0] = 5",
        "element_at(l, 1) = 5",
        "NOT map_contains_key(m, 'k')",
    ):
        assert _sql(unknown) == AlwaysTrue(), unknown


def test_entries_as_sql() -> None:
    """A filter on entries is printed as a condition that Spark understands."""
    document = {"op": "and", "args": [_value("=", 5), _value(">", 7, "it's"), _any_key("z")]}
    rows, found = filter_of(condition_of(document), USABLE)
    printed = to_sql(rows, {}, expressions=found.by_text)
    assert printed == "m['k'] = 5 AND m['it\\'s'] >= 8 AND exists(map_keys(m), x -> x = 'z')"
    rows, found = filter_of(condition_of(_entry(_both(_key_is("k"), _value_is("<", 5)))), USABLE)
    printed = to_sql(rows, {}, expressions=found.by_text)
    assert printed == "exists(map_entries(m), x -> x.key = 'k' AND x.value < 5)"


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
