"""Elements of lists as keys, without an engine: trees, definitions, conditions and filters."""

from __future__ import annotations

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
    all_of,
    any_of,
    bind,
    condition_of,
    rows_where,
    source_of_many,
    to_sql,
)
from lakesieve.predicate.expression import OnElements, Unknown
from lakesieve.tables import Column
from lakesieve.tables.iceberg.schema import columns_of_schema, schema_document
from lakesieve.tables.struct_schema import (
    delta_columns,
    hudi_columns,
    parquet_columns,
    spark_array,
    spark_field,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS: dict[tuple[str, ...], Column] = {
    ("a",): Column(path=("a",), field_id=1, type="int", kind="integer"),
    ("l",): Column(path=("l",), field_id=4, type="list", kind="other", elements="integer"),
    ("m",): Column(path=("m",), field_id=5, type="list", kind="other"),
}
VALUE = {"type": "int", "kind": "integer", "scale": 0}


def _tree(path: str = "l", kind: str = "array<int>") -> list[Any]:
    return ["elements", {"col": [path], "type": kind}]


def _definition() -> IndexDefinition:
    stored, sources = stored_tree(_tree(), COLUMNS)
    (column,) = key_expression("elements(l)", stored, sources, [VALUE])
    key = KeyColumn(field_id=column.field_id, name="elements(l)", type="int", key_kind="integer")
    return IndexDefinition(
        name="n",
        index_uuid="i",
        table_format="iceberg",
        table_uuid="t",
        table_location="/t",
        columns=(key,),
        created_at="",
        expression=column.expression,
    )


def _equal(value: int) -> dict[str, Any]:
    return {"op": "=", "col": ["value"], "type": "integer", "value": str(value)}


def _any(arg: Any, tree: list[Any] | None = None) -> dict[str, Any]:
    return {"op": "any", "expr": {"tree": tree or _tree(), "text": "the condition"}, "arg": arg}


class _Opened:
    """An opened index of one definition."""

    def __init__(self) -> None:
        self.definition = _definition()


OPENED: Any = _Opened()
USABLE = [UsableIndex(index=OPENED, columns=OPENED.definition.columns)]
FIELD = OPENED.definition.columns[0].field_id


def _rows(document: dict[str, Any]) -> RowFilter:
    condition = condition_of(document)
    found = Expressions.of(condition, USABLE, COLUMNS)
    return rows_where(bind(condition, {}, strict=False, expressions=found.types))


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
        _any(_equal(5), ["elementsx", {}]),
        # a condition on the value of an expression, with the tree of elements
        {"op": "=", "expr": {"tree": _tree(), "text": ""}, "type": "integer", "value": "5"},
        {"op": "any", "expr": {"tree": _tree()}, "arg": _equal(5)},
        {"op": "any", "arg": _equal(5)},
    ],
)
def test_odd_conditions_are_unknown(condition: Any) -> None:
    """A condition on elements that is not understood matches every row."""
    assert isinstance(condition_of(condition), Unknown)


def test_a_condition_finds_its_list() -> None:
    """Lists of another column or another type of elements are other keys."""
    assert isinstance(condition_of(_any(_equal(5))), OnElements)
    for tree in (_tree("m"), _tree("a"), _tree(kind="array<bigint>"), _tree("nothing")):
        assert _rows(_any(_equal(5), tree)) == AlwaysTrue()
    for path in ("a", "m", "nothing"):
        with pytest.raises(UnknownColumnError):
            stored_tree(_tree(path), COLUMNS)


def test_elements_as_sql() -> None:
    """A filter on elements is printed as a condition that Spark understands."""
    types = Expressions.of(condition_of(_any(_equal(5))), USABLE, COLUMNS).by_text
    rows = _rows({"op": "and", "args": [_any(_equal(5)), _any(_equal(7))]})
    printed = to_sql(rows, {}, expressions=types)
    assert printed == "exists(l, x -> x = 5) AND exists(l, x -> x = 7)"
    odd = {"ELEMENTS( `a(b` )": types["elements(l)"]}
    assert to_sql(_points(5), {}, expressions=odd) == "exists(`a(b`, x -> x = 5)"
    assert source_of_many("lower(elements)") is None
    assert default_name(["elements(inner.tags)"]) == "elements_inner.tags"


def test_definitions_are_stored() -> None:
    """A definition is read as it was written; its tree and its kind must agree."""
    definition = _definition()
    document = json.loads(json.dumps(definition.to_json()))
    assert document["kind"] == "sieve-elements"
    assert document["expression"]["tree"] == '["elements",{"field":4,"type":"array<int>"}]'
    assert IndexDefinition.from_json(document) == definition
    forged: list[Mapping[str, Any]] = [
        document | {"kind": "sieve-expression"},
        document | {"kind": "sieve"},
        document | {"expression": None},
        document | {"expression": document["expression"] | {"tree": '["other",1]'}},
        document | {"columns": [document["columns"][0] | {"field_id": 1}]},
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


def _list(**more: Any) -> Column:
    return parquet_columns(_schema(("l", spark_array("date"), {}), **more))["l",]


def test_lists_of_spark_schemas() -> None:
    """A list has the kind of its elements, and whatever changes their values changes the list."""
    plain = _list()
    assert (plain.kind, plain.elements, plain.type) == ("other", "date", "array")
    assert _list(times="LEGACY CORRECTED").field_id != plain.field_id
    assert _list(case="true").field_id != plain.field_id
    kinds = {
        "array of structs": spark_array({"type": "struct", "fields": []}),
        "array of arrays": spark_array(spark_array("integer")),
        "map": {"type": "map", "keyType": "string", "valueType": "string"},
        "plain": "integer",
    }
    for name, kind in kinds.items():
        column = parquet_columns(_schema((name, kind, {})))[name,]
        assert column.elements == "other", name
    mapping = {"features": [], "reader": 1, "mapping": "none"}
    strings = spark_array("string")
    char = {"__CHAR_VARCHAR_TYPE_STRING": "array<char(3)>"}
    for document, elements in {
        _schema(("l", strings, {}), **mapping): "string",
        _schema(("l", spark_array("decimal(38,2)"), {}), **mapping): "decimal",
        # blanks at the end, collations and defaults that depend on the reader
        _schema(("l", strings, char), **mapping): "other",
        _schema(("l", strings, {"__COLLATIONS": {"l.element": "x"}}), **mapping): "other",
        _schema(("l", strings, {"EXISTS_DEFAULT": "array('\\\\')"}), **mapping): "other",
    }.items():
        assert delta_columns(document)["l",].elements == elements, document
    hudi = hudi_columns(_schema(("l", strings, {}), features=[], version=8))
    assert hudi["l",].elements == "other"


def test_lists_of_iceberg_schemas() -> None:
    """A list has the kind of its elements, but not where files are read by names."""
    kinds = {"string": "string", "decimal(20, 2)": "decimal", "fixed[4]": "binary", "time": "other"}
    fields = [
        {
            "id": at,
            "name": kind,
            "required": False,
            "type": {"type": "list", "element-id": at + 50, "element": kind},
        }
        for at, kind in enumerate(kinds, 1)
    ]
    schema = {"type": "struct", "fields": fields}
    found = columns_of_schema(schema_document(schema, None, []))
    assert {path[0]: column.elements for path, column in found.items()} == kinds
    assert {column.kind for column in found.values()} == {"other"}
    imported = columns_of_schema(schema_document(schema, "[]", []))
    assert {column.elements for column in imported.values()} == {"other"}
