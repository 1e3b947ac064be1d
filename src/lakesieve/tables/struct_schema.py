"""Read columns from Spark's schema JSON, as Delta, Hudi and Parquet tables have it."""

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
"""Reader features of Delta that do not change what an index says about a data file."""

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
"""Key kinds of Spark's types, by name. Names of decimals begin with the entry here."""

_OF_STRINGS = frozenset({"char", "collation"})
# larger numbers may be turned into these types by cutting bits off
_NARROW = frozenset({"byte", "short"})
_PLAIN_TIMES = "CORRECTED CORRECTED"
READ_BY_DEFAULT = {"case": "false", "times": _PLAIN_TIMES}
"""How names are compared and old times are read if no session says otherwise."""

# the parts of lists and maps in Spark's schema JSON
_PARTS = {"array": ("elementType",), "map": ("keyType", "valueType")}
_TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
DECIMAL_TYPE = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
"""Matches the name of a decimal type: precision and scale."""

PHYSICAL_NAME = "delta.columnMapping.physicalName"
"""Metadata of a column: its name in the data files of a Delta table with column mapping."""

OLD_DEFAULT = "EXISTS_DEFAULT"
"""Metadata of a column: its value, as SQL text, in files that were written before the column."""

_COLLATIONS = "__COLLATIONS"
# SQL type of a whole column that is or contains CHAR or VARCHAR
_SQL_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_CHAR = re.compile(r"\bchar\s*\(", re.IGNORECASE)
_NULL = re.compile(r"NULL|CAST\(NULL AS \w+(\([\d, ]+\))?\)", re.IGNORECASE)
_REFUSALS = {
    "folder": "The values of a partition column are not in the data files. The table's own "
    "partition pruning already skips by this column.",
    "char": "Readers disagree about blanks at the end of CHAR values. Use STRING or VARCHAR.",
    "default": "The value of its default depends on the session: it is a time without a zone, or "
    "contains a backslash.",
    "collation": "Only strings that compare by their bytes (UTF8_BINARY) can be indexed.",
}
_DEEPEST_SCHEMA = 64


def spark_field(name: str, kind: Any) -> dict[str, Any]:
    """Return a nullable field in Spark's schema JSON."""
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def spark_array(element: Any) -> dict[str, Any]:
    """Return the type of a list in Spark's schema JSON."""
    return {"type": "array", "elementType": element, "containsNull": True}


def spark_map(key: Any, value: Any) -> dict[str, Any]:
    """Return the type of a map in Spark's schema JSON."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def delta_columns(document: str) -> dict[tuple[str, ...], Column]:
    """Return the columns of a Delta snapshot, and the fields of its structs, by path.

    A column is identified by its name in the data files, which no other column ever gets. With
    column mapping, this is the physical name; otherwise, it is the name itself. ``DeltaFiles.java``
    writes the same document.
    """
    parsed = json.loads(document)
    unknown = sorted(set(parsed["features"]) - DELTA_FEATURES)
    if parsed["reader"] > _NEWEST_READER:
        unknown.insert(0, f"reader version {parsed['reader']}")
    _refuse("Delta", unknown)
    return _columns(parsed, PHYSICAL_NAME if parsed["mapping"] != "none" else "")


def hudi_columns(document: str) -> dict[tuple[str, ...], Column]:
    """Return the columns of a version of a Hudi table, and the fields of its structs, by path.

    A column is identified by its name and type. Older files are read by name, and their values
    change with the type. ``HudiFiles.java`` writes the same document.
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
            f"{name} tables with {', '.join(unknown)} are not supported by this version of "
            "lakesieve.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Queries read such tables without an index. Look for a newer version of "
            "lakesieve.",
        )


def parquet_columns(document: str) -> dict[tuple[str, ...], Column]:
    """Return the columns of a Parquet directory, and the fields of structs, by path.

    A column is identified by its name.
    """
    return _columns(json.loads(document), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """A field of the schema while it is turned into a column."""

    path: tuple[str, ...] = ()  # names from the top-level column down to the field
    stored: tuple[str, ...] = ()  # the same path in the data files
    type: str = "struct"
    # default values of the columns on this path, for older files without these columns
    defaults: tuple[tuple[int, str], ...] = ()
    refusal: str = ""  # why it cannot be a key: a name in `_REFUSALS`
    text_refusal: str = ""  # the same, but by its type alone, even for a partition column
    inner: tuple[dict[str, Any], ...] = ()
    # types of the elements of a list, or of the keys and values of a map; empty if one of them is a
    # list, a map or a struct
    parts: tuple[str, ...] = ()


def stored_columns(
    document: str,
) -> tuple[dict[tuple[str, ...], Column], dict[int, tuple[str, ...]]]:
    """Return the columns that file statistics may describe, including partition columns.

    Returns:
        The columns, with the kinds by which conditions on them are compared; and for each field id
        the names under which data files and the log know the field.
    """
    parsed = json.loads(document)
    key = PHYSICAL_NAME if parsed.get("mapping", "none") != "none" else ""
    fields = _fields(parsed, key)
    columns = {field.path: _column(parsed, _outside_folder(field)) for field in fields}
    stored = {columns[field.path].field_id: field.stored for field in fields}
    # some names differ only in case
    if len(stored) < len(columns):
        return {}, {}
    return columns, stored


def _outside_folder(field: _Field) -> _Field:
    return replace(field, refusal=field.text_refusal) if field.refusal == "folder" else field


def _columns(parsed: dict[str, Any], physical_key: str) -> dict[tuple[str, ...], Column]:
    columns = {field.path: _column(parsed, field) for field in _fields(parsed, physical_key)}
    uses = Counter(column.field_id for column in columns.values())
    # leave out names that differ only in case, because some readers ignore case
    return {path: column for path, column in columns.items() if uses[column.field_id] == 1}


def _fields(parsed: dict[str, Any], physical_key: str) -> list[_Field]:
    """Read the columns and the fields of structs."""
    fields: list[_Field] = []
    unread = [_Field(inner=tuple(parsed["schema"]["fields"]))]
    while unread:
        parent = unread.pop()
        for written in parent.inner:
            field = _field(parsed, written, parent, physical_key)
            fields.append(field)
            if field.inner and len(field.path) < _DEEPEST_SCHEMA:
                unread.append(field)
    return fields


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
        # the metadata does not say which field of a struct it is, so it applies to all its strings
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
        parts=_part_types(kind),
    )


def _part_types(kind: Any) -> tuple[str, ...]:
    """Return the types of the parts of a list or a map, if all of them are plain types."""
    names = _PARTS.get(kind["type"], ()) if isinstance(kind, dict) else ()
    parts = tuple(kind.get(name) for name in names)
    return parts if all(isinstance(part, str) for part in parts) else ()


def _column(parsed: dict[str, Any], field: _Field) -> Column:
    if field.parts:
        return _column_of_parts(parsed, field)
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


def _column_of_parts(parsed: dict[str, Any], field: _Field) -> Column:
    """Return a list or a map.

    Its identity is made of the identities of columns of its parts. One of the parts has the kind
    ``other`` if the parts cannot be keys.
    """
    parts = [_column(parsed, replace(field, type=part, parts=())) for part in field.parts]
    kinds = {part.kind for part in parts}
    # of Hudi's lists and maps it is not known how they change with the schema
    is_known = "promotes" not in parsed and "other" not in kinds
    kind = parts[-1].kind if is_known else "other"
    ids = [part.field_id for part in parts]
    return Column(
        path=field.path,
        field_id=ids[0] if len(ids) == 1 else field_identity({"key": ids[0], "value": ids[1]}),
        type=field.type,
        kind="other",
        refusal=max(part.refusal for part in parts),
        elements=kind if len(ids) == 1 else "other",
        entries=kind if len(ids) > 1 else "other",
    )


def _depends_on_reader(field: _Field, kind: str) -> bool:
    """Return whether other sessions may read the text of a default as another value."""
    # a time without a zone, or a text with escapes
    return any(kind == "timestamp" or "\\" in text for _, text in field.defaults)


def _identity(parsed: dict[str, Any], field: _Field, kind: str) -> int:
    """Return a hash of where and how the values of a column are read, in place of a field id.

    ``docs/spec/format-v1.md``, "Identity of a field", specifies its input.
    """
    exact = parsed["case"] == "true"
    document: dict[str, Any] = {
        "name": [part if exact else part.lower() for part in field.stored],
        "case": "exact" if exact else "folded",
    }
    if field.refusal == "folder":
        # the value is text, which another type may read as another value
        document |= {"from": "folder", "type": field.type}
    elif _type_matters(parsed, field, kind):
        document["type"] = field.type
    if kind in _TIMES and parsed["times"] != _PLAIN_TIMES:
        document["times"] = parsed["times"]
    if field.defaults:
        # a reader that ignores the default, or has another one, finds other values in the same
        # files
        document["defaults"] = field.defaults
    return field_identity(document)


def _type_matters(parsed: dict[str, Any], field: _Field, kind: str) -> bool:
    """Return whether another type of the same kind may read the same bytes as other values."""
    if "mapping" in parsed:
        return False
    if "promotes" in parsed:
        return kind != "integer" or field.type in _NARROW
    # a schema given by the user may read unsigned numbers as signed, or cut bits off
    return kind == "integer"
