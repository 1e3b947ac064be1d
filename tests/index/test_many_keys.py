"""Keys of which a row has many: what definitions and schemas of all kinds have in common."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.index.many_keys import COLUMNS, SOURCES, TYPES, definition_of, tree_of

from lakesieve.errors import UnsupportedError
from lakesieve.format import IndexDefinition, KeyColumn
from lakesieve.index.definition import default_name
from lakesieve.index.expressions import UnknownColumnError, refuse_many_keys, stored_tree
from lakesieve.index.scan_decision import usable_indexes
from lakesieve.predicate import source_of_many
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

    from lakesieve.tables import Column


@pytest.mark.parametrize("kind", TYPES)
def test_definitions_are_stored(kind: str) -> None:
    """A definition is read as it was written; its tree, kind and fields must agree."""
    definition = definition_of(kind)
    document = json.loads(json.dumps(definition.to_json()))
    assert document["kind"] == f"sieve-{kind}"
    field = COLUMNS[SOURCES[kind],].field_id
    tree = f'["{kind}",{{"field":{field},"type":"{TYPES[kind]}"}}]'
    assert document["expression"]["tree"] == tree
    assert definition.key_names == (f"{kind}({SOURCES[kind]})",)
    assert IndexDefinition.from_json(document) == definition
    first, *others = document["columns"]
    forged: list[Mapping[str, Any]] = [
        *(
            document | {"kind": f"sieve-{other}"}
            for other in (*TYPES, "expression")
            if other != kind
        ),
        document | {"kind": "sieve"},
        document | {"expression": None},
        document | {"expression": document["expression"] | {"tree": '["other",1]'}},
        document | {"columns": [first | {"field_id": 1}, *others]},
        document | {"columns": [*document["columns"], first]},
    ]
    for wrong in forged:
        with pytest.raises((ValueError, TypeError)):
            IndexDefinition.from_json(dict(wrong))
    with pytest.raises(UnsupportedError, match="a row may have many"):
        refuse_many_keys(definition, "min")


@pytest.mark.parametrize("kind", TYPES)
def test_keys_of_other_columns(kind: str) -> None:
    """Columns without such parts, and parts without key codes, are no keys."""
    for (path,) in COLUMNS:
        if path != SOURCES[kind]:
            with pytest.raises(UnknownColumnError):
                stored_tree(tree_of(kind, path), COLUMNS)
    with pytest.raises(UnknownColumnError):
        stored_tree(tree_of(kind, "nothing"), COLUMNS)


def test_texts_of_keys() -> None:
    """A key is read as the name of its kind in any case, with a column or field in it."""
    for kind in TYPES:
        assert source_of_many(f"{kind.title()}( inner.x )") == (kind, "inner.x")
        assert default_name([f"{kind}(inner.x)"]) == f"{kind}_inner.x"
    for other in ("lower(elements)", "map_entries(m)", "words"):
        assert source_of_many(other) is None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """Columns of Spark and Iceberg with parts that are keys.

    Args:
        name: The field of a column that has the kind of its parts.
        kinds: Types of Spark, with the kinds of their parts.
        others: Types of Spark that have no such parts.
        changed: Types of Spark whose columns are other columns than one of dates.
        char: The type of a column with texts of a fixed length.
        place: The place of a text in a column, as Delta names it.
        default: A default value that is no literal.
        iceberg: Types of Iceberg, with the kinds of their parts.
    """

    name: str
    kinds: Mapping[str, tuple[Any, str]]
    others: Mapping[str, Any]
    changed: tuple[Any, ...] = ()
    char: str
    place: str
    default: str
    iceberg: tuple[tuple[dict[str, Any], str], ...]


_STRUCT: dict[str, Any] = {"type": "struct", "fields": []}


_ids = itertools.count(50)


def _iceberg_list(element: str) -> dict[str, Any]:
    return {"type": "list", "element-id": next(_ids), "element": element}


def _iceberg_map(key: str, value: str) -> dict[str, Any]:
    ids = {"key-id": next(_ids), "value-id": next(_ids)}
    return {"type": "map", "value-required": False, "key": key, "value": value} | ids


_ELEMENTS = _Parts(
    name="elements",
    kinds={
        "dates": (spark_array("date"), "date"),
        "texts": (spark_array("string"), "string"),
        "decimals": (spark_array("decimal(38,2)"), "decimal"),
    },
    others={
        "list of structs": spark_array(_STRUCT),
        "list of lists": spark_array(spark_array("integer")),
        "map": spark_map("string", "string"),
        "plain": "integer",
    },
    char="array<char(3)>",
    place="element",
    default="array('\\\\')",
    iceberg=(
        (_iceberg_list("string"), "string"),
        (_iceberg_list("decimal(20, 2)"), "decimal"),
        (_iceberg_list("fixed[4]"), "binary"),
        (_iceberg_list("time"), "other"),
    ),
)
_ENTRIES = _Parts(
    name="entries",
    kinds={
        "dates": (spark_map("string", "date"), "date"),
        "texts": (spark_map("string", "integer"), "integer"),
        "keys of another type": (spark_map("integer", "date"), "date"),
        "decimals": (spark_map("decimal(38,2)", "decimal(5,2)"), "decimal"),
    },
    others={
        "map of structs": spark_map("string", _STRUCT),
        "map of lists": spark_map("string", spark_array("integer")),
        "map of maps": spark_map("string", spark_map("string", "string")),
        "keys that are lists": spark_map(spark_array("integer"), "string"),
        "list": spark_array("string"),
        "plain": "integer",
    },
    changed=(spark_map("integer", "date"), spark_map("long", "string")),
    char="map<char(3),int>",
    place="key",
    default="map('\\\\', 1)",
    iceberg=(
        (_iceberg_map("string", "decimal(20, 2)"), "decimal"),
        (_iceberg_map("int", "fixed[4]"), "binary"),
        (_iceberg_map("time", "int"), "other"),
        (_iceberg_map("int", "time"), "other"),
    ),
)
_BOTH = pytest.mark.parametrize("parts", [_ELEMENTS, _ENTRIES], ids=lambda parts: parts.name)


def _schema(
    kind: Any, metadata: dict[str, Any] | None = None, *, name: str = "c", **more: Any
) -> str:
    written = [spark_field(name, kind) | {"metadata": metadata or {}}]
    plain = {"schema": {"fields": written}, "partitioning": [], "case": "false"}
    return json.dumps(plain | {"times": "CORRECTED CORRECTED"} | more)


def _column(kind: Any, **more: Any) -> Column:
    return parquet_columns(_schema(kind, **more))["c",]


@_BOTH
def test_parts_of_spark_columns(parts: _Parts) -> None:
    """A list or map has the kind of its parts, and whatever changes their values changes it."""
    dates, _ = parts.kinds["dates"]
    plain = _column(dates)
    assert plain.kind == "other"
    changed = (
        *(_column(other) for other in parts.changed),
        _column(dates, times="LEGACY CORRECTED"),
        _column(dates, case="true"),
    )
    assert plain.field_id not in {column.field_id for column in changed}
    for spark_type, kind in parts.kinds.values():
        assert getattr(_column(spark_type), parts.name) == kind
    for name, spark_type in parts.others.items():
        assert getattr(_column(spark_type), parts.name) == "other", name


@_BOTH
def test_parts_of_delta_and_hudi_columns(parts: _Parts) -> None:
    """Blanks at the end, collations and defaults that depend on the reader are no parts of keys."""
    texts, _ = parts.kinds["texts"]
    mapping: dict[str, Any] = {"features": [], "reader": 1, "mapping": "none"}
    for spark_type, kind in parts.kinds.values():
        column = delta_columns(_schema(spark_type, **mapping))["c",]
        assert getattr(column, parts.name) == kind
    for metadata in (
        {"__CHAR_VARCHAR_TYPE_STRING": parts.char},
        {"__COLLATIONS": {f"c.{parts.place}": "x"}},
        {"EXISTS_DEFAULT": parts.default},
    ):
        column = delta_columns(_schema(texts, metadata, **mapping))["c",]
        assert getattr(column, parts.name) == "other", metadata
    hudi = hudi_columns(_schema(texts, features=[], version=8))["c",]
    assert getattr(hudi, parts.name) == "other"


@_BOTH
def test_parts_of_iceberg_columns(parts: _Parts) -> None:
    """A list or map has the kind of its parts, but not where files are read by names."""
    fields = [
        {"id": at, "name": f"c{at}", "required": False, "type": iceberg_type}
        for at, (iceberg_type, _) in enumerate(parts.iceberg)
    ]
    schema = {"type": "struct", "fields": fields}
    columns = columns_of_schema(schema_document(schema, None, []))
    assert {column.kind for column in columns.values()} == {"other"}
    assert [getattr(column, parts.name) for column in columns.values()] == [
        kind for _, kind in parts.iceberg
    ]
    imported = columns_of_schema(schema_document(schema, "[]", []))
    assert {getattr(column, parts.name) for column in imported.values()} == {"other"}


def test_identities_of_maps() -> None:
    """The identity of a map in a folder of Parquet files never changes: indexes have it."""
    plain = parquet_columns(_schema(spark_map("string", "date"), name="m"))["m",]
    assert (plain.field_id, plain.elements) == (961578387958628287, "other")


def _together(*kinds: str) -> IndexDefinition:
    """Return the definition of an index on a column and on keys of some kinds."""
    single = [definition_of(kind) for kind in kinds]
    own = KeyColumn(field_id=1, name="a", type="int", key_kind="integer")
    return replace(
        single[0],
        columns=(own, *(column for one in single for column in one.columns)),
        expressions=tuple(expression for one in single for expression in one.expressions),
    )


def test_definitions_of_several_keys() -> None:
    """Several keys with an expression are a kind of their own; their fields must agree."""
    for kind, names in (("elements", ["a", "elements(l)"]), ("entries", ["a", "entries(m)"])):
        definition = _together(kind)
        document = json.loads(json.dumps(definition.to_json()))
        assert document["kind"] == "sieve-keys"
        assert IndexDefinition.from_json(document) == definition
        assert list(definition.key_names) == names
        assert definition.types == ("int", definition_of(kind).types[0])
        many = definition.key_of_many
        assert many is not None
        assert many.name == names[1]
        expressions = document["expressions"]
        forged: list[Mapping[str, Any]] = [
            document | {"kind": f"sieve-{kind}"},
            document | {"kind": "sieve"},
            document | {"expressions": []},
            document | {"expressions": expressions * 2},
            document | {"expressions": None},
            document | {"columns": document["columns"][:1]},
            document | {"columns": document["columns"][1:]},
            document | {"expression": expressions[0]},
        ]
        for wrong in forged:
            with pytest.raises((ValueError, TypeError, KeyError)):
                IndexDefinition.from_json(dict(wrong))
    two = json.loads(json.dumps(_together("elements", "entries").to_json()))
    with pytest.raises(ValueError, match="many of more than one key"):
        IndexDefinition.from_json(two)


def test_a_list_that_is_not_read() -> None:
    """Without its list, an index is not used for its other columns: some rows have no key."""
    opened: Any = SimpleNamespace(definition=_together("elements"))
    columns = {1: ("integer", 0)}
    used, _ = usable_indexes([opened], columns, "t", types_by_id={1: "int", 5: "list"})
    assert [one.columns for one in used] == [opened.definition.columns]
    for types in ({1: "int"}, {1: "int", 5: "map"}):
        assert usable_indexes([opened], columns, "t", types_by_id=types)[0] == []
    # without its first column, nothing is left
    assert usable_indexes([opened], {}, "t", types_by_id={5: "list"})[0] == []
