"""Where an index may send its readers: a clone names the roots of those it shares objects with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.storage.location import normalized

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TRUSTED_ROOTS", "check_trusted", "warehouse_of"]

TRUSTED_ROOTS = "lakesieve.trusted.roots"
"""The storage option with further roots, one a line, below which other indexes may lie."""

# a store or a server might read these as steps to another folder
_STEPS = re.compile(r"(^|/)\.{1,2}(/|$)|%2e|%2f|%5c|[\\\x00-\x1f]", re.IGNORECASE)
# of an index, its table's folder of indexes, its table, its database
_LEVELS = 4


def warehouse_of(location: str) -> str:
    """The folder around an index and those that it may share objects with.

    Indexes lie in ``<database>/<table>/_lakesieve/<index>``; this is the folder that the databases
    lie in, but never all of a file system.

    Args:
        location: Normalized location of an index.
    """
    head, mark, path = location.partition("://")
    store, path = (head + mark, path) if mark else ("", location)
    first, *folders = path.split("/")
    # of an object store the bucket, of the local disk nothing
    kept = folders[:-_LEVELS] or ([] if mark else folders[:1])
    return store + "/".join([first, *kept])


def check_trusted(location: str, index: str, trusted: Iterable[str] = ()) -> None:
    """Insist that an index may send its readers to another root.

    Args:
        location: The other root, as the index names it.
        index: Normalized location of the index.
        trusted: Further folders below which it may lie.

    Raises:
        UnsupportedError: It lies elsewhere, or is spelled so that this cannot be told.
    """
    if location and not _STEPS.search(location) and normalized(location) == location:
        if location.startswith("memory:"):
            return  # of this process alone
        for folder in (warehouse_of(index), *map(normalized, trusted)):
            if location == folder or location.startswith(f"{folder.rstrip('/')}/"):
                return
    raise UnsupportedError(
        f"The index at {index} shares objects with one at {location}, which is not a place that is "
        "trusted.",
        kind=ErrorKind.UNTRUSTED_ROOT,
        hint=f"If both are yours, add the place to the setting spark.{TRUSTED_ROOTS}; else drop "
        "the index.",
    )
