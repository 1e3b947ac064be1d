"""Checks that the files of a table lie below its location.

A caller can often write a table's metadata. Where this server reads files for the caller, a path in
that metadata must not lead to the files of another table.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.tables.paths import normal_paths, table_root

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOCAL = "file:/"
_REMOTE = re.compile(r"[a-z][a-z0-9+.\-]*://[^/]+")
# A store, a file system or a reader of URLs takes these for steps to another folder, or for the end
# of the path. Iceberg encodes values of partitions, so %2F and %5C may be in a data file's name.
_STEPS = r"(?i:(^|/)(\.|%2e){1,2}(/|$)|\\|[\x00-\x1f\x7f])"
_STEPS_OF_URLS = r"[?#]|%2[fF]|%5[cC]"


class TableBounds:
    """The folder of one table, in which paths must stay.

    Paths are compared in their one spelling (``s3a`` is ``s3``, ``file:///a`` is ``/a``). On the
    local disk symbolic links are resolved first. ``of_data`` says whether data files must lie there
    too, and not only the files that this server reads.

    Raises:
        UnsupportedError: The location is relative, a whole disk, or no plain path.
    """

    def __init__(self, location: str, *, of_data: bool = True) -> None:
        self._location = location
        self._of_data = of_data
        self._root = table_root(location)
        self._is_local = self._root.startswith(_LOCAL)
        folder = self._root.removeprefix(_LOCAL)
        plain = not re.search(f"{_STEPS}|[?#]", folder)
        whole = bool(folder) and not folder.startswith("/") if self._is_local else False
        if not plain or not (whole or (not self._is_local and _REMOTE.match(self._root))):
            raise _outside("location", location, "is not a folder whose files can be told apart")
        self._folders: dict[str, bool] = {}

    def check_metadata(self, paths: Iterable[str]) -> None:
        """Check the paths of metadata files, manifest lists or manifests, which are read here.

        Raises:
            UnsupportedError: One of them lies outside.
        """
        self._check(pa.array(list(paths), pa.string()), "metadata file", _STEPS_OF_URLS)

    def check_data(self, paths: pa.Array) -> None:
        """Check the paths of data files or delete files, which only the client reads.

        Raises:
            UnsupportedError: One of them lies outside.
        """
        if self._of_data:
            self._check(paths, "data file")

    def _check(self, paths: pa.Array, what: str, steps: str = "") -> None:
        if not len(paths):
            return
        normal = normal_paths(pa.chunked_array([paths])).combine_chunks()
        start = f"{self._root}/"
        rest = pc.utf8_slice_codeunits(normal, len(start))
        pattern = f"{_STEPS}|{steps}" if steps else _STEPS
        inside = pc.and_(
            pc.starts_with(normal, start), pc.invert(pc.match_substring_regex(rest, pattern))
        )
        if not pc.all(inside).as_py():
            first = paths[pc.index(inside, value=False).as_py()].as_py()
            raise _outside(what, first, f"lies outside the table's location {self._location}")
        if self._is_local:
            for path in normal.to_pylist():
                if not self._stays(f"/{path.removeprefix(_LOCAL)}"):
                    raise _outside(what, path, "leads out of the table's location by a link")

    def _stays(self, path: str) -> bool:
        """Return whether a local path is in the table's folder when links are resolved."""
        if Path(path).is_symlink():
            return self._holds(path)
        folder = path.rpartition("/")[0]
        if folder not in self._folders:
            self._folders[folder] = self._holds(folder)
        return self._folders[folder]

    def _holds(self, path: str) -> bool:
        root = os.path.realpath(f"/{self._root.removeprefix(_LOCAL)}")
        return f"{os.path.realpath(path)}/".startswith(f"{root}/")


def _outside(what: str, path: str, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"This server does not plan scans of the table: its {what} {path!r} {why}.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Let the client plan the scan (scan-planning-mode=client), or rewrite the table's "
        "files into its own location.",
    )
