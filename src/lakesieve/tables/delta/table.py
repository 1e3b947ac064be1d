"""Delta Lake tables without an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.tables.contract import TableVersion
from lakesieve.tables.delta.actions import decoded
from lakesieve.tables.delta.log import DeltaLog
from lakesieve.tables.folder import FolderReader
from lakesieve.tables.identity import check_identity
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import identified, normal_paths
from lakesieve.tables.struct_schema import READ_BY_DEFAULT, delta_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakesieve.storage import StorageOptions
    from lakesieve.tables.contract import Column
    from lakesieve.tables.delta.log import DeltaSnapshot

__all__ = ["DeltaReader"]

_KEPT = 4
_ABSOLUTE = r"^([A-Za-z][A-Za-z0-9+.\-]*:|/)"


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

        Args:
            version: The version.

        Returns:
            ``path`` absolute, ``vector`` and ``partition`` as the log has them.
        """
        files = self._numbered(int(str(version.id))).files
        live = files.filter(files.column("added"))
        paths = self._absolute(live.column("path"))
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
            schema=_document(snapshot),
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
        return identified(live.set_column(0, "path", self._absolute(live.column("path"))))

    def retained_files(self) -> pa.ChunkedArray:
        """Files of the current version, and those whose removal the log still has."""
        self.reload()
        return normal_paths(self._absolute(self._snapshot.files.column("path"))).unique()

    def _absolute(self, logged: pa.ChunkedArray) -> pa.ChunkedArray:
        """Paths of data files: the log has relative and absolute ones, encoded."""
        encoded = pc.match_substring(logged, "%")
        paths = logged
        if pc.any(encoded, min_count=0).as_py():
            found = pa.array(decoded(logged.filter(encoded).to_pylist()), pa.string())
            paths = pc.replace_with_mask(logged.combine_chunks(), encoded.combine_chunks(), found)
            paths = pa.chunked_array([paths])
        # whether it is one is said by the text as it is logged
        is_absolute = pc.match_substring_regex(logged, _ABSOLUTE)
        root = pa.scalar(f"{self.location}/", pa.string())
        return pc.if_else(is_absolute, paths, pc.binary_join_element_wise(root, paths, ""))


def _document(snapshot: DeltaSnapshot) -> str:
    """A schema as ``DeltaFiles.java`` writes it."""
    metadata = snapshot.metadata
    configuration = metadata.get("configuration") or {}
    return json.dumps(
        {
            **READ_BY_DEFAULT,
            "reader": snapshot.reader_version,
            "features": snapshot.features,
            "mapping": str(configuration.get("delta.columnMapping.mode", "none")).lower(),
            "partitioning": list(metadata.get("partitionColumns") or ()),
            "schema": json.loads(metadata["schemaString"]),
        }
    )
