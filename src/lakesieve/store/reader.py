"""Look up keys in an index. Only the needed row groups are read, and each is decoded once."""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.errors import corrupt
from lakesieve.sieve import (
    RangeSet,
    bytewise_code,
    bytewise_codes,
    distinct,
    lookup_codes,
    lookup_points,
    lookup_range,
    lookup_ranges,
    lookup_spans,
    lookup_words,
    one_range,
    row_groups_of,
)
from lakesieve.store.segment_loader import OpenedSegment, SegmentLoader
from lakesieve.store.word_groups import groups_with_part, words_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import Code, Interval, WordPart
    from lakesieve.store.cache import BlockCache
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.snapshot import Snapshot

FEW_ROW_GROUPS, MANY_ROW_GROUPS = 512, 4096
"""Lower and upper limit of the row groups that one look-up may read.

Between the two, the limit is twice the number of data files, or of row blocks. Reading a row group
takes a few milliseconds, like reading a row block or a small data file. Beyond the limit, a scan of
the table is faster.
"""

MANY_WORD_GROUPS = 1024
"""Most row groups that one search for a part of a word may read: some ten million words.

A search may read more if the cache can hold their words.
"""

# with more segments than this around a key, planning is cheap compared with reading them
_FEW_SEGMENTS = 16

# if there are more than twice as many row groups, this many show whether to read the rest
_SAMPLE = 32
_NEARLY = 0.95

# ordinals are int32 and not negative
_ORDINAL_BITS = 31

_SegmentRanges = tuple[OpenedSegment, RangeSet, list[int]]
"""A segment, the ranges to look up in it, and its row groups that may hold their codes."""


class IndexReader:
    """Looks up keys in one snapshot of an index. The results are ordinals by catalogue.

    On local storage, the size and version of every object are checked before its cached content is
    used. So a damaged or deleted file is noticed at once. In other stores, the names are trusted,
    because they are hashes of the content.
    """

    def __init__(self, store: IndexStore, snapshot: Snapshot, cache: BlockCache) -> None:
        self.loader = SegmentLoader(store.storage, snapshot, cache)
        self._catalogues = snapshot.catalogues
        doubled = 2 * sum(entry.most_units for entry in snapshot.catalogues)
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
            most_row_groups: How many row groups may be read. The default follows the table's size.

        Returns:
            The ordinals by catalogue, or ``None`` if the look-up would read too much.
        """
        if most_row_groups is None:
            if len(intervals) == 1:
                answer = self._in_one_row_group(*intervals[0])
                if answer is not None:
                    return answer
            most_row_groups = self._worth
        touched_segments = [touched for row in self._rows for touched in row.touching(intervals)]
        if self._row_groups > most_row_groups:
            # this check needs no footer
            least = sum(_least_groups(entry, mine) for entry, mine in touched_segments)
            if least > most_row_groups:
                return None
        parts: list[_SegmentRanges] = []
        # computed once, because each integer segment may hold codes of every interval
        are_words = len(intervals) > 1 and isinstance(intervals[0][1], int)
        whole = RangeSet.from_intervals(intervals, "int64") if are_words else None
        for entry, mine in touched_segments:
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
            return {
                entry.id: np.arange(self.loader.first_ordinals(entry)[-1])
                for entry in self._catalogues
            }
        return self._units(parts)

    def units_of_words(
        self, part: WordPart, within: Sequence[Interval] | None = None
    ) -> dict[str, np.ndarray] | None:
        """Return the ordinals of all keys that have a part, in some intervals of keys.

        Every key of the index must be the separator of a block. Row groups that can have such words
        are read one by one, at most :data:`MANY_WORD_GROUPS`.

        Returns:
            The ordinals by catalogue, or ``None`` if more row groups can have such words.
        """
        intervals = [(None, None)] if within is None else within
        parts: list[_SegmentRanges] = []
        for entry in (entry for row in self._rows for entry in row.entries):
            opened = self.loader.segment(entry)
            if not opened.footer.bytewise:
                raise corrupt(entry.path, "its keys are not whole words")
            ranges = RangeSet.from_intervals(intervals, opened.physical, opened.footer.text)
            parts.append((opened, ranges, groups_with_part(opened, part, ranges)))
        count = sum(len(groups) for _, _, groups in parts)
        size = sum(words_bytes(opened, groups) for opened, _, groups in parts)
        if count > MANY_WORD_GROUPS and size > self.loader.cache.limit:
            return None
        by_catalogue: dict[str, list[np.ndarray]] = {}
        for opened, ranges, groups in parts:
            for number, blocks in self.loader.row_groups_with(opened, groups, part):
                here = ranges if len(ranges) == 1 else ranges.between(*_extent(opened, number))
                units = lookup_words(blocks, part, here)
                by_catalogue.setdefault(opened.entry.catalogue, []).append(units)
        return {
            catalogue: distinct(np.concatenate(chunks))
            for catalogue, chunks in by_catalogue.items()
        }

    def _in_one_row_group(
        self, low: Code | None, high: Code | None
    ) -> dict[str, np.ndarray] | None:
        """Answer an interval that lies in one row group of each segment, else return ``None``.

        Points lie in one row group. For them the general way would take longer than everything
        else.
        """
        by_catalogue: dict[str, np.ndarray] = {}
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
                earlier = by_catalogue.get(entry.catalogue)
                if earlier is not None:
                    units = distinct(np.concatenate([earlier, units]))
                by_catalogue[entry.catalogue] = units
        return by_catalogue

    def _units(self, parts: Sequence[_SegmentRanges]) -> dict[str, np.ndarray]:
        by_catalogue: dict[str, list[np.ndarray]] = {}
        for opened, ranges, groups in parts:
            for number, blocks in self.loader.row_groups(opened, groups):
                here = ranges if len(ranges) == 1 else ranges.between(*_extent(opened, number))
                units = lookup_ranges(blocks, here)
                by_catalogue.setdefault(opened.entry.catalogue, []).append(units)
        return {
            catalogue: chunks[0] if len(chunks) == 1 else distinct(np.concatenate(chunks))
            for catalogue, chunks in by_catalogue.items()
        }

    def _needs_all(self, parts: Sequence[_SegmentRanges], total: int) -> bool:
        """Estimate from a sample whether the row groups together name nearly every unit."""
        sample: list[_SegmentRanges] = []
        step, passed = total // _SAMPLE, 0
        for opened, ranges, groups in parts:
            sample.append((opened, ranges, groups[-passed % step :: step]))
            passed += len(groups)
        units = sum(entry.most_units for entry in self._catalogues)
        share = sum(map(len, self._units(sample).values())) / units
        times = total / sum(len(groups) for _, _, groups in sample)
        return bool(1 - (1 - share) ** times > _NEARLY)

    def points(self, keys: pa.Array) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return (key, ordinal) pairs: the units that can hold each of many keys.

        Args:
            keys: Key codes, ``int64`` or ``binary``, ascending, without nulls.

        Returns:
            For each catalogue, two arrays of equal length. The first has positions in ``keys``
            (int64, ascending). The second has the ordinal of a unit that can hold this key.
        """
        by_catalogue: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for row in self._rows:
            last_group = None
            row_keys = bytewise_codes(keys) if row.is_bytewise else keys
            if row_keys.type == pa.binary() and not row.is_bytewise:
                row_keys, last_group = _in_words(keys)
            for entry in row.entries:
                start, end = _between(row_keys, entry.key_min, entry.key_max)
                for at, offsets, ordinals in segment_points(
                    self.loader, entry, row_keys, start, end
                ):
                    which = np.repeat(
                        at if last_group is None else last_group[at], np.diff(offsets)
                    )
                    by_catalogue.setdefault(entry.catalogue, []).append((which, ordinals))
        return _merged(by_catalogue)

    def spans(self, lows: pa.Array, highs: pa.Array) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the (range, ordinal) pairs of many ranges of keys, like :meth:`points`.

        Args:
            lows: Start of each range, ``binary``, ascending, without nulls.
            highs: End of each range, ascending too; no key equals an end.
        """
        by_catalogue: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for entry in (entry for row in self._rows for entry in row.entries):
            start = _between(highs, entry.key_min, entry.key_max)[0]
            end = _between(lows, entry.key_min, entry.key_max)[1]
            if start >= end:
                continue
            opened, in_segment = self.loader.segment(entry), slice(start, end)
            firsts, ends = _groups_of(opened, lows[in_segment], highs[in_segment])
            numbers = np.arange(int(firsts[0]), int(ends[-1]))
            # starts and ends ascend, so the ranges that reach into a row group are adjacent
            first = np.searchsorted(ends, numbers, side="right")
            last = np.searchsorted(firsts, numbers, side="right")
            reached = numbers[first < last].tolist()
            for number, blocks in self.loader.row_groups(opened, reached):
                at = number - int(numbers[0])
                chunk = slice(start + int(first[at]), start + int(last[at]))
                offsets, ordinals = lookup_spans(blocks, lows[chunk], highs[chunk])
                which = np.repeat(np.arange(chunk.start, chunk.stop), np.diff(offsets))
                by_catalogue.setdefault(entry.catalogue, []).append((which, ordinals))
        return _merged(by_catalogue)


def key_array(entry: SegmentEntry, codes: Sequence[Code]) -> pa.Array:
    """Return some key codes of a segment as an array of its physical key type."""
    return pa.array(codes, pa.binary() if isinstance(entry.key_min, bytes) else pa.int64())


def segment_points(
    loader: SegmentLoader,
    entry: SegmentEntry,
    keys: pa.Array,
    start: int = 0,
    end: int | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Look up the ascending keys from ``start`` to ``end`` in one segment, row group by row group.

    Yields:
        Indices of keys, the offsets of their sets, and the sets one after the other.
    """
    end = len(keys) if end is None else end
    if start == end:
        return
    opened = loader.segment(entry)
    segment_keys = keys.slice(start, end - start)
    at, codes = np.arange(len(segment_keys)), None
    if opened.footer.bytewise:
        groups = _predecessors(segment_keys, opened.firsts)
    else:
        if opened.footer.text is None:
            codes = segment_keys.to_numpy()
        else:
            codes, is_known, _ = opened.footer.text.encode(segment_keys)
            at = np.flatnonzero(is_known)
            codes = codes[at]
        groups = np.searchsorted(opened.firsts, codes, side="right") - 1
    groups = np.maximum(groups, 0)
    bounds = np.flatnonzero(np.diff(groups, prepend=-1))
    stretches = itertools.pairwise([*bounds.tolist(), len(at)])
    row_groups = loader.row_groups(opened, groups[bounds].tolist())
    for (first, last), (_, blocks) in zip(stretches, row_groups, strict=True):
        if codes is None:
            offsets, ordinals = lookup_points(blocks, segment_keys.slice(first, last - first))
        else:
            offsets, ordinals = lookup_codes(blocks, codes[first:last])
        yield at[first:last] + start, offsets, ordinals


def _merged(
    by_catalogue: dict[str, list[tuple[np.ndarray, np.ndarray]]],
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Join the results of several segments, with each (key, ordinal) pair once."""
    merged = {}
    for catalogue, chunks in by_catalogue.items():
        which = np.concatenate([chunk[0] for chunk in chunks])
        ordinals = np.concatenate([chunk[1] for chunk in chunks])
        packed = which << _ORDINAL_BITS | ordinals
        if not (packed[1:] > packed[:-1]).all():
            # overlapping segments have results for the same keys
            packed = np.unique(packed)
            which, ordinals = packed >> _ORDINAL_BITS, packed & ((1 << _ORDINAL_BITS) - 1)
        merged[catalogue] = (which, ordinals.astype(np.int32, copy=False))
    return merged


def _groups_of(
    opened: OpenedSegment, lows: pa.Array, highs: pa.Array
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row group of each ascending range of bytes, and the end of its last."""
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
    """Return the codes that a row group covers. The outermost row groups have no outer bound."""
    low = opened.firsts[number] if number else None
    high = opened.firsts[number + 1] if number + 1 < len(opened.firsts) else None
    return low, high


class SegmentRow:
    """Segments with one physical key type, sorted by their first key.

    Args:
        entries: The segments. Their key ranges may overlap.
    """

    def __init__(self, entries: list[SegmentEntry]) -> None:
        self.entries = sorted(entries, key=lambda entry: (entry.key_min, entry.catalogue))
        self.is_bytewise = any(isinstance(entry.key_min, bytes) for entry in entries)
        self._firsts = [entry.key_min for entry in self.entries]
        # running maximum, because the ends of overlapping segments may not ascend
        self._ends = list(itertools.accumulate((e.key_max for e in self.entries), max))

    def with_type(self, code: Code | None) -> Code | None:
        """Convert a code to the physical type of these segments."""
        return bytewise_code(code) if self.is_bytewise else code

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
        """Return the segments that can hold codes of one interval of their physical type."""
        start = 0 if low is None else bisect.bisect_left(self._ends, low)
        end = len(self.entries) if high is None else bisect.bisect_left(self._firsts, high)
        # a segment that ends before the interval may follow one that reaches into it
        return [
            entry
            for entry in self.entries[start:end]
            if low is None or entry.key_max >= low  # type: ignore[operator]
        ]


def _least_groups(entry: SegmentEntry, intervals: Sequence[Interval]) -> int:
    """Return the number of row groups that must be read in any case, known without the footer."""
    low, high = intervals[0]
    below = low is None or low <= entry.key_min  # type: ignore[operator]
    above = high is None or high > entry.key_max  # type: ignore[operator]
    return entry.row_groups if below and above else 1


def _overlapping(intervals: Sequence[Interval], low: Code, high: Code) -> list[Interval]:
    """Return those of sorted disjoint intervals with a code from ``low`` through ``high``."""
    # only the first interval can lack a start, and only the last an end
    start = bisect.bisect_right(
        intervals, low, hi=len(intervals) - (intervals[-1][1] is None), key=lambda pair: pair[1]
    )
    end = bisect.bisect_right(
        intervals, high, lo=int(intervals[0][0] is None), key=lambda pair: pair[0]
    )
    return list(intervals[start:end])


def _in_words(keys: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the wide codes that fit into int64, and their positions."""
    halves = np.frombuffer(b"".join(keys.to_pylist()), ">u8").reshape(-1, 2)
    high = (halves[:, 0] ^ np.uint64(1 << 63)).astype(np.int64)
    low = halves[:, 1].astype(np.uint64).view(np.int64)
    at = np.flatnonzero(high == low >> 63)
    return pa.array(low[at]), at


def _between(keys: pa.Array, low: Code, high: Code) -> tuple[int, int]:
    """Return where the ascending keys from ``low`` to ``high``, both included, begin and end."""
    if keys.type == pa.int64():
        values = keys.to_numpy()
        return int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right"))
    rows = range(len(keys))
    start = bisect.bisect_left(rows, low, key=lambda at: keys[at].as_py())
    return start, bisect.bisect_right(rows, high, key=lambda at: keys[at].as_py())


def _predecessors(keys: pa.Array, firsts: Sequence[Code]) -> np.ndarray:
    """Return, for each ascending string, the index of the last first code up to it, or -1."""
    # there are few first codes and many keys, so search each first code among the keys
    starts = [_between(keys, first, first)[0] for first in firsts]
    marks = np.zeros(len(keys) + 1, np.int64)
    np.add.at(marks, starts, 1)
    return np.cumsum(marks[:-1]) - 1
