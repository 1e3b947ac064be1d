"""Spark's schema JSON as columns: identities of columns without field ids."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakesieve.errors import UnsupportedError
from lakesieve.tables.struct_schema import delta_columns, hudi_columns, parquet_columns


def _field(name: str, kind: Any, **metadata: object) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def _document(*fields: dict[str, Any], **more: object) -> str:
    defaults = {"case": "false", "times": "CORRECTED CORRECTED", "partitioning": []}
    return json.dumps(defaults | more | {"schema": {"type": "struct", "fields": list(fields)}})


def _delta(*fields: dict[str, Any], **more: object) -> str:
    return _document(*fields, **({"reader": 2, "features": [], "mapping": "name"} | more))


def _renamed(name: str, kind: Any, stored: str) -> dict[str, Any]:
    return _field(name, kind, **{"delta.columnMapping.physicalName": stored})


def test_a_mapped_column_is_known_by_its_stored_name() -> None:
    """A rename keeps the identity; another stored name is another column."""
    old = delta_columns(_delta(_field("k", "long"), mapping="none"))["k",]
    renamed = delta_columns(_delta(_renamed("key", "long", "k")))["key",]
    added_again = delta_columns(_delta(_renamed("k", "long", "col-1")))["k",]

    assert renamed.field_id == old.field_id
    assert added_again.field_id != old.field_id


def test_fields_of_structs_are_known_by_their_whole_path() -> None:
    """Fields with one name in two structs are two columns; lists and maps are not entered."""
    struct = {"type": "struct", "fields": [_field("x", "decimal(10,3)")]}
    many = {"type": "array", "elementType": struct, "containsNull": True}
    columns = parquet_columns(
        _document(_field("a", struct), _field("b", struct), _field("c", many), _field("x", "date"))
    )

    assert set(columns) == {("a",), ("a", "x"), ("b",), ("b", "x"), ("c",), ("x",)}
    assert len({column.field_id for column in columns.values()}) == 6
    assert (columns["a", "x"].kind, columns["a", "x"].scale) == ("decimal", 3)
    assert [columns[p,].kind for p in ("a", "c", "x")] == ["other", "other", "date"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"case": "true"}, {"case": "false"}),
        ({"times": "LEGACY LEGACY"}, {}),
        ({"partitioning": ["t"]}, {}),
        ({"default": "DATE '2026-01-01'"}, {}),
        ({"default": "DATE '2026-01-01'"}, {"default": "DATE '2026-01-02'"}),
        ({"type": "integer"}, {"type": "long"}),
    ],
    ids=["case", "rebase", "folder", "default", "other default", "unsigned"],
)
def test_what_changes_the_values_read_changes_the_identity(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """An index that was made with other read settings is not used."""
    ids = set()
    for item in (before, after):
        default = {"EXISTS_DEFAULT": item["default"]} if "default" in item else {}
        field = _field("t", item.get("type", "date"), **default)
        ids.add(parquet_columns(_document(field, **item))["t",].field_id)

    assert len(ids) == 2


@pytest.mark.parametrize(
    "text", ["NULL", "null", "CAST(NULL AS INT)", "CAST(NULL AS DECIMAL(9,2))"]
)
def test_a_default_of_null_is_none(text: str) -> None:
    """Files older than a column hold nulls in it, whether the schema says so or not."""
    plain, given = _field("t", "long"), _field("t", "long", EXISTS_DEFAULT=text)

    assert parquet_columns(_document(plain)) == parquet_columns(_document(given))


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("timestamp", "TIMESTAMP '2020-01-01 00:00:00'", "other"),
        ("timestamp", "NULL", "timestamp"),
        ("timestamp_ntz", "TIMESTAMP_NTZ '2020-01-01 00:00:00'", "timestamp_ntz"),
        ("string", r"'x\\y'", "other"),
        ("string", "'xy'", "string"),
    ],
)
def test_a_default_that_sessions_read_differently_is_no_key(
    kind: str, text: str, found: str
) -> None:
    """A default that depends on the session, such as a time without zone, prevents an index."""
    struct = {"type": "struct", "fields": [_field("x", kind)]}
    char = {"__CHAR_VARCHAR_TYPE_STRING": "struct<x:char(3)>"} if kind == "timestamp" else {}
    column, outer = (
        _field("t", kind, EXISTS_DEFAULT=text),
        _field("s", struct, EXISTS_DEFAULT=text, **char),
    )
    columns = parquet_columns(_document(column, outer))

    assert (columns["t",].kind, columns["s", "x"].kind) == (found, found)
    assert ("default" in columns["t",].refusal) == (found == "other")


def test_a_default_of_a_struct_is_one_of_its_fields() -> None:
    """Files older than a struct hold its default, and therefore that of each field."""
    struct = {"type": "struct", "fields": [_field("x", "long")]}
    plain = parquet_columns(_document(_field("s", struct)))
    filled = parquet_columns(_document(_field("s", struct, EXISTS_DEFAULT="named_struct('x', 5)")))

    assert plain["s", "x"].field_id != filled["s", "x"].field_id


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("char(5)", ["other"]),
        ("CHAR ( 5 )", ["other"]),
        ("varchar(5)", ["string"]),
        ("struct<char:string,v:varchar(3)>", ["string"]),
        ("struct<v:varchar(3),c:char(3)>", ["other"]),
    ],
)
def test_char_is_no_key_and_varchar_is(text: str, kinds: list[str]) -> None:
    """Readers disagree about blanks at the end of CHAR values, but not of VARCHAR values."""
    outer = _field("s", "string", __CHAR_VARCHAR_TYPE_STRING=text)
    if text.startswith("struct"):
        fields = [_field("c", "string"), _field("n", "long")]
        outer["type"] = {"type": "struct", "fields": fields}
    columns = parquet_columns(_document(outer)).values()

    assert [c.kind for c in columns if c.type == "string"] == kinds
    assert all(("CHAR" in c.refusal) == (c.kind == "other") for c in columns if c.type == "string")
    assert [c.kind for c in columns if c.type == "long"] == ["integer"] * text.startswith("struct")


def test_the_identity_of_the_specification() -> None:
    """The examples in docs/spec/format-v1.md match the computed numbers."""
    times = _document(_field("Day", "date"), _field("n", "long", EXISTS_DEFAULT="5"))
    found = {path: column.field_id for path, column in parquet_columns(times).items()}

    assert found == {("Day",): 640511566727861088, ("n",): 8334954212745353094}


def test_names_that_differ_in_case_alone_are_left_out() -> None:
    """Columns that differ only in case are left out, because some readers ignore case."""
    fields = (_field("k", "long"), _field("K", "long"), _field("v", "long"))

    assert set(parquet_columns(_document(*fields))) == {("v",)}
    assert len(parquet_columns(_document(*fields, case="true"))) == 3


def test_times_in_folders_and_collated_strings_are_no_keys() -> None:
    """Times in folders depend on the session, and collated strings do not sort by bytes."""
    collated = _field("s", "string", __COLLATIONS={"s": "spark.UTF8_LCASE"})
    columns = parquet_columns(
        _document(_field("t", "timestamp"), collated, _field("u", "timestamp"), partitioning=["t"])
    )

    assert [columns[p,].kind for p in ("t", "s", "u")] == ["other", "other", "timestamp"]


def _hudi(*fields: dict[str, Any], **more: object) -> str:
    return _document(*fields, **({"version": 9, "features": []} | more))


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("integer", "long", True),
        ("float", "double", False),
        ("integer", "string", False),
        ("decimal(10,2)", "decimal(12,2)", False),
    ],
    ids=["larger", "float", "text", "decimal"],
)
def test_a_promoted_column_of_hudi_is_another_one(before: str, after: str, is_same: bool) -> None:
    """A promoted column of Hudi is a new column, except for larger integers."""
    ids = {hudi_columns(_hudi(_field("c", kind)))["c",].field_id for kind in (before, after)}

    assert len(ids) == (1 if is_same else 2)


@pytest.mark.parametrize(
    "document",
    [{"version": 10}, {"features": ["schema evolution on read"]}],
    ids=["newer", "evolved"],
)
def test_unknown_hudi_tables_are_refused(document: dict[str, Any]) -> None:
    """An unknown table version or way of reading is refused by name."""
    with pytest.raises(UnsupportedError, match=r"version 10|evolution on read"):
        hudi_columns(_hudi(_field("c", "long"), **document))
