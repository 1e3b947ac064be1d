"""The one place that reads the manifests of Iceberg tables, and keeps what it read."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError, StorageError, UnsupportedError
from lakesieve.tables.avro import AvroTooLargeError, avro_records
from lakesieve.tables.iceberg.manifest_files import DELETED, Manifest, manifest_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np

    from lakesieve.tables.iceberg.manifest_cache import ManifestCache
    from lakesieve.tables.iceberg.manifest_files import ManifestFiles

PATHS_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("records", pa.int64())])
"""Columns of live data files for readers that need no statistics."""

_LIGHT = {"file_path": "path", "file_size_in_bytes": "size", "record_count": "records"}
_BATCH = 64
"""Manifests that are held at once where many must be read."""
_CHECKED = 1000
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestLimits:
    """The largest manifests and manifest lists that are read."""

    stored: int = 256 << 20  # bytes of a stored file
    decoded: int = 512 << 20  # bytes of a decompressed file
    # how many times its stored size a larger file than `small_decoded` may take
    expansion: int = 100
    small_decoded: int = 32 << 20  # bytes that any file may take after decompression
    entries: int = 1_000_000  # files in a manifest, or manifests in a list


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManifestSource:
    """How the manifests of a table are read, and who shares what is kept of them."""

    read: Callable[[str], bytes]  # returns the bytes of a file
    # returns the start of the cache keys of a file: at another endpoint the same path is another
    # file, and with other credentials it may be forbidden
    owner: Callable[[str], tuple[object, ...]]
    limits: ManifestLimits = field(default_factory=ManifestLimits)
    check: Callable[[], None] = lambda: None  # raises an error when the files are no longer wanted
    # raises an error for paths of data files or delete files that the table may not have
    accept: Callable[[pa.Array], None] = lambda _: None
    # called with what is read because it is not kept: `list`, `files` or `paths`
    on_read: Callable[[str], None] = lambda _: None


class TableManifests:
    """The manifests of one table, each read once while the cache holds what it lists."""

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

        return self._cache.large.get_all(
            [(self._files_key(one), partial(make, one)) for one in manifests]
        )

    def paths(self, manifests: Sequence[Manifest]) -> list[pa.Table]:
        """Return the live files of manifests under ``PATHS_SCHEMA``, paths as they are written."""

        def make(manifest: Manifest) -> tuple[pa.Table, int]:
            files = self._cache.large.find(self._files_key(manifest))
            if files is None:
                table = self._paths(manifest)
            else:
                sizes, records = (files.details.column(name) for name in list(_LIGHT)[1:])
                table = pa.table([files.locations, sizes, records], schema=PATHS_SCHEMA)
            return table, 200 + table.nbytes

        return self._cache.large.get_all(
            [(self._key(one.path, "paths"), partial(make, one)) for one in manifests]
        )

    def of_each(
        self,
        manifests: Sequence[Manifest],
        name: tuple[object, ...],
        derive: Callable[[Sequence[pa.Table]], Sequence[Any]],
    ) -> list[Any]:
        """Return what follows from the paths of each manifest, and keep it.

        Manifests are read where it is not kept.
        """
        keys = [self._key(manifest.path, *name) for manifest in manifests]
        derived = [self._cache.small.find(key) for key in keys]
        missing = [at for at, one in enumerate(derived) if one is None]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            made = derive(self.paths([manifests[at] for at in batch]))
            for at, one in zip(batch, made, strict=True):
                derived[at] = one
                self._cache.small.put(keys[at], one, 200 + getattr(one, "nbytes", 0))
        return derived

    def batches(
        self, wanted: Sequence[tuple[Manifest, np.ndarray]]
    ) -> Iterator[list[tuple[ManifestFiles, np.ndarray]]]:
        """Yield the files of manifests with their wanted rows, a few manifests at a time.

        A manifest without a wanted row is not read.
        """
        some = [one for one in wanted if len(one[1])]
        for start in range(0, len(some), _BATCH):
            self._source.check()
            batch = some[start : start + _BATCH]
            files = self.files([manifest for manifest, _ in batch])
            yield [(of, rows) for of, (_, rows) in zip(files, batch, strict=True)]

    def derived(self, path: str, name: object, make: Callable[[], tuple[Any, int]]) -> Any:
        """Return a cached value derived from a manifest; ``make`` returns it and its size."""
        return self._cache.small.get(self._key(path, name), make)

    def _files_key(self, manifest: Manifest) -> tuple[object, ...]:
        # rows are numbered when a table gets version 3, under the manifests that it has
        return self._key(manifest.path, "files", manifest.first_row_id)

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
        except AvroTooLargeError:
            raise _too_large(path, f"more than {most} bytes when it is decompressed") from None
        except Exception as error:  # decoders have errors of many kinds
            raise _unreadable(path, error) from error

    def _paths(self, manifest: Manifest) -> pa.Table:
        self._source.on_read("paths")
        records = self._records(manifest.path, {"status": None, "data_file": _LIGHT})
        try:
            files = [entry["data_file"] for entry in records if entry["status"] != DELETED]
            columns = {ours: [file[theirs] for file in files] for theirs, ours in _LIGHT.items()}
            table = pa.table(columns, schema=PATHS_SCHEMA)
        except _DAMAGE as error:
            raise _unreadable(manifest.path, error) from error
        self._source.accept(table.column("path").combine_chunks())
        return table

    def _files(self, manifest: Manifest) -> ManifestFiles:
        records = self._records(manifest.path)
        entries = (entry for entry in records if entry["status"] != DELETED)
        try:
            files = manifest_files(manifest, entries)
        except _DAMAGE as error:
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
