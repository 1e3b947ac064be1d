"""The transaction log of a Delta table, as Delta's protocol and Delta for Spark describe it.

``docs/design/0028`` compares this reader with the package ``deltalake``.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError, StorageError
from lakesieve.tables.delta.actions import FILE_SCHEMA, actions_of, file_actions, reconciled
from lakesieve.tables.delta.checkpoints import checkpoint_actions, checkpoint_files
from lakesieve.tables.delta.listing import LogFiles
from lakesieve.tables.delta.logged_paths import canonical_paths, check_spellings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakesieve.storage import ObjectInfo, Storage
    from lakesieve.tables.delta.listing import LogSegment

FOLDER = "_delta_log"
"""Folder of the log in that of the table."""

_LAST_CHECKPOINT = "_last_checkpoint"
_SIDECARS = "_sidecars"
_LARGEST = 1 << 31
_STAMPED = "delta.enableInCommitTimestamps"
_STAMPED_FROM = "delta.inCommitTimestampEnablementVersion"
_STAMPED_SINCE = "delta.inCommitTimestampEnablementTimestamp"


@dataclass(frozen=True, eq=False, kw_only=True)
class DeltaSnapshot:
    """One version of a table.

    Args:
        version: Its number.
        timestamp_ms: When it was committed; null where only a checkpoint is left of it.
        protocol: The ``protocol`` action in force.
        metadata: The ``metaData`` action in force.
        files: The last action on each data file, by ``FILE_SCHEMA``, with canonical paths.
    """

    version: int
    timestamp_ms: int | None
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    files: pa.Table

    @property
    def live(self) -> pa.Table:
        """The data files of the version."""
        return self.files.filter(self.files.column("added"))

    @property
    def features(self) -> list[str]:
        """The features that a reader must support."""
        return list(self.protocol.get("readerFeatures") or ())

    @property
    def reader_version(self) -> int:
        """The protocol version for readers."""
        return int(self.protocol["minReaderVersion"])

    @property
    def configuration(self) -> Mapping[str, str]:
        """The properties of the table."""
        return self.metadata.get("configuration") or {}


class _Actions:
    """The actions of a log segment, as they are read."""

    def __init__(self) -> None:
        self.protocol: Mapping[str, Any] = {}
        self.metadata: Mapping[str, Any] = {}
        self.older: list[pa.Table] = []
        self.newer: list[pa.Table] = []

    def take(self, name: str, action: Mapping[str, Any]) -> None:
        if name == "protocol":
            self.protocol = action
        elif name == "metaData":
            self.metadata = action


class DeltaLog:
    """The log of one table.

    Args:
        table: The table's folder.
        name: As the user called the table.
    """

    def __init__(self, table: Storage, name: str) -> None:
        self._storage = table.child(FOLDER)
        self._name = name
        self._newest: tuple[LogSegment, DeltaSnapshot] | None = None

    def snapshot(self, version: int | None = None) -> DeltaSnapshot:
        """Read one version, by default the newest.

        Raises:
            NotFoundError: There is no table, or the log does not have that version any more.
            StorageError: The log cannot be read.
            UnsupportedError: Readers do not agree which data files the log names.
        """
        segment = self._segment(version)
        if version is not None:
            return self._read(segment)
        # nothing is read again while nothing is written
        if self._newest is None or self._newest[0] != segment:
            self._newest = (segment, self._read(segment))
        return self._newest[1]

    def _read(self, segment: LogSegment) -> DeltaSnapshot:
        found = _Actions()
        for part in segment.checkpoint:
            self._checkpoint(part.path, found)
        data = self._storage.get_all([info.path for info in segment.commits], most=_LARGEST)
        for info, commit in zip(segment.commits, data, strict=True):
            self._json(info.path, commit, found, found.newer)
        metadata, version = found.metadata, segment.version
        if "minReaderVersion" not in found.protocol or not {"id", "schemaString"} <= set(metadata):
            raise self.unreadable(f"version {version} has no protocol or no schema")
        older, newer = map(self._files, (found.older, found.newer))
        files = reconciled(older, newer)
        check_spellings(files.column("path"), self._name)
        return DeltaSnapshot(
            version=version,
            timestamp_ms=self._timestamp(segment.last, metadata),
            protocol=found.protocol,
            metadata=metadata,
            files=files,
        )

    def _files(self, tables: list[pa.Table]) -> pa.Table:
        files = pa.concat_tables([FILE_SCHEMA.empty_table(), *tables])
        if files.column("path").null_count:
            raise self.unreadable("an action on a data file without a path")
        paths = canonical_paths(files.column("path"), self._name)
        return files.set_column(0, "path", paths)

    def _timestamp(self, last: ObjectInfo | None, metadata: Mapping[str, Any]) -> int | None:
        if last is None:
            return None
        if _is_stamped(metadata.get("configuration") or {}):
            return self._stamp(last)
        return _modified(last)

    def version_at(self, moment_ms: int) -> int | None:
        """Number of the newest commit that is not later than a time, if there is one.

        A commit's time is the one that it records, since the table is told to record times; before,
        it is that of the commit's file.

        Args:
            moment_ms: Milliseconds since the epoch.

        Raises:
            StorageError: The log cannot be read.
        """
        newest = self.snapshot()
        files = LogFiles.of(self._storage.objects(""))
        earliest = files.earliest()
        if earliest is None:
            return None
        settings = newest.configuration
        if not _is_stamped(settings):
            return _by_file(files, earliest, newest.version + 1, moment_ms)
        given = [settings.get(name) for name in (_STAMPED_FROM, _STAMPED_SINCE)]
        try:
            first, since = map(int, given if given != [None, None] else (earliest, -1))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise self.unreadable(f"{_STAMPED_FROM} or {_STAMPED_SINCE} is no number") from error
        if since > moment_ms and first > earliest:
            return _by_file(files, earliest, first, moment_ms)
        stamped = [n for n in files.commits if max(first, earliest) <= n <= newest.version]
        at = bisect_right(stamped, moment_ms, key=lambda n: self._stamp(files.commits[n]))
        return stamped[at - 1] if at else None

    def _stamp(self, info: ObjectInfo) -> int:
        """The time that a commit records."""
        first = self._storage.get(info.path, most=_LARGEST).partition(b"\n")[0]
        try:
            found = [value for name, value in actions_of(first) if name == "commitInfo"]
            return int(found[0]["inCommitTimestamp"])
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise self.unreadable(f"{info.path} does not record its time") from error

    def _segment(self, version: int | None) -> LogSegment:
        """The newest checkpoint that a version can begin with, and the commits after it."""
        after = self._last_checkpoint()
        # a version before the last checkpoint begins with an older one
        if version is not None and version < after:
            after = 0
        first = f"{after:020d}" if after > 0 else ""
        files = LogFiles.of(self._storage.objects("", after=first))
        found = files.segment(version)
        if found is None and first:
            # the hint is at a checkpoint that is not there
            files = LogFiles.of(self._storage.objects(""))
            found = files.segment(version)
        if found is not None:
            return found
        if not files:
            raise NotFoundError(
                f"There is no Delta table at {self._storage.parent.location}.",
                kind=ErrorKind.TABLE_NOT_FOUND,
                hint="Give the folder that holds _delta_log.",
            )
        if version is not None:
            raise self.no_version(version)
        raise self.unreadable("commits between versions are missing")

    def no_version(self, spec: str | int) -> NotFoundError:
        """The error for a version that does not exist."""
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

    def _checkpoint(self, path: str, found: _Actions) -> None:
        """Read a file of a checkpoint and the files that it names beside it."""
        data = self._storage.get(path, most=_LARGEST)
        if path.endswith(".json"):
            sidecars = self._json(path, data, found, found.older)
        else:
            sidecars = self._parquet(path, data, found)
        names = [f"{_SIDECARS}/{sidecar.rpartition('/')[2]}" for sidecar in sidecars]
        for name in names:
            self._parquet(name, self._storage.get(name, most=_LARGEST), found)

    def _json(self, path: str, data: bytes, found: _Actions, tables: list[pa.Table]) -> list[str]:
        """Read a file of actions in JSON; returns the names of sidecars."""
        on_files, sidecars = [], []
        try:
            for name, action in actions_of(data):
                if name in {"add", "remove"}:
                    on_files.append((name, action))
                elif name == "sidecar":
                    sidecars.append(str(action["path"]))
                else:
                    found.take(name, action)
            if on_files:
                tables.append(file_actions(on_files))
        except (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException) as error:
            raise self.unreadable(f"{path}: {error}") from error
        return sidecars

    def _parquet(self, path: str, data: bytes, found: _Actions) -> list[str]:
        """Read a file of actions in Parquet; returns the names of sidecars."""
        sidecars = []
        try:
            file = pq.ParquetFile(pa.BufferReader(data))
            for name, action in checkpoint_actions(file):
                if name == "sidecar":
                    sidecars.append(str(action["path"]))
                else:
                    found.take(name, action)
            batches = list(checkpoint_files(file))
            if batches:
                found.older.append(pa.Table.from_batches(batches))
        except LakesieveError:
            raise
        except (ValueError, TypeError, KeyError, OSError, pa.ArrowException) as error:
            raise self.unreadable(f"{path}: {error}") from error
        return sidecars

    def unreadable(self, why: str) -> StorageError:
        """The error for a log that is damaged."""
        return StorageError(
            f"The log of {self._name} cannot be read: {why}.",
            kind=ErrorKind.STORAGE_FAILED,
            hint="No query of this version can be planned either; restore the log.",
        )


def _is_stamped(configuration: Mapping[str, str]) -> bool:
    """Whether commits record their times."""
    return str(configuration.get(_STAMPED, "false")).strip().lower() == "true"


def _modified(info: ObjectInfo) -> int:
    return int(info.modified.timestamp() * 1000)


def _by_file(files: LogFiles, start: int, end: int, moment_ms: int) -> int | None:
    """The newest of some commits whose file is not later than a time."""
    found = None
    before = -1
    for version, info in files.commits.items():
        if start <= version < end:
            # times of files may go back, those of commits do not
            stamp = max(_modified(info), before + 1)
            if stamp > moment_ms:
                break
            found, before = version, stamp
    return found
