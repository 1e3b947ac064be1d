"""The names of the objects of an index: nothing else below its root is ever deleted."""

from __future__ import annotations

import re

FOLDERS = ("log", "segments", "files", "borrowers")
"""The folders below the root of an index."""

OBJECT_NAMES = re.compile(
    r"log/(?:\d{20}(?:\.checkpoint)?\.json|_last_checkpoint)"
    r"|segments/[0-9a-f]{40}\.sieve"
    r"|files/[0-9a-f]{40}\.parquet"
    r"|borrowers/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json"
    r"|_probe-[0-9a-f]{1,32}",
    re.ASCII,
)
"""The paths of objects that this version and earlier ones write."""


def is_object(path: str) -> bool:
    """Whether a path below the root of an index is one that lakesieve writes."""
    return OBJECT_NAMES.fullmatch(path) is not None
