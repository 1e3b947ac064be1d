"""Apache Iceberg tables without an engine."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, NotFoundError, UnsupportedError
from lakesieve.tables.contract import DeleteCounts
from lakesieve.tables.iceberg.catalogs import no_pyiceberg
from lakesieve.tables.iceberg.manifests import (
    FILES_SCHEMA,
    data_files,
    has_delete_files,
    live_files,
    metrics_of_files,
)
from lakesieve.tables.iceberg.metadata import MAIN
from lakesieve.tables.iceberg.schema import columns_of_schema
from lakesieve.tables.iceberg.statistics import iceberg_statistics
from lakesieve.tables.identity import check_identity
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from lakesieve.storage import StorageOptions
    from lakesieve.tables.contract import Column, TableVersion
    from lakesieve.tables.iceberg.catalogs import LoadedTable
    from lakesieve.tables.iceberg.metadata import IcebergMetadata
    from lakesieve.tables.statistics import FileStatistics

    VersionSpec = str | int | None


class IcebergReader:
    """Reads one Iceberg table by its metadata file and its manifests.

    ``load`` loads the table as it is now. ``options`` makes storage options of the properties of
    its file IO. ``resolve`` returns the version that a user means if that depends on more than the
    table: the current version, ``None``, may be the head of a branch.
    """

    format = "iceberg"

    def __init__(
        self,
        name: str,
        load: Callable[[], LoadedTable],
        options: Callable[[Callable[[], Mapping[str, str]]], StorageOptions],
        resolve: Callable[[IcebergMetadata, VersionSpec], VersionSpec] = lambda _, spec: spec,
    ) -> None:
        self.name = name
        self._load = load
        self._loaded = load()
        self._make_options = options
        self._resolve = resolve
        self.uuid = self._loaded.metadata.uuid
        self.location = self._loaded.metadata.location

    @property
    def file_io(self) -> Mapping[str, str]:
        """Settings of the table's file IO, with credentials that its catalog lends."""
        return self._loaded.file_io()

    @cached_property
    def _options(self) -> StorageOptions:
        return self._make_options(lambda: self.file_io)

    @property
    def loaded(self) -> LoadedTable:
        """The table as it was loaded last."""
        return self._loaded

    @property
    def metadata(self) -> IcebergMetadata:
        """The metadata that was loaded last."""
        return self._loaded.metadata

    def io(self) -> Any:
        """Return PyIceberg's ``FileIO`` for the table's files.

        Raises:
            SetupError: PyIceberg is missing.
        """
        try:
            from pyiceberg.io import load_file_io
        except ImportError as error:
            raise no_pyiceberg(self.name) from error
        return load_file_io(dict(self.file_io), location=self.location)

    def reload(self) -> None:
        """Read the newest metadata.

        Raises:
            NotFoundError: The table is gone, or its name leads to another one.
        """
        loaded = self._load()
        check_identity(self.name, self.uuid, loaded.metadata.uuid)
        self._loaded = loaded

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve a snapshot id, an ISO timestamp, a branch or a tag.

        Raises:
            NotFoundError: There is no such version.
        """
        self.reload()
        spec = self._resolve(self.metadata, spec)
        version = self.metadata.version(spec)
        if version is None:
            raise NotFoundError(
                f"{self.name} has no version {spec!r}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="Give a snapshot id, a branch, a tag, or a time such as 2026-01-31T12:00:00.",
            )
        return version

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """Return the columns of a version, and the fields of structs outside lists and maps."""
        return columns_of_schema(version.schema)

    def delete_counts(self, version: TableVersion) -> DeleteCounts | None:
        """Return the numbers of deletes of a version, from the summary of its snapshot."""
        snapshot = None if version.id is None else self.metadata.snapshot(int(version.id))
        summary = (snapshot or {}).get("summary") or {}
        names = ("delete-files", "equality-deletes", "position-deletes")
        counts = [str(summary.get(f"total-{name}", "")) for name in names]
        if not all(count.isdecimal() for count in counts):
            return None
        files, equality, positions = map(int, counts)
        return DeleteCounts(files=files, equality=equality, positions=positions)

    def has_row_deletes(self, version: TableVersion) -> bool:
        """Return whether a version has delete files, from its manifest list."""
        if version.id is None:
            return False
        return has_delete_files(self._snapshot(version), self._options, self.name)

    def live_files(self, version: TableVersion) -> pa.Table:
        """Return the data files of a version, from its manifests.

        Raises:
            NotFoundError: The version is not kept any more.
            StorageError: A manifest cannot be read.
        """
        if version.id is None:
            return FILES_SCHEMA.empty_table()
        return live_files(self._snapshot(version), self._options, self.name)

    def file_statistics(self, version: TableVersion) -> FileStatistics | None:
        """Return the bounds and partitions in manifests, as :class:`HasFileStatistics` says."""
        if version.id is None:
            return None
        specs = self.metadata.partition_specs()
        snapshot = self._snapshot(version)
        return iceberg_statistics(
            version.schema,
            specs,
            lambda: metrics_of_files(snapshot, specs, self._options, self.name),
        )

    def _snapshot(self, version: TableVersion) -> Mapping[str, Any]:
        snapshot = self.metadata.snapshot(int(str(version.id)))
        if snapshot is None:
            raise NotFoundError(
                f"{self.name} does not keep version {version.id} any more.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="Name another one.",
            )
        self._check_readable([snapshot])
        return snapshot

    def _check_readable(self, snapshots: Sequence[Mapping[str, Any]]) -> None:
        """Refuse snapshots whose manifest lists only Iceberg itself can decrypt.

        Raises:
            UnsupportedError: One is encrypted.
        """
        if any(snapshot.get("key-id") is not None for snapshot in snapshots):
            raise UnsupportedError(
                f"{self.name} is encrypted.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Open it with a Spark session.",
            )

    def retained_files(self) -> pa.ChunkedArray:
        """Return the data files of all snapshots that the metadata still lists.

        Raises:
            StorageError: A manifest cannot be read.
        """
        self.reload()
        snapshots = self.metadata.snapshots
        if not snapshots:
            return FILES_SCHEMA.empty_table().column("path")
        self._check_readable(snapshots)
        files = data_files(snapshots, self._options, self.name)
        return normal_paths(files.column("path")).unique()

    def references(self) -> list[str]:
        """Return the names of branches and tags, without the branch of the current version."""
        current = self._resolve(self.metadata, None) or MAIN
        return sorted(name for name in self.metadata.references() if name != current)
