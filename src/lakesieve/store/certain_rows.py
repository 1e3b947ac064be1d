"""Count rows that are surely there, from one end of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.sieve import chosen_units, code_order, successor
from lakesieve.store.known_keys import known_keys
from lakesieve.store.segment_scans import block_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.store.segment_loader import SegmentLoader

_MOST_ROW_GROUPS = 512


def certain_rows(
    loader: SegmentLoader,
    segments: Sequence[SegmentEntry],
    live: Mapping[str, np.ndarray],
    wanted: int,
    *,
    descending: bool,
) -> Any:
    """Return a code so that surely as many rows as wanted have keys from an end up to it.

    A block of an exact segment has at least one row in each unit of its set. Of other segments,
    only the kept keys count, one row each. Reading stops at enough rows.

    Args:
        loader: Reads the segments.
        segments: The segments. No row counts in two of them.
        live: For each unit of each catalogue, whether its rows count.
        wanted: How many rows.
        descending: Whether to begin at the highest key.

    Returns:
        If ``descending``, the lowest code of the rows; otherwise a code above the highest one.
        ``None`` if too few rows are certain.
    """
    chosen = [entry for entry in segments if live[entry.catalogue].any()]
    in_order = code_order(entry.key_min for entry in chosen)

    def near(entry: SegmentEntry) -> Any:
        return in_order(entry.key_max if descending else entry.key_min)

    steps: list[tuple[Any, int]] = []
    cut: Any = None
    left = _MOST_ROW_GROUPS
    for entry in sorted(chosen, key=near, reverse=descending):
        if cut is not None and (near(entry) < cut if descending else near(entry) >= cut):
            break
        units = live[entry.catalogue]
        added, read = _steps(loader, entry, units, wanted, most=left, descending=descending)
        left -= read
        steps += [(in_order(code), rows) for code, rows in added]
        steps.sort(key=lambda step: step[0], reverse=descending)
        enough = int(np.searchsorted(np.cumsum([rows for _, rows in steps]), wanted))
        if enough < len(steps):
            cut = steps[enough][0]
            del steps[enough + 1 :]
    return cut


def _steps(
    loader: SegmentLoader,
    entry: SegmentEntry,
    live: np.ndarray,
    wanted: int,
    *,
    most: int,
    descending: bool,
) -> tuple[list[tuple[Any, int]], int]:
    """Return codes of a segment, each with the rows that are certain before it, from one end.

    Returns:
        The steps, until there are enough rows in this segment; and the row groups that were read.
    """
    ends = loader.segment(entry).footer.ends
    if ends is None:
        return [], 0
    if ends.is_exact:
        return _block_steps(loader, entry, live, wanted, most=most, descending=descending)
    keys = known_keys(loader, entry, live).keys
    return [(key if descending else successor(key), 1) for key in keys], 0


def _block_steps(
    loader: SegmentLoader,
    entry: SegmentEntry,
    live: np.ndarray,
    wanted: int,
    *,
    most: int,
    descending: bool,
) -> tuple[list[tuple[Any, int]], int]:
    """Return the steps of an exact segment: each block has a row in each unit of its set."""
    opened = loader.segment(entry)
    numbers = range(len(opened.firsts))
    steps: list[tuple[Any, int]] = []
    total = read = 0
    for number in reversed(numbers) if descending else numbers:
        if total >= wanted or read == most:
            break
        read += 1
        blocks = loader.row_group(opened, number)
        rows = chosen_units(live, blocks.offsets, blocks.ordinals)
        at = np.flatnonzero(rows)
        at = at[::-1] if descending else at
        at = at[: int(np.searchsorted(np.cumsum(rows[at]), wanted - total)) + 1]
        if not len(at):
            continue
        lows, highs = block_bounds(opened, number, blocks, at)
        codes = (lows if descending else highs).to_pylist()
        for code, count in zip(codes, rows[at].tolist(), strict=True):
            # without a code above it, only everything holds the last block
            if code is not None:
                steps.append((code, count))
        total += int(rows[at].sum())
    return steps, read
