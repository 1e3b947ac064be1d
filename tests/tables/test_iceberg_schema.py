"""Iceberg's schemas as columns with key kinds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lakesieve.tables.iceberg_schema import columns_of_schema

if TYPE_CHECKING:
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
    """Every type has its key kind, and a type that is not known has none."""
    column = _columns(("c", written))["c",]

    assert (column.kind, column.type, column.field_id) == (kind, written, 1)


def test_decimals_of_any_length() -> None:
    """A decimal column tells its digits."""
    found = _columns(("m", "decimal(9,2)"), ("w", "decimal(38, 10)"))

    assert [(c.kind, c.precision, c.scale) for c in found.values()] == [
        ("decimal", 9, 2),
        ("decimal", 38, 10),
    ]


def test_structs_are_entered_and_lists_and_maps_are_not() -> None:
    """Fields of structs are columns; what lies in lists and maps is not."""
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
