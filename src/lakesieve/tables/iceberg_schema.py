"""Iceberg's schema JSON as the columns that lakesieve knows; no engine needed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from lakesieve.tables.contract import Column

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["columns_of_schema", "fields_of_type"]

_KINDS = {
    "boolean": "boolean",
    "int": "integer",
    "long": "integer",
    "float": "float",
    "double": "float",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "timestamp_ns": "timestamp_ntz_ns",
    "timestamptz_ns": "timestamp_ns",
    "string": "string",
    # engines read UUIDs as text
    "uuid": "string",
    "binary": "binary",
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*\d+\s*\]")
_DEEPEST_SCHEMA = 64


def columns_of_schema(schema_json: str) -> dict[tuple[str, ...], Column]:
    """List the columns of a schema and the fields of its structs, but nothing in lists and maps.

    Args:
        schema_json: A schema as Iceberg's ``SchemaParser`` writes it.
    """
    found: dict[tuple[str, ...], Column] = {}
    _walk(json.loads(schema_json)["fields"], (), found)
    return found


def fields_of_type(schema_json: str, found: Collection[str]) -> list[str]:
    """Name the fields of some types, also those inside lists and maps.

    Args:
        schema_json: A schema as Iceberg's ``SchemaParser`` writes it.
        found: The types, as they are written there, without their parameters.
    """
    names: list[str] = []
    _name_fields(json.loads(schema_json), "", frozenset(found), names, 0)
    return names


def _name_fields(node: Any, path: str, found: frozenset[str], names: list[str], depth: int) -> None:
    if depth > _DEEPEST_SCHEMA:
        return
    if not isinstance(node, dict):
        if str(node).partition("(")[0] in found:
            names.append(path)
        return
    for field in node.get("fields", ()):
        inner = f"{path}.{field['name']}" if path else field["name"]
        _name_fields(field["type"], inner, found, names, depth + 1)
    for part in ("element", "key", "value"):
        if part in node:
            _name_fields(node[part], f"{path}.{part}", found, names, depth + 1)


def _walk(
    fields: list[dict[str, Any]],
    parent: tuple[str, ...],
    found: dict[tuple[str, ...], Column],
) -> None:
    if len(parent) >= _DEEPEST_SCHEMA:
        return
    for field in fields:
        path, written = (*parent, field["name"]), field["type"]
        name = written["type"] if isinstance(written, dict) else written
        decimal = _DECIMAL.fullmatch(name)
        if decimal:
            precision, scale = map(int, decimal.groups())
            found[path] = Column(
                path=path,
                field_id=field["id"],
                type=name,
                kind="decimal",
                scale=scale,
                precision=precision,
            )
        else:
            kind = "binary" if _FIXED.fullmatch(name) else _KINDS.get(name, "other")
            found[path] = Column(path=path, field_id=field["id"], type=name, kind=kind)
        if isinstance(written, dict) and name == "struct":
            _walk(written["fields"], path, found)
