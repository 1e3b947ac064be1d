"""Live data files of Iceberg tables that are reached by storage options."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError, StorageError, UnsupportedError
from lakesieve.storage import fingerprint, open_storage
from lakesieve.tables.iceberg.manifest_cache import ContentCache, ManifestCache
from lakesieve.tables.iceberg.manifest_files import DATA, Manifest
from lakesieve.tables.iceberg.metadata_filter import rows_of_files
from lakesieve.tables.iceberg.table_manifests import PATHS_SCHEMA, ManifestSource, TableManifests
from lakesieve.tables.paths import identified

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lakesieve.storage import StorageOptions
    from lakesieve.tables.iceberg.statistics import DataFileRows

_LARGEST = 1 << 31

FILES_SCHEMA = PATHS_SCHEMA
"""Live files of a version."""

SHARED = ManifestCache(small=ContentCache(384 << 20), large=ContentCache(640 << 20))
"""The manifests that all readers of this process share."""


def data_files(
    snapshots: Iterable[Mapping[str, Any]], options: StorageOptions, name: str
) -> pa.Table:
    """Return the live data files of some snapshots. Each manifest counts once.

    Raises:
        UnsupportedError: A snapshot is written as only the oldest writers did.
        StorageError: A manifest cannot be read.
    """
    with _readable(name):
        return _together(_manifests_by(options), snapshots, name)


def live_files(snapshot: Mapping[str, Any], options: StorageOptions, name: str) -> pa.Table:
    """Return the live data files of one snapshot, named as indexes know them.

    Raises:
        UnsupportedError: The snapshot is written as only the oldest writers did.
        StorageError: A manifest cannot be read.
    """
    manifests = _manifests_by(options)

    def make() -> tuple[pa.Table, int]:
        files = identified(_together(manifests, [snapshot], name))
        return files, files.nbytes

    with _readable(name):
        files: pa.Table = manifests.derived(_list_of(snapshot, name), "live", make)
    return files


def has_delete_files(snapshot: Mapping[str, Any], options: StorageOptions, name: str) -> bool:
    """Return whether a snapshot may have delete files. Only its manifest list is read.

    Raises:
        UnsupportedError: The snapshot is written as only the oldest writers did.
        StorageError: The manifest list cannot be read.
    """
    with _readable(name):
        listed = _manifests_by(options).listed(_list_of(snapshot, name))
    return any(one.content != DATA and one.has_live_files for one in listed)


def metrics_of_files(
    snapshot: Mapping[str, Any],
    specs: Mapping[int, Sequence[Mapping[str, Any]]],
    options: StorageOptions,
    name: str,
) -> tuple[pa.ChunkedArray, DataFileRows]:
    """Return the paths of the live data files of one snapshot, and their statistics.

    Raises:
        UnsupportedError: The snapshot is written as only the oldest writers did.
        StorageError: A manifest cannot be read.
    """
    manifests = _manifests_by(options)
    with _readable(name):
        files = manifests.files(_of_data(manifests, [snapshot], name))
    paths = pa.chunked_array([one.paths for one in files], pa.string())
    return paths, rows_of_files([(one, np.arange(len(one))) for one in files], specs)


def _manifests_by(options: StorageOptions) -> TableManifests:
    fingerprints: dict[str, str] = {}

    def owner(path: str) -> tuple[object, ...]:
        # the settings are those of a whole bucket
        place = "/".join(path.split("/", 3)[:3])
        if place not in fingerprints:
            fingerprints[place] = fingerprint(tuple(sorted(options(place).items())))
        return (fingerprints[place],)

    def read(path: str) -> bytes:
        folder, _, file = path.rpartition("/")
        storage = open_storage(folder, options(folder), renew=options.renewed)
        return storage.get(file, most=source.limits.stored)

    source = ManifestSource(read=read, owner=owner)
    return TableManifests(source, SHARED)


def _together(
    manifests: TableManifests, snapshots: Iterable[Mapping[str, Any]], name: str
) -> pa.Table:
    tables = manifests.paths(_of_data(manifests, snapshots, name))
    return pa.concat_tables([FILES_SCHEMA.empty_table(), *tables])


def _of_data(
    manifests: TableManifests, snapshots: Iterable[Mapping[str, Any]], name: str
) -> list[Manifest]:
    """Return the manifests of data files of some snapshots, each once."""
    listed = (one for s in snapshots for one in manifests.listed(_list_of(s, name)))
    return list({one.path: one for one in listed if one.content == DATA}.values())


def _list_of(snapshot: Mapping[str, Any], name: str) -> str:
    path = snapshot.get("manifest-list")
    if path is None:
        raise UnsupportedError(
            f"{name} has snapshots without manifest lists, from very old versions of Iceberg.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Open it with a Spark session.",
        )
    return str(path)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn the errors of reading manifests into an error that names the table."""
    try:
        yield
    except UnsupportedError:
        raise
    except (LakesieveError, ValueError, TypeError, KeyError, EOFError, OSError) as error:
        first = str(error).strip().partition("\n")[0]
        raise StorageError(
            f"The files of {name} cannot be listed: {first}",
            kind=ErrorKind.STORAGE_FAILED,
            hint="No query of this version can be planned either; check the credentials, "
            "restore the table's metadata, or name another version.",
        ) from error
