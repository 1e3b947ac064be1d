"""Reading an index: only the row groups that a look-up needs, decoded once."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.sieve import (
    RangeSet,
    distinct,
    lookup_codes,
    lookup_points,
    lookup_range,
    lookup_ranges,
    lookup_spans,
    one_range,
    row_groups_of,
)
from lakesieve.store.index_references import root_storage
from lakesieve.store.key_positions import between, in_bytes, in_words, predecessor_indices
from lakesieve.store.key_sample import key_sample
from lakesieve.store.segment_loader import OpenedSegment, SegmentLoader
from lakesieve.store.segment_row import SegmentRow, least_groups
from lakesieve.store.shared_keys import shared_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lakesieve.format import CatalogueEntry, SegmentEntry
    from lakesieve.store.cache import BlockCache
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.segment_row import Code, Interval
    from lakesieve.store.snapshot import Snapshot

FEW_ROW_GROUPS, MANY_ROW_GROUPS = 512, 4096
"""Row groups that one look-up may read, between these two twice as many as there are data files:
to read one takes a few milliseconds, as part of a data file does, and beyond that scanning the
table is the better plan."""

# with more segments than that around a key, a plan costs little compared with reading them
_FEW_SEGMENTS = 16

# if there are more row groups than twice that, this many show whether the rest is worth reading
_SAMPLE = 32
_NEARLY = 0.95

# ordinals are int32 and not negative
_ORDINAL_BITS = 31


_Plan = tuple[OpenedSegment, RangeSet, list[int]]
"""A segment, the ranges looked up in it, and its row groups that hold codes of them."""


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
        numbers = range(len(snapshot.definition.borrowed_roots) + 1)
        self.storage = store.storage
        self._files = {entry.id: entry.files for entry in snapshot.catalogues}
        roots = [root_storage(store.storage, snapshot.definition, root) for root in numbers]
        self.loader = SegmentLoader(roots, cache, self._files)
        doubled = 2 * sum(self._files.values())
        self._worth = min(max(doubled, FEW_ROW_GROUPS), MANY_ROW_GROUPS)
        self._row_groups = sum(entry.row_groups for entry in snapshot.segments)
        rows = (
            SegmentRow([entry for entry in snapshot.segments if isinstance(entry.key_min, kind)])
            for kind in (int, bytes)
        )
        self._rows = [row for row in rows if row.entries]

    def catalogue(self, entry: CatalogueEntry) -> pa.Table:
        """The data files of a catalogue, row ``i`` that of ordinal ``i``."""
        return self.loader.catalogue(entry)

    def flags(self, entry: CatalogueEntry) -> pa.Table:
        """The flags of the data files of a catalogue: ``has_null``, ``has_value``, ``repeats``."""
        return self.loader.flags(entry)

    def digests(self, entry: CatalogueEntry, secret: bytes) -> np.ndarray:
        """Digests of the paths of a catalogue, 16 bytes each."""
        return self.loader.digests(entry, secret)

    def remembered(self, key: tuple[object, ...], make: Callable[[], tuple[Any, int]]) -> Any:
        """A value derived from this state, kept in the same cache.

        Args:
            key: Identifies it among all that is kept for this state.
            make: Makes it and returns it with its number of bytes.
        """
        return self.loader.remembered(key, make)

    def lookup(
        self, intervals: Sequence[Interval], *, most_row_groups: int | None = None
    ) -> dict[str, np.ndarray] | None:
        """Ordinals, by catalogue, that can hold a key of any of the intervals.

        Args:
            intervals: Half-open, sorted, disjoint; ``None`` is no bound.
            most_row_groups: How many may be read; by default what the table's size makes worth it.

        Returns:
            The ordinals, or ``None`` when more would have to be read than is worth it.
        """
        if most_row_groups is None:
            if len(intervals) == 1:
                found = self._in_one_row_group(*intervals[0])
                if found is not None:
                    return found
            most_row_groups = self._worth
        wanted = [touched for row in self._rows for touched in row.touching(intervals)]
        if self._row_groups > most_row_groups:
            # before any footer is read
            least = sum(least_groups(entry, mine) for entry, mine in wanted)
            if least > most_row_groups:
                return None
        plans: list[_Plan] = []
        # once for all segments of integers, each of which may hold codes of every interval
        whole = RangeSet.from_intervals(intervals, "int64") if _are_words(intervals) else None
        for entry, mine in wanted:
            opened = self.loader.segment(entry)
            first, last = entry.key_min, entry.key_max
            if whole is not None and isinstance(first, int) and isinstance(last, int):
                ranges = whole.within(first, last)
            else:
                ranges = RangeSet.from_intervals(mine, opened.physical, opened.footer.text)
            if len(ranges):
                plans.append((opened, ranges, ranges.row_groups(opened.firsts)))
        total = sum(len(groups) for _, _, groups in plans)
        if total > most_row_groups:
            return None
        if total > 2 * _SAMPLE and self._needs_all(plans, total):
            return {catalogue: np.arange(files) for catalogue, files in self._files.items()}
        return self._units(plans)

    def _in_one_row_group(
        self, low: Code | None, high: Code | None
    ) -> dict[str, np.ndarray] | None:
        """The answer for an interval that lies in one row group of each segment, as points do.

        Without plans, which would take longer than all the rest; ``None`` where there is more to
        read.
        """
        found: dict[str, np.ndarray] = {}
        for row in self._rows:
            low, high = row.with_type(low), row.with_type(high)
            entries = row.meeting(low, high)
            if len(entries) > _FEW_SEGMENTS:
                return None
            for entry in entries:
                opened = self.loader.segment(entry)
                codes = one_range(low, high, opened.physical, opened.footer.text)
                if codes is None:
                    continue
                groups = row_groups_of(opened.firsts, *codes)
                if len(groups) > 1:
                    return None
                units = lookup_range(self.loader.row_group(opened, groups.start), *codes)
                held = found.get(entry.catalogue)
                if held is not None:
                    units = distinct(np.concatenate([held, units]))
                found[entry.catalogue] = units
        return found

    def _units(self, plans: Sequence[_Plan]) -> dict[str, np.ndarray]:
        found: dict[str, list[np.ndarray]] = {}
        for opened, ranges, groups in plans:
            for number, blocks in self.loader.row_groups(opened, groups):
                here = ranges if len(ranges) == 1 else ranges.between(*_extent(opened, number))
                units = lookup_ranges(blocks, here)
                found.setdefault(opened.entry.catalogue, []).append(units)
        return {
            catalogue: chunks[0] if len(chunks) == 1 else distinct(np.concatenate(chunks))
            for catalogue, chunks in found.items()
        }

    def _needs_all(self, plans: Sequence[_Plan], total: int) -> bool:
        """Whether, judged by a sample, the row groups name nearly every file."""
        sample: list[_Plan] = []
        step, passed = total // _SAMPLE, 0
        for opened, ranges, groups in plans:
            sample.append((opened, ranges, groups[-passed % step :: step]))
            passed += len(groups)
        share = sum(map(len, self._units(sample).values())) / sum(self._files.values())
        times = total / sum(len(groups) for _, _, groups in sample)
        return bool(1 - (1 - share) ** times > _NEARLY)

    def shared(
        self, entry: SegmentEntry, live: np.ndarray
    ) -> Iterator[tuple[pa.Array, pa.Array, np.ndarray]]:
        """The keys of a segment that several data files can hold, row group by row group.

        Returns:
            Where ranges of keys begin and end, half-open, ascending; an end that is null is above
            all codes. And the ordinals of any of them, each once.
        """
        return shared_keys(self.loader, entry, live)

    def key_sample(self, count: int) -> pa.Array | None:
        """Some keys, evenly spread; ``None`` where there are none."""
        if not self._rows:
            return None
        row = max(self._rows, key=lambda row: sum(entry.blocks for entry in row.entries))
        return key_sample(self.loader, row.entries, count)

    def points(self, keys: pa.Array) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Ordinals, by catalogue, of each of many keys.

        Args:
            keys: Key codes, ``int64`` or ``binary``, ascending, without nulls.

        Returns:
            By catalogue: which key, int64, ascending; and one ordinal that can hold it.
        """
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for row in self._rows:
            kept = None
            row_keys = in_bytes(keys) if row.is_bytewise else keys
            if row_keys.type == pa.binary() and not row.is_bytewise:
                row_keys, kept = in_words(keys)
            for entry in row.entries:
                start, end = between(row_keys, entry.key_min, entry.key_max)
                for at, offsets, ordinals in self._segment_points(entry, row_keys, start, end):
                    which = np.repeat(at if kept is None else kept[at], np.diff(offsets))
                    found.setdefault(entry.catalogue, []).append((which, ordinals))
        return _merged(found)

    def spans(self, lows: pa.Array, highs: pa.Array) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Ordinals, by catalogue, of the keys in each of many ranges.

        Args:
            lows: Where each range of keys begins, ``binary``, ascending, without nulls.
            highs: Where it ends, ascending too; no key is equal to one.

        Returns:
            As :meth:`points`.
        """
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for entry in (entry for row in self._rows for entry in row.entries):
            start = between(highs, entry.key_min, entry.key_max)[0]
            end = between(lows, entry.key_min, entry.key_max)[1]
            if start >= end:
                continue
            opened, in_segment = self.loader.segment(entry), slice(start, end)
            firsts, ends = _groups_of(opened, lows[in_segment], highs[in_segment])
            numbers = np.arange(int(firsts[0]), int(ends[-1]))
            # both ascend, so the ranges that reach into a row group are neighbours
            first = np.searchsorted(ends, numbers, side="right")
            last = np.searchsorted(firsts, numbers, side="right")
            reached = numbers[first < last].tolist()
            for number, blocks in self.loader.row_groups(opened, reached):
                at = number - int(numbers[0])
                chunk = slice(start + int(first[at]), start + int(last[at]))
                offsets, ordinals = lookup_spans(blocks, lows[chunk], highs[chunk])
                which = np.repeat(np.arange(chunk.start, chunk.stop), np.diff(offsets))
                found.setdefault(entry.catalogue, []).append((which, ordinals))
        return _merged(found)

    def _segment_points(
        self, entry: SegmentEntry, keys: pa.Array, start: int, end: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Answers of one segment, row group by row group: which keys, and their sets."""
        if start == end:
            return
        opened = self.loader.segment(entry)
        segment_keys = keys.slice(start, end - start)
        at, codes = np.arange(len(segment_keys)), None
        if opened.footer.bytewise:
            groups = predecessor_indices(segment_keys, opened.firsts)
        else:
            if opened.footer.text is None:
                codes = segment_keys.to_numpy()
            else:
                codes, known, _ = opened.footer.text.encode(segment_keys)
                at = np.flatnonzero(known)
                codes = codes[at]
            groups = np.searchsorted(opened.firsts, codes, side="right") - 1
        groups = np.maximum(groups, 0)
        bounds = np.flatnonzero(np.diff(groups, prepend=-1))
        stretches = itertools.pairwise([*bounds.tolist(), len(at)])
        row_groups = self.loader.row_groups(opened, groups[bounds].tolist())
        for (first, last), (_, blocks) in zip(stretches, row_groups, strict=True):
            if codes is None:
                offsets, ordinals = lookup_points(blocks, segment_keys.slice(first, last - first))
            else:
                offsets, ordinals = lookup_codes(blocks, codes[first:last])
            yield at[first:last] + start, offsets, ordinals


def _are_words(intervals: Sequence[Interval]) -> bool:
    """Whether they are several intervals of integers."""
    return len(intervals) > 1 and isinstance(intervals[0][1], int)


def _merged(
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]],
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Answers of several segments, each (key, ordinal) once."""
    merged = {}
    for catalogue, chunks in found.items():
        which = np.concatenate([chunk[0] for chunk in chunks])
        ordinals = np.concatenate([chunk[1] for chunk in chunks])
        packed = which << _ORDINAL_BITS | ordinals
        if not (packed[1:] > packed[:-1]).all():
            # segments that overlap answer for the same keys
            packed = np.unique(packed)
            which, ordinals = packed >> _ORDINAL_BITS, packed & ((1 << _ORDINAL_BITS) - 1)
        merged[catalogue] = (which, ordinals.astype(np.int32, copy=False))
    return merged


def _groups_of(
    opened: OpenedSegment, lows: pa.Array, highs: pa.Array
) -> tuple[np.ndarray, np.ndarray]:
    """First row group of each of ascending ranges of byte strings, and the one behind its last."""
    text = opened.footer.text
    if text is None:
        first, last = (predecessor_indices(keys, opened.firsts) for keys in (lows, highs))
    else:
        first, last = (
            np.searchsorted(opened.firsts, text.encode(keys)[0], side="right") - 1
            for keys in (lows, highs)
        )
    first = np.maximum(first, 0)
    return first, np.maximum(first, last) + 1


def _extent(opened: OpenedSegment, number: int) -> tuple[Code | None, Code | None]:
    """Codes that a row group answers for; the outer ones without a bound."""
    low = opened.firsts[number] if number else None
    high = opened.firsts[number + 1] if number + 1 < len(opened.firsts) else None
    return low, high
