"""Compute identities: of a field in a format without field ids, and of a table."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping


def field_identity(document: Mapping[str, Any]) -> int:
    """Return a hash of everything that decides which values are read for a field.

    ``docs/spec/format-v1.md``, "Identity of a field", specifies its input.
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def location_identity(location: str) -> str:
    """Return the identity of a table from its location, for formats without table ids."""
    digest = hashlib.md5(location.encode(), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest, version=3))


def check_identity(name: str, opened: str, current: str) -> None:
    """Check that a name still leads to the table that was opened."""
    if opened == current:
        return
    raise NotFoundError(
        f"{name} is now another table. The opened table was dropped, renamed or moved.",
        kind=ErrorKind.TABLE_REPLACED,
        hint="Open the index again. If the table was renamed, use its new name.",
    )
