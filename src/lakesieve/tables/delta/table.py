"""Delta Lake tables without an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from lakesieve.tables.contract import TableVersion
from lakesieve.tables.delta.log import DeltaLog
from lakesieve.tables.delta.logged_paths import absolute_paths
from lakesieve.tables.delta.statistics import delta_statistics
from lakesieve.tables.folder import FolderReader
from lakesieve.tables.identity import check_identity
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import identified, is_normal_root, normal_paths
from lakesieve.tables.struct_schema import READ_BY_DEFAULT, delta_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from lakesieve.storage import StorageOptions
    from lakesieve.tables.contract import Column
    from lakesieve.tables.delta.log import DeltaSnapshot
    from lakesieve.tables.statistics import FileStatistics

_KEPT_VERSIONS = 2


class DeltaReader(FolderReader):
    """One Delta table, identified by its folder.

    Args:
        name: The name by which the user called it.
        location: The folder that contains ``_delta_log``. If ``locate`` is given, the absolute
            paths of data files begin with exactly this text.
        options: Returns the storage options of a location.
        locate: Returns the current folder of the table ``name``, spelled like ``location``;
            ``None`` without an engine.
        read_settings: Returns the engine's current settings for comparing names and for reading old
            times, like ``READ_BY_DEFAULT``. The identity of a column includes these settings.

    Raises:
        NotFoundError: The folder is not a Delta table.
        StorageError: The log cannot be read.
    """

    format = "delta"

    def __init__(
        self,
        name: str,
        location: str,
        options: StorageOptions,
        *,
        locate: Callable[[], str] | None = None,
        read_settings: Callable[[], Mapping[str, str]] = READ_BY_DEFAULT.copy,
    ) -> None:
        super().__init__(name, location, options)
        self._root = location if locate else self.location
        self._locate = locate
        self._read_settings = read_settings
        self._log = DeltaLog(self.storage, name)
        self._known: dict[int, DeltaSnapshot] = {}
        self._snapshot = self._log.snapshot()
        self.uuid = str(self._snapshot.metadata["id"])

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties, as of the last reload."""
        return self._snapshot.configuration

    def reload(self) -> None:
        """Read the newest snapshot.

        Raises:
            NotFoundError: The table was dropped or replaced.
        """
        if self._locate is not None:
            check_identity(self.name, self._root, self._locate())
        snapshot = self._log.snapshot()
        check_identity(self.name, self.uuid, str(snapshot.metadata["id"]))
        self._snapshot = snapshot

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve a version number or an ISO timestamp.

        Raises:
            NotFoundError: The version does not exist.
        """
        self.reload()
        snapshot = self._snapshot if spec is None else self._at(str(spec))
        return TableVersion(
            id=str(snapshot.version),
            schema=self._document(snapshot),
            timestamp_ms=snapshot.timestamp_ms,
        )

    def _at(self, spec: str) -> DeltaSnapshot:
        if spec.isascii() and spec.isdigit():
            number: int | None = int(spec)
        else:
            moment = millis_of(spec)
            number = None if moment is None else self._log.version_at(moment)
        if number is None or number > self._snapshot.version:
            raise self._log.no_version(spec)
        return self._numbered(number)

    def _numbered(self, number: int) -> DeltaSnapshot:
        if number == self._snapshot.version:
            return self._snapshot
        if number not in self._known:
            for oldest in list(self._known)[: len(self._known) - _KEPT_VERSIONS + 1]:
                del self._known[oldest]
            self._known[number] = self._log.snapshot(number)
        return self._known[number]

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """Return the columns of a version, and the fields of structs outside lists and maps.

        Raises:
            UnsupportedError: The table uses a feature that is not supported.
        """
        return delta_columns(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:
        """Return the data files of a version. ``records`` is null if the log does not have it.

        Raises:
            NotFoundError: The table no longer has the version.
            UnsupportedError: The table uses a feature that is not supported.
        """
        delta_columns(version.schema)
        files = self._live(version).select(["path", "size", "records"])
        return files if self._is_normal(version) else identified(files)

    def logged_files(self, version: TableVersion) -> pa.Table:
        """Return the data files of a version with the information that reading their rows needs.

        Returns:
            ``path`` is absolute; ``vector`` and ``partition`` are as in the log.
        """
        return self._live(version).select(["path", "vector", "partition"])

    def _live(self, version: TableVersion) -> pa.Table:
        """Return the data files of a version with absolute paths."""
        snapshot = self._of(version)
        live = snapshot.live
        return live.set_column(0, "path", self._absolute(live.column("path"), snapshot))

    def _absolute(self, paths: pa.ChunkedArray, snapshot: DeltaSnapshot) -> pa.ChunkedArray:
        return absolute_paths(paths, self._root, is_simple=snapshot.is_simple)

    def _of(self, version: TableVersion) -> DeltaSnapshot:
        return self._numbered(int(str(version.id)))

    def _is_normal(self, version: TableVersion) -> bool:
        """Return whether the absolute paths of a version are normalized, if a glance tells."""
        return self._of(version).is_simple and is_normal_root(self._root)

    def has_row_deletes(self, version: TableVersion) -> bool:
        """Return whether a data file of a version has a deletion vector."""
        return bool(pc.any(pc.not_equal(self._live(version).column("vector"), "")).as_py())

    def file_statistics(self, version: TableVersion) -> FileStatistics:
        """Return the statistics and partition values of the log, see :class:`HasFileStatistics`."""

        def read() -> tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray]:
            live = self._live(version)
            paths = live.column("path")
            paths = paths if self._is_normal(version) else normal_paths(paths)
            return paths, live.column("stats"), live.column("partition")

        return delta_statistics(version.schema, read)

    def retained_files(self) -> pa.ChunkedArray:
        """Return the current version's files, and the removed files that the log still lists."""
        self.reload()
        paths = self._snapshot.files.column("path")
        return normal_paths(self._absolute(paths, self._snapshot)).unique()

    def _document(self, snapshot: DeltaSnapshot) -> str:
        """Write the schema of a snapshot in the same form as ``DeltaFiles.java``."""
        protocol, metadata = snapshot.protocol, snapshot.metadata
        mapping = snapshot.configuration.get("delta.columnMapping.mode", "none")
        try:
            document = {
                **self._read_settings(),
                "reader": int(protocol["minReaderVersion"]),
                "features": list(protocol.get("readerFeatures") or ()),
                "mapping": str(mapping).lower(),
                "partitioning": list(metadata.get("partitionColumns") or ()),
                "schema": json.loads(metadata["schemaString"]),
            }
        except (ValueError, TypeError, RecursionError) as error:
            raise self._log.unreadable(f"the schema of version {snapshot.version}") from error
        return json.dumps(document)
