"""Entries of maps as keys, without an engine: trees, definitions, conditions and filters."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from lakesieve.errors import UnsupportedError
from lakesieve.format import IndexDefinition, KeyColumn
from lakesieve.index.definition import default_name
from lakesieve.index.expression_conditions import Expressions
from lakesieve.index.expressions import (
    UnknownColumnError,
    key_expression,
    refuse_many_keys,
    stored_tree,
)
from lakesieve.index.key_filters import UsableIndex, on_keys
from lakesieve.predicate import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    ElementRanges,
    Ranges,
    RowFilter,
    bind,
    condition_of,
    rows_where,
    source_of_many,
    to_sql,
)
from lakesieve.predicate.expression import OnExpression, Unknown
from lakesieve.sieve import component_code
from lakesieve.tables import Column
from lakesieve.tables.iceberg.schema import columns_of_schema, schema_document
from lakesieve.tables.struct_schema import (
    delta_columns,
    hudi_columns,
    parquet_columns,
    spark_array,
    spark_field,
    spark_map,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS: dict[tuple[str, ...], Column] = {
    ("a",): Column(path=("a",), field_id=1, type="int", kind="integer"),
    ("m",): Column(path=("m",), field_id=4, type="map", kind="other", entries="integer"),
    ("l",): Column(path=("l",), field_id=5, type="list", kind="other", elements="integer"),
    ("o",): Column(path=("o",), field_id=6, type="map", kind="other"),
}
PARTS = (
    {"type": "string", "kind": "string", "scale": 0},
    {"type": "int", "kind": "integer", "scale": 0},
)


def _tree(path: str = "m", kind: str = "map<string,int>") -> list[Any]:
    return ["entries", {"col": [path], "type": kind}]


def _definition() -> IndexDefinition:
    stored, sources = stored_tree(_tree(), COLUMNS)
    columns = key_expression("entries(m)", stored, sources, PARTS)
    keys = tuple(
        KeyColumn(field_id=c.field_id, name=c.path[0], type=c.type, key_kind=c.kind)
        for c in columns
    )
    return IndexDefinition(
        name="n",
        index_uuid="i",
        table_format="iceberg",
        table_uuid="t",
        table_location="/t",
        columns=keys,
        created_at="",
        expression=columns[0].expression,
    )


def _bytes(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _of_value(key: str = "k", **more: Any) -> dict[str, Any]:
    """The operand m[key] in a condition."""
    constant = {"type": "string", "value": _bytes(key)} | more
    return {"expr": {"tree": [*_tree(), constant], "text": "the condition"}}


def _value(op: str, value: int, key: str = "k") -> dict[str, Any]:
    return {"op": op, "type": "integer", "value": str(value)} | _of_value(key)


def _any_key(key: str) -> dict[str, Any]:
    arg = {"op": "=", "col": ["value"], "type": "string", "value": _bytes(key)}
    return {"op": "any", "expr": {"tree": _tree(), "text": "the condition"}, "arg": arg}


class _Opened:
    """An opened index of one definition."""

    def __init__(self) -> None:
        self.definition = _definition()


OPENED: Any = _Opened()
USABLE = [UsableIndex(index=OPENED, columns=OPENED.definition.columns)]


def _filter(document: dict[str, Any]) -> tuple[RowFilter, Expressions]:
    condition = condition_of(document)
    found = Expressions.of(condition, USABLE, COLUMNS)
    return rows_where(bind(condition, {}, strict=False, expressions=found.types)), found


def _keys(document: dict[str, Any]) -> RowFilter:
    rows, found = _filter(document)
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
        _value("=", 5) | {"expr": {"tree": _tree(), "text": ""}},
        _value("=", 5) | {"expr": {"tree": [*_tree(), {}, {}], "text": ""}},
        _value("=", 5) | {"expr": {"tree": [*_tree(), "k"], "text": ""}},
        _any_key("k") | _of_value(),
    ],
)
def test_odd_conditions_are_unknown(condition: Any) -> None:
    """A condition on entries that is not understood matches every row."""
    rows, _ = _filter(condition)
    assert rows == AlwaysTrue()


def test_a_condition_finds_its_map() -> None:
    """Maps of another column or other types are other keys, and so are keys of another type."""
    assert isinstance(condition_of(_value("=", 5)), OnExpression)
    constant = {"type": "string", "value": _bytes("k")}
    for tree in (_tree("o"), _tree("l"), _tree("a"), _tree(kind="map<string,bigint>")):
        other = {"tree": [*tree, constant], "text": ""}
        assert _keys(_value("=", 5) | {"expr": other}) == AlwaysTrue()
    assert _keys(_value("=", 5) | _of_value(type="integer", value="5")) == AlwaysTrue()
    assert isinstance(condition_of(_value("=", 5) | _of_value(value=5)), Unknown)
    for path in ("a", "l", "o", "nothing"):
        with pytest.raises(UnknownColumnError):
            stored_tree(_tree(path), COLUMNS)


def test_entries_as_sql() -> None:
    """A filter on entries is printed as a condition that Spark understands."""
    document = {"op": "and", "args": [_value("=", 5), _value(">", 7, "it's"), _any_key("z")]}
    rows, found = _filter(document)
    printed = to_sql(rows, {}, expressions=found.by_text)
    assert printed == "m['k'] = 5 AND m['it\\'s'] >= 8 AND exists(map_keys(m), x -> x = 'z')"
    assert source_of_many("Entries( inner.m )") == ("entries", "inner.m")
    assert source_of_many("map_entries(m)") is None
    assert default_name(["entries(inner.m)"]) == "entries_inner.m"


def test_definitions_are_stored() -> None:
    """A definition is read as it was written; its tree, kind and fields must agree."""
    definition = _definition()
    assert (definition.keys, definition.types) == (("entries(m)",), ("map<string,int>",))
    assert [column.name for column in definition.columns] == ["map_keys(m)", "map_values(m)"]
    document = json.loads(json.dumps(definition.to_json()))
    assert document["kind"] == "sieve-entries"
    assert document["expression"]["tree"] == '["entries",{"field":4,"type":"map<string,int>"}]'
    assert [column["field_id"] for column in document["columns"]] == [
        1795859939529827089,
        2930826479005025195,
    ]
    assert IndexDefinition.from_json(document) == definition
    key, value = document["columns"]
    forged: list[Mapping[str, Any]] = [
        document | {"kind": "sieve-elements"},
        document | {"kind": "sieve"},
        document | {"columns": [key]},
        document | {"columns": [value, key]},
        document | {"columns": [key, value, value]},
        document | {"columns": [key, value | {"field_id": 1}]},
    ]
    for wrong in forged:
        with pytest.raises((ValueError, TypeError)):
            IndexDefinition.from_json(dict(wrong))
    with pytest.raises(UnsupportedError, match="a row may have many"):
        refuse_many_keys(definition, "min")


def _schema(*fields: tuple[str, Any, dict[str, Any]], **more: Any) -> str:
    written = [spark_field(name, kind) | {"metadata": metadata} for name, kind, metadata in fields]
    plain = {"schema": {"fields": written}, "partitioning": [], "case": "false"}
    return json.dumps(plain | {"times": "CORRECTED CORRECTED"} | more)


def _map(key: str = "string", value: str = "date", **more: Any) -> Column:
    return parquet_columns(_schema(("m", spark_map(key, value), {}), **more))["m",]


def test_maps_of_spark_schemas() -> None:
    """A map has the kind of its values, and whatever changes keys or values changes the map."""
    plain = _map()
    assert plain.field_id == 961578387958628287
    assert (plain.kind, plain.entries, plain.elements) == ("other", "date", "other")
    for other in (
        _map(times="LEGACY CORRECTED"),
        _map("integer"),
        _map("long", "string"),
        _map(case="true"),
    ):
        assert other.field_id != plain.field_id
    kinds = {
        "map of structs": spark_map("string", {"type": "struct", "fields": []}),
        "map of lists": spark_map("string", spark_array("integer")),
        "map of maps": spark_map("string", spark_map("string", "string")),
        "keys that are lists": spark_map(spark_array("integer"), "string"),
        "list": spark_array("string"),
        "plain": "integer",
    }
    for name, kind in kinds.items():
        column = parquet_columns(_schema((name, kind, {})))[name,]
        assert column.entries == "other", name
    mapping = {"features": [], "reader": 1, "mapping": "none"}
    texts = spark_map("string", "integer")
    char = {"__CHAR_VARCHAR_TYPE_STRING": "map<char(3),int>"}
    for document, entries in {
        _schema(("m", texts, {}), **mapping): "integer",
        _schema(("m", spark_map("decimal(38,2)", "decimal(5,2)"), {}), **mapping): "decimal",
        # blanks at the end, collations and defaults that depend on the reader
        _schema(("m", texts, char), **mapping): "other",
        _schema(("m", texts, {"__COLLATIONS": {"m.key": "x"}}), **mapping): "other",
        _schema(("m", texts, {"EXISTS_DEFAULT": "map('\\\\', 1)"}), **mapping): "other",
    }.items():
        assert delta_columns(document)["m",].entries == entries, document
    hudi = hudi_columns(_schema(("m", texts, {}), features=[], version=8))
    assert hudi["m",].entries == "other"


def test_maps_of_iceberg_schemas() -> None:
    """A map has the kind of its values, but not where files are read by names."""
    kinds = {
        ("string", "decimal(20, 2)"): "decimal",
        ("int", "fixed[4]"): "binary",
        ("time", "int"): "other",
        ("int", "time"): "other",
    }
    fields = []
    for at, (key, value) in enumerate(kinds, 1):
        parts = {"key-id": at + 50, "key": key, "value-id": at + 70, "value": value}
        kind = {"type": "map", "value-required": False} | parts
        fields.append({"id": at, "name": f"m{at}", "required": False, "type": kind})
    schema = {"type": "struct", "fields": fields}
    found = columns_of_schema(schema_document(schema, None, []))
    assert [column.entries for column in found.values()] == list(kinds.values())
    imported = columns_of_schema(schema_document(schema, "[]", []))
    assert {column.entries for column in imported.values()} == {"other"}
