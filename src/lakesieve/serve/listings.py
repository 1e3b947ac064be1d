"""What the manifests of a table list, kept in two tiers.

Of each manifest that was read, how many files it lists and which numbers an index has for them take
some bytes a file and are needed by every plan; the files with their statistics take some hundred
bytes a file and are needed where a file is in the plan. Each is dropped by itself when there is no
room, so that a large table is planned in little memory: only manifests with a file that a plan
keeps are read again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import ManifestContent

from lakesieve.engines.iceberg_columns import unpartitioned_specs
from lakesieve.serve.deletes import DeleteIndex
from lakesieve.serve.fields import all_fields
from lakesieve.serve.manifests import first_row_id, read_deletes, read_files, read_list
from lakesieve.serve.metrics import count_read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from lakesieve.index import OpenedIndex
    from lakesieve.serve.kept import Tiers
    from lakesieve.serve.manifest_source import ManifestSource
    from lakesieve.serve.manifests import ManifestFiles

BATCH = 64
"""Manifests that are held at once where many must be read."""


class TableListings:
    """The manifests of one table.

    Args:
        owner: The table's name, and who may use what is kept of its files: whoever the catalog
            gives the table, or one caller alone.
        metadata: The table's metadata.
        source: Reads the manifests.
        kept: Holds what they list.
    """

    def __init__(
        self,
        owner: tuple[str, str],
        metadata: TableMetadata,
        source: ManifestSource,
        kept: Tiers,
    ) -> None:
        self._metadata = metadata
        self._source = source
        self._kept = kept
        self._table = (*owner, str(metadata.table_uuid))

    def manifests(self, snapshot: Snapshot) -> list[ManifestFile]:
        """The manifests of a snapshot."""

        def make() -> tuple[list[ManifestFile], int]:
            count_read("list")
            found = read_list(snapshot.manifest_list, self._source)
            return found, 1000 * len(found) + 500

        key = (*self._table, snapshot.manifest_list, "list")
        found: list[ManifestFile] = self._kept.small.get(key, make)
        return found

    def files(self, manifests: Sequence[ManifestFile]) -> list[ManifestFiles]:
        """The data files of some manifests, with all that there is of them."""

        def make(manifest: ManifestFile) -> tuple[ManifestFiles, int]:
            count_read("files")
            found = read_files(manifest, self._source)
            return found, found.nbytes

        # rows are numbered when a table gets version 3, under the manifests that it has
        return self._kept.large.all(
            [
                (self._key(manifest, "files", first_row_id(manifest)), partial(make, manifest))
                for manifest in manifests
            ]
        )

    def counts(self, manifests: Sequence[ManifestFile]) -> list[int]:
        """How many data files each of some manifests lists."""
        return self._of_each(manifests, ("count",), lambda files: [len(one) for one in files])

    def numbers(self, manifests: Sequence[ManifestFile], index: OpenedIndex) -> list[np.ndarray]:
        """The numbers that an index has for the files of each of some manifests."""

        def look_up(files: Sequence[ManifestFiles]) -> list[np.ndarray]:
            paths = pa.chunked_array([one.paths for one in files], pa.string())
            ends = np.cumsum([len(one) for one in files], dtype=np.int64)
            found = index.numbers(paths).astype(np.int32)
            # a part would hold the whole
            return [part.copy() for part in np.split(found, ends)[:-1]]

        return self._of_each(manifests, (index.identity, "numbers"), look_up)

    def _of_each(
        self,
        manifests: Sequence[ManifestFile],
        name: tuple[str, ...],
        derive: Callable[[Sequence[ManifestFiles]], Sequence[Any]],
    ) -> list[Any]:
        """What follows from the files of each manifest; they are read where it is not held."""
        keys = [self._key(manifest, *name) for manifest in manifests]
        found = [self._kept.small.find(key) for key in keys]
        missing = [at for at, one in enumerate(found) if one is None]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            derived = derive(self.files([manifests[at] for at in batch]))
            for at, one in zip(batch, derived, strict=True):
                found[at] = one
                self._kept.small.put(keys[at], one, 200 + getattr(one, "nbytes", 0))
        return found

    def deletes(self, manifests: Sequence[ManifestFile]) -> DeleteIndex | None:
        """The delete files of a snapshot; ``None`` where there are none."""
        listed = [m for m in manifests if m.content == ManifestContent.DELETES]
        if not listed:
            return None

        def make() -> tuple[DeleteIndex, int]:
            count_read("deletes")
            deletes = [one for manifest in listed for one in read_deletes(manifest, self._source)]
            index = DeleteIndex(
                deletes,
                unpartitioned=unpartitioned_specs(self._metadata),
                fields=all_fields(self._metadata),
            )
            return index, 4000 * len(deletes) + 500

        paths = sorted(manifest.manifest_path for manifest in listed)
        # what a field is may change under the same files
        of_fields = (self._metadata.current_schema_id, len(self._metadata.specs()))
        index: DeleteIndex = self._kept.small.get(
            (*self._table, *paths, *of_fields, "deletes"), make
        )
        return None if index.is_empty else index

    def _key(self, manifest: ManifestFile, *of: object) -> tuple[object, ...]:
        return (*self._table, manifest.manifest_path, *of)
