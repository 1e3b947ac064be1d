"""The stored descriptions of the segments and file catalogues of an index."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from lakesieve.format.documents import checked
from lakesieve.format.units import DATA_FILE, Unit

if TYPE_CHECKING:
    from lakesieve.sieve import Code

_SEGMENT = re.compile(r"segments/[0-9a-f]{40}\.sieve")
_CATALOGUE = re.compile(r"files/[0-9a-f]{40}\.parquet")


def code_to_json(code: Code) -> int | dict[str, str]:
    """Return a key code as JSON: a number, or base64 for bytes."""
    return code if isinstance(code, int) else {"bytes": base64.b64encode(code).decode("ascii")}


def code_from_json(value: Any) -> Code:
    """Parse a key code."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, dict) and set(value) == {"bytes"} and isinstance(value["bytes"], str):
        try:
            return base64.b64decode(value["bytes"], validate=True)
        except binascii.Error as error:
            raise ValueError("the value is not base64") from error
    raise ValueError(f"{value!r} is not a key code")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A file catalogue: the numbered data files that a commit covered.

    Args:
        id: Hash of the paths of its data files. Segments refer to it.
        sha256: Checksum of the whole file.
        records: Total rows of its data files.
        root: 0 for the index's own root, ``n`` for the ``n``-th borrowed root.
    """

    id: str
    path: str
    size: int
    sha256: str
    files: int
    records: int
    root: int = 0
    unit: Unit = DATA_FILE

    @property
    def most_units(self) -> int:
        """Upper bound of its ordinals."""
        return self.unit.most(files=self.files, records=self.records)

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return asdict(self) | {"unit": str(self.unit)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Parse an entry."""
        plain = dict(document)
        unit = Unit.parse(plain.pop("unit"))
        entry = cls(**checked(cls, plain, skip={"unit"}), unit=unit)
        if not _CATALOGUE.fullmatch(entry.path):
            raise ValueError("its path leads outside the index")
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEntry:
    """A segment: blocks of keys between two bounds.

    Args:
        footer_sha256: Checksum of the footer, which contains the checksums of the row groups.
        key_min: First key code.
        key_max: Last key code.
        pairs: Number of distinct (key, file) pairs.
        root: 0 for the index's own root, ``n`` for the ``n``-th borrowed root.
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
        """Return the entry as a JSON object."""
        bounds = {"key_min": code_to_json(self.key_min), "key_max": code_to_json(self.key_max)}
        return {field.name: getattr(self, field.name) for field in fields(self)} | bounds

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Parse an entry."""
        plain = dict(document)
        key_min, key_max = (code_from_json(plain.pop(name)) for name in ("key_min", "key_max"))
        rest = checked(cls, plain, skip={"key_min", "key_max"})
        entry = cls(**rest, key_min=key_min, key_max=key_max)
        if not _SEGMENT.fullmatch(entry.path):
            raise ValueError("its path leads outside the index")
        ordered = type(key_min) is type(key_max) and key_min <= key_max  # type: ignore[operator]
        if not ordered or entry.footer_length > entry.size:
            raise ValueError("its bounds are invalid")
        return entry
