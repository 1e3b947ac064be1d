"""Iceberg's schemas as columns with key kinds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lakesieve.errors import UnsupportedError
from lakesieve.tables.iceberg.schema import columns_of_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.tables.contract import Column


def _columns(*fields: tuple[str, object]) -> dict[tuple[str, ...], Column]:
    listed = [
        {"id": at, "name": name, "type": kind, "required": False}
        for at, (name, kind) in enumerate(fields, 1)
    ]
    return columns_of_schema(json.dumps({"type": "struct", "fields": listed}))


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("boolean", "boolean"),
        ("int", "integer"),
        ("long", "integer"),
        ("float", "float"),
        ("double", "float"),
        ("date", "date"),
        ("timestamp", "timestamp_ntz"),
        ("timestamptz", "timestamp"),
        ("timestamp_ns", "timestamp_ntz_ns"),
        ("timestamptz_ns", "timestamp_ns"),
        ("string", "string"),
        ("uuid", "string"),
        ("binary", "binary"),
        ("fixed[16]", "binary"),
        ("time", "other"),
        ("variant", "other"),
        ("unknown", "other"),
        ("geometry(OGC:CRS84)", "other"),
        ("something of tomorrow", "other"),
    ],
)
def test_kinds(written: str, kind: str) -> None:
    """Every type has its key kind, and an unknown type has none."""
    column = _columns(("c", written))["c",]

    assert (column.kind, column.type, column.field_id) == (kind, written, 1)


def test_decimals_of_any_length() -> None:
    """A decimal column has its digits."""
    found = _columns(("m", "decimal(9,2)"), ("w", "decimal(38, 10)"))

    assert [(c.kind, c.precision, c.scale) for c in found.values()] == [
        ("decimal", 9, 2),
        ("decimal", 38, 10),
    ]


def test_structs_are_entered_and_lists_and_maps_are_not() -> None:
    """Fields of structs are columns; fields inside lists and maps are not."""
    inner = [{"id": 9, "name": "k", "type": "double", "required": False}]
    struct = {"type": "struct", "fields": inner}
    found = _columns(
        ("st", struct),
        ("a", {"type": "list", "element-id": 7, "element": struct, "element-required": False}),
        ("m", {"type": "map", "key-id": 5, "key": "int", "value-id": 6, "value": struct}),
    )

    assert {".".join(path): (c.type, c.kind) for path, c in found.items()} == {
        "st": ("struct", "other"),
        "st.k": ("double", "float"),
        "a": ("list", "other"),
        "m": ("map", "other"),
    }


def _mapped(mapping: object, partitioning: Sequence[int] = ()) -> dict[tuple[str, ...], Column]:
    inner = {"type": "struct", "fields": [{"id": 3, "name": "x", "type": "long"}]}
    fields = [
        {"id": 1, "name": "p", "type": "int"},
        {"id": 2, "name": "r", "type": "long"},
        {"id": 4, "name": "s", "type": inner},
    ]
    text = mapping if isinstance(mapping, str) else json.dumps(mapping)
    more = {"name-mapping": text, "partitioning": list(partitioning)}
    return columns_of_schema(json.dumps({"type": "struct", "fields": fields} | more))


def _named(at: int | None, *names: str, fields: Sequence[object] = ()) -> dict[str, object]:
    return {"field-id": at, "names": list(names), "fields": list(fields)}


def test_the_names_of_files_without_ids_are_part_of_the_identity() -> None:
    """Another mapped name, for a field or its parents, changes the field's identity."""
    before = _mapped([_named(2, "r", "a"), _named(4, "s", fields=[_named(3, "x")])])
    ordered = _mapped([_named(4, "s", fields=[_named(3, "x")]), _named(2, "a", "r")])
    after = _mapped([_named(2, "r"), _named(4, "s", "t", fields=[_named(3, "x")])])
    plain = columns_of_schema(json.dumps({"fields": [{"id": 2, "name": "r", "type": "long"}]}))

    assert ordered == before
    # docs/spec/format-v1.md has this number
    assert before["r",].field_id == 3285803224396163765
    assert after["r",].field_id not in (before["r",].field_id, plain["r",].field_id)
    assert after["s", "x"].field_id != before["s", "x"].field_id
    assert after["p",].field_id == before["p",].field_id != 1


def test_partition_columns_of_tables_with_imported_files_are_no_keys() -> None:
    """Partition columns of tables with imported files cannot be keys."""
    columns = _mapped([_named(1, "p")], partitioning=[1])

    assert (columns["p",].kind, columns["r",].kind) == ("other", "integer")
    assert "partition" in columns["p",].refusal


@pytest.mark.parametrize("mapping", ["no JSON", "5", "[5]", [_named(1, "p", fields=[5])]])
def test_a_name_mapping_that_makes_no_sense_is_refused(mapping: object) -> None:
    """A table whose name mapping is damaged is read without an index."""
    with pytest.raises(UnsupportedError, match="name mapping"):
        _mapped(mapping)
