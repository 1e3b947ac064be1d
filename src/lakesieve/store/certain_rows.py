"""Count rows that are surely there: from one end of an interval of keys, or in each unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.sieve import HIGHEST, RangeSet, bytewise_code, chosen_units, code_order, successor
from lakesieve.store.known_keys import known_keys
from lakesieve.store.reader import key_array, segment_points
from lakesieve.store.segment_scans import block_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import Blocks, CodeBounds, Interval
    from lakesieve.store.segment_loader import OpenedSegment, SegmentLoader

_MOST_ROW_GROUPS = 512
# a query with a limit is often small, so little is read to make it smaller
_FEW_ROW_GROUPS = 64


def certain_rows(
    loader: SegmentLoader,
    segments: Sequence[SegmentEntry],
    live: Mapping[str, np.ndarray],
    wanted: int,
    *,
    descending: bool,
    within: Interval = (None, None),
) -> tuple[Any, int]:
    """Count rows that surely have keys in an interval, from one end, until there are enough.

    A block of an exact segment has at least one row in each unit of its set. A block counts if all
    of it lies in the interval. Of other segments, only the kept keys count, one row each. Reading
    stops at enough rows.

    Args:
        loader: Reads the segments.
        segments: The segments. No row counts in two of them.
        live: For each unit of each catalogue, whether its rows count.
        wanted: How many rows.
        descending: Whether to begin at the highest key.
        within: The interval of key codes in which rows count.

    Returns:
        A code so that surely as many rows as wanted have keys from the end of the interval up to
        it: if ``descending``, the lowest code of these rows, otherwise a code above the highest
        one. It is ``None`` if fewer rows are certain. And the number of rows that are certain, up
        to the wanted number.
    """
    chosen = [
        entry
        for entry in segments
        if live[entry.catalogue].any() and _meets(entry, _bounds(entry, within))
    ]
    in_order = code_order(entry.key_min for entry in chosen)

    def near(entry: SegmentEntry) -> Any:
        return in_order(entry.key_max if descending else entry.key_min)

    steps: list[tuple[Any, int]] = []
    cut: Any = None
    left = _MOST_ROW_GROUPS
    for entry in sorted(chosen, key=near, reverse=descending):
        if cut is not None and (near(entry) < cut if descending else near(entry) >= cut):
            break
        search = _Search(
            interval=_bounds(entry, within), wanted=wanted, descending=descending, most=left
        )
        added, read = _steps(loader, entry, live[entry.catalogue], search)
        left -= read
        steps += [(in_order(code), rows) for code, rows in added]
        steps.sort(key=lambda step: step[0], reverse=descending)
        enough = int(np.searchsorted(np.cumsum([rows for _, rows in steps]), wanted))
        if enough < len(steps):
            cut = steps[enough][0]
            del steps[enough + 1 :]
    return cut, min(wanted, sum(rows for _, rows in steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What is searched in one segment.

    Args:
        interval: The interval of keys in which rows count, with codes of the segment's type.
        wanted: How many rows.
        descending: Whether to begin at the highest key.
        most: How many row groups may be read.
    """

    interval: Interval
    wanted: int
    descending: bool
    most: int


def _bounds(entry: SegmentEntry, interval: Interval) -> Interval:
    """Return an interval with codes of a segment's type."""
    if isinstance(entry.key_min, bytes):
        low, high = interval
        return bytewise_code(low), bytewise_code(high)
    return interval


def _meets(entry: SegmentEntry, interval: Interval) -> bool:
    """Return whether the keys of a segment can lie in an interval."""
    low: Any
    high: Any
    low, high = interval
    return (low is None or entry.key_max >= low) and (high is None or entry.key_min < high)


def _steps(
    loader: SegmentLoader, entry: SegmentEntry, live: np.ndarray, search: _Search
) -> tuple[list[tuple[Any, int]], int]:
    """Return codes of a segment, each with the rows that are certain before it, from one end.

    Returns:
        The steps, until there are enough rows in this segment; and the row groups that were read.
    """
    ends = loader.segment(entry).footer.ends
    if ends is None:
        return [], 0
    if ends.is_exact:
        return _block_steps(loader, entry, live, search)
    known = known_keys(loader, entry, live).keys
    keys = [key for key in known if _has(search.interval, key)]
    return [(key if search.descending else successor(key), 1) for key in keys], 0


def _block_steps(
    loader: SegmentLoader, entry: SegmentEntry, live: np.ndarray, search: _Search
) -> tuple[list[tuple[Any, int]], int]:
    """Return the steps of an exact segment: each block has a row in each unit of its set."""
    opened = loader.segment(entry)
    ranges = RangeSet.from_intervals([search.interval], opened.physical, opened.footer.text)
    numbers = ranges.row_groups(opened.firsts) if len(ranges) else []
    steps: list[tuple[Any, int]] = []
    total = read = 0
    for number in reversed(numbers) if search.descending else numbers:
        if total >= search.wanted or read == search.most:
            break
        read += 1
        blocks = loader.row_group(opened, number)
        rows = chosen_units(live, blocks.offsets, blocks.ordinals)
        at = np.flatnonzero(rows)
        if search.interval != (None, None) and len(at):
            at = at[block_bounds(opened, number, blocks, at).inside(search.interval)]
        at = at[::-1] if search.descending else at
        at = at[: int(np.searchsorted(np.cumsum(rows[at]), search.wanted - total)) + 1]
        if not len(at):
            continue
        bounds = block_bounds(opened, number, blocks, at)
        codes = (bounds.lows if search.descending else bounds.ends).to_pylist()
        for code, count in zip(codes, rows[at].tolist(), strict=True):
            # without a code above it, only everything holds the last block
            if code is not None:
                steps.append((code, count))
        total += int(rows[at].sum())
    return steps, read


def certain_rows_by_unit(
    loader: SegmentLoader,
    segments: Sequence[SegmentEntry],
    live: Mapping[str, np.ndarray],
    intervals: Sequence[Interval],
) -> dict[str, np.ndarray]:
    """Count for each live unit the rows that surely have keys in some intervals.

    In an exact segment, each key of a block is in every unit of the block's set. So these keys
    count as one row in each of the units:

    - one key of each block that lies in an interval as a whole,
    - each kept key,
    - each code, if the segment has as many keys as there are integers between its bounds.

    Other segments count no rows. Few row groups are read; the others count no rows either.

    Args:
        loader: Reads the segments.
        segments: The segments. No row counts in two of them.
        live: For each unit of each catalogue, whether its rows count.
        intervals: Disjoint intervals of key codes.

    Returns:
        The number of rows of each unit of each catalogue, 0 for units that are not live.
    """
    rows = {name: np.zeros(len(units), np.int64) for name, units in live.items()}
    left = _FEW_ROW_GROUPS
    for entry in segments:
        bounds = [_bounds(entry, interval) for interval in intervals]
        within = [interval for interval in bounds if _meets(entry, interval)]
        if not within or not live[entry.catalogue].any():
            continue
        opened = loader.segment(entry)
        if opened.footer.ends is None or not opened.footer.ends.is_exact:
            continue
        ranges = RangeSet.from_intervals(within, opened.physical, opened.footer.text)
        numbers = ranges.row_groups(opened.firsts)[:left] if len(ranges) else []
        left -= len(numbers)
        units = len(live[entry.catalogue])
        of_blocks = np.zeros(units, np.int64)
        for number, blocks in loader.row_groups(opened, numbers):
            of_blocks += _rows_of_blocks(opened, number, blocks, within, units)
        # a kept key may be the key of a block that has counted
        of_keys = _rows_of_kept_keys(loader, opened, within, units)
        rows[entry.catalogue] += np.maximum(of_blocks, of_keys)
    return {name: np.where(live[name], counts, 0) for name, counts in rows.items()}


def _rows_of_blocks(
    opened: OpenedSegment, number: int, blocks: Blocks, within: Sequence[Interval], units: int
) -> np.ndarray:
    """Return the rows of each unit that the blocks of one row group of an exact segment prove."""
    sizes = np.diff(blocks.offsets)
    at = np.flatnonzero(sizes)
    keys = np.zeros(len(blocks), np.int64)
    if len(at):
        bounds = block_bounds(opened, number, blocks, at)
        dense = _dense_keys(opened)
        for interval in within:
            if dense is None:
                keys[at] += bounds.inside(interval)
            else:
                keys[at] += _codes_inside(interval, bounds, dense)
    counts = np.bincount(blocks.ordinals, weights=np.repeat(keys, sizes), minlength=units)
    return counts.astype(np.int64)


def _dense_keys(opened: OpenedSegment) -> tuple[int, int] | None:
    """Return the half-open range of the keys of a segment, if it has every code between them."""
    entry, ends = opened.entry, opened.footer.ends
    first, last = entry.key_min, entry.key_max
    if not isinstance(first, int) or not isinstance(last, int) or ends is None:
        return None
    is_dense = ends.count == last - first + 1 and last < HIGHEST
    return (first, last + 1) if is_dense else None


def _codes_inside(interval: Interval, bounds: CodeBounds, dense: tuple[int, int]) -> np.ndarray:
    """Return how many codes of an interval, and of a range of keys, are in each block."""
    low, high = (bound if isinstance(bound, int) else None for bound in interval)
    first = dense[0] if low is None else min(max(low, dense[0]), dense[1])
    end = dense[1] if high is None else min(max(high, dense[0]), dense[1])
    # the last block of all ends behind the last key, which is no highest code
    starts, ends = bounds.lows.to_numpy(), bounds.ends.to_numpy()
    counts: np.ndarray = np.maximum(np.minimum(ends, end) - np.maximum(starts, first), 0)
    return counts


def _rows_of_kept_keys(
    loader: SegmentLoader, opened: OpenedSegment, within: Sequence[Interval], units: int
) -> np.ndarray:
    """Return the rows of each unit that the kept keys of an exact segment prove."""
    counts = np.zeros(units, np.int64)
    ends = opened.footer.ends
    kept = () if ends is None else (*ends.first, *ends.last)
    keys = [key for key in kept if any(_has(interval, key) for interval in within)]
    entry = opened.entry
    for _, _, ordinals in segment_points(loader, entry, key_array(entry, keys)):
        counts += np.bincount(ordinals, minlength=units)
    return counts


def _has(interval: Interval, key: Any) -> bool:
    """Return whether a key lies in an interval with codes of its type."""
    low: Any
    high: Any
    low, high = interval
    return (low is None or key >= low) and (high is None or key < high)
