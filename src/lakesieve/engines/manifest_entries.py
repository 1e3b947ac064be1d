"""Entries of manifests as PyIceberg has them, kept for the next scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.storage import fingerprint
from lakesieve.tables.iceberg.manifests import ManifestCache
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

# each is an object with its statistics, some kilobytes
_MAX_ENTRIES = 50_000


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


_ENTRIES: ManifestCache[ManifestEntries] = ManifestCache(_MAX_ENTRIES)
_LISTS: ManifestCache[Sequence[Any]] = ManifestCache(_MAX_ENTRIES)


def manifests_of(snapshot: Any, io: Any) -> Sequence[Any]:
    """The manifests of a snapshot, whose list never changes.

    Args:
        snapshot: As PyIceberg has it.
        io: PyIceberg's ``FileIO``.
    """
    (manifests,) = _LISTS.of(
        [snapshot.manifest_list], lambda _: snapshot.manifests(io), lambda _: _settings(io)
    )
    return manifests


def live_entries(manifests: Sequence[Any], io: Any) -> list[ManifestEntries]:
    """The live entries of manifests, in their order.

    Args:
        manifests: As PyIceberg has them.
        io: PyIceberg's ``FileIO``.
    """
    by_path = {manifest.manifest_path: manifest for manifest in manifests}

    def read(path: str) -> ManifestEntries:
        entries = by_path[path].fetch_manifest_entry(io, discard_deleted=True)
        paths = pa.array([entry.data_file.file_path for entry in entries], pa.string())
        return ManifestEntries(entries, normal_paths(pa.chunked_array([paths])))

    settings = _settings(io)
    paths = [manifest.manifest_path for manifest in manifests]
    return _ENTRIES.of(paths, read, lambda _: settings)


def _settings(io: Any) -> str:
    """Return the fingerprint of the settings of a ``FileIO``: its endpoints and credentials."""
    properties = sorted((name, str(value)) for name, value in io.properties.items())
    return fingerprint((("py-io-impl", type(io).__qualname__), *properties))
