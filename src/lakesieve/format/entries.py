"""What commits say: the index's definition, its segments and file catalogues."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from lakesieve.format.documents import corrupt

__all__ = [
    "CatalogueEntry",
    "Code",
    "Commit",
    "IndexDefinition",
    "KeyColumn",
    "SegmentEntry",
    "code_from_json",
    "code_to_json",
]

Code = int | bytes
_OBJECT = re.compile(r"segments/[0-9a-f]{40}\.sieve|files/[0-9a-f]{40}\.parquet")


def code_to_json(code: Code) -> int | dict[str, str]:
    """A key code as JSON: a number, or bytes as base64."""
    return code if isinstance(code, int) else {"bytes": base64.b64encode(code).decode("ascii")}


def code_from_json(told: Any) -> Code:
    """Read a key code.

    Raises:
        ValueError: It is none.
    """
    if isinstance(told, int) and not isinstance(told, bool) and -(2**63) <= told < 2**63:
        return told
    if isinstance(told, dict) and set(told) == {"bytes"} and isinstance(told["bytes"], str):
        try:
            return base64.b64decode(told["bytes"], validate=True)
        except binascii.Error as error:
            raise ValueError("no base64") from error
    raise ValueError(f"{told!r} is no key code")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumn:
    """A key column as it was when the index was made.

    Args:
        field_id: Its identity in the table, unchanged by renames.
        name: Its name then, dots leading into structs.
        type: Its type then, as the format prints it.
        key_kind: How its values become key codes.
        scale: Digits after the point, for decimals.
    """

    field_id: int
    name: str
    type: str
    key_kind: str
    scale: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefinition:
    """What is indexed. Written once, in the first commit."""

    name: str
    index_uuid: str
    table_format: str
    table_uuid: str
    table_location: str
    columns: tuple[KeyColumn, ...]
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A file catalogue: the data files that a commit covered, numbered.

    Args:
        id: Hash of its content; segments name it.
        path: Where it lies in the index.
        size: Bytes.
        sha256: Checksum of all its bytes.
        files: Data files in it.
        records: Their rows.
    """

    id: str
    path: str
    size: int
    sha256: str
    files: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEntry:
    """A segment: blocks of keys between two bounds.

    Args:
        path: Where it lies in the index.
        size: Bytes.
        footer_length: Bytes of its footer, at its end.
        footer_sha256: Checksum of those; the footer holds the row groups' own.
        catalogue: The catalogue that its ordinals count in.
        key_min: First key code.
        key_max: Last key code.
        blocks: Blocks in it.
        keys: Distinct keys.
        pairs: Distinct (key, file) pairs.
        row_groups: Row groups in it.
    """

    path: str
    size: int
    footer_length: int
    footer_sha256: str
    catalogue: str
    key_min: Code
    key_max: Code
    blocks: int
    keys: int
    pairs: int
    row_groups: int

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        bounds = {"key_min": code_to_json(self.key_min), "key_max": code_to_json(self.key_max)}
        return {field.name: getattr(self, field.name) for field in fields(self)} | bounds

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        """Read it.

        Raises:
            ValueError: A field is missing, unknown or of another type.
        """
        plain = dict(told)
        key_min, key_max = (code_from_json(plain.pop(name)) for name in ("key_min", "key_max"))
        rest = _checked(cls, plain, skip={"key_min", "key_max"})
        return cls(**rest, key_min=key_min, key_max=key_max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit of the log.

    Args:
        number: Its place in the log, from 0.
        operation: What made it, such as ``create``.
        created_at: When, ISO 8601 in UTC.
        writer: What wrote it.
        write_id: Drawn by the writer, to know its own commit again.
        definition: What is indexed; in the first commit only.
        table_version: The table version that was indexed.
        add_catalogues: File catalogues added.
        add_segments: Segments added.
        remove_segments: Paths of segments removed.
        remove_catalogues: Ids of catalogues removed.
    """

    number: int
    operation: str
    created_at: str
    writer: str
    write_id: str
    definition: IndexDefinition | None
    table_version: dict[str, Any]
    add_catalogues: tuple[CatalogueEntry, ...] = ()
    add_segments: tuple[SegmentEntry, ...] = ()
    remove_segments: tuple[str, ...] = ()
    remove_catalogues: tuple[str, ...] = ()

    @property
    def parent(self) -> int | None:
        """Number of the commit before it."""
        return self.number - 1 if self.number else None

    def to_json(self) -> dict[str, Any]:
        """As the body of a document."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["definition"] = None if self.definition is None else asdict(self.definition)
        plain["add_catalogues"] = [asdict(entry) for entry in self.add_catalogues]
        plain["add_segments"] = [entry.to_json() for entry in self.add_segments]
        return plain

    @classmethod
    def from_json(cls, told: dict[str, Any], path: str) -> Self:
        """Read it from the body of a document.

        Raises:
            CorruptIndexError: It is no commit, or names files outside the index.
        """
        try:
            plain = dict(told)
            definition = plain.pop("definition")
            catalogues = tuple(
                CatalogueEntry(**_checked(CatalogueEntry, entry))
                for entry in plain.pop("add_catalogues")
            )
            segments = tuple(SegmentEntry.from_json(entry) for entry in plain.pop("add_segments"))
            paths = [entry.path for entry in catalogues] + [entry.path for entry in segments]
            if not all(_OBJECT.fullmatch(path) for path in paths):
                raise ValueError("a path outside the index")
            known = {"definition", "add_catalogues", "add_segments"}
            rest = _checked(cls, plain, skip=known)
            return cls(
                **rest,
                definition=None if definition is None else _definition(definition),
                add_catalogues=catalogues,
                add_segments=segments,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise corrupt(path, f"it is no commit ({error})") from error


def _definition(told: dict[str, Any]) -> IndexDefinition:
    plain = dict(told)
    columns = tuple(KeyColumn(**_checked(KeyColumn, column)) for column in plain.pop("columns"))
    if not columns:
        raise ValueError("no columns")
    return IndexDefinition(**_checked(IndexDefinition, plain, skip={"columns"}), columns=columns)


_PLAIN: dict[str, Any] = {
    "int": int,
    "str": str,
    "dict[str, Any]": dict,
    "tuple[str, ...]": list,
}


def _checked(cls: type, told: dict[str, Any], skip: set[str] | None = None) -> dict[str, Any]:
    """Fields of a dataclass as JSON gave them: none missing, none unknown, each of its type."""
    wanted = {f.name: f.type for f in fields(cls) if f.name not in (skip or ())}
    if set(told) != set(wanted):
        raise ValueError(f"fields {sorted(set(told) ^ set(wanted))} of {cls.__name__}")
    out: dict[str, Any] = {}
    for name, value in told.items():
        kind = _PLAIN[str(wanted[name])]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{name} is {value!r}")
        if kind is int and name not in {"scale", "field_id"} and value < 0:
            raise ValueError(f"{name} is negative")
        if kind is list and not all(isinstance(item, str) for item in value):
            raise ValueError(f"{name} holds other than text")
        out[name] = tuple(value) if kind is list else value
    return out
