"""Manifests of Iceberg tables as arrays: the one place that reads them, and keeps what it read."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError, StorageError, UnsupportedError
from lakesieve.tables.avro import AvroTooLargeError, avro_records
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lakesieve.tables.iceberg.manifest_cache import ManifestCache

DATA, DELETES = 0, 1
"""The content of a manifest."""

POSITION_DELETES, EQUALITY_DELETES = 1, 2
"""The content of a delete file."""

PATHS_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("records", pa.int64())])
"""What is known of live files where only their paths are wanted."""

COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")
"""The maps by field id that a manifest has for each file."""

_LIGHT = {"file_path": "path", "file_size_in_bytes": "size", "record_count": "records"}
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
_ADDED, _DELETED = 1, 2
_BATCH = 64
"""Manifests that are held at once where many must be read."""
_CHECKED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestLimits:
    """The largest manifests and manifest lists that are read.

    Args:
        stored: Bytes of a file as it is stored.
        decoded: Bytes of a file when it is decompressed.
        expansion: How many times its stored size it may take, where that is more than
            ``small_decoded``.
        small_decoded: Bytes that any file may take when it is decompressed.
        entries: Files in a manifest, or manifests in a list.
    """

    stored: int = 256 << 20
    decoded: int = 512 << 20
    expansion: int = 100
    small_decoded: int = 32 << 20
    entries: int = 2_000_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Manifest:
    """A manifest as its list has it.

    Args:
        path: Where it lies.
        content: ``DATA`` or ``DELETES``.
        spec_id: The partition spec of its files.
        sequence_number: Of the commit that added it; zero in the first version of the format.
        added_by: The snapshot that added it.
        first_row_id: The number of its first row; ``None`` before the third version.
        summaries: For each partition field what values occur, empty where that is not known.
        has_live_files: Whether it can list a file that is not deleted.
    """

    path: str
    content: int
    spec_id: int
    sequence_number: int
    added_by: int
    first_row_id: int | None
    summaries: Sequence[Mapping[str, Any]]
    has_live_files: bool

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
    """The live files of a manifest, row ``i`` of each array that of file ``i``.

    Args:
        manifest: The manifest.
        locations: Their paths as they are written.
        paths: Their paths in the one spelling.
        sequences: Data sequence numbers.
        snapshots: The snapshots that added them.
        added: Whether the manifest's own snapshot added them.
        partitions: The distinct partitions, each the values of the fields of the spec.
        places: Which of them each file is in.
        details: What else there is, by the names of the specification.
    """

    manifest: Manifest
    locations: pa.Array
    paths: pa.Array
    sequences: np.ndarray
    snapshots: np.ndarray
    added: np.ndarray
    partitions: Sequence[tuple[Any, ...]]
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


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file of a manifest.

    Args:
        files: The files of the manifest.
        at: Its row there.
    """

    files: ManifestFiles
    at: int

    @property
    def path(self) -> str:
        """Its path as it is written."""
        return str(self.files.locations[self.at].as_py())

    @property
    def spec_id(self) -> int:
        """Its partition spec."""
        return self.files.manifest.spec_id

    @property
    def sequence(self) -> int:
        """Its data sequence number."""
        return int(self.files.sequences[self.at])

    @property
    def partition(self) -> tuple[Any, ...]:
        """The values of the fields of its spec."""
        return self.files.partitions[int(self.files.places[self.at])]

    @property
    def key(self) -> tuple[int, tuple[Any, ...]]:
        """Its partition in a form in which equal ones are equal."""
        return self.spec_id, partition_key(self.partition)

    def value(self, name: str) -> Any:
        """Return what its manifest says under a name of the specification."""
        return self.files.details.column(name)[self.at].as_py()

    def mapping(self, name: str) -> dict[int, Any]:
        """Return counts or bounds by field id, empty where there are none."""
        return dict(self.value(name) or ())


def partition_key(partition: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of a partition as Java compares them: NaN equals itself, 0.0 not -0.0."""
    return tuple(struct.pack("<d", v) if isinstance(v, float) else v for v in partition)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManifestSource:
    """How the manifests of a table are reached, and who shares what is kept of them.

    Args:
        read: Returns the bytes of a file.
        owner: Begins the key of what is kept of a file: the same path is another file at another
            endpoint, and for other credentials perhaps one that they may not read.
        limits: The largest files that are read.
        check: Raises an error when the files are no longer wanted.
        accept: Raises an error for paths of data files or delete files that the table may not have.
        on_read: Is told what is read because it is not kept: ``list``, ``files`` or ``paths``.
    """

    read: Callable[[str], bytes]
    owner: Callable[[str], tuple[object, ...]]
    limits: ManifestLimits = field(default_factory=ManifestLimits)
    check: Callable[[], None] = lambda: None
    accept: Callable[[pa.Array], None] = lambda _: None
    on_read: Callable[[str], None] = lambda _: None


class TableManifests:
    """The manifests of one table, each read once.

    Args:
        source: Reads them.
        cache: Holds what they list.
    """

    def __init__(self, source: ManifestSource, cache: ManifestCache) -> None:
        self._source = source
        self._cache = cache

    def listed(self, path: str) -> list[Manifest]:
        """Return the manifests of a manifest list.

        Raises:
            StorageError: The list cannot be read, or is larger than it may be.
        """

        def make() -> tuple[list[Manifest], int]:
            self._source.on_read("list")
            manifests = list(map(Manifest.of, self._records(path)))
            return manifests, 1000 * len(manifests) + 500

        manifests: list[Manifest] = self._cache.small.get(self._key(path, "list"), make)
        return manifests

    def files(self, manifests: Sequence[Manifest]) -> list[ManifestFiles]:
        """Return the live files of manifests with all that is known of them."""

        def make(manifest: Manifest) -> tuple[ManifestFiles, int]:
            self._source.on_read("files")
            files = self._files(manifest)
            return files, files.nbytes

        # rows are numbered when a table gets version 3, under the manifests that it has
        return self._cache.large.get_all(
            [
                (self._key(one.path, "files", one.first_row_id), partial(make, one))
                for one in manifests
            ]
        )

    def paths(self, manifests: Sequence[Manifest]) -> list[pa.Table]:
        """Return the live files of manifests under ``PATHS_SCHEMA``, paths as they are written."""

        def make(path: str) -> tuple[pa.Table, int]:
            self._source.on_read("paths")
            records = self._records(path, {"status": None, "data_file": _LIGHT})
            files = [entry["data_file"] for entry in records if entry["status"] != _DELETED]
            columns = {ours: [file[theirs] for file in files] for theirs, ours in _LIGHT.items()}
            table = pa.table(columns, schema=PATHS_SCHEMA)
            return table, 200 + table.nbytes

        return self._cache.large.get_all(
            [(self._key(one.path, "paths"), partial(make, one.path)) for one in manifests]
        )

    def of_each(
        self,
        manifests: Sequence[Manifest],
        name: tuple[object, ...],
        derive: Callable[[Sequence[ManifestFiles]], Sequence[Any]],
    ) -> list[Any]:
        """Return what follows from the files of each manifest, some bytes each, and keep it.

        Manifests are read where it is not kept.
        """
        keys = [self._key(manifest.path, *name) for manifest in manifests]
        derived = [self._cache.small.find(key) for key in keys]
        missing = [at for at, one in enumerate(derived) if one is None]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            made = derive(self.files([manifests[at] for at in batch]))
            for at, one in zip(batch, made, strict=True):
                derived[at] = one
                self._cache.small.put(keys[at], one, 200 + getattr(one, "nbytes", 0))
        return derived

    def batches(
        self, wanted: Sequence[tuple[Manifest, np.ndarray]]
    ) -> Iterator[list[tuple[ManifestFiles, np.ndarray]]]:
        """Return the files of manifests beside the rows that are wanted, some manifests at a time.

        Manifests of which no row is wanted are not read.
        """
        some = [one for one in wanted if len(one[1])]
        for start in range(0, len(some), _BATCH):
            batch = some[start : start + _BATCH]
            files = self.files([manifest for manifest, _ in batch])
            yield [(of, rows) for of, (_, rows) in zip(files, batch, strict=True)]

    def derived(self, path: str, name: object, make: Callable[[], tuple[Any, int]]) -> Any:
        """Return what follows from a file and others, made with its size where it is not kept."""
        return self._cache.small.get(self._key(path, name), make)

    def _key(self, path: str, *of: object) -> tuple[object, ...]:
        return (*self._source.owner(path), path, *of)

    def _records(
        self, path: str, fields: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        self._source.check()
        data, limits = self._source.read(path), self._source.limits
        most = min(limits.decoded, max(limits.small_decoded, limits.expansion * len(data)))
        try:
            for number, record in enumerate(avro_records(data, fields, most), 1):
                if number > limits.entries:
                    raise _too_large(path, f"more than {limits.entries} entries")
                if number % _CHECKED == 0:
                    self._source.check()
                yield record
        except LakesieveError:
            raise
        except AvroTooLargeError as error:
            raise _too_large(path, f"more than {most} bytes when it is decompressed") from error
        except Exception as error:  # decoders have errors of many kinds
            raise _unreadable(path, error) from error

    def _files(self, manifest: Manifest) -> ManifestFiles:
        records = self._records(manifest.path)
        entries = [entry for entry in records if entry["status"] != _DELETED]
        try:
            files = manifest_files(manifest, entries)
        except (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException) as error:
            raise _unreadable(manifest.path, error) from error
        self._source.accept(files.locations)
        return files


def read_through(io: Any, path: str, most: int) -> bytes:
    """Read a file through PyIceberg's ``FileIO``.

    Raises:
        StorageError: It cannot be read.
        UnsupportedError: It has more than ``most`` bytes.
    """
    try:
        with io.new_input(path).open() as stream:
            stream.seek(0, os.SEEK_END)
            size = stream.tell()
            stream.seek(0, os.SEEK_SET)
            data: bytes = stream.read() if size <= most else b""
    except Exception as error:
        # what an error of the storage says may hold settings
        raise StorageError(
            f"{path} cannot be read: {type(error).__name__}.",
            kind=ErrorKind.STORAGE_FAILED,
            hint="If its snapshot has expired, load the table again; else check the storage.",
            public_message=f"{path} cannot be read.",
        ) from error
    if size > most:
        raise _too_large(path, f"more than {most} bytes")
    return data


def _unreadable(path: str, error: Exception) -> StorageError:
    first = str(error).strip().partition("\n")[0]
    return StorageError(
        f"{path} cannot be read: {type(error).__name__}: {first}",
        kind=ErrorKind.STORAGE_FAILED,
        hint="If its snapshot has expired, load the table again; else check the storage, or "
        "restore the table's metadata.",
        public_message=f"{path} cannot be read.",
    )


def _too_large(path: str, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"{path} is not read: it has {why}.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Rewrite the table's manifests; where a server plans, let the client plan "
        "(scan-planning-mode=client).",
    )


def manifest_files(manifest: Manifest, entries: Sequence[Mapping[str, Any]]) -> ManifestFiles:
    """Return live entries of a manifest as arrays, with what they inherit from it."""
    files = [entry["data_file"] for entry in entries]
    numbers: dict[tuple[Any, ...], int] = {}
    partitions: list[tuple[Any, ...]] = []
    places = np.empty(len(files), np.int32)
    for at, file in enumerate(files):
        partition = tuple((file.get("partition") or {}).values())
        places[at] = numbers.setdefault(partition_key(partition), len(partitions))
        if len(numbers) > len(partitions):
            partitions.append(partition)
    locations = pa.array([file["file_path"] for file in files], pa.string())
    paths = normal_paths(pa.chunked_array([locations])).combine_chunks()
    details = {name: _column(files, name, kind) for name, kind in _DETAILS.items()}
    details["first_row_id"] = pa.array(_row_ids(files, manifest), pa.int64())
    return ManifestFiles(
        manifest=manifest,
        locations=locations,
        paths=locations if paths.equals(locations) else paths,
        sequences=np.array([_sequence(entry, manifest) for entry in entries], np.int64),
        snapshots=np.array([_snapshot(entry, manifest) for entry in entries], np.int64),
        added=np.array([entry["status"] == _ADDED for entry in entries], bool),
        partitions=partitions,
        places=places,
        details=pa.table(details),
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


def _row_ids(files: Sequence[Mapping[str, Any]], manifest: Manifest) -> list[int | None]:
    """The first row of each file, given in the order of the manifest where it is not written."""
    following = manifest.first_row_id
    if following is None:
        return [None] * len(files)
    numbers: list[int | None] = []
    for file in files:
        own: int | None = file.get("first_row_id")
        numbers.append(following if own is None else own)
        following += int(file["record_count"]) if own is None else 0
    return numbers
