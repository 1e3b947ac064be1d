"""The decoded parts of a stored index: catalogues, footers of segments, row groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.format import corrupt, decode_catalogue, decode_footer, decode_row_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from lakesieve.format import CatalogueEntry, SegmentEntry, SegmentFooter
    from lakesieve.sieve import Blocks
    from lakesieve.storage import Storage
    from lakesieve.store.cache import BlockCache

__all__ = ["IndexParts", "OpenedSegment"]

# row groups that are fetched at once
_AHEAD = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedSegment:
    """A segment with its footer at hand.

    Args:
        entry: What the commit says of it.
        version: Which object it was read from.
        footer: Its footer.
        firsts: First codes of its row groups, as an int64 array or a list of bytes.
    """

    entry: SegmentEntry
    version: str
    footer: SegmentFooter
    firsts: Any


class IndexParts:
    """Fetches, checks, decodes and keeps them.

    Args:
        roots: Where the index lies, and the others whose objects it has.
        cache: Where decoded parts are kept.
        files: How many data files each catalogue has, by its id.
    """

    def __init__(
        self, roots: Sequence[Storage], cache: BlockCache, files: Mapping[str, int]
    ) -> None:
        self._roots = roots
        self._cache = cache
        self._files = files

    def catalogue(self, entry: CatalogueEntry) -> pa.Table:
        """The data files of a catalogue, row ``i`` that of ordinal ``i``.

        Raises:
            NotFoundError: It is gone.
            CorruptIndexError: It is damaged.
        """
        storage = self._roots[entry.root]

        def make() -> tuple[pa.Table, int]:
            table = decode_catalogue(storage.get(entry.path), entry)
            return table, table.nbytes

        key = (storage.location, entry.path, storage.stamp(entry.path), "catalogue")
        table: pa.Table = self._cache.get(key, make)
        return table

    def segment(self, entry: SegmentEntry) -> OpenedSegment:
        """A segment with its footer."""
        storage = self._roots[entry.root]
        version = storage.stamp(entry.path)

        def make() -> tuple[OpenedSegment, int]:
            start = entry.size - entry.footer_length
            data = storage.get_range(entry.path, start, entry.footer_length)
            footer = decode_footer(data, entry)
            if footer.unit_count > self._files[entry.catalogue]:
                raise corrupt(entry.path, "it counts more files than its catalogue has")
            firsts = [group.first_key for group in footer.groups]
            array = firsts if footer.bytewise else np.array(firsts, np.int64)
            opened = OpenedSegment(entry=entry, version=version, footer=footer, firsts=array)
            return opened, 4 * len(data)

        opened: OpenedSegment = self._cache.get((storage.location, entry.path, version, ""), make)
        return opened

    def row_groups(
        self, opened: OpenedSegment, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Blocks]]:
        """Some row groups of a segment, those that are not held fetched many at once."""
        entry = opened.entry
        storage = self._roots[entry.root]
        keys = [(storage.location, entry.path, opened.version, str(number)) for number in numbers]
        for start in range(0, len(numbers), _AHEAD):
            some = range(start, min(start + _AHEAD, len(numbers)))
            missing = [numbers[at] for at in some if keys[at] not in self._cache]
            fetched = dict(zip(missing, _fetched(storage, opened, missing), strict=True))
            for at in some:
                make = partial(_decoded, storage, opened, numbers[at], fetched)
                yield numbers[at], self._cache.get(keys[at], make)


def _decoded(
    storage: Storage, opened: OpenedSegment, number: int, fetched: dict[int, bytes]
) -> tuple[Blocks, int]:
    """A row group and how much memory it takes."""
    # what was held a moment ago may be gone
    data = fetched.get(number) or _fetched(storage, opened, [number])[0]
    blocks = decode_row_group(opened.footer, number, data)
    return blocks, blocks.keys.nbytes + blocks.offsets.nbytes + blocks.ordinals.nbytes


def _fetched(storage: Storage, opened: OpenedSegment, numbers: Sequence[int]) -> list[bytes]:
    """Encoded row groups."""
    path, groups = opened.entry.path, [opened.footer.groups[number] for number in numbers]
    if len(groups) == 1:
        return [storage.get_range(path, groups[0].start, groups[0].length)]
    if not groups:
        return []
    return storage.get_ranges(path, [g.start for g in groups], [g.length for g in groups])
