"""Spark's own schema JSON, as Delta and Parquet tables have it, as the columns lakesieve knows."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.tables.contract import Column

__all__ = ["DELTA_FEATURES", "SPARK_KINDS", "delta_columns", "hudi_columns", "parquet_columns"]

DELTA_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    }
)
"""Reader features of Delta that change nothing in what an index says of a data file."""

_NEWEST_READER = 3
_NEWEST_HUDI = 9
SPARK_KINDS = {
    "boolean": "boolean",
    "byte": "integer",
    "short": "integer",
    "integer": "integer",
    "long": "integer",
    "float": "float",
    "double": "float",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "string": "string",
    "binary": "binary",
}
"""Key kinds of Spark's types by their names; decimals are told by theirs."""

# a schema given by hand may make larger numbers into such ones by cutting bits off
_NARROW = frozenset({"byte", "short"})
_TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_PHYSICAL = "delta.columnMapping.physicalName"
_COLLATIONS = "__COLLATIONS"
_DEEPEST_SCHEMA = 64


def delta_columns(document: str) -> dict[tuple[str, ...], Column]:
    """List the columns of a Delta snapshot and the fields of its structs.

    A column is known by its name in the data files, which is never given to another column: with
    column mapping that is the physical name, without it the name itself.

    Args:
        document: A schema as ``DeltaFiles.java`` writes it.

    Raises:
        UnsupportedError: The table was written with a feature that is not known here.
    """
    told = json.loads(document)
    unknown = sorted(set(told["features"]) - DELTA_FEATURES)
    if told["reader"] > _NEWEST_READER:
        unknown.insert(0, f"reader version {told['reader']}")
    if unknown:
        raise UnsupportedError(
            f"Delta tables with {', '.join(unknown)} are not known to this version.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="They are read as without an index; look for a newer version of lakesieve.",
        )
    key = _PHYSICAL if told["mapping"] != "none" else ""
    return _columns(told, key)


def hudi_columns(document: str) -> dict[tuple[str, ...], Column]:
    """List the columns of a version of a Hudi table and the fields of its structs.

    A column is known by its name and type: older files are read by name, and their values change
    with the type.

    Args:
        document: A schema as ``HudiFiles.java`` writes it.

    Raises:
        UnsupportedError: The table is written or read in a way that is not known here.
    """
    told = json.loads(document)
    unknown = list(told["features"])
    if told["version"] > _NEWEST_HUDI:
        unknown.insert(0, f"table version {told['version']}")
    if unknown:
        raise UnsupportedError(
            f"Hudi tables with {', '.join(unknown)} are not known to this version.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="They are read as without an index; look for a newer version of lakesieve.",
        )
    return _columns(told | {"promotes": True}, "")


def parquet_columns(document: str) -> dict[tuple[str, ...], Column]:
    """List the columns of a Parquet directory and the fields of its structs, known by their names.

    Args:
        document: A schema as ``FileScans.java`` writes it.
    """
    return _columns(json.loads(document), "")


def _columns(told: dict[str, Any], physical_key: str) -> dict[tuple[str, ...], Column]:
    found: dict[tuple[str, ...], Column] = {}
    unread: list[tuple[tuple[str, ...], tuple[str, ...], Any]] = [((), (), told["schema"])]
    while unread:
        parent, stored_parent, struct = unread.pop()
        for field in struct["fields"]:
            path = (*parent, field["name"])
            stored = (*stored_parent, _stored_name(field, physical_key))
            found[path] = _column(told, field, path, stored)
            if found[path].type == "struct" and len(path) < _DEEPEST_SCHEMA:
                unread.append((path, stored, field["type"]))
    seen = Counter(column.field_id for column in found.values())
    # names that differ in case alone, read regardless of case
    return {path: column for path, column in found.items() if seen[column.field_id] == 1}


def _stored_name(field: dict[str, Any], physical_key: str) -> str:
    return str((field.get("metadata") or {}).get(physical_key, field["name"]))


def _column(
    told: dict[str, Any], field: dict[str, Any], path: tuple[str, ...], stored: tuple[str, ...]
) -> Column:
    written = field["type"]
    name = written["type"] if isinstance(written, dict) else written
    decimal = _DECIMAL.fullmatch(name)
    kind = "decimal" if decimal else SPARK_KINDS.get(name, "other")
    in_folder = len(path) == 1 and field["name"] in told["partitioning"]
    if _COLLATIONS in (field.get("metadata") or {}) or (in_folder and kind == "timestamp"):
        # a folder's time is text without a zone: what it says depends on who reads it
        kind = "other"
    precision, scale = map(int, decimal.groups()) if decimal else (18, 0)
    return Column(
        path=path,
        field_id=_identity(told, stored, name, kind, in_folder=in_folder),
        type=name,
        kind=kind,
        scale=scale,
        precision=precision,
    )


def _identity(
    told: dict[str, Any], stored: tuple[str, ...], name: str, kind: str, *, in_folder: bool
) -> int:
    """A number for where and how the values of a column are read, for want of field ids."""
    folded = stored if told["case"] == "true" else tuple(part.lower() for part in stored)
    parts: list[Any] = [told["case"], folded]
    if in_folder:
        # text, which another type may read as another value
        parts.append(f"folder {name}")
    elif name in _NARROW and "mapping" not in told:
        parts.append(name)
    elif kind in _TIMES:
        parts.append(told["times"])
    if "promotes" in told and kind != "integer":
        parts.append(f"as {name}")
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
