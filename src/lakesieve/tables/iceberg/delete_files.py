"""The delete files of each data file, by the rules of Iceberg's specification.

- A position delete file applies to the data files of its partition, or to the one that it names, if
  they are not younger.
- A deletion vector applies to the data file that it names, instead of all position delete files.
- An equality delete file applies to the older files of its partition, or of all partitions if its
  spec has no fields. Files are left out whose values cannot be among the deleted ones.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

from lakesieve.errors import ErrorKind, StorageError
from lakesieve.tables.iceberg.manifest_files import DELETES, EQUALITY_DELETES, ListedFile

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.types import NestedField

    from lakesieve.tables.iceberg.manifest_files import Manifest
    from lakesieve.tables.iceberg.table_manifests import TableManifests

# the column of a position delete file that names data files
_FILE_PATH = 2147483546


def delete_index(
    manifests: TableManifests, listed: Sequence[Manifest], metadata: TableMetadata
) -> DeleteIndex | None:
    """Return the delete files in the manifests of a snapshot, or ``None`` where there are none."""
    of_deletes = [manifest for manifest in listed if manifest.content == DELETES]
    if not of_deletes:
        return None

    def make() -> tuple[DeleteIndex, int]:
        files = manifests.files(of_deletes)
        deletes = [ListedFile(of, at) for of in files for at in range(len(of))]
        fields: dict[int, NestedField] = {}
        for schema in (*metadata.schemas, metadata.schema()):
            fields |= {field_id: schema.find_field(field_id) for field_id in schema.field_ids}
        index = DeleteIndex(deletes, unpartitioned=unpartitioned_specs(metadata), fields=fields)
        return index, 2000 * len(deletes) + sum(of.nbytes for of in files) + 500

    paths = sorted(manifest.path for manifest in of_deletes)
    # what a field is may change under the same files
    of_fields = (metadata.current_schema_id, len(metadata.partition_specs))
    index: DeleteIndex = manifests.derived(paths[0], ("deletes", *paths, *of_fields), make)
    return None if index.is_empty else index


class DeleteIndex:
    """The delete files of a snapshot, found by the data file to which they apply.

    Raises:
        StorageError: Two deletion vectors name one data file, or one names none.
    """

    def __init__(
        self,
        deletes: Iterable[ListedFile],
        *,
        unpartitioned: frozenset[int],  # ids of the specs without partitions
        fields: Mapping[int, NestedField],  # fields of all schemas of the table by their ids
    ) -> None:
        self._fields = fields
        self._vectors: dict[str, ListedFile] = {}
        self._deleted: dict[ListedFile, dict[int, _Values]] = {}
        equality: list[tuple[Hashable, int, ListedFile]] = []
        positions: list[tuple[Hashable, int, ListedFile]] = []
        for delete in deletes:
            if delete.value("content") == EQUALITY_DELETES:
                # not of files of the same commit
                of_all = delete.spec_id in unpartitioned
                to: Hashable = None if of_all else delete.key
                equality.append((to, delete.sequence - 1, delete))
                ids = [i for i in delete.value("equality_ids") or () if i in fields]
                self._deleted[delete] = _values(delete, ids)
                continue
            path = delete.value("referenced_data_file") or _only_path(delete)
            if delete.value("file_format") != "puffin":
                to = delete.key if path is None else path
                positions.append((to, delete.sequence, delete))
            elif path is None:
                raise _damaged(f"A deletion vector in {delete.path} names no data file.")
            elif self._vectors.setdefault(path, delete) is not delete:
                raise _damaged(f"Two deletion vectors are of the data file {path}.")
        self._equality = _Groups(equality)
        self._positions = _Groups(positions)

    @property
    def is_empty(self) -> bool:
        """True if there is no delete file."""
        return not (self._equality.groups or self._positions.groups or self._vectors)

    def of(self, data: ListedFile) -> list[ListedFile]:
        """Return the delete files that apply to a data file."""
        key, sequence, path = data.key, data.sequence, data.path
        equality = [*self._equality.of(None, sequence), *self._equality.of(key, sequence)]
        if equality:
            ids = {i for delete in equality for i in self._deleted[delete]}
            values = _values(data, ids)
            equality = [
                delete for delete in equality if self._can_delete(self._deleted[delete], values)
            ]
        vector = self._vectors.get(path)
        if vector is not None:
            return [*equality, vector]
        positions = [*self._positions.of(key, sequence), *self._positions.of(path, sequence)]
        return [*equality, *positions]

    def _can_delete(self, deleted: Mapping[int, _Values], data: Mapping[int, _Values]) -> bool:
        """Return whether an equality delete file can hold the values of a row of a data file."""
        for field_id, theirs in deleted.items():
            field, ours = self._fields[field_id], data[field_id]
            if not field.field_type.is_primitive:
                continue
            if not field.required and ours.has_null and theirs.has_null:
                continue
            for one, other in ((ours, theirs), (theirs, ours)):
                if not field.required and one.is_all_null and not other.has_null:
                    return False
            if not _overlap(ours, theirs, field):
                return False
        return True


class _Groups:
    """Delete files by a key; each applies up to a sequence number."""

    def __init__(self, deletes: Iterable[tuple[Hashable, int, ListedFile]]) -> None:
        self.groups: dict[Hashable, list[tuple[int, ListedFile]]] = {}
        for key, last, delete in deletes:
            self.groups.setdefault(key, []).append((last, delete))
        for group in self.groups.values():
            group.sort(key=lambda one: one[0])

    def of(self, key: Hashable, sequence: int) -> list[ListedFile]:
        """Return the delete files of a key that apply to a data file of a sequence number."""
        group = self.groups.get(key)
        if group is None:
            return []
        first = bisect_left(group, sequence, key=lambda one: one[0])
        return [delete for _, delete in group[first:]]


class _Values(NamedTuple):
    """What a manifest says about the values of one column in a file; ``None`` is not known."""

    nulls: int | None
    values: int | None
    low: bytes | None
    high: bytes | None

    @property
    def has_null(self) -> bool:
        return self.nulls is None or self.nulls > 0

    @property
    def is_all_null(self) -> bool:
        return self.nulls is not None and self.nulls == self.values


def _values(file: ListedFile, field_ids: Iterable[int]) -> dict[int, _Values]:
    names = ("null_value_counts", "value_counts", "lower_bounds", "upper_bounds")
    maps = [file.mapping(name) for name in names]
    return {i: _Values(*(one.get(i) for one in maps)) for i in field_ids}


def unpartitioned_specs(metadata: TableMetadata) -> frozenset[int]:
    """Return the ids of the specs whose equality deletes are of all partitions.

    Tables of version 1 keep a field that was dropped as one of the transform ``void``, so a spec
    without partitions may have fields.
    """
    from pyiceberg.transforms import VoidTransform

    return frozenset(
        spec.spec_id
        for spec in metadata.partition_specs
        if all(isinstance(field.transform, VoidTransform) for field in spec.fields)
    )


def _damaged(what: str) -> StorageError:
    return StorageError(
        what,
        kind=ErrorKind.STORAGE_FAILED,
        hint="No reader can read this snapshot; restore an earlier one.",
    )


def _only_path(delete: ListedFile) -> str | None:
    """Return the only data file of a position delete file, if its bounds are one path."""
    lower = delete.mapping("lower_bounds").get(_FILE_PATH)
    upper = delete.mapping("upper_bounds").get(_FILE_PATH)
    return lower.decode() if lower is not None and lower == upper else None


def _overlap(data: _Values, deleted: _Values, field: NestedField) -> bool:
    """Return whether the ranges of two files overlap. An unknown range overlaps every range."""
    from pyiceberg.conversions import from_bytes

    bounds = (data.low, data.high, deleted.low, deleted.high)
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return True
    kind: Any = field.field_type
    try:
        low, high, first, last = (_ordered(from_bytes(kind, bound)) for bound in known)
    except (ValueError, struct.error):
        # the type of the column was promoted after the file was written
        return True
    # nothing is less or greater than NaN
    return not (low > last or first > high)


def _ordered(value: Any) -> Any:
    """Return a value that compares as in Iceberg for Java, where -0.0 is less than 0.0."""
    return (value, math.copysign(1, value)) if isinstance(value, float) else value
