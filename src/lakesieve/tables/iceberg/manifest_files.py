"""The files that manifests of Iceberg tables list, as arrays."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DATA, DELETES = 0, 1
"""The content of a manifest."""

POSITION_DELETES, EQUALITY_DELETES = 1, 2
"""The content of a delete file."""

COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")
"""The maps by field id that a manifest has for each file."""

_DETAILS: dict[str, pa.DataType] = {
    "content": pa.int32(),
    "file_format": pa.string(),
    "record_count": pa.int64(),
    "file_size_in_bytes": pa.int64(),
    **dict.fromkeys(COUNTS, pa.map_(pa.int32(), pa.int64())),
    **dict.fromkeys(BOUNDS, pa.map_(pa.int32(), pa.binary())),
    "key_metadata": pa.binary(),
    "split_offsets": pa.list_(pa.int64()),
    "equality_ids": pa.list_(pa.int32()),
    "sort_order_id": pa.int32(),
    "first_row_id": pa.int64(),
    "referenced_data_file": pa.string(),
    "content_offset": pa.int64(),
    "content_size_in_bytes": pa.int64(),
}
_ADDED, DELETED = 1, 2
_ENTRIES = 8192


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Manifest:
    """The entry of a manifest in a manifest list."""

    path: str  # location of the manifest
    content: int  # `DATA` or `DELETES`
    spec_id: int  # partition spec of its files
    sequence_number: int  # of the commit that added it; 0 in format version 1
    added_by: int  # id of the snapshot that added it
    first_row_id: int | None  # number of its first row; `None` before version 3
    # for each partition field the values that occur; empty if they are not known
    summaries: Sequence[Mapping[str, Any]]
    has_live_files: bool  # whether it can list a file that is not deleted

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Manifest:
        """Read the entry of a manifest list, of which old writers leave parts out."""
        counts = [
            record.get(f"{kind}_files_count", record.get(f"{kind}_data_files_count"))
            for kind in ("added", "existing")
        ]
        return cls(
            path=str(record["manifest_path"]),
            content=int(record.get("content") or DATA),
            spec_id=int(record.get("partition_spec_id") or 0),
            sequence_number=int(record.get("sequence_number") or 0),
            added_by=int(record.get("added_snapshot_id") or 0),
            first_row_id=record.get("first_row_id"),
            summaries=record.get("partitions") or (),
            has_live_files=any(count is None or count > 0 for count in counts),
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ManifestFiles:
    """The live files of a manifest: row ``i`` of each array belongs to file ``i``."""

    manifest: Manifest
    locations: pa.Array  # paths as the manifest has them
    paths: pa.Array  # paths in the one spelling
    sequences: np.ndarray  # data sequence numbers
    snapshots: np.ndarray  # ids of the snapshots that added them
    added: np.ndarray  # whether the manifest's own snapshot added them
    # distinct partitions, each the values of the fields of the spec
    partitions: Sequence[tuple[Any, ...]]
    places: np.ndarray  # position of each file's partition in `partitions`
    details: pa.Table  # all other fields, by the names of the specification

    def __len__(self) -> int:
        return len(self.locations)

    @property
    def nbytes(self) -> int:
        """Bytes that it holds, partitions estimated."""
        arrays = (self.sequences, self.snapshots, self.added, self.places)
        texts = self.locations.nbytes + self.paths.nbytes
        of_arrays = sum(array.nbytes for array in arrays)
        return int(texts + of_arrays + self.details.nbytes + 500 * len(self.partitions))


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One data or delete file that a manifest lists."""

    files: ManifestFiles
    at: int

    @property
    def path(self) -> str:
        """Path of the file as the manifest has it."""
        return str(self.files.locations[self.at].as_py())

    @property
    def spec_id(self) -> int:
        """Id of the partition spec."""
        return self.files.manifest.spec_id

    @property
    def sequence(self) -> int:
        """Data sequence number."""
        return int(self.files.sequences[self.at])

    @property
    def partition(self) -> tuple[Any, ...]:
        """Values of the partition fields."""
        return self.files.partitions[int(self.files.places[self.at])]

    @property
    def key(self) -> tuple[int, tuple[Any, ...]]:
        """Spec and partition, in a form in which equal partitions are equal."""
        return self.spec_id, partition_key(self.partition)

    def value(self, name: str) -> Any:
        """Return what its manifest says under a name of the specification."""
        return self.files.details.column(name)[self.at].as_py()

    def mapping(self, name: str) -> dict[int, Any]:
        """Return counts or bounds by field id, empty where there are none."""
        return dict(self.value(name) or ())


def listed_files(parts: Iterable[tuple[ManifestFiles, np.ndarray]]) -> Iterator[ListedFile]:
    """Return the files in some rows of manifests."""
    return (ListedFile(files, at) for files, rows in parts for at in rows.tolist())


def partition_key(partition: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of a partition as Java compares them: NaN equals itself, 0.0 not -0.0."""
    return tuple(struct.pack("<d", v) if isinstance(v, float) else v for v in partition)


def manifest_files(manifest: Manifest, entries: Iterable[Mapping[str, Any]]) -> ManifestFiles:
    """Return live entries of a manifest as arrays, with what they inherit from it."""
    numbers: dict[tuple[Any, ...], int] = {}
    partitions: list[tuple[Any, ...]] = []
    places: list[int] = []
    locations: list[str] = []
    sequences: list[int] = []
    snapshots: list[int] = []
    added: list[bool] = []
    details = [pa.schema(list(_DETAILS.items())).empty_table()]
    following = iter(entries)
    # entries as objects take several times as much memory as arrays
    while batch := list(islice(following, _ENTRIES)):
        files = [entry["data_file"] for entry in batch]
        for file in files:
            partition = tuple((file.get("partition") or {}).values())
            places.append(numbers.setdefault(partition_key(partition), len(partitions)))
            if len(numbers) > len(partitions):
                partitions.append(partition)
        locations += [file["file_path"] for file in files]
        sequences += [_sequence(entry, manifest) for entry in batch]
        snapshots += [_snapshot(entry, manifest) for entry in batch]
        added += [entry["status"] == _ADDED for entry in batch]
        columns = {name: _column(files, name, kind) for name, kind in _DETAILS.items()}
        details.append(pa.table(columns))
    known = pa.concat_tables(details).combine_chunks()
    at = known.column_names.index("first_row_id")
    known = known.set_column(at, "first_row_id", _row_ids(known, manifest.first_row_id))
    written = pa.array(locations, pa.string())
    paths = normal_paths(pa.chunked_array([written])).combine_chunks()
    return ManifestFiles(
        manifest=manifest,
        locations=written,
        paths=written if paths.equals(written) else paths,
        sequences=np.array(sequences, np.int64),
        snapshots=np.array(snapshots, np.int64),
        added=np.array(added, bool),
        partitions=partitions,
        places=np.array(places, np.int32),
        details=known,
    )


def _sequence(entry: Mapping[str, Any], manifest: Manifest) -> int:
    own = entry.get("sequence_number")
    if own is not None:
        return int(own)
    # existing files keep the number that is written; only old ones have none
    return manifest.sequence_number if entry["status"] == _ADDED else 0


def _snapshot(entry: Mapping[str, Any], manifest: Manifest) -> int:
    own = entry.get("snapshot_id")
    return manifest.added_by if own is None else int(own)


def _column(files: Sequence[Mapping[str, Any]], name: str, kind: pa.DataType) -> pa.Array:
    values = [file.get(name) for file in files]
    if name == "file_format":
        values = [str(value).lower() for value in values]
    if not pa.types.is_map(kind):
        return pa.array(values, kind)
    ends = np.cumsum([0 if value is None else len(value) for value in values])
    starts = np.concatenate([[0], ends]).astype(np.int32)
    absent = np.array([value is None for value in values] + [False], bool)
    offsets = pa.array(starts, pa.int32(), mask=absent)
    pairs = [pair for value in values if value is not None for pair in value]
    keys = pa.array([pair["key"] for pair in pairs], kind.key_type)
    items = pa.array([pair["value"] for pair in pairs], kind.item_type)
    return pa.MapArray.from_arrays(offsets, keys, items)


def _row_ids(details: pa.Table, following: int | None) -> pa.Array:
    """Return the number of each file's first row, counted on where the manifest has none."""
    if following is None:
        return pa.nulls(len(details), pa.int64())
    numbers: list[int] = []
    written = details.column("first_row_id").to_pylist()
    for own, count in zip(written, details.column("record_count").to_pylist(), strict=True):
        numbers.append(following if own is None else own)
        following += count if own is None else 0
    return pa.array(numbers, pa.int64())
