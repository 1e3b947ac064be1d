"""Iceberg's schema JSON as the columns that lakesieve knows; no engine needed."""

from __future__ import annotations

import json
import re
from typing import Any

from lakesieve.tables.contract import Column

__all__ = ["columns_of_schema"]

_KINDS = {
    "int": "integer",
    "long": "integer",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "string": "string",
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_DEEPEST_SCHEMA = 64


def columns_of_schema(schema_json: str) -> dict[tuple[str, ...], Column]:
    """List the leaf columns of a schema that are not inside a list or a map.

    Args:
        schema_json: A schema as Iceberg's ``SchemaParser`` writes it.
    """
    found: dict[tuple[str, ...], Column] = {}
    _walk(json.loads(schema_json)["fields"], (), found)
    return found


def _walk(
    fields: list[dict[str, Any]],
    parent: tuple[str, ...],
    found: dict[tuple[str, ...], Column],
) -> None:
    if len(parent) >= _DEEPEST_SCHEMA:
        return
    for field in fields:
        path = (*parent, field["name"])
        kind = field["type"]
        if isinstance(kind, dict):
            if kind["type"] == "struct":
                _walk(kind["fields"], path, found)
                continue
            found[path] = Column(path=path, field_id=field["id"], type=kind["type"], kind="other")
            continue
        decimal = _DECIMAL.fullmatch(kind)
        if decimal:
            narrow = int(decimal.group(1)) <= 18
            found[path] = Column(
                path=path,
                field_id=field["id"],
                type=kind,
                kind="decimal" if narrow else "other",
                scale=int(decimal.group(2)),
            )
        else:
            found[path] = Column(
                path=path, field_id=field["id"], type=kind, kind=_KINDS.get(kind, "other")
            )
