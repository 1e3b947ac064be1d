"""Iceberg's schema JSON as the columns that lakesieve knows; no engine needed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.tables.contract import Column
from lakesieve.tables.identity import field_identity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

NAME_MAPPING = "schema.name-mapping.default"
"""The table property with the names by which files without field ids are read."""

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
_REFUSAL = (
    "Imported files may lack the values of a partition column; the table's own partition pruning "
    "serves it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Imported:
    """How files without field ids are read, in a table that has a name mapping.

    ``names`` has for each field id the ids and names of the fields that lead to it, and its own;
    ``partitioning`` the ids of fields whose values may be those of partitions.
    """

    names: Mapping[int, list[Any]]
    partitioning: frozenset[int]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> _Imported | None:
        """Read a document of ``schema_document``; ``None`` if the table has no name mapping."""
        text = document.get("name-mapping")
        if text is None:
            return None
        try:
            names = _names_by_id(json.loads(text))
        except (ValueError, TypeError, AttributeError) as error:
            raise UnsupportedError(
                f"The table's name mapping cannot be understood: {error}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint=f"Correct or remove the table property {NAME_MAPPING}.",
            ) from error
        return cls(names=names, partitioning=frozenset(document["partitioning"]))

    def column(self, column: Column) -> Column:
        """Return a column with the identity that it has in a table with these names."""
        names = self.names.get(column.field_id, [])
        identity = field_identity({"id": column.field_id, "names": names})
        # a name mapping names lists, maps and what is in them apart, and the identity has only the
        # names of the list or the map
        column = replace(column, elements="other", entries="other")
        if column.field_id in self.partitioning and column.kind != "other":
            return replace(column, field_id=identity, kind="other", refusal=_REFUSAL)
        return replace(column, field_id=identity)


def _names_by_id(mapping: Any) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    unread: list[tuple[list[Any], Any]] = [([], mapping)]
    while unread:
        parent, fields = unread.pop()
        for field in fields:
            at = field.get("field-id")
            path = [*parent, [at, sorted(field.get("names") or ())]]
            if at is not None:
                found[at] = path
            unread.append((path, field.get("fields") or ()))
    return found


def schema_document(
    schema: Mapping[str, Any], mapping: str | None, identity_sources: Iterable[int]
) -> str:
    """Return a schema as JSON, as ``IcebergFields.java`` writes it for scans."""
    more: dict[str, Any] = {}
    if mapping is not None:
        more = {"name-mapping": mapping, "partitioning": sorted(set(identity_sources))}
    return json.dumps({**schema, **more})


def columns_of_schema(schema_json: str) -> dict[tuple[str, ...], Column]:
    """Return the columns of a schema, and the fields of structs outside lists and maps.

    The field id identifies a column. If the table has a name mapping, the identity also includes
    the column's names in the mapping.

    Raises:
        UnsupportedError: The table's name mapping is not understood.
    """
    document = json.loads(schema_json)
    found = columns_of_fields(document["fields"])
    imported = _Imported.of(document)
    if imported is None:
        return found
    return {path: imported.column(column) for path, column in found.items()}


def columns_of_fields(fields: list[dict[str, Any]]) -> dict[tuple[str, ...], Column]:
    """List columns and the fields of structs by the ids that they have in manifests."""
    found: dict[tuple[str, ...], Column] = {}
    _walk(fields, (), found)
    return found


def fields_of_type(schema_json: str, types: Collection[str]) -> list[str]:
    """Return the names of all fields whose type is one of ``types``, also inside lists and maps."""
    return list(_named_fields(json.loads(schema_json), "", frozenset(types), 0))


def _named_fields(node: Any, path: str, types: frozenset[str], depth: int) -> Iterator[str]:
    if depth > _DEEPEST_SCHEMA:
        return
    if not isinstance(node, dict):
        if str(node).partition("(")[0] in types:
            yield path
        return
    inner = [(field["name"], field["type"]) for field in node.get("fields", ())]
    inner += [(part, node[part]) for part in ("element", "key", "value") if part in node]
    for name, kind in inner:
        yield from _named_fields(kind, f"{path}.{name}" if path else name, types, depth + 1)


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
        element = written["element"] if name == "list" else None
        entry = [written["key"], written["value"]] if name == "map" else []
        column = Column(
            path=path,
            field_id=field["id"],
            type=name,
            kind=_kind(name),
            elements=_kind_of([element]),
            entries=_kind_of(entry),
        )
        decimal = _DECIMAL.fullmatch(name)
        if decimal:
            precision, scale = map(int, decimal.groups())
            column = replace(column, kind="decimal", scale=scale, precision=precision)
        found[path] = column
        if isinstance(written, dict) and name == "struct":
            _walk(written["fields"], path, found)


def _kind_of(parts: list[Any]) -> str:
    """Return the key kind of the last part of a list or a map, or ``other`` if one is no key."""
    kinds = [_kind(part) if isinstance(part, str) else "other" for part in parts]
    return "other" if "other" in kinds or not kinds else kinds[-1]


def _kind(name: str) -> str:
    """Return the key kind of a primitive type, by the name of the type."""
    if _DECIMAL.fullmatch(name):
        return "decimal"
    return "binary" if _FIXED.fullmatch(name) else _KINDS.get(name, "other")
