"""Delete files by what they apply to: a partition, a data file, or all; and how old it must be."""

from __future__ import annotations

import struct
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

Partition = tuple[Any, ...]
"""Values of the fields of a partition spec, in their order, of which NaN equals itself."""

File = TypeVar("File")


def partition_key(partition: Any) -> Partition:
    """The values of a partition, by which equal ones are found."""
    # as Java has them: NaN is equal to itself, and zero has two signs
    return tuple(
        struct.pack("<d", value) if isinstance(value, float) else value for value in partition._data
    )


class DeleteGroups(Generic[File]):
    """Delete files by a key; each applies up to a sequence number.

    Args:
        deletes: The key of each, the last sequence number to which it applies, and the file.
    """

    def __init__(self, deletes: Iterable[tuple[Hashable, int, File]]) -> None:
        self._groups: dict[Hashable, list[tuple[int, File]]] = {}
        for key, last, file in deletes:
            self._groups.setdefault(key, []).append((last, file))
        for group in self._groups.values():
            group.sort(key=lambda one: one[0])

    def __bool__(self) -> bool:
        return bool(self._groups)

    def of(self, key: Hashable, sequence: int) -> list[File]:
        """Those of a key that apply to a data file of a sequence number."""
        group = self._groups.get(key)
        if group is None:
            return []
        first = bisect_left(group, sequence, key=lambda one: one[0])
        return [file for _, file in group[first:]]
