"""Data files as manifests list them, read by PyIceberg and kept: a manifest never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError, StorageError, UnsupportedError
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "FILES_SCHEMA",
    "ManifestCache",
    "ManifestEntries",
    "data_files",
    "shared_entries",
]

FILES_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("records", pa.int64())])
"""Live files of a version."""

_MAX_FILES = 2_000_000
# each is an object with its statistics, some kilobytes
_MAX_ENTRIES = 50_000
_THREADS = 8

_Read = TypeVar("_Read", bound="pa.Table | ManifestEntries")


@dataclass(frozen=True, slots=True, eq=False)
class ManifestEntries:
    """The live entries of a manifest of data files.

    Args:
        entries: As PyIceberg has them.
        paths: The files' paths in the one spelling.
    """

    entries: Sequence[Any]
    paths: pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.entries)


class ManifestCache(Generic[_Read]):
    """What was read of manifests, by the manifests' paths; the least recently used is forgotten.

    Args:
        read: Reads one, with PyIceberg's ``FileIO``.
        max_files: How many data files are kept in all.
    """

    def __init__(self, read: Callable[[Any, Any], _Read], *, max_files: int) -> None:
        self._read = read
        self._max_files = max_files
        self._known: OrderedDict[str, _Read] = OrderedDict()
        self._files = 0
        self._lock = threading.Lock()

    def of(self, manifests: Sequence[Any], io: Any) -> list[_Read]:
        """What there is in some manifests, in their order.

        Args:
            manifests: As PyIceberg has them.
            io: PyIceberg's ``FileIO``.
        """
        with self._lock:
            known = {m.manifest_path: self._known.get(m.manifest_path) for m in manifests}
        unread = [m for m in manifests if known[m.manifest_path] is None]
        if len(unread) > 1:
            with ThreadPoolExecutor(min(_THREADS, len(unread))) as pool:
                read = list(pool.map(lambda manifest: self._read(manifest, io), unread))
        else:
            read = [self._read(manifest, io) for manifest in unread]
        new = {m.manifest_path: found for m, found in zip(unread, read, strict=True)}
        self._keep(known.keys(), new)
        there = {path: found for path, found in known.items() if found is not None} | new
        return [there[manifest.manifest_path] for manifest in manifests]

    def _keep(self, used: Iterable[str], new: Mapping[str, _Read]) -> None:
        with self._lock:
            for path, found in new.items():
                if path not in self._known:
                    self._known[path] = found
                    self._files += len(found)
            for path in used:
                if path in self._known:
                    self._known.move_to_end(path)
            while self._files > self._max_files and self._known:
                self._files -= len(self._known.popitem(last=False)[1])


def _files(manifest: Any, io: Any) -> pa.Table:
    files = [entry.data_file for entry in manifest.fetch_manifest_entry(io, discard_deleted=True)]
    return pa.table(
        {
            "path": [file.file_path for file in files],
            "size": [file.file_size_in_bytes for file in files],
            "records": [file.record_count for file in files],
        },
        schema=FILES_SCHEMA,
    )


def _entries(manifest: Any, io: Any) -> ManifestEntries:
    entries = manifest.fetch_manifest_entry(io, discard_deleted=True)
    paths = pa.chunked_array([pa.array([e.data_file.file_path for e in entries], pa.string())])
    return ManifestEntries(entries, normal_paths(paths))


_FILES = ManifestCache(_files, max_files=_MAX_FILES)
_ENTRIES = ManifestCache(_entries, max_files=_MAX_ENTRIES)


def shared_entries() -> ManifestCache[ManifestEntries]:
    """The entries of manifests that this process has read."""
    return _ENTRIES


def data_files(snapshots: Iterable[Mapping[str, Any]], io: Any, name: str) -> pa.Table:
    """Live data files of some snapshots, those of a manifest once.

    Args:
        snapshots: As the metadata lists them.
        io: PyIceberg's ``FileIO``.
        name: The table.

    Raises:
        UnsupportedError: A snapshot is written as only the oldest writers did.
        StorageError: A manifest cannot be read.
    """
    try:
        manifests = {m.manifest_path: m for s in snapshots for m in _manifests(s, io, name)}
        tables = _FILES.of(list(manifests.values()), io)
    except LakesieveError:
        raise
    except Exception as error:  # file systems are clients of many kinds
        first = str(error).strip().partition("\n")[0]
        raise StorageError(
            f"The files of {name} cannot be listed: {type(error).__name__}: {first}",
            kind=ErrorKind.STORAGE_FAILED,
            hint="No query of this version can be planned either; check the credentials, "
            "restore the table's metadata, or name another version.",
        ) from error
    return pa.concat_tables([FILES_SCHEMA.empty_table(), *tables])


def _manifests(snapshot: Mapping[str, Any], io: Any, name: str) -> list[Any]:
    from pyiceberg.manifest import ManifestContent, read_manifest_list

    path = snapshot.get("manifest-list")
    if path is None:
        raise UnsupportedError(
            f"{name} has snapshots without manifest lists, as its oldest writers left them.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Open it with a Spark session.",
        )
    listed = read_manifest_list(io.new_input(path))
    return [manifest for manifest in listed if manifest.content == ManifestContent.DATA]
