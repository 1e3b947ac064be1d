"""Read the transaction log of a Delta table, following Delta's protocol and Delta for Spark.

``docs/design/0028`` and ``0032`` compare this reader with the package ``deltalake``.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, NotFoundError, StorageError, UnsupportedError
from lakesieve.tables.delta.actions import (
    FILE_SCHEMA,
    json_actions,
    read_json,
    read_parquet,
    reconciled,
)
from lakesieve.tables.delta.listing import LogFiles
from lakesieve.tables.delta.logged_paths import are_simple, canonical_paths, check_spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.storage import ObjectInfo, Storage
    from lakesieve.tables.delta.actions import LogPart
    from lakesieve.tables.delta.listing import LogSegment

_FOLDER = "_delta_log"
_LAST_CHECKPOINT = "_last_checkpoint"
_SIDECARS = "_sidecars"
_LARGEST = 1 << 31
_STAMPED = "delta.enableInCommitTimestamps"
_STAMPED_FROM = "delta.inCommitTimestampEnablementVersion"
_STAMPED_SINCE = "delta.inCommitTimestampEnablementTimestamp"
_COORDINATORS = tuple(
    f"delta.coordinatedCommits.commitCoordinator{suffix}" for suffix in ("", "-preview")
)
_DAMAGES = (
    *(ValueError, TypeError, KeyError, AttributeError, OSError),
    *(ArithmeticError, RecursionError, pa.ArrowException),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class DeltaSnapshot:
    """One version of a table.

    Args:
        version: The number of the version.
        timestamp_ms: Commit time; null if only a checkpoint of the version remains.
        protocol: The ``protocol`` action in force.
        metadata: The ``metaData`` action in force.
        files: The last action on each data file, with ``FILE_SCHEMA`` and canonical paths.
        is_simple: True if all paths are relative and have no escapes.
    """

    version: int
    timestamp_ms: int | None
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    files: pa.Table
    is_simple: bool

    @property
    def live(self) -> pa.Table:
        """Live data files of the version."""
        added = self.files.column("added")
        return self.files if pc.all(added, min_count=0).as_py() else self.files.filter(added)

    @property
    def configuration(self) -> Mapping[str, str]:
        """Properties of the table."""
        return self.metadata.get("configuration") or {}


class DeltaLog:
    """The transaction log of the table in a folder."""

    def __init__(self, table: Storage, name: str) -> None:
        self._storage = table.child(_FOLDER)
        self._name = name
        self._newest: tuple[LogSegment, DeltaSnapshot] | None = None

    def snapshot(self, version: int | None = None) -> DeltaSnapshot:
        """Read one version, by default the newest.

        Raises:
            NotFoundError: There is no table, or the log no longer has this version.
            StorageError: The log cannot be read.
            UnsupportedError: Readers may disagree about the data files in the log, or a commit
                coordinator has the last commits.
        """
        segment = self._segment(version)
        if version is not None:
            return self._read(segment)
        # as long as nothing was written, nothing is read again
        if self._newest is None or self._newest[0] != segment:
            self._newest = (segment, self._read(segment))
        return self._newest[1]

    def _read(self, segment: LogSegment) -> DeltaSnapshot:
        version = segment.version
        older = [part for info in segment.checkpoint for part in self._checkpoint_parts(info.path)]
        paths = [info.path for info in segment.commits]
        data = self._storage.get_all(paths, most=_LARGEST)
        newer = [self._part(path, commit) for path, commit in zip(paths, data, strict=True)]
        actions: dict[str, Mapping[str, Any]] = {}
        for part in (*older, *newer):
            actions |= part.table
        protocol, metadata = (actions.get(name, {}) for name in ("protocol", "metaData"))
        configuration = metadata.get("configuration") or {}
        if (
            "minReaderVersion" not in protocol
            or not {"id", "schemaString"} <= set(metadata)
            or not isinstance(configuration, dict)
        ):
            raise self.unreadable(f"version {version} lacks a protocol or a schema")
        files, is_simple = self._files(older, newer)
        self._check_coordinator(configuration)
        return DeltaSnapshot(
            version=version,
            timestamp_ms=self._timestamp(segment.last, configuration),
            protocol=protocol,
            metadata=metadata,
            files=files,
            is_simple=is_simple,
        )

    def _checkpoint_parts(self, path: str) -> list[LogPart]:
        """Read a file of a checkpoint and its sidecars."""
        part = self._part(path, self._storage.get(path, most=_LARGEST))
        names = [f"{_SIDECARS}/{name.rpartition('/')[2]}" for name in part.sidecars]
        return [part, *(self._part(n, self._storage.get(n, most=_LARGEST)) for n in names)]

    def _part(self, path: str, data: bytes) -> LogPart:
        read = read_parquet if path.endswith(".parquet") else read_json
        try:
            return read(data)
        except _DAMAGES as error:
            raise self.unreadable(f"{path}: {error}") from error

    def _files(self, older: Sequence[LogPart], newer: Sequence[LogPart]) -> tuple[pa.Table, bool]:
        """Return the last action on each data file, and whether all paths are simple."""
        groups = [
            pa.Table.from_batches((batch for part in parts for batch in part.files), FILE_SCHEMA)
            for parts in (older, newer)
        ]
        paths = [group.column("path") for group in groups]
        if any(chunks.null_count for chunks in paths):
            raise self.unreadable("an action on a data file has no path")
        # simple paths are canonical, and no two of them are one URI
        if all(map(are_simple, paths)):
            return reconciled(*groups), True
        canonical = (
            group.set_column(0, "path", canonical_paths(chunks, self._name))
            for group, chunks in zip(groups, paths, strict=True)
        )
        files = reconciled(*canonical)
        check_spellings(files.column("path"), self._name)
        return files, False

    def _check_coordinator(self, configuration: Mapping[str, str]) -> None:
        if any(configuration.get(name) for name in _COORDINATORS):
            raise UnsupportedError(
                f"A commit coordinator has the last commits of {self._name}, which are not in its "
                "log.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="To index the table, drop its table feature for coordinated commits.",
            )

    def _timestamp(self, last: ObjectInfo | None, configuration: Mapping[str, str]) -> int | None:
        if last is None:
            return None
        return self._stamp(last) if _is_stamped(configuration) else _modified(last)

    def version_at(self, moment_ms: int) -> int | None:
        """Return the number of the newest commit that is not later than a time.

        Since the table was told to record times, a commit's time is the recorded time. Before that,
        it is the time of the commit's file.

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
        stamps = [settings.get(name) for name in (_STAMPED_FROM, _STAMPED_SINCE)]
        try:
            first, since = map(int, stamps if stamps != [None, None] else (earliest, -1))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise self.unreadable(f"{_STAMPED_FROM} or {_STAMPED_SINCE} is not a number") from error
        if since > moment_ms and first > earliest:
            return _by_file(files, earliest, first, moment_ms)
        stamped = [n for n in files.commits if max(first, earliest) <= n <= newest.version]
        at = bisect_right(stamped, moment_ms, key=lambda n: self._stamp(files.commits[n]))
        return stamped[at - 1] if at else None

    def _stamp(self, info: ObjectInfo) -> int:
        """Return the time that a commit records."""
        first = self._storage.get(info.path, most=_LARGEST).partition(b"\n")[0]
        try:
            infos = [value for name, value in json_actions(first) if name == "commitInfo"]
            return int(infos[0]["inCommitTimestamp"])
        except (*_DAMAGES, IndexError) as error:
            raise self.unreadable(
                f"{info.path} has no valid inCommitTimestamp in its first line"
            ) from error

    def _segment(self, version: int | None) -> LogSegment:
        """Return the newest suitable checkpoint for a version, and the commits after it."""
        after = self._last_checkpoint()
        # a version before the last checkpoint starts from an older one
        if version is not None and version < after:
            after = 0
        first = f"{after:020d}" if after > 0 else ""
        files = LogFiles.of(self._storage.objects("", after=first))
        segment = files.segment(version)
        if segment is None and first:
            # the hint points to a checkpoint that does not exist
            files = LogFiles.of(self._storage.objects(""))
            segment = files.segment(version)
        if segment is not None:
            return segment
        if not files:
            raise NotFoundError(
                f"No Delta table exists at {self._storage.parent.location}.",
                kind=ErrorKind.TABLE_NOT_FOUND,
                hint="Give the folder that contains _delta_log.",
            )
        if version is not None:
            raise self.no_version(version)
        raise self.unreadable("some commits are missing")

    def _last_checkpoint(self) -> int:
        """Return where a listing may begin. It is only a hint, which may be old or wrong."""
        try:
            hint = json.loads(self._storage.get(_LAST_CHECKPOINT, most=_LARGEST))
            return int(hint["version"])
        except (NotFoundError, RecursionError, ValueError, TypeError, KeyError):
            return 0

    def no_version(self, spec: str | int) -> NotFoundError:
        """Return the error for a version that does not exist."""
        return NotFoundError(
            f"{self._name} has no version {str(spec)!r}.",
            kind=ErrorKind.VERSION_NOT_FOUND,
            hint="Give a version number, or a time such as 2026-01-31T12:00:00.",
        )

    def unreadable(self, why: str) -> StorageError:
        """Return the error for a log that is damaged."""
        return StorageError(
            f"The log of {self._name} cannot be read: {why}.",
            kind=ErrorKind.STORAGE_FAILED,
            hint="Other readers cannot read this version either. Restore the log.",
        )


def _is_stamped(configuration: Mapping[str, str]) -> bool:
    """Return whether commits record their times."""
    return str(configuration.get(_STAMPED, "false")).strip().lower() == "true"


def _modified(info: ObjectInfo) -> int:
    return int(info.modified.timestamp() * 1000)


def _by_file(files: LogFiles, start: int, end: int, moment_ms: int) -> int | None:
    """Return the newest of some commits whose file time is not later than ``moment_ms``."""
    newest = None
    before = -1
    for version, info in files.commits.items():
        if start <= version < end:
            # the times of files may go backwards, but commit times must ascend
            stamp = max(_modified(info), before + 1)
            if stamp > moment_ms:
                break
            newest, before = version, stamp
    return newest
