"""A name for the files that a directory has now, in whatever order they are listed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_BYTES = 8


def version_of(identities: Iterable[Iterable[str]]) -> str | None:
    """The name of a version; ``None`` without files."""
    total, count = 0, 0
    for part in identities:
        for identity in part:
            digest = hashlib.sha256(identity.encode()).digest()
            total += int.from_bytes(digest[:_BYTES], "big")
            count += 1
    return f"{total % (1 << 8 * _BYTES):0{2 * _BYTES}x}" if count else None
