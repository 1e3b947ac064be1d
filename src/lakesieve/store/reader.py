"""Reading an index: only the row groups that a look-up needs, decoded once."""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.sieve import (
    RangeSet,
    distinct,
    lookup_codes,
    lookup_points,
    lookup_ranges,
    lookup_spans,
    wide_code,
)
from lakesieve.store.borrowers import root_storage
from lakesieve.store.parts import IndexParts, OpenedSegment
from lakesieve.store.places import between, in_bytes, in_words, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakesieve.format import CatalogueEntry, SegmentEntry
    from lakesieve.store.cache import BlockCache
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.snapshot import Snapshot

__all__ = ["IndexReader"]

Code = int | bytes
Interval = tuple[Code | None, Code | None]

FEW_ROW_GROUPS, MANY_ROW_GROUPS = 512, 4096
"""Row groups that one look-up may read, between these two twice as many as there are data files:
to read one takes a few milliseconds, as part of a data file does, and beyond that scanning the
table is the better plan."""

# of more row groups than twice that, so many tell whether the others are worth reading
_SAMPLE = 32
_NEARLY = 0.95

# ordinals are int32 and not negative
_ORDINAL_BITS = 31


_Plan = tuple[OpenedSegment, RangeSet, list[int]]
"""A segment, the ranges asked of it, and its row groups that hold codes of them."""


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
        roots = range(len(snapshot.definition.borrowed_roots) + 1)
        self.storage = store.storage
        self._files = {entry.id: entry.files for entry in snapshot.catalogues}
        places = [root_storage(store.storage, snapshot.definition, root) for root in roots]
        self._parts = IndexParts(places, cache, self._files)
        doubled = 2 * sum(self._files.values())
        self._worth = min(max(doubled, FEW_ROW_GROUPS), MANY_ROW_GROUPS)
        self._row_groups = sum(entry.row_groups for entry in snapshot.segments)
        rows = (
            _Row([entry for entry in snapshot.segments if isinstance(entry.key_min, kind)])
            for kind in (int, bytes)
        )
        self._rows = [row for row in rows if row.entries]

    def catalogue(self, entry: CatalogueEntry) -> pa.Table:
        """The data files of a catalogue, row ``i`` that of ordinal ``i``.

        Raises:
            NotFoundError: It is gone.
            CorruptIndexError: It is damaged.
        """
        return self._parts.catalogue(entry)

    def lookup(
        self, intervals: Sequence[Interval], *, most_row_groups: int | None = None
    ) -> dict[str, np.ndarray] | None:
        """Ordinals, by catalogue, that can hold a key of any of the intervals.

        Args:
            intervals: Half-open, sorted, disjoint; ``None`` is no bound.
            most_row_groups: How many may be read; by default what the table's size makes worth it.

        Returns:
            The ordinals, or ``None`` when more would have to be read than is worth it.

        Raises:
            NotFoundError: A file of the index is gone.
            CorruptIndexError: A file of the index is damaged.
            IndexFormatError: A file of the index is too new.
        """
        if most_row_groups is None:
            most_row_groups = self._worth
        wanted = [touched for row in self._rows for touched in row.touching(intervals)]
        if self._row_groups > most_row_groups:
            # before any footer is read
            least = sum(_least_groups(entry, mine) for entry, mine in wanted)
            if least > most_row_groups:
                return None
        plans: list[_Plan] = []
        for entry, mine in wanted:
            opened = self._parts.segment(entry)
            physical = "bytes" if isinstance(entry.key_min, bytes) else "int64"
            ranges = RangeSet.from_intervals(mine, physical, opened.footer.text)
            if len(ranges):
                plans.append((opened, ranges, ranges.parts(opened.firsts)))
        total = sum(len(groups) for _, _, groups in plans)
        if total > most_row_groups:
            return None
        if total > 2 * _SAMPLE and self._needs_all(plans, total):
            return {catalogue: np.arange(files) for catalogue, files in self._files.items()}
        return self._units(plans)

    def _units(self, plans: Sequence[_Plan]) -> dict[str, np.ndarray]:
        found: dict[str, list[np.ndarray]] = {}
        for opened, ranges, groups in plans:
            for number, blocks in self._parts.row_groups(opened, groups):
                here = ranges if len(ranges) == 1 else ranges.between(*_extent(opened, number))
                units = lookup_ranges(blocks, here)
                found.setdefault(opened.entry.catalogue, []).append(units)
        return {
            catalogue: parts[0] if len(parts) == 1 else distinct(np.concatenate(parts))
            for catalogue, parts in found.items()
        }

    def _needs_all(self, plans: Sequence[_Plan], total: int) -> bool:
        """Whether so many row groups like a sample of them name nearly every file."""
        sample: list[_Plan] = []
        step, passed = total // _SAMPLE, 0
        for opened, ranges, groups in plans:
            sample.append((opened, ranges, groups[-passed % step :: step]))
            passed += len(groups)
        share = sum(map(len, self._units(sample).values())) / sum(self._files.values())
        times = total / sum(len(groups) for _, _, groups in sample)
        return bool(1 - (1 - share) ** times > _NEARLY)

    def points(self, keys: pa.Array) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Ordinals, by catalogue, of each of many keys.

        Args:
            keys: Key codes, ``int64`` or ``binary``, ascending, without nulls.

        Returns:
            By catalogue: which key, int64, ascending; and one ordinal that can hold it.

        Raises:
            NotFoundError: A file of the index is gone.
            CorruptIndexError: A file of the index is damaged.
            IndexFormatError: A file of the index is too new.
        """
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for row in self._rows:
            kept = None
            own = in_bytes(keys) if row.is_bytewise else keys
            if own.type == pa.binary() and not row.is_bytewise:
                own, kept = in_words(keys)
            for entry in row.entries:
                start, end = between(own, entry.key_min, entry.key_max)
                for at, offsets, ordinals in self._segment_points(entry, own, start, end):
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

        Raises:
            NotFoundError: A file of the index is gone.
            CorruptIndexError: A file of the index is damaged.
            IndexFormatError: A file of the index is too new.
        """
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for entry in (entry for row in self._rows for entry in row.entries):
            start = between(highs, entry.key_min, entry.key_max)[0]
            end = between(lows, entry.key_min, entry.key_max)[1]
            if start >= end:
                continue
            opened, own = self._parts.segment(entry), slice(start, end)
            firsts, ends = _groups_of(opened, lows[own], highs[own])
            numbers = np.arange(int(firsts[0]), int(ends[-1]))
            # both ascend, so the ranges that reach into a row group are neighbours
            first = np.searchsorted(ends, numbers, side="right")
            last = np.searchsorted(firsts, numbers, side="right")
            reached = numbers[first < last].tolist()
            for number, blocks in self._parts.row_groups(opened, reached):
                at = number - int(numbers[0])
                some = slice(start + int(first[at]), start + int(last[at]))
                offsets, ordinals = lookup_spans(blocks, lows[some], highs[some])
                which = np.repeat(np.arange(some.start, some.stop), np.diff(offsets))
                found.setdefault(entry.catalogue, []).append((which, ordinals))
        return _merged(found)

    def _segment_points(
        self, entry: SegmentEntry, keys: pa.Array, start: int, end: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Answers of one segment, row group by row group: which keys, and their sets."""
        if start == end:
            return
        opened = self._parts.segment(entry)
        asked = keys.slice(start, end - start)
        at, codes = np.arange(len(asked)), None
        if opened.footer.bytewise:
            groups = places(asked, opened.firsts)
        else:
            if opened.footer.text is None:
                codes = asked.to_numpy()
            else:
                codes, known, _ = opened.footer.text.encode(asked)
                at = np.flatnonzero(known)
                codes = codes[at]
            groups = np.searchsorted(opened.firsts, codes, side="right") - 1
        groups = np.maximum(groups, 0)
        bounds = np.flatnonzero(np.diff(groups, prepend=-1))
        stretches = itertools.pairwise([*bounds.tolist(), len(at)])
        told = self._parts.row_groups(opened, groups[bounds].tolist())
        for (first, last), (_, blocks) in zip(stretches, told, strict=True):
            if codes is None:
                offsets, ordinals = lookup_points(blocks, asked.slice(first, last - first))
            else:
                offsets, ordinals = lookup_codes(blocks, codes[first:last])
            yield at[first:last] + start, offsets, ordinals


class _Row:
    """Segments whose keys are of one physical type, by their first key.

    Args:
        entries: The segments; their key ranges may overlap.
    """

    def __init__(self, entries: list[SegmentEntry]) -> None:
        self.entries = sorted(entries, key=lambda entry: (entry.key_min, entry.catalogue))
        self.is_bytewise = any(isinstance(entry.key_min, bytes) for entry in entries)
        self._firsts = [entry.key_min for entry in self.entries]
        # ascending, as the ends of overlapping segments are not
        self._ends = list(itertools.accumulate((e.key_max for e in self.entries), max))

    def touching(self, intervals: Sequence[Interval]) -> list[tuple[SegmentEntry, list[Interval]]]:
        """The segments that hold codes of any interval, found by binary search, and which those."""
        if not intervals:
            return []
        if self.is_bytewise:
            intervals = [(_wide(low), _wide(high)) for low, high in intervals]
        low, high = intervals[0][0], intervals[-1][1]
        start = 0 if low is None else bisect.bisect_left(self._ends, low)
        end = len(self.entries) if high is None else bisect.bisect_left(self._firsts, high)
        touched = [
            (entry, _overlapping(intervals, entry.key_min, entry.key_max))
            for entry in self.entries[start:end]
        ]
        return [(entry, mine) for entry, mine in touched if mine]


def _merged(
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]],
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Answers of several segments, each (key, ordinal) once."""
    told = {}
    for catalogue, parts in found.items():
        which = np.concatenate([part[0] for part in parts])
        ordinals = np.concatenate([part[1] for part in parts])
        packed = which << _ORDINAL_BITS | ordinals
        if not (packed[1:] > packed[:-1]).all():
            # segments that overlap answer for the same keys
            packed = np.unique(packed)
            which, ordinals = packed >> _ORDINAL_BITS, packed & ((1 << _ORDINAL_BITS) - 1)
        told[catalogue] = (which, ordinals.astype(np.int32, copy=False))
    return told


def _groups_of(
    opened: OpenedSegment, lows: pa.Array, highs: pa.Array
) -> tuple[np.ndarray, np.ndarray]:
    """First row group of each of ascending ranges of byte strings, and the one behind its last."""
    text = opened.footer.text
    if text is None:
        first, last = (places(keys, opened.firsts) for keys in (lows, highs))
    else:
        first, last = (
            np.searchsorted(opened.firsts, text.encode(keys)[0], side="right") - 1
            for keys in (lows, highs)
        )
    first = np.maximum(first, 0)
    return first, np.maximum(first, last) + 1


def _overlapping(intervals: Sequence[Interval], low: Code, high: Code) -> list[Interval]:
    """The sorted disjoint intervals that hold a code from low to high, both included."""
    if len(intervals) == 1:
        first, behind = intervals[0]
        below = first is None or first <= high  # type: ignore[operator]
        above = behind is None or behind > low  # type: ignore[operator]
        return list(intervals) if below and above else []
    # only the first interval can lack a start, only the last an end
    start = bisect.bisect_right(
        intervals, low, hi=len(intervals) - (intervals[-1][1] is None), key=_end
    )
    end = bisect.bisect_right(intervals, high, lo=int(intervals[0][0] is None), key=_start)
    return list(intervals[start:end])


def _start(interval: Interval) -> Code:
    return interval[0]  # type: ignore[return-value]


def _end(interval: Interval) -> Code:
    return interval[1]  # type: ignore[return-value]


def _wide(code: Code | None) -> Code | None:
    return wide_code(code) if isinstance(code, int) else code


def _extent(opened: OpenedSegment, number: int) -> tuple[Code | None, Code | None]:
    """Codes that a row group answers for; the outer ones without a bound."""
    low = opened.firsts[number] if number else None
    high = opened.firsts[number + 1] if number + 1 < len(opened.firsts) else None
    return low, high


def _least_groups(entry: SegmentEntry, intervals: Sequence[Interval]) -> int:
    """Row groups that must be read for sure, told without the footer."""
    low, high = intervals[0]
    below = low is None or low <= entry.key_min  # type: ignore[operator]
    above = high is None or high > entry.key_max  # type: ignore[operator]
    return entry.row_groups if below and above else 1
