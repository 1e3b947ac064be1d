"""Data files and delete files as manifests list them, in arrays; a manifest never changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import (
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.manifest import FileFormat as Format

from lakesieve.engines.delete_groups import partition_key
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.engines.delete_groups import Partition
    from lakesieve.serve.manifest_source import ManifestSource

# the newest version has all fields of the older ones
_VERSION = 3
_COUNTS = pa.list_(pa.struct([("key", pa.int32()), ("value", pa.int64())]))
_BOUNDS = pa.list_(pa.struct([("key", pa.int32()), ("value", pa.binary())]))
_DETAILS: dict[str, pa.DataType] = {
    "file_format": pa.string(),
    "record_count": pa.int64(),
    "file_size_in_bytes": pa.int64(),
    "column_sizes": _COUNTS,
    "value_counts": _COUNTS,
    "null_value_counts": _COUNTS,
    "nan_value_counts": _COUNTS,
    "lower_bounds": _BOUNDS,
    "upper_bounds": _BOUNDS,
    "key_metadata": pa.binary(),
    "split_offsets": pa.list_(pa.int64()),
    "sort_order_id": pa.int32(),
    "first_row_id": pa.int64(),
}
_FIRST_ROW_ID, _REFERENCED, _OFFSET, _SIZE = 16, 17, 18, 19


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatistics:
    """What the evaluators of PyIceberg look at in a data file."""

    record_count: int
    value_counts: dict[int, int] | None
    null_value_counts: dict[int, int] | None
    nan_value_counts: dict[int, int] | None
    lower_bounds: dict[int, bytes] | None
    upper_bounds: dict[int, bytes] | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ManifestFiles:
    """The live data files of a manifest, row ``i`` of each array that of file ``i``.

    Args:
        spec_id: The partition spec of all of them.
        locations: Their paths as they are written.
        paths: Their paths in the one spelling.
        sequences: Data sequence numbers.
        snapshots: The snapshots that added them.
        added: Whether the manifest's own snapshot added them.
        partitions: The partitions that occur, as PyIceberg has them.
        keys: The same by their values.
        places: Which of them each file is in.
        details: What else there is, by the names of the specification.
    """

    spec_id: int
    locations: pa.Array
    paths: pa.Array
    sequences: np.ndarray
    snapshots: np.ndarray
    added: np.ndarray
    partitions: Sequence[Any]
    keys: Sequence[Partition]
    places: np.ndarray
    details: pa.Table

    def __len__(self) -> int:
        return len(self.locations)

    @property
    def nbytes(self) -> int:
        """Bytes that it holds, partitions estimated."""
        arrays = (self.sequences, self.snapshots, self.added, self.places)
        texts = self.locations.nbytes + self.paths.nbytes
        of_arrays = sum(array.nbytes for array in arrays)
        return int(texts + of_arrays + self.details.nbytes + 500 * len(self.partitions))

    def statistics(self, at: int) -> FileStatistics:
        """The statistics of one file."""
        record_count = self.details.column("record_count")[at].as_py()
        return FileStatistics(
            record_count=record_count,
            value_counts=self.mapping("value_counts", at),
            null_value_counts=self.mapping("null_value_counts", at),
            nan_value_counts=self.mapping("nan_value_counts", at),
            lower_bounds=self.mapping("lower_bounds", at),
            upper_bounds=self.mapping("upper_bounds", at),
        )

    def mapping(self, name: str, at: int) -> dict[int, Any] | None:
        """Counts or bounds of one file, by field id."""
        found = self.details.column(name)[at].as_py()
        return None if found is None else {one["key"]: one["value"] for one in found}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeleteFile:
    """A live delete file of a manifest.

    Args:
        file: As PyIceberg has it.
        spec_id: Its partition spec.
        sequence: Its data sequence number.
        referenced: The one data file of which it deletes rows, where it says so.
        offset: Where in the file a deletion vector begins.
        size: How many bytes it has.
        manifest: The manifest that lists it.
    """

    file: DataFile
    spec_id: int
    sequence: int
    referenced: str | None
    offset: int | None
    size: int | None
    manifest: ManifestFile

    @property
    def is_vector(self) -> bool:
        """Whether it is a deletion vector."""
        return bool(self.file.file_format == Format.PUFFIN)


def first_row_id(manifest: ManifestFile) -> int | None:
    """The number of the first row of a manifest; ``None`` before version 3 of the format.

    Args:
        manifest: As :func:`read_list` has it.
    """
    return manifest._data[15] if len(manifest._data) > 15 else None


def read_list(path: str, source: ManifestSource) -> list[ManifestFile]:
    """The manifests of a snapshot.

    Raises:
        StorageError: It cannot be read.
        UnsupportedError: It is larger than it may be, or lies outside the table.
    """
    return list(
        source.records(
            path,
            MANIFEST_LIST_FILE_SCHEMAS[_VERSION],
            types={-1: ManifestFile, 508: PartitionFieldSummary},
            enums={517: ManifestContent},
        )
    )


def read_files(manifest: ManifestFile, source: ManifestSource) -> ManifestFiles:
    """The live data files of a manifest.

    Args:
        manifest: As :func:`read_list` has it.
        source: Reads it.

    Raises:
        StorageError: It cannot be read.
        UnsupportedError: It is larger than it may be, or it or one of its files lies outside the
            table.
    """
    entries = _entries(manifest, source)
    files = [entry.data_file for entry in entries]
    numbers: dict[Partition, int] = {}
    partitions: list[Any] = []
    places = np.empty(len(files), np.int32)
    for at, file in enumerate(files):
        places[at] = numbers.setdefault(partition_key(file.partition), len(partitions))
        if len(numbers) > len(partitions):
            partitions.append(file.partition)
    locations = pa.array([file.file_path for file in files], pa.string())
    source.check_data(locations)
    paths = normal_paths(pa.chunked_array([locations])).combine_chunks()
    details = {name: pa.array(_details(files, name), kind) for name, kind in _DETAILS.items()}
    details["first_row_id"] = pa.array(_row_ids(files, manifest), pa.int64())
    return ManifestFiles(
        spec_id=manifest.partition_spec_id,
        locations=locations,
        paths=locations if paths.equals(locations) else paths,
        sequences=np.array([entry.sequence_number for entry in entries], np.int64),
        snapshots=np.array([entry.snapshot_id for entry in entries], np.int64),
        added=np.array([entry.status == ManifestEntryStatus.ADDED for entry in entries], bool),
        partitions=partitions,
        keys=list(numbers),
        places=places,
        details=pa.table(details),
    )


def read_deletes(manifest: ManifestFile, source: ManifestSource) -> list[DeleteFile]:
    """The live delete files of a manifest.

    Args:
        manifest: As :func:`read_list` has it.
        source: Reads it.

    Raises:
        StorageError: It cannot be read.
        UnsupportedError: It is larger than it may be, or it or one of its files lies outside the
            table.
    """
    entries = _entries(manifest, source)
    source.check_data(pa.array([entry.data_file.file_path for entry in entries], pa.string()))
    return [
        DeleteFile(
            file=entry.data_file,
            spec_id=manifest.partition_spec_id,
            sequence=entry.sequence_number or 0,
            referenced=entry.data_file._data[_REFERENCED],
            offset=entry.data_file._data[_OFFSET],
            size=entry.data_file._data[_SIZE],
            manifest=manifest,
        )
        for entry in entries
    ]


def _entries(manifest: ManifestFile, source: ManifestSource) -> list[ManifestEntry]:
    """The live entries, with what they inherit from their manifest."""
    entries = source.records(
        manifest.manifest_path,
        MANIFEST_ENTRY_SCHEMAS[_VERSION],
        types={-1: ManifestEntry, 2: DataFile},
        enums={0: ManifestEntryStatus, 101: Format, 134: DataFileContent},
    )
    live = [entry for entry in entries if entry.status != ManifestEntryStatus.DELETED]
    for entry in live:
        if entry.snapshot_id is None:
            entry.snapshot_id = manifest.added_snapshot_id or 0
        is_new = entry.status == ManifestEntryStatus.ADDED
        if entry.sequence_number is None and (is_new or manifest.sequence_number == 0):
            entry.sequence_number = manifest.sequence_number
    return live


def _details(files: Sequence[DataFile], name: str) -> list[Any]:
    if name == "first_row_id":
        return [None] * len(files)
    found = [getattr(file, name) for file in files]
    if name == "file_format":
        return [str(value.value).lower() for value in found]
    if _DETAILS[name] in (_COUNTS, _BOUNDS):
        return [
            None if value is None else [{"key": k, "value": v} for k, v in value.items()]
            for value in found
        ]
    return found


def _row_ids(files: Sequence[DataFile], manifest: ManifestFile) -> list[int | None]:
    """The first row of each file, given in the order of the manifest where it is not written."""
    following = first_row_id(manifest)
    if following is None:
        return [None] * len(files)
    found: list[int | None] = []
    for file in files:
        own: int | None = file._data[_FIRST_ROW_ID]
        found.append(following if own is None else own)
        following += file.record_count if own is None else 0
    return found
