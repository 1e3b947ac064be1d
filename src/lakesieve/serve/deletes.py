"""Which delete files belong to a data file, by the rules of Iceberg's specification.

A position delete file applies to the data files of its partition, or to the one that it names,
that are no younger; a deletion vector to the one that it names, in the place of all position delete
files; an equality delete file to the older files of its partition, or of all partitions where its
spec has no fields, whose values can be among those that it deletes.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFileContent
from pyiceberg.types import PrimitiveType

from lakesieve.engines.delete_groups import DeleteGroups, partition_key
from lakesieve.errors import ErrorKind, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyiceberg.types import NestedField

    from lakesieve.engines.delete_groups import Partition
    from lakesieve.serve.manifests import DeleteFile, FileStatistics

__all__ = ["DeleteIndex"]

# the column of a position delete file that names data files
_FILE_PATH = 2147483546


class DeleteIndex:
    """The delete files of a snapshot, by the data files to which they apply.

    Args:
        deletes: The delete files.
        unpartitioned: Ids of the specs without partitions.
        fields: Fields of all schemas of the table, by their ids.

    Raises:
        StorageError: Two deletion vectors name one data file, or one names none.
    """

    def __init__(
        self,
        deletes: Iterable[DeleteFile],
        *,
        unpartitioned: frozenset[int],
        fields: Mapping[int, NestedField],
    ) -> None:
        self._fields = fields
        self._vectors: dict[str, DeleteFile] = {}
        equality: list[tuple[tuple[int, Partition] | None, int, DeleteFile]] = []
        positions: list[tuple[tuple[int, Partition] | str, int, DeleteFile]] = []
        for delete in deletes:
            key = (delete.spec_id, partition_key(delete.file.partition))
            if delete.file.content == DataFileContent.EQUALITY_DELETES:
                # not to files of the same commit
                to = None if delete.spec_id in unpartitioned else key
                equality.append((to, delete.sequence - 1, delete))
                continue
            path = delete.referenced or _only_path(delete)
            if not delete.is_vector:
                positions.append((key if path is None else path, delete.sequence, delete))
            elif path is None:
                raise _damaged(f"A deletion vector in {delete.file.file_path} names no data file.")
            elif self._vectors.setdefault(path, delete) is not delete:
                raise _damaged(f"Two deletion vectors are of the data file {path}.")
        self._equality = DeleteGroups(equality)
        self._positions = DeleteGroups(positions)

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not (self._equality or self._positions or self._vectors)

    def of(
        self, location: str, sequence: int, key: tuple[int, Partition], file: FileStatistics
    ) -> list[DeleteFile]:
        """The delete files that apply to a data file."""
        found = [
            delete
            for of_key in (None, key)
            for delete in self._equality.of(of_key, sequence)
            if self._can_delete(delete, file)
        ]
        vector = self._vectors.get(location)
        if vector is not None:
            return [*found, vector]
        return [
            *found,
            *self._positions.of(key, sequence),
            *self._positions.of(location, sequence),
        ]

    def _can_delete(self, delete: DeleteFile, data: FileStatistics) -> bool:
        """Whether an equality delete file can hold the values of a row of a data file."""
        deleted: Any = delete.file
        for field_id in deleted.equality_ids or ():
            known = self._fields.get(field_id)
            if known is None or not isinstance(known.field_type, PrimitiveType):
                continue
            if _has_null(data, known) and _has_null(deleted, known):
                continue
            if _is_all_null(data, known) and _is_without_null(deleted, known):
                return False
            if _is_all_null(deleted, known) and _is_without_null(data, known):
                return False
            if not _overlap(data, deleted, known):
                return False
        return True


def _damaged(what: str) -> StorageError:
    return StorageError(
        what,
        kind=ErrorKind.STORAGE_FAILED,
        hint="No reader can read this snapshot; restore an earlier one.",
    )


def _only_path(delete: DeleteFile) -> str | None:
    """The data file that a position delete file is of, where its bounds are one path."""
    lower = (delete.file.lower_bounds or {}).get(_FILE_PATH)
    upper = (delete.file.upper_bounds or {}).get(_FILE_PATH)
    return lower.decode() if lower is not None and lower == upper else None


def _nulls(file: Any, known: NestedField) -> int | None:
    found: int | None = (file.null_value_counts or {}).get(known.field_id)
    return found


def _has_null(file: Any, known: NestedField) -> bool:
    count = _nulls(file, known)
    return not known.required and (count is None or count > 0)


def _is_without_null(file: Any, known: NestedField) -> bool:
    count = _nulls(file, known)
    return known.required or (count is not None and count <= 0)


def _is_all_null(file: Any, known: NestedField) -> bool:
    nulls, values = _nulls(file, known), (file.value_counts or {}).get(known.field_id)
    return not known.required and nulls is not None and nulls == values


def _overlap(data: Any, deleted: Any, known: NestedField) -> bool:
    """Whether the ranges of two files meet; unknown ones do."""
    bounds = []
    for file in (data, deleted):
        for of_file in (file.lower_bounds, file.upper_bounds):
            bound = (of_file or {}).get(known.field_id)
            if bound is None:
                return True
            bounds.append(bound)
    kind: Any = known.field_type
    try:
        low, high, first, last = (_ordered(from_bytes(kind, bound)) for bound in bounds)
    except (ValueError, struct.error):
        # as a type was before it was promoted
        return True
    # nothing is less or greater than NaN
    return not (low > last or first > high)


def _ordered(value: Any) -> Any:
    """A value in the order of Iceberg for Java, where zero has two signs."""
    return (value, math.copysign(1, value)) if isinstance(value, float) else value
