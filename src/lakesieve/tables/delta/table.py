"""Delta Lake tables without an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lakesieve.tables.contract import TableVersion
from lakesieve.tables.delta.log import DeltaLog
from lakesieve.tables.delta.logged_paths import absolute_paths
from lakesieve.tables.delta.statistics import delta_statistics
from lakesieve.tables.folder import FolderReader
from lakesieve.tables.identity import check_identity
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import identified, normal_paths
from lakesieve.tables.struct_schema import READ_BY_DEFAULT, delta_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from lakesieve.storage import StorageOptions
    from lakesieve.tables.contract import Column
    from lakesieve.tables.delta.log import DeltaSnapshot
    from lakesieve.tables.statistics import FileStatistics

_KEPT = 4


class DeltaReader(FolderReader):
    """One Delta table, by its folder. Columns are read as a session reads them by default.

    Args:
        name: As the user called it.
        location: The folder that holds ``_delta_log``.
        options: The storage options of each location.

    Raises:
        NotFoundError: There is no table.
        StorageError: Its log cannot be read.
    """

    format = "delta"

    def __init__(self, name: str, location: str, options: StorageOptions) -> None:
        super().__init__(name, location, options)
        self._log = DeltaLog(self._storage, name)
        self._known: dict[int, DeltaSnapshot] = {}
        self._snapshot = self._log.snapshot()
        self.uuid = str(self._snapshot.metadata["id"])

    def logged_files(self, version: TableVersion) -> pa.Table:
        """Data files of a version with what reading their rows takes.

        Returns:
            ``path`` absolute, ``vector`` and ``partition`` as the log has them.
        """
        live = self._numbered(int(str(version.id))).live
        paths = absolute_paths(live.column("path"), self.location)
        return live.select(["path", "vector", "partition"]).set_column(0, "path", paths)

    def reload(self) -> None:
        """Read the newest snapshot.

        Raises:
            NotFoundError: The table is gone, or another one is there.
        """
        snapshot = self._log.snapshot()
        check_identity(self.name, self.uuid, str(snapshot.metadata["id"]))
        self._snapshot = snapshot

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve a version number or an ISO timestamp.

        Raises:
            NotFoundError: There is no such version.
        """
        self.reload()
        snapshot = self._snapshot if spec is None else self._at(str(spec))
        return TableVersion(
            id=str(snapshot.version),
            schema=self._document(snapshot),
            timestamp_ms=snapshot.timestamp_ms,
        )

    def _at(self, spec: str) -> DeltaSnapshot:
        number = int(spec) if spec.isascii() and spec.isdigit() else self._number_at(spec)
        if number is None or number > self._snapshot.version:
            raise self._log.no_version(spec)
        return self._numbered(number)

    def _numbered(self, number: int) -> DeltaSnapshot:
        if number == self._snapshot.version:
            return self._snapshot
        if number not in self._known:
            for oldest in list(self._known)[: len(self._known) - _KEPT + 1]:
                del self._known[oldest]
            self._known[number] = self._log.snapshot(number)
        return self._known[number]

    def _number_at(self, spec: str) -> int | None:
        moment = millis_of(spec)
        return None if moment is None else self._log.version_at(moment)

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """The columns, and the fields of structs outside lists and maps, as of that version.

        Raises:
            UnsupportedError: The table was written with a feature that is not known.
        """
        return delta_columns(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:
        """Data files of that version; ``records`` is null where the log does not tell.

        Raises:
            NotFoundError: The version is not kept any more.
            UnsupportedError: The table was written with a feature that is not known.
        """
        delta_columns(version.schema)
        live = self._numbered(int(str(version.id))).live
        paths = absolute_paths(live.column("path"), self.location)
        return identified(live.select(["path", "size", "records"]).set_column(0, "path", paths))

    def file_statistics(self, version: TableVersion) -> FileStatistics:
        """The statistics and partition values of the log, as :class:`HasFileStatistics` says."""

        def read() -> tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray]:
            live = self._numbered(int(str(version.id))).live
            paths = normal_paths(absolute_paths(live.column("path"), self.location))
            return paths, live.column("stats"), live.column("partition")

        return delta_statistics(version.schema, read)

    def retained_files(self) -> pa.ChunkedArray:
        """Files of the current version, and those whose removal the log still has."""
        self.reload()
        paths = self._snapshot.files.column("path")
        return normal_paths(absolute_paths(paths, self.location)).unique()

    def _document(self, snapshot: DeltaSnapshot) -> str:
        """Write a schema as ``DeltaFiles.java`` does."""
        metadata = snapshot.metadata
        mapping = snapshot.configuration.get("delta.columnMapping.mode", "none")
        try:
            schema = json.loads(metadata["schemaString"])
        except (ValueError, TypeError) as error:
            raise self._log.unreadable(f"the schema of version {snapshot.version}") from error
        return json.dumps(
            {
                **READ_BY_DEFAULT,
                "reader": snapshot.reader_version,
                "features": snapshot.features,
                "mapping": str(mapping).lower(),
                "partitioning": list(metadata.get("partitionColumns") or ()),
                "schema": schema,
            }
        )
