"""Identities: of a field whose format has no ids, and of the table that a name leads to."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping


def field_identity(document: Mapping[str, Any]) -> int:
    """Return a number for all that decides which values are read for a field.

    ``docs/spec/format-v1.md``, "Identity of a field", says what it is made of, and how.
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def location_identity(location: str) -> str:
    """Return the identity of a table whose format has none: that of its place."""
    digest = hashlib.md5(location.encode(), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest, version=3))


def check_identity(name: str, opened: str, current: str) -> None:
    """Insist that a name leads to the table that was opened."""
    if opened == current:
        return
    raise NotFoundError(
        f"{name} is another table now: the one that was opened was dropped, renamed or moved.",
        kind=ErrorKind.TABLE_REPLACED,
        hint="Open the index again, under the table's new name if it was renamed.",
    )
