"""Count rows that are surely there, from one end of an interval of an index's keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.sieve import RangeSet, bytewise_code, chosen_units, code_order, successor
from lakesieve.store.known_keys import known_keys
from lakesieve.store.segment_scans import block_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import Interval
    from lakesieve.store.segment_loader import SegmentLoader

_MOST_ROW_GROUPS = 512


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
    low: Any
    high: Any
    low, high = search.interval
    keys = [
        key
        for key in known_keys(loader, entry, live).keys
        if (low is None or key >= low) and (high is None or key < high)
    ]
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
