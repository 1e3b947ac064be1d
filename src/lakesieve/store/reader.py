"""Reading an index: only the row groups that a look-up needs, decoded once."""

from __future__ import annotations

import bisect
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.format import decode_catalogue, decode_footer, decode_row_group
from lakesieve.sieve import Blocks, RangeSet, lookup_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from lakesieve.format import CatalogueEntry, SegmentEntry, SegmentFooter
    from lakesieve.store.log import IndexStore, Snapshot

__all__ = ["BlockCache", "IndexReader"]

Code = int | bytes
Interval = tuple[Code | None, Code | None]

CACHE_BYTES = 256 << 20
MOST_ROW_GROUPS = 256
"""Row groups that one look-up may read: beyond that, scanning the table is the better plan."""


class BlockCache:
    """Decoded parts of indexes, the least recently used dropped first; safe between threads.

    Args:
        limit: Bytes that may be held.
    """

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._held = 0
        self._parts: OrderedDict[tuple[str, ...], tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...], make: Callable[[], tuple[Any, int]]) -> Any:
        """The part under a key, made (with its size in bytes) where it is not held."""
        with self._lock:
            known = self._parts.get(key)
            if known is not None:
                self._parts.move_to_end(key)
                return known[0]
        part, size = make()
        with self._lock:
            if key not in self._parts:
                self._parts[key] = (part, size)
                self._held += size
            while self._held > self._limit and len(self._parts) > 1:
                _, (_, gone) = self._parts.popitem(last=False)
                self._held -= gone
        return part


class IndexReader:
    """Reads one snapshot of an index.

    On local storage every object's size and version are looked at before what is cached of it is
    used, so that a damaged or deleted file is noticed at once; elsewhere content-addressed names
    are trusted.

    Args:
        store: The index.
        snapshot: Which state of it.
        cache: Where decoded parts are kept; may be shared between readers.
    """

    def __init__(self, store: IndexStore, snapshot: Snapshot, cache: BlockCache) -> None:
        self._storage = store.storage
        self._snapshot = snapshot
        self._cache = cache
        self._segments = sorted(snapshot.segments, key=lambda entry: entry.catalogue)

    def catalogue(self, entry: CatalogueEntry) -> pa.Table:
        """The data files of a catalogue, row ``i`` that of ordinal ``i``.

        Raises:
            NotFoundError: It is gone.
            CorruptIndexError: It is damaged.
        """

        def make() -> tuple[pa.Table, int]:
            table = decode_catalogue(self._storage.get(entry.path), entry)
            return table, table.nbytes

        table: pa.Table = self._cache.get(self._key(entry.path, "catalogue"), make)
        return table

    def lookup(
        self, intervals: Sequence[Interval], *, most_row_groups: int = MOST_ROW_GROUPS
    ) -> dict[str, np.ndarray] | None:
        """Ordinals, by catalogue, that can hold a key of any of the intervals.

        Args:
            intervals: Half-open, sorted, disjoint; ``None`` is no bound.
            most_row_groups: How much may be read.

        Returns:
            The ordinals, or ``None`` when more would have to be read than is worth it.

        Raises:
            NotFoundError: A file of the index is gone.
            CorruptIndexError: A file of the index is damaged.
            IndexFormatError: A file of the index is too new.
        """
        wanted = [
            (entry, touching)
            for entry in self._segments
            if (touching := _overlapping(intervals, entry.key_min, entry.key_max))
        ]
        least = sum(_least_groups(entry, touching) for entry, touching in wanted)
        if least > most_row_groups:
            return None
        plans = [(entry, *self._groups(entry, touching)) for entry, touching in wanted]
        if sum(len(by_group) for _, _, by_group in plans) > most_row_groups:
            return None
        found: dict[str, list[np.ndarray]] = {}
        for entry, footer, by_group in plans:
            physical = "bytes" if isinstance(entry.key_min, bytes) else "int64"
            for number, touching in by_group.items():
                ranges = RangeSet.from_intervals(touching, physical)
                units = lookup_ranges(self._group(entry, footer, number), ranges)
                found.setdefault(entry.catalogue, []).append(units)
        return {catalogue: np.unique(np.concatenate(parts)) for catalogue, parts in found.items()}

    def _groups(
        self, entry: SegmentEntry, intervals: Sequence[Interval]
    ) -> tuple[SegmentFooter, dict[int, list[Interval]]]:
        """A segment's footer, and which of its row groups each interval touches."""

        def make() -> tuple[SegmentFooter, int]:
            start = entry.size - entry.footer_length
            data = self._storage.get_range(entry.path, start, entry.footer_length)
            return decode_footer(data, entry), 4 * len(data)

        footer: SegmentFooter = self._cache.get(self._key(entry.path, "footer"), make)
        firsts = [group.first_key for group in footer.groups]
        by_group: dict[int, list[Interval]] = {}
        for low, high in intervals:
            first = 0 if low is None else max(bisect.bisect_right(firsts, low) - 1, 0)
            last = len(firsts) if high is None else bisect.bisect_left(firsts, high)
            for number in range(first, max(last, first + 1)):
                by_group.setdefault(number, []).append((low, high))
        return footer, by_group

    def _group(self, entry: SegmentEntry, footer: SegmentFooter, number: int) -> Blocks:
        def make() -> tuple[Blocks, int]:
            group = footer.groups[number]
            data = self._storage.get_range(entry.path, group.start, group.length)
            keys, offsets, ordinals = decode_row_group(footer, number, data)
            blocks = Blocks(
                keys=keys,
                offsets=offsets,
                ordinals=ordinals,
                max_key=_last_key(entry, footer, number),
                key_count=0,
                pair_count=0,
            )
            return blocks, keys.nbytes + offsets.nbytes + ordinals.nbytes

        blocks: Blocks = self._cache.get(self._key(entry.path, str(number)), make)
        return blocks

    def _key(self, path: str, part: str) -> tuple[str, ...]:
        version = ""
        if self._storage.is_local:
            info = self._storage.head(path)
            version = f"{info.size} {info.version}"
        return (self._storage.location, path, version, part)


def _last_key(entry: SegmentEntry, footer: SegmentFooter, number: int) -> Code:
    """The last code a row group answers for: its last block runs up to the next group's first."""
    if number + 1 == len(footer.groups):
        return entry.key_max
    return footer.groups[number + 1].first_key


def _least_groups(entry: SegmentEntry, intervals: Sequence[Interval]) -> int:
    """Row groups that must be read for sure, told without the footer."""
    low, high = intervals[0]
    below = low is None or low <= entry.key_min  # type: ignore[operator]
    above = high is None or high > entry.key_max  # type: ignore[operator]
    return entry.row_groups if below and above else 1


def _overlapping(intervals: Sequence[Interval], low: Code, high: Code) -> Sequence[Interval]:
    """The intervals that touch a segment's keys, found by binary search."""
    start = bisect.bisect_right(intervals, low, key=_end_or_none(low))
    found = []
    for first, end in intervals[start:]:
        if first is not None and first > high:  # type: ignore[operator]
            break
        found.append((first, end))
    return found


def _end_or_none(like: Code) -> Callable[[Interval], Any]:
    """Ends of intervals, an open end above every code."""

    def end(interval: Interval) -> Any:
        told = interval[1]
        if told is not None:
            return told
        return 2**64 if isinstance(like, int) else _Highest()

    return end


class _Highest:
    """Above all bytes."""

    def __gt__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return False
