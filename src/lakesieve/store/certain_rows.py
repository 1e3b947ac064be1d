"""Count rows that are surely there: from one end of an interval of keys, or in each unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.sieve import HIGHEST, RangeSet, bytewise_code, chosen_units, code_order, successor
from lakesieve.store.key_runs import exact_parts, key_runs
from lakesieve.store.known_keys import known_keys
from lakesieve.store.reader import key_array, segment_points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import CodeBounds, ExactParts, Interval
    from lakesieve.store.key_runs import KeyRuns
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
    of it lies in the interval. So does a run of blocks in an exact part of a merged segment. Of
    other segments, only the kept keys count, one row each. Reading stops at enough rows.

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
    opened = loader.segment(entry)
    parts = exact_parts(opened)
    if parts is not None and parts.is_whole:
        return _run_steps(loader, opened, parts, live, search)
    known = [] if opened.footer.ends is None else known_keys(loader, entry, live).keys
    keys = [key for key in known if _has(search.interval, key)]
    if parts is not None and len(keys) < search.wanted:
        steps, read = _run_steps(loader, opened, parts, live, search)
        # a kept key may be the key of a run, so only one of both counts
        if sum(rows for _, rows in steps) >= len(keys):
            return steps, read
    return [(key if search.descending else successor(key), 1) for key in keys], 0


def _run_steps(
    loader: SegmentLoader,
    opened: OpenedSegment,
    parts: ExactParts,
    live: np.ndarray,
    search: _Search,
) -> tuple[list[tuple[Any, int]], int]:
    """Return the steps of exact parts: each run of blocks has a row in each of its units."""
    ranges = RangeSet.from_intervals([search.interval], opened.physical, opened.footer.text)
    numbers = ranges.row_groups(opened.firsts) if len(ranges) else []
    steps: list[tuple[Any, int]] = []
    total = read = 0
    for number in reversed(numbers) if search.descending else numbers:
        if total >= search.wanted or read >= search.most:
            break
        read += len(parts.parts)
        wanted = search.wanted - total
        for runs in key_runs(opened, parts, number, loader.row_group(opened, number)):
            added = _steps_of_runs(runs, live, search, wanted)
            steps += added
            total += sum(rows for _, rows in added)
    return steps, read


def _steps_of_runs(
    each: KeyRuns, live: np.ndarray, search: _Search, wanted: int
) -> list[tuple[Any, int]]:
    """Return the steps of the runs of one part in a row group, until there are enough rows."""
    rows = chosen_units(live, each.runs.offsets, each.runs.ordinals)
    at = np.flatnonzero((rows > 0) & each.has_key)
    if search.interval != (None, None) and len(at):
        at = at[each.bounds(at).inside(search.interval)]
    at = at[::-1] if search.descending else at
    at = at[: int(np.searchsorted(np.cumsum(rows[at]), wanted)) + 1]
    if not len(at):
        return []
    bounds = each.bounds(at)
    codes = (bounds.lows if search.descending else bounds.ends).to_pylist()
    # without a code above it, only everything holds the last block
    return [
        (code, count)
        for code, count in zip(codes, rows[at].tolist(), strict=True)
        if code is not None
    ]


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

    In an exact part of a merged segment, a run of blocks counts like a block, and kept keys do not
    count. Other segments count no rows. Few row groups are read; the others count no rows either.

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
        parts = exact_parts(opened)
        if parts is None or not parts.parts:
            continue
        ranges = RangeSet.from_intervals(within, opened.physical, opened.footer.text)
        numbers = ranges.row_groups(opened.firsts) if len(ranges) else []
        numbers = numbers[: left // len(parts.parts)]
        left -= len(numbers) * len(parts.parts)
        units = len(live[entry.catalogue])
        counts = np.zeros(units, np.int64)
        for number, blocks in loader.row_groups(opened, numbers):
            for runs in key_runs(opened, parts, number, blocks):
                counts += _rows_of_runs(runs, within, units)
        if parts.is_whole:
            # a kept key may be the key of a block that has counted
            counts = np.maximum(counts, _rows_of_kept_keys(loader, opened, within, units))
        rows[entry.catalogue] += counts
    return {name: np.where(live[name], counts, 0) for name, counts in rows.items()}


def _rows_of_runs(each: KeyRuns, within: Sequence[Interval], units: int) -> np.ndarray:
    """Return the rows of each unit that the runs of one part in a row group prove."""
    runs = each.runs
    keys = np.zeros(len(runs), np.int64)
    if len(runs):
        bounds = each.bounds(np.arange(len(runs)))
        for interval in within:
            if each.dense is None:
                keys += bounds.inside(interval) & each.has_key
            else:
                keys += _codes_inside(interval, bounds, each.dense)
    weights = np.repeat(keys, np.diff(runs.offsets))
    return np.bincount(runs.ordinals, weights=weights, minlength=units).astype(np.int64)


def _codes_inside(interval: Interval, bounds: CodeBounds, dense: tuple[int, int]) -> np.ndarray:
    """Return how many codes of an interval, and of a range of keys, are in each run."""
    low, high = (bound if isinstance(bound, int) else None for bound in interval)
    least, most = dense[0], dense[1] + 1
    first = least if low is None else min(max(low, least), most)
    end = most if high is None else min(max(high, least), most)
    # without an end, the last block reaches behind all codes of the range
    starts, ends = bounds.lows.to_numpy(), bounds.ends.fill_null(HIGHEST).to_numpy()
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
