"""Decide to which other roots an index may refer.

A clone refers to the roots of the indexes whose objects it uses.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, UnsupportedError
from lakesieve.storage.location import normalized

if TYPE_CHECKING:
    from collections.abc import Iterable

INDEX_FOLDER = "_lakesieve"
"""Folder of a table's indexes. The underscore hides it from the clean-up of the table formats."""

TRUSTED_ROOTS = "lakesieve.trusted.roots"
"""Storage option with more trusted folders, separated by commas, for the indexes of others."""

# a store or a server might read these characters as a step to another folder
_STEPS = re.compile(r"(^|/)\.{1,2}(/|$)|%2e|%2f|%5c|[\\\x00-\x1f]", re.IGNORECASE)
_WHOLE = re.compile(r"(?:/|file:/+)[^/]|(?!file:)[A-Za-z][A-Za-z0-9+.\-]*://[^/]")
# parts of a path below a root of indexes: the table's uuid, index
_BELOW_A_ROOT = 2
# parts of a path below the warehouse: database, table, the table's index folder, index
_BESIDE = 4


def warehouse_of(location: str) -> str:
    """Return the folder that contains an index and the indexes that it may share objects with.

    For ``<warehouse>/<database>/<table>/_lakesieve/<index>`` this is the warehouse; for
    ``<root>/<table uuid>/<index>`` it is the root. On local disk it is never the whole disk, nor a
    folder that holds the folders of several users. If the warehouse would be a topmost folder, the
    result is the database's folder.
    """
    scheme, mark, path = location.partition("://")
    store, path = (scheme + mark, path) if mark else ("", location)
    first, *folders = path.split("/")
    above = _BESIDE if folders[-2:-1] == [INDEX_FOLDER] else _BELOW_A_ROOT
    if not mark and above == _BESIDE and len(folders) == _BESIDE + 1:
        above -= 1
    # in an object store at least the bucket, on local disk nothing
    remaining = folders[:-above] or ([] if mark else folders[:1])
    return store + "/".join([first, *remaining])


def trusted_folders(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of trusted folders."""
    folders = [folder for folder in map(str.strip, text.split(",")) if folder]
    for folder in folders:
        if not _WHOLE.match(folder) or _STEPS.search(folder):
            raise InvalidInputError(
                f"{folder!r} cannot be a trusted location.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint=f"Give locations such as s3://bucket/indexes in spark.{TRUSTED_ROOTS}, "
                "separated by commas.",
            )
    return tuple(map(normalized, folders))


def is_below(location: str, folder: str) -> bool:
    """Return whether an object lies in a folder, however a store reads its name."""
    if location != location.strip():
        return False
    try:
        location, folder = normalized(location), normalized(folder)
    except LakesieveError:
        # a store that only PyIceberg can reach
        folder = folder.rstrip("/")
    return location != folder and _is_below(location, folder)


def _is_below(location: str, folder: str) -> bool:
    # the folder of the table itself may contain a percent sign
    return f"{location}/".startswith(f"{folder}/") and not _STEPS.search(location[len(folder) :])


def check_trusted(location: str, index: str, trusted: Iterable[str] = ()) -> None:
    """Check that an index may refer to another root."""
    if location and normalized(location) == location:
        if location.startswith("memory:"):
            return  # indexes in memory belong to this process alone
        folders = (warehouse_of(index), *trusted)
        if any(_is_below(location, folder) for folder in folders):
            # a folder on the way may be a link to an untrusted place
            place = resolved(location)
            if any(_is_below(place, resolved(folder)) for folder in folders):
                return
    raise UnsupportedError(
        f"The index at {index} shares objects with the index at {location}, which is not a trusted "
        "location.",
        kind=ErrorKind.UNTRUSTED_ROOT,
        hint=f"If both indexes are yours, add the location to the setting spark.{TRUSTED_ROOTS}. "
        "Otherwise "
        "drop the index.",
    )


def resolved(location: str) -> str:
    """Return a normalized location. On local disk, symbolic links are resolved."""
    return os.path.realpath(location) if location.startswith("/") else location


def is_same_place(one: str, other: str) -> bool:
    """Return whether two normalized locations name the same place."""
    return one == other or resolved(one) == resolved(other)
