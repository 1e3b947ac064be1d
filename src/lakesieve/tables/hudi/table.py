"""Apache Hudi tables without an engine."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from lakesieve.errors import ErrorKind, NotFoundError, UnsupportedError
from lakesieve.storage import INDEX_FOLDER
from lakesieve.tables.contract import TableVersion
from lakesieve.tables.folder import FolderReader
from lakesieve.tables.hudi.schema import UNREAD, spark_schema
from lakesieve.tables.hudi.slices import FileGroups
from lakesieve.tables.hudi.timeline import FOLDER, read_properties, read_timeline
from lakesieve.tables.identity import check_identity, location_identity
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import identified, normal_paths, table_root
from lakesieve.tables.statistics import unread_statistics
from lakesieve.tables.struct_schema import READ_BY_DEFAULT, hudi_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.storage import StorageOptions
    from lakesieve.tables.contract import Column
    from lakesieve.tables.hudi.slices import FileSlice
    from lakesieve.tables.hudi.timeline import Timeline
    from lakesieve.tables.statistics import FileStatistics


class HudiSession(Protocol):
    """How an engine's session finds and reads a table."""

    def location(self) -> str:
        """Return the folder to which the table's name leads now, or an empty text."""

    def document(self, instant: str | None) -> str:
        """Return the schema with which the session reads a version, like ``HudiFiles.java``.

        ``None`` is the current version.
        """

    def moment(self, millis: int) -> str:
        """Return a point in time as Hudi writes it, in the table's time zone."""


class HudiReader(FolderReader):
    """One Hudi table, identified by its folder.

    A version is the time of a commit. A file slice without log files is identified by the path of
    its base file. A slice with log files cannot be indexed.

    Args:
        name: The name by which the user called it.
        location: The folder that contains ``.hoodie``.
        options: Returns the storage options of a location.
        session: Reads the columns. Without a session, they are read as sessions do by default.

    Raises:
        NotFoundError: The folder is not a Hudi table.
        UnsupportedError: The table has no commits.
        StorageError: The timeline cannot be read.
    """

    format = "hudi"

    def __init__(
        self, name: str, location: str, options: StorageOptions, session: HudiSession | None = None
    ) -> None:
        super().__init__(name, location, options, spelled=location if session else None)
        self.uuid = location_identity(table_root(self.location))
        self._session = session
        self._properties: Mapping[str, str] = {}
        self._timeline: Timeline
        self._read_timeline()

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's own settings, by their names in Hudi."""
        return self._properties

    def reload(self) -> None:
        """Follow the name again, and read the timeline anew.

        Raises:
            NotFoundError: The table was dropped, or its name leads to another folder.
            UnsupportedError: The table has no commits.
        """
        if self._session is not None:
            check_identity(self.name, self.location, self._session.location())
        self._read_timeline()

    def _read_timeline(self) -> None:
        self._properties = read_properties(self.storage, self.name)
        self._timeline = read_timeline(self.storage, self._properties, self.name)
        if not self._timeline.commits:
            raise UnsupportedError(
                f"{self.name} has no commits.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Write rows to it first.",
            )

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve the time of a commit, as Hudi writes it, or an ISO timestamp.

        Raises:
            NotFoundError: The table has no commit up to this time.
        """
        self.reload()
        latest = None if spec is None else self._moment(str(spec))
        commit = self._timeline.latest(latest)
        if commit is None or (spec is not None and latest is None):
            raise NotFoundError(
                f"{self.name} has no version {spec!r}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="Give a commit's time such as 20260131120000000, or 2026-01-31T12:00:00; "
                "CALL show_commits lists the commits.",
            )
        instant = None if spec is None else commit.requested
        document = self._session.document if self._session else self._document
        return TableVersion(id=commit.requested, schema=document(instant))

    def _moment(self, spec: str) -> str | None:
        """Return a point in time as Hudi writes it, in the table's time zone."""
        if spec.isascii() and spec.isdigit():
            # names of older commits are in seconds; Hudi compares them as text, too
            return spec
        millis = millis_of(spec)
        if millis is None:
            return None
        if self._session is not None:
            return self._session.moment(millis)
        moment = datetime.fromtimestamp(millis // 1000, UTC)
        if self._properties.get("hoodie.table.timeline.timezone", "LOCAL").upper() != "UTC":
            moment = moment.astimezone()
        return f"{moment:%Y%m%d%H%M%S}{millis % 1000:03d}"

    @property
    def partitioning(self) -> list[str]:
        """Names of the partition columns."""
        text = self._properties.get("hoodie.table.partition.fields", "")
        # each column may be followed by its key generator
        return [part.partition(":")[0].strip() for part in text.split(",") if part.strip()]

    def _document(self, instant: str | None) -> str:
        """Return a schema as ``HudiFiles.java`` writes it, with a session's default settings."""
        commit: Mapping[str, Any] = next(
            (one for one in self._timeline.schemas(instant) if one.get("schema")), {}
        )
        text = commit.get("schema") or self._properties.get("hoodie.table.create.schema")
        partitioning = self.partitioning
        try:
            filled = self._properties.get("hoodie.populate.meta.fields", "true")
            schema = spark_schema(text or "null", partitioning, has_meta=filled.lower() == "true")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnsupportedError(
                f"{self.name} has no readable schema: {error}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Pass a Spark session: spark=ls.local_session(...).",
            ) from error
        return json.dumps(
            {
                **READ_BY_DEFAULT,
                "version": self._timeline.version,
                "features": self._features(evolves=bool(commit.get("latest_schema"))),
                "partitioning": partitioning,
                "schema": schema,
            }
        )

    def _features(self, *, evolves: bool) -> list[str]:
        features = []
        if self._properties.get("hoodie.table.multiple.base.file.formats.enable") == "true":
            features.append("several base file formats")
        base = self._properties.get("hoodie.table.base.file.format", "PARQUET").upper()
        if base != "PARQUET":
            features.append(f"base files of the format {base}")
        if evolves:
            features.append("schema evolution on read")
        return features

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """Return the columns of a version, and the fields of structs outside lists and maps.

        Raises:
            UnsupportedError: The table is written or read in a way that is not supported.
        """
        return hudi_columns(version.schema)

    @property
    def merges_on_read(self) -> bool:
        """True for a merge-on-read table, in which log files can change the rows of base files."""
        return self._properties.get("hoodie.table.type") == "MERGE_ON_READ"

    def slices(self, version: TableVersion) -> list[tuple[FileSlice, bool]]:
        """Return a version's file slices, each with whether its base file has exactly its rows.

        Raises:
            NotFoundError: The table no longer has all files of the version.
            UnsupportedError: The version may still change, or the name of a file is not understood.
        """
        hudi_columns(version.schema)
        instant = str(version.id)
        groups = self._groups()
        if self._timeline.latest() != self._timeline.latest(instant):
            self._check_kept(instant)
        return [(one, self._is_exact(one, instant)) for one in groups.slices(instant)]

    def _groups(self) -> FileGroups:
        """Read the timeline, then list the files that count according to it."""
        self._read_timeline()
        timeline = self._timeline
        files = [
            info
            for info in self.storage.objects("")
            if not info.path.startswith((f"{FOLDER}/", f"{INDEX_FOLDER}/"))
        ]
        groups = FileGroups(files, timeline, partitioned=bool(self.partitioning))
        # a timeline read after the listing shows what cleaning removed in between
        self._timeline = read_timeline(self.storage, self._properties, self.name)
        return groups

    def _check_kept(self, instant: str) -> None:
        open_since = self._timeline.first_incomplete
        if open_since is not None and open_since <= instant:
            raise UnsupportedError(
                f"{self.name} at {instant} may still change: the commit {open_since} is not "
                "complete.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Read the current version, or wait until this commit is complete or rolled "
                "back.",
            )
        if instant < self._timeline.kept_from:
            raise NotFoundError(
                f"{self.name} no longer has the files of version {instant}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint=f"Hudi's cleaning kept the versions from {self._timeline.kept_from} on.",
            )

    def _is_exact(self, one: FileSlice, instant: str) -> bool:
        if one.base is None or one.is_bootstrapped:
            return False
        if not self.merges_on_read or not one.logs:
            return True
        # before version 8, a log file has the time of its slice and contains blocks of several
        # commits
        return self._timeline.completes_apart and not any(
            len(log.instant) != len(instant) or log.instant <= instant for log in one.logs
        )

    def live_files(self, version: TableVersion) -> pa.Table:
        """Return the base files of a version. ``records`` is null.

        A slice with log files, or without a base file, is not ``indexable``. Its ``path`` does not
        name a file.

        Raises:
            NotFoundError: The table no longer has all files of the version.
        """
        return self.files_of(self.slices(version))

    def files_of(self, slices: Sequence[tuple[FileSlice, bool]]) -> pa.Table:
        """Return the files of :meth:`slices` in the form of :meth:`live_files`."""
        locations = [f"{self.location}/{one.path}" for one, _ in slices]
        exact = [is_exact for _, is_exact in slices]
        paths = [
            path if is_exact else f"{path}#merged"
            for path, is_exact in zip(locations, exact, strict=True)
        ]
        return identified(
            pa.table(
                {
                    "path": pa.array(paths, pa.string()),
                    "size": pa.array([one.size for one, _ in slices], pa.int64()),
                    "records": pa.nulls(len(slices), pa.int64()),
                    "location": pa.array(locations, pa.string()),
                    "indexable": pa.array(exact, pa.bool_()),
                }
            )
        )

    def commit_counts(self, instant: str) -> dict[str, int]:
        """Return a commit's counts: ``inserted``, ``updated``, ``deleted``, ``files_added``.

        The result is empty if the timeline no longer has the commit.
        """
        written = self._timeline.written(instant)
        if written is None:
            return {}
        # like Hudi: a log file has no earlier commit, and appends to it are not inserts
        based = [one for one in written if one.get("prevCommit") is not None]
        return {
            "inserted": sum(int(one.get("numInserts") or 0) for one in based),
            "updated": sum(int(one.get("numUpdateWrites") or 0) for one in written),
            "deleted": sum(int(one.get("numDeletes") or 0) for one in written),
            "files_added": len(based),
        }

    def has_row_deletes(self, version: TableVersion) -> bool:  # noqa: ARG002 - of no version
        """Return false: only slices with log files have deletes, and these are not indexable."""
        return False

    def file_statistics(self, version: TableVersion) -> FileStatistics:  # noqa: ARG002 - of none
        """Return no statistics: values of partitions depend on the table's key generator."""
        return unread_statistics(UNREAD)

    def retained_files(self) -> pa.ChunkedArray:
        """Return the base files of all file slices that Hudi's cleaning kept."""
        paths = [f"{self.location}/{info.path}" for info in self._groups().bases()]
        return normal_paths(pa.chunked_array([pa.array(paths, pa.string())]))
