"""Spark's own schema JSON, as Delta and Parquet tables have it, as the columns lakesieve knows."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.tables.contract import Column
from lakesieve.tables.identity import field_identity

if TYPE_CHECKING:
    from collections.abc import Sequence

DELTA_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
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
"""Key kinds of Spark's types by their names; those of decimals begin with it."""

_OF_STRINGS = frozenset({"char", "collation"})
# larger numbers may be made into such ones by cutting bits off
_NARROW = frozenset({"byte", "short"})
_PLAIN_TIMES = "CORRECTED CORRECTED"
READ_BY_DEFAULT = {"case": "false", "times": _PLAIN_TIMES}
"""How names are compared and old times are read where no session says otherwise."""

_TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
DECIMAL_TYPE = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
"""The name of a decimal type: precision and scale."""

PHYSICAL_NAME = "delta.columnMapping.physicalName"
"""Metadata of a column: its name in the data files of a Delta table with column mapping."""

OLD_DEFAULT = "EXISTS_DEFAULT"
"""Metadata of a column: its value in files that were written before it was added, as SQL text."""

_COLLATIONS = "__COLLATIONS"
# the type of a whole column in SQL, where it or a part of it is CHAR or VARCHAR
_SQL_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_CHAR = re.compile(r"\bchar\s*\(", re.IGNORECASE)
_NULL = re.compile(r"NULL|CAST\(NULL AS \w+(\([\d, ]+\))?\)", re.IGNORECASE)
_REFUSALS = {
    "folder": "The values of a partition column are not in the data files; the table's own "
    "partition pruning serves it.",
    "char": "Readers differ about the blanks at the end of CHAR values; use STRING or VARCHAR.",
    "default": "Its default depends on the session that reads it: a moment without a time zone, or "
    "a text with a backslash.",
    "collation": "Strings can be indexed that compare by their bytes (UTF8_BINARY).",
}
_DEEPEST_SCHEMA = 64


def spark_field(name: str, kind: Any) -> dict[str, Any]:
    """Make a nullable field of Spark's schema JSON."""
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def spark_array(element: Any) -> dict[str, Any]:
    """Make the type of a list in Spark's schema JSON."""
    return {"type": "array", "elementType": element, "containsNull": True}


def spark_map(key: Any, value: Any) -> dict[str, Any]:
    """Make the type of a map in Spark's schema JSON."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def delta_columns(document: str) -> dict[tuple[str, ...], Column]:
    """List the columns of a Delta snapshot, and the fields of its structs, by path.

    A column is known by its name in the data files, which is never given to another column: with
    column mapping that is the physical name, without it the name itself. ``DeltaFiles.java`` writes
    the same document.
    """
    parsed = json.loads(document)
    unknown = sorted(set(parsed["features"]) - DELTA_FEATURES)
    if parsed["reader"] > _NEWEST_READER:
        unknown.insert(0, f"reader version {parsed['reader']}")
    _refuse("Delta", unknown)
    return _columns(parsed, PHYSICAL_NAME if parsed["mapping"] != "none" else "")


def hudi_columns(document: str) -> dict[tuple[str, ...], Column]:
    """List the columns of a version of a Hudi table, and the fields of its structs, by path.

    A column is known by its name and type: older files are read by name, and their values change
    with the type. ``HudiFiles.java`` writes the same document.
    """
    parsed = json.loads(document)
    unknown = list(parsed["features"])
    if parsed["version"] > _NEWEST_HUDI:
        unknown.insert(0, f"table version {parsed['version']}")
    _refuse("Hudi", unknown)
    return _columns(parsed | {"promotes": True}, "")


def _refuse(name: str, unknown: Sequence[str]) -> None:
    if unknown:
        raise UnsupportedError(
            f"{name} tables with {', '.join(unknown)} are not known to this version.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="They are read as without an index; look for a newer version of lakesieve.",
        )


def parquet_columns(document: str) -> dict[tuple[str, ...], Column]:
    """List the columns of a Parquet directory and the fields of structs, known by their names."""
    return _columns(json.loads(document), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """A field of the schema on the way to a column."""

    path: tuple[str, ...] = ()  # names from the top-level column down to the field
    stored: tuple[str, ...] = ()  # the same names in the data files
    type: str = "struct"
    # of the columns that lead to it, where older files lack them
    defaults: tuple[tuple[int, str], ...] = ()
    refusal: str = ""  # why it cannot be a key; see `_REFUSALS`
    text_refusal: str = ""  # the same, for a partition column, of its type alone
    inner: tuple[dict[str, Any], ...] = ()


def stored_columns(
    document: str,
) -> tuple[dict[tuple[str, ...], Column], dict[int, tuple[str, ...]]]:
    """List the columns that file statistics may describe, partition columns included.

    Returns:
        The columns, with the kinds by which conditions on them are compared, and for each field id
        the names by which the data files and the log know it.
    """
    parsed = json.loads(document)
    key = PHYSICAL_NAME if parsed.get("mapping", "none") != "none" else ""
    fields = _fields(parsed, key)
    columns = {field.path: _column(parsed, _outside_folder(field)) for field in fields}
    stored = {columns[field.path].field_id: field.stored for field in fields}
    # names that differ in case alone
    if len(stored) < len(columns):
        return {}, {}
    return columns, stored


def _outside_folder(field: _Field) -> _Field:
    return replace(field, refusal=field.text_refusal) if field.refusal == "folder" else field


def _columns(parsed: dict[str, Any], physical_key: str) -> dict[tuple[str, ...], Column]:
    found = {field.path: _column(parsed, field) for field in _fields(parsed, physical_key)}
    seen = Counter(column.field_id for column in found.values())
    # names that differ in case alone, read regardless of case
    return {path: column for path, column in found.items() if seen[column.field_id] == 1}


def _fields(parsed: dict[str, Any], physical_key: str) -> list[_Field]:
    """Read the columns and the fields of structs."""
    found: list[_Field] = []
    unread = [_Field(inner=tuple(parsed["schema"]["fields"]))]
    while unread:
        parent = unread.pop()
        for written in parent.inner:
            field = _field(parsed, written, parent, physical_key)
            found.append(field)
            if field.inner and len(field.path) < _DEEPEST_SCHEMA:
                unread.append(field)
    return found


def _field(
    field: dict[str, Any], written: dict[str, Any], parent: _Field, physical_key: str
) -> _Field:
    metadata = written.get("metadata") or {}
    kind = written["type"]
    name = kind["type"] if isinstance(kind, dict) else kind
    path = (*parent.path, written["name"])
    defaults = parent.defaults
    default = str(metadata.get(OLD_DEFAULT, "NULL"))
    if not _NULL.fullmatch(default.strip()):
        defaults = (*defaults, (len(path), default))
    refusal = parent.refusal
    if _COLLATIONS in metadata:
        refusal = "collation"
    elif _CHAR.search(str(metadata.get(_SQL_TYPE, ""))):
        # of a struct, which of its fields it is does not matter: all of its strings
        refusal = "char"
    in_folder = len(path) == 1 and written["name"] in field["partitioning"]
    return _Field(
        path=path,
        stored=(*parent.stored, str(metadata.get(physical_key, written["name"]))),
        type=name,
        defaults=defaults,
        refusal="folder" if in_folder else refusal,
        text_refusal=refusal,
        inner=tuple(kind["fields"]) if name == "struct" else (),
    )


def _column(parsed: dict[str, Any], field: _Field) -> Column:
    decimal = DECIMAL_TYPE.fullmatch(field.type)
    kind = "decimal" if decimal else SPARK_KINDS.get(field.type, "other")
    refusal = field.refusal
    if kind == "other" or (refusal in _OF_STRINGS and kind != "string"):
        refusal = ""
    if kind != "other" and not refusal and _depends_on_reader(field, kind):
        refusal = "default"
    precision, scale = map(int, decimal.groups()) if decimal else (18, 0)
    return Column(
        path=field.path,
        field_id=_identity(parsed, field, kind),
        type=field.type,
        kind="other" if refusal else kind,
        scale=scale,
        precision=precision,
        refusal=_REFUSALS.get(refusal, ""),
    )


def _depends_on_reader(field: _Field, kind: str) -> bool:
    """Return whether the text of a default says other values in other sessions."""
    # a moment without a zone, a text with signs that may stand for others
    return any(kind == "timestamp" or "\\" in text for _, text in field.defaults)


def _identity(parsed: dict[str, Any], field: _Field, kind: str) -> int:
    """Return a number for where and how the values of a column are read, for want of field ids.

    ``docs/spec/format-v1.md``, "Identity of a field", says what goes into it.
    """
    exact = parsed["case"] == "true"
    document: dict[str, Any] = {
        "name": [part if exact else part.lower() for part in field.stored],
        "case": "exact" if exact else "folded",
    }
    if field.refusal == "folder":
        # text, which another type may read as another value
        document |= {"from": "folder", "type": field.type}
    elif _type_matters(parsed, field, kind):
        document["type"] = field.type
    if kind in _TIMES and parsed["times"] != _PLAIN_TIMES:
        document["times"] = parsed["times"]
    if field.defaults:
        # a reader that knows no default, or another one, finds other values in the same files
        document["defaults"] = field.defaults
    return field_identity(document)


def _type_matters(parsed: dict[str, Any], field: _Field, kind: str) -> bool:
    """Return whether the same bytes may be other values under another type of the same kind."""
    if "mapping" in parsed:
        return False
    if "promotes" in parsed:
        return kind != "integer" or field.type in _NARROW
    # a schema given by hand may read unsigned numbers as signed, or cut bits off
    return kind == "integer"
