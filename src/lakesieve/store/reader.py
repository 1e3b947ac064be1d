"""Look-ups in an index: only the row groups that they need are read, and decoded once."""

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
    lookup_range,
    lookup_ranges,
    lookup_spans,
    one_range,
    row_groups_of,
    wide_code,
)
from lakesieve.store.segment_loader import OpenedSegment, SegmentLoader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import Code, Interval
    from lakesieve.store.cache import BlockCache
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.snapshot import Snapshot

FEW_ROW_GROUPS, MANY_ROW_GROUPS = 512, 4096
"""Row groups that one look-up may read, between these two twice as many as there are data files.

To read a row group takes a few milliseconds, as part of a data file does. Beyond that, scanning the
table is the better plan."""

# with more segments than that around a key, a plan costs little compared with reading them
_FEW_SEGMENTS = 16

# if there are more row groups than twice that, this many show whether the rest is worth reading
_SAMPLE = 32
_NEARLY = 0.95

# ordinals are int32 and not negative
_ORDINAL_BITS = 31

_SegmentRanges = tuple[OpenedSegment, RangeSet, list[int]]
"""A segment, the ranges to look up in it, and its row groups that hold codes of them."""


class IndexReader:
    """Looks up keys in one snapshot of an index; answers are ordinals, by catalogue.

    On local storage every object's size and version are looked at before what is cached of it is
    used, so that a damaged or deleted file is noticed at once. Elsewhere content-addressed names
    are trusted.
    """

    def __init__(self, store: IndexStore, snapshot: Snapshot, cache: BlockCache) -> None:
        self.loader = SegmentLoader(store.storage, snapshot, cache)
        self._files = self.loader.files
        doubled = 2 * sum(self._files.values())
        self._worth = min(max(doubled, FEW_ROW_GROUPS), MANY_ROW_GROUPS)
        self._row_groups = sum(entry.row_groups for entry in snapshot.segments)
        rows = (
            SegmentRow([entry for entry in snapshot.segments if isinstance(entry.key_min, kind)])
            for kind in (int, bytes)
        )
        self._rows = [row for row in rows if row.entries]

    def lookup(
        self, intervals: Sequence[Interval], *, most_row_groups: int | None = None
    ) -> dict[str, np.ndarray] | None:
        """Return the ordinals that can hold a key of any of the intervals.

        Args:
            intervals: Half-open, sorted, disjoint; ``None`` is no bound.
            most_row_groups: How many may be read; by default what the table's size makes worth it.

        Returns:
            ``None`` when more would have to be read than is worth it.
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
            least = sum(_least_groups(entry, mine) for entry, mine in wanted)
            if least > most_row_groups:
                return None
        parts: list[_SegmentRanges] = []
        # once for all segments of integers, each of which may hold codes of every interval
        are_words = len(intervals) > 1 and isinstance(intervals[0][1], int)
        whole = RangeSet.from_intervals(intervals, "int64") if are_words else None
        for entry, mine in wanted:
            opened = self.loader.segment(entry)
            first, last = entry.key_min, entry.key_max
            if whole is not None and isinstance(first, int) and isinstance(last, int):
                ranges = whole.within(first, last)
            else:
                ranges = RangeSet.from_intervals(mine, opened.physical, opened.footer.text)
            if len(ranges):
                parts.append((opened, ranges, ranges.row_groups(opened.firsts)))
        total = sum(len(groups) for _, _, groups in parts)
        if total > most_row_groups:
            return None
        if total > 2 * _SAMPLE and self._needs_all(parts, total):
            return {catalogue: np.arange(files) for catalogue, files in self._files.items()}
        return self._units(parts)

    def _in_one_row_group(
        self, low: Code | None, high: Code | None
    ) -> dict[str, np.ndarray] | None:
        """Return the answer for an interval that lies in one row group of each segment.

        Points do, and the general way would take them longer than all the rest. ``None`` where
        there is more to read.
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

    def _units(self, parts: Sequence[_SegmentRanges]) -> dict[str, np.ndarray]:
        found: dict[str, list[np.ndarray]] = {}
        for opened, ranges, groups in parts:
            for number, blocks in self.loader.row_groups(opened, groups):
                here = ranges if len(ranges) == 1 else ranges.between(*_extent(opened, number))
                units = lookup_ranges(blocks, here)
                found.setdefault(opened.entry.catalogue, []).append(units)
        return {
            catalogue: chunks[0] if len(chunks) == 1 else distinct(np.concatenate(chunks))
            for catalogue, chunks in found.items()
        }

    def _needs_all(self, parts: Sequence[_SegmentRanges], total: int) -> bool:
        """Return whether, judged by a sample, the row groups name nearly every file."""
        sample: list[_SegmentRanges] = []
        step, passed = total // _SAMPLE, 0
        for opened, ranges, groups in parts:
            sample.append((opened, ranges, groups[-passed % step :: step]))
            passed += len(groups)
        share = sum(map(len, self._units(sample).values())) / sum(self._files.values())
        times = total / sum(len(groups) for _, _, groups in sample)
        return bool(1 - (1 - share) ** times > _NEARLY)

    def points(self, keys: pa.Array) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return which of many keys each ordinal can hold.

        Args:
            keys: Key codes, ``int64`` or ``binary``, ascending, without nulls.

        Returns:
            By catalogue: which key, int64, ascending; and one ordinal that can hold it.
        """
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for row in self._rows:
            kept = None
            row_keys = _in_bytes(keys) if row.is_bytewise else keys
            if row_keys.type == pa.binary() and not row.is_bytewise:
                row_keys, kept = _in_words(keys)
            for entry in row.entries:
                start, end = _between(row_keys, entry.key_min, entry.key_max)
                for at, offsets, ordinals in self._segment_points(entry, row_keys, start, end):
                    which = np.repeat(at if kept is None else kept[at], np.diff(offsets))
                    found.setdefault(entry.catalogue, []).append((which, ordinals))
        return _merged(found)

    def spans(self, lows: pa.Array, highs: pa.Array) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return which of many ranges of keys each ordinal can hold, as :meth:`points` does.

        Args:
            lows: Where each range of keys begins, ``binary``, ascending, without nulls.
            highs: Where it ends, ascending too; no key is equal to one.
        """
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for entry in (entry for row in self._rows for entry in row.entries):
            start = _between(highs, entry.key_min, entry.key_max)[0]
            end = _between(lows, entry.key_min, entry.key_max)[1]
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
        """Yield the answers of one segment, row group by row group: which keys, and their sets."""
        if start == end:
            return
        opened = self.loader.segment(entry)
        segment_keys = keys.slice(start, end - start)
        at, codes = np.arange(len(segment_keys)), None
        if opened.footer.bytewise:
            groups = _predecessors(segment_keys, opened.firsts)
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


def _merged(
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]],
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Join the answers of several segments, each (key, ordinal) once."""
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
    """Return the first row group of each ascending range of bytes, and the one behind its last."""
    text = opened.footer.text
    if text is None:
        first, last = (_predecessors(keys, opened.firsts) for keys in (lows, highs))
    else:
        first, last = (
            np.searchsorted(opened.firsts, text.encode(keys)[0], side="right") - 1
            for keys in (lows, highs)
        )
    first = np.maximum(first, 0)
    return first, np.maximum(first, last) + 1


def _extent(opened: OpenedSegment, number: int) -> tuple[Code | None, Code | None]:
    """Return the codes that a row group answers for; the outer ones without a bound."""
    low = opened.firsts[number] if number else None
    high = opened.firsts[number + 1] if number + 1 < len(opened.firsts) else None
    return low, high


class SegmentRow:
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

    def with_type(self, code: Code | None) -> Code | None:
        """Return a code in the physical type of these segments."""
        return wide_code(code) if self.is_bytewise and isinstance(code, int) else code

    def touching(self, intervals: Sequence[Interval]) -> list[tuple[SegmentEntry, list[Interval]]]:
        """Return each segment that can hold codes of some intervals, with these intervals."""
        if not intervals:
            return []
        if self.is_bytewise:
            intervals = [(self.with_type(low), self.with_type(high)) for low, high in intervals]
        touched = [
            (entry, _overlapping(intervals, entry.key_min, entry.key_max))
            for entry in self.meeting(intervals[0][0], intervals[-1][1])
        ]
        return [(entry, mine) for entry, mine in touched if mine]

    def meeting(self, low: Code | None, high: Code | None) -> list[SegmentEntry]:
        """Return the segments that hold codes of one interval of their physical type."""
        start = 0 if low is None else bisect.bisect_left(self._ends, low)
        end = len(self.entries) if high is None else bisect.bisect_left(self._firsts, high)
        # a segment that ends before the interval may follow one that does not
        return [
            entry
            for entry in self.entries[start:end]
            if low is None or entry.key_max >= low  # type: ignore[operator]
        ]


def _least_groups(entry: SegmentEntry, intervals: Sequence[Interval]) -> int:
    """Return how many row groups must be read for sure, known without the footer."""
    low, high = intervals[0]
    below = low is None or low <= entry.key_min  # type: ignore[operator]
    above = high is None or high > entry.key_max  # type: ignore[operator]
    return entry.row_groups if below and above else 1


def _overlapping(intervals: Sequence[Interval], low: Code, high: Code) -> list[Interval]:
    """Return the sorted disjoint intervals that hold a code from low to high, both included."""
    # only the first interval can lack a start, only the last an end
    start = bisect.bisect_right(
        intervals, low, hi=len(intervals) - (intervals[-1][1] is None), key=lambda pair: pair[1]
    )
    end = bisect.bisect_right(
        intervals, high, lo=int(intervals[0][0] is None), key=lambda pair: pair[0]
    )
    return list(intervals[start:end])


def _in_bytes(keys: pa.Array) -> pa.Array:
    """Return codes as bytes, see :func:`lakesieve.sieve.wide_code`."""
    if keys.type == pa.binary():
        return keys
    return pa.array([wide_code(key) for key in keys.to_pylist()], pa.binary())


def _in_words(keys: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the wide codes that fit into int64, and where each of them was."""
    halves = np.frombuffer(b"".join(keys.to_pylist()), ">u8").reshape(-1, 2)
    high = (halves[:, 0] ^ np.uint64(1 << 63)).astype(np.int64)
    low = halves[:, 1].astype(np.uint64).view(np.int64)
    at = np.flatnonzero(high == low >> 63)
    return pa.array(low[at]), at


def _between(keys: pa.Array, low: Code, high: Code) -> tuple[int, int]:
    """Return where the ascending keys from low to high lie, both included."""
    if keys.type == pa.int64():
        values = keys.to_numpy()
        return int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right"))
    rows = range(len(keys))
    start = bisect.bisect_left(rows, low, key=lambda at: keys[at].as_py())
    return start, bisect.bisect_right(rows, high, key=lambda at: keys[at].as_py())


def _predecessors(keys: pa.Array, firsts: Sequence[Code]) -> np.ndarray:
    """Return for each ascending byte string the last of others not above it; -1 for none."""
    # few firsts, many keys: find where each first would stand among the keys
    starts = [_between(keys, first, first)[0] for first in firsts]
    marks = np.zeros(len(keys) + 1, np.int64)
    np.add.at(marks, starts, 1)
    return np.cumsum(marks[:-1]) - 1
