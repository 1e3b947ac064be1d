"""What an index is made of: its definition, segments and file catalogues."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from lakesieve.defaults import ABSENT_HITS, COMPACTION
from lakesieve.errors import ErrorKind, IndexFormatError

if TYPE_CHECKING:
    from lakesieve.sieve import Code

INDEX_KIND = "sieve"
"""The only kind of index so far: blocks of sorted keys, each with the units that hold them."""

UNIT = "data-file"
"""What an ordinal names, so far always a whole data file."""

_SEGMENT = re.compile(r"segments/[0-9a-f]{40}\.sieve")
_CATALOGUE = re.compile(r"files/[0-9a-f]{40}\.parquet")


def code_to_json(code: Code) -> int | dict[str, str]:
    """Return a key code as JSON: a number, or bytes as base64."""
    return code if isinstance(code, int) else {"bytes": base64.b64encode(code).decode("ascii")}


def code_from_json(value: Any) -> Code:
    """Read a key code."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, dict) and set(value) == {"bytes"} and isinstance(value["bytes"], str):
        try:
            return base64.b64decode(value["bytes"], validate=True)
        except binascii.Error as error:
            raise ValueError("no base64") from error
    raise ValueError(f"{value!r} is not a key code")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumn:
    """A key column as it was when the index was made: its name and type may be others now.

    Args:
        field_id: Its identity in the table, unchanged by renames.
        key_kind: How its values become key codes.
    """

    field_id: int
    name: str
    type: str
    key_kind: str
    scale: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefinition:
    """What is indexed. Written once, in the first commit.

    Args:
        budget: What it may cost or how wrong it may be, such as ``2 bits``; none for exact blocks.
        absent_hits: Share of absent keys that may find a data file.
        compaction: How many deltas there may be before they are merged, or ``auto``.
        borrowed_roots: Roots of other indexes that hold objects of this one, for a clone.
    """

    name: str
    index_uuid: str
    table_format: str
    table_uuid: str
    table_location: str
    columns: tuple[KeyColumn, ...]
    created_at: str
    budget: str = ""
    absent_hits: float = ABSENT_HITS
    compaction: str = COMPACTION
    borrowed_roots: tuple[str, ...] = ()
    kind: str = INDEX_KIND

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Read it."""
        # before anything else, as another kind may have other fields
        check_known("index", document["kind"], INDEX_KIND)
        plain = dict(document)
        columns = tuple(KeyColumn(**checked(KeyColumn, column)) for column in plain.pop("columns"))
        read = cls(**checked(cls, plain, skip={"columns"}), columns=columns)
        if not columns or not 0 < read.absent_hits <= 1:
            raise ValueError("no columns, or no share of absent keys")
        return read


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A file catalogue: the data files that a commit covered, numbered.

    Args:
        id: Hash of its data files' paths; segments name it.
        sha256: Checksum of all its bytes.
        records: Their rows.
        root: 0 for the index's own root, ``n`` for the ``n``-th borrowed one.
    """

    id: str
    path: str
    size: int
    sha256: str
    files: int
    records: int
    root: int = 0
    unit: str = UNIT

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Read it."""
        check_known("unit", document["unit"], UNIT)
        entry = cls(**checked(cls, document))
        if not _CATALOGUE.fullmatch(entry.path):
            raise ValueError("a path outside the index")
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEntry:
    """A segment: blocks of keys between two bounds.

    Args:
        footer_sha256: Checksum of those; the footer holds the row groups' own.
        key_min: First key code.
        key_max: Last key code.
        pairs: Distinct (key, file) pairs.
        root: 0 for the index's own root, ``n`` for the ``n``-th borrowed one.
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
    root: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        bounds = {"key_min": code_to_json(self.key_min), "key_max": code_to_json(self.key_max)}
        return {field.name: getattr(self, field.name) for field in fields(self)} | bounds

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Read it."""
        plain = dict(document)
        key_min, key_max = (code_from_json(plain.pop(name)) for name in ("key_min", "key_max"))
        rest = checked(cls, plain, skip={"key_min", "key_max"})
        entry = cls(**rest, key_min=key_min, key_max=key_max)
        if not _SEGMENT.fullmatch(entry.path):
            raise ValueError("a path outside the index")
        ordered = type(key_min) is type(key_max) and key_min <= key_max  # type: ignore[operator]
        if not ordered or entry.footer_length > entry.size:
            raise ValueError("bounds that are none")
        return entry


def check_known(what: str, document: Any, known: str) -> None:
    """Refuse what only a later version knows."""
    if not isinstance(document, str):
        raise ValueError(f"the {what} is {document!r}")
    if document != known:
        raise IndexFormatError(
            f"The index has the {what} {document!r}; this lakesieve reads {known!r}.",
            kind=ErrorKind.TOO_NEW,
            hint="Upgrade lakesieve; scans read every file meanwhile.",
        )


_PLAIN: dict[str, Any] = {
    "int": int,
    "str": str,
    "float": float,
    "dict[str, Any]": dict,
    "tuple[str, ...]": list,
}


def checked(cls: type, document: dict[str, Any], skip: set[str] | None = None) -> dict[str, Any]:
    """Return a dataclass's fields from JSON: none missing, none unknown, each of its type."""
    wanted = {f.name: f.type for f in fields(cls) if f.name not in (skip or ())}
    if set(document) != set(wanted):
        raise ValueError(f"fields {sorted(set(document) ^ set(wanted))} of {cls.__name__}")
    out: dict[str, Any] = {}
    for name, value in document.items():
        kind = _PLAIN[str(wanted[name])]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{name} is {value!r}")
        if kind is int and name not in {"scale", "field_id"} and value < 0:
            raise ValueError(f"{name} is negative")
        if kind is list and not all(isinstance(item, str) for item in value):
            raise ValueError(f"{name} holds other than text")
        out[name] = tuple(value) if kind is list else value
    return out
