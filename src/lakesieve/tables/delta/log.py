"""The transaction log of a Delta table, as Delta's protocol describes it.

Read here because what a library for rows leaves out matters to an index: features of tables that it
does not know, files that older versions still use, paths with signs of every kind.
``docs/design/0016`` compares.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, NotFoundError, StorageError
from lakesieve.tables.delta.actions import (
    FILE_SCHEMA,
    file_row,
    files_of,
    number_of_records,
    plain,
    reconciled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakesieve.storage import ObjectInfo, Storage

__all__ = ["FOLDER", "DeltaLog", "DeltaSnapshot"]

FOLDER = "_delta_log"
"""Folder of the log in that of the table."""

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(?P<version>\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<uuid>[\w-]+))?"
    r"\.(?P<kind>parquet|json)"
)
_LAST_CHECKPOINT = "_last_checkpoint"
_SIDECARS = "_sidecars"
_LARGEST = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """What the folder of the log has of use for one version.

    Args:
        checkpoint: Files of the checkpoint it begins with; none is the first commit.
        start: The checkpoint's version, or -1.
        commits: Commits after it, by version, in order.
    """

    checkpoint: tuple[ObjectInfo, ...]
    start: int
    commits: Mapping[int, ObjectInfo]

    @property
    def version(self) -> int:
        """The version that they lead to."""
        return max(self.commits, default=self.start)


@dataclass(frozen=True, eq=False, kw_only=True)
class DeltaSnapshot:
    """One version of a table.

    Args:
        version: Its number.
        timestamp_ms: When it was committed; null where only a checkpoint is left of it.
        protocol: The ``protocol`` action in force.
        metadata: The ``metaData`` action in force.
        files: What is known of data files: ``path`` as logged, ``vector`` the identity of the
            deletion vector, ``size``, ``stats``, and whether the file is part of the version, or
            was removed from it.
    """

    version: int
    timestamp_ms: int | None
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    files: pa.Table

    @cached_property
    def live(self) -> pa.Table:
        """The data files of the version: ``path`` as logged, ``size``, ``records`` or null."""
        added = self.files.filter(self.files.column("added"))
        return pa.table(
            {
                "path": added.column("path"),
                "size": added.column("size"),
                "records": number_of_records(added.column("stats")),
            }
        )

    @property
    def features(self) -> list[str]:
        """The features that a reader must support."""
        return list(self.protocol.get("readerFeatures") or ())

    @property
    def reader_version(self) -> int:
        """The protocol version for readers."""
        return int(self.protocol["minReaderVersion"])


class DeltaLog:
    """The log of one table.

    Args:
        table: The table's folder.
        name: As the user called the table.
    """

    def __init__(self, table: Storage, name: str) -> None:
        self._storage = table.child(FOLDER)
        self._name = name
        self._newest: tuple[_Listing, DeltaSnapshot] | None = None

    def snapshot(self, version: int | None = None) -> DeltaSnapshot:
        """Read one version, by default the newest.

        Args:
            version: Its number.

        Raises:
            NotFoundError: There is no table, or the log does not have that version any more.
            StorageError: The log cannot be read.
        """
        listing = self._listing(version)
        if version is not None:
            return self._read(listing)
        # nothing is read again while nothing is written
        if self._newest is None or self._newest[0] != listing:
            self._newest = (listing, self._read(listing))
        return self._newest[1]

    def _read(self, listing: _Listing) -> DeltaSnapshot:
        protocol: Mapping[str, Any] = {}
        metadata: Mapping[str, Any] = {}
        tables: list[pa.Table] = []
        stamp: int | None = None
        for part in listing.checkpoint:
            for action, value in self._checkpoint(part.path):
                if action == "protocol":
                    protocol = value
                elif action == "metaData":
                    metadata = value
                else:
                    tables.append(value)
        paths = [info.path for info in listing.commits.values()]
        data = self._storage.get_all(paths, most=_LARGEST)
        for info, commit in zip(listing.commits.values(), data, strict=True):
            stamp = int(info.modified.timestamp() * 1000)
            rows: list[dict[str, Any]] = []
            for action, value in self._actions(info.path, commit):
                if action == "protocol":
                    protocol = value
                elif action == "metaData":
                    metadata = value
                elif action == "commitInfo" and value.get("inCommitTimestamp") is not None:
                    stamp = int(value["inCommitTimestamp"])
                elif action in {"add", "remove"}:
                    rows.append(file_row(value, added=action == "add"))
            tables.append(pa.Table.from_pylist(rows, schema=FILE_SCHEMA))
        if not protocol or not metadata:
            raise self._unreadable(f"version {listing.version} has no protocol or no metadata")
        return DeltaSnapshot(
            version=listing.version,
            timestamp_ms=stamp,
            protocol=protocol,
            metadata=metadata,
            files=reconciled(pa.concat_tables([FILE_SCHEMA.empty_table(), *tables])),
        )

    def version_at(self, moment_ms: int) -> int | None:
        """Number of the newest commit that is not later than a time, if there is one.

        Args:
            moment_ms: Milliseconds since the epoch.
        """
        found = None
        before = -1
        for version, info in self._commits().items():
            # times of files may go back, those of commits do not
            stamp = max(self._stamp(info), before + 1)
            if stamp > moment_ms:
                break
            found, before = version, stamp
        return found

    def _stamp(self, info: ObjectInfo) -> int:
        """When a commit was made: what it says itself, or its file's time."""
        first = self._storage.get(info.path, most=_LARGEST).partition(b"\n")[0]
        for action, value in self._actions(info.path, first):
            if action == "commitInfo" and value.get("inCommitTimestamp") is not None:
                return int(value["inCommitTimestamp"])
        return int(info.modified.timestamp() * 1000)

    def _commits(self) -> dict[int, ObjectInfo]:
        named = ((_COMMIT.fullmatch(info.path), info) for info in self._storage.objects(""))
        return {int(found[1]): info for found, info in named if found}

    def _listing(self, version: int | None) -> _Listing:
        """The newest checkpoint that a version can begin with, and the commits after it."""
        after = self._last_checkpoint()
        # a version before the last checkpoint begins with an older one
        if version is not None and version < after:
            after = 0
        first = f"{after:020d}" if after > 0 else ""
        infos = self._storage.objects("", after=first)
        found = _chosen(infos, version)
        if found is None and first:
            # the hint is at a checkpoint that is not there
            infos = self._storage.objects("")
            found = _chosen(infos, version)
        if found is not None:
            return found
        if not any(_COMMIT.fullmatch(i.path) or _CHECKPOINT.fullmatch(i.path) for i in infos):
            raise NotFoundError(
                f"There is no Delta table at {self._storage.parent.location}.",
                kind=ErrorKind.TABLE_NOT_FOUND,
                hint="Give the folder that holds _delta_log.",
            )
        if version is not None:
            raise self.no_version(version)
        raise self._unreadable("commits between versions are missing")

    def no_version(self, spec: str | int) -> NotFoundError:
        """The error for a version that there is not.

        Args:
            spec: As the user named it.
        """
        return NotFoundError(
            f"{self._name} has no version {str(spec)!r}.",
            kind=ErrorKind.VERSION_NOT_FOUND,
            hint="Give a version number, or a time such as 2026-01-31T12:00:00.",
        )

    def _last_checkpoint(self) -> int:
        """Where the listing may begin; only a hint, which may be stale or wrong."""
        try:
            hint = json.loads(self._storage.get(_LAST_CHECKPOINT, most=_LARGEST))
            return int(hint["version"])
        except (NotFoundError, ValueError, TypeError, KeyError):
            return 0

    def _checkpoint(self, path: str) -> Iterator[tuple[str, Any]]:
        """The actions of a checkpoint file, those of data files as tables."""
        data = self._storage.get(path, most=_LARGEST)
        sidecars: list[str] = []
        if path.endswith(".json"):
            rows = []
            for action, value in self._actions(path, data):
                if action in {"add", "remove"}:
                    rows.append(file_row(value, added=action == "add"))
                elif action == "sidecar":
                    sidecars.append(value["path"])
                else:
                    yield action, value
            yield "files", pa.Table.from_pylist(rows, schema=FILE_SCHEMA)
        else:
            yield from self._parquet(path, data, sidecars)
        for sidecar in sidecars:
            inside = sidecar.rpartition("/")[2]
            whole = self._storage.get(f"{_SIDECARS}/{inside}", most=_LARGEST)
            yield from self._parquet(inside, whole, [])

    def _parquet(self, path: str, data: bytes, sidecars: list[str]) -> Iterator[tuple[str, Any]]:
        try:
            file = pq.ParquetFile(pa.BufferReader(data))
            known = set(file.schema_arrow.names)
            for action in ("protocol", "metaData", "sidecar"):
                if action in known:
                    column = file.read(columns=[action]).column(action).drop_null()
                    for value in column.to_pylist():
                        if action == "sidecar":
                            sidecars.append(value["path"])
                        else:
                            yield action, plain(value)
            for action in ("add", "remove"):
                if action in known:
                    yield "files", files_of(file, action)
        except pa.ArrowException as error:
            raise self._unreadable(f"{path}: {error}") from error

    def _actions(self, path: str, data: bytes) -> Iterator[tuple[str, Any]]:
        try:
            lines = [json.loads(line) for line in data.splitlines() if line.strip()]
            actions = [action for line in lines for action in line.items()]
        except (ValueError, AttributeError) as error:
            raise self._unreadable(f"{path}: {error}") from error
        for name, value in actions:
            named = isinstance(value, dict) and (
                name not in {"add", "remove"} or isinstance(value.get("path"), str)
            )
            if not named:
                raise self._unreadable(f"{path}: an action {name} without what it needs")
            yield name, value

    def _unreadable(self, why: str) -> StorageError:
        return StorageError(
            f"The log of {self._name} cannot be read: {why}.",
            kind=ErrorKind.STORAGE_FAILED,
            hint="No query of this version can be planned either; restore the log.",
        )


def _chosen(infos: list[ObjectInfo], version: int | None) -> _Listing | None:
    """What of a listing leads to a version; ``None`` where something is missing."""
    complete: dict[int, tuple[ObjectInfo, ...]] = {}
    parts: dict[tuple[int, int], list[ObjectInfo]] = {}
    commits: dict[int, ObjectInfo] = {}
    for info in infos:
        if found := _COMMIT.fullmatch(info.path):
            commits[int(found[1])] = info
        elif found := _CHECKPOINT.fullmatch(info.path):
            number = int(found["version"])
            if found["parts"] is None:
                complete[number] = (info,)
            else:
                of_all = parts.setdefault((number, int(found["parts"])), [])
                of_all.append(info)
    for (number, count), of_all in parts.items():
        if len(of_all) == count:
            complete.setdefault(number, tuple(of_all))
    newest = max((*commits, *complete), default=-1)
    wanted = newest if version is None else version
    start = max((number for number in complete if number <= wanted), default=-1)
    chosen = {n: commits[n] for n in sorted(commits) if start < n <= wanted}
    if newest < 0 or list(chosen) != list(range(start + 1, wanted + 1)):
        return None
    return _Listing(checkpoint=complete.get(start, ()), start=start, commits=chosen)
