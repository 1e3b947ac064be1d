"""Read whole segments: sample keys, find the bounds of files and the keys of several files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve import HIGHEST, CodeBounds, chosen_units, distinct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import Blocks, Code
    from lakesieve.store.segment_loader import OpenedSegment, SegmentLoader

# number of row groups that are read for a sample
_GROUPS = 32


def key_sample(
    loader: SegmentLoader, segments: Sequence[SegmentEntry], count: int
) -> pa.Array | None:
    """Return the first codes of some blocks with files, evenly spread over the segments.

    Returns:
        Distinct key codes, ``int64`` or ``binary``, ascending; ``None`` without segments.
    """
    kinds = [[entry for entry in segments if isinstance(entry.key_min, k)] for k in (int, bytes)]
    most = max(kinds, key=lambda entries: sum(entry.blocks for entry in entries))
    entries = sorted(most, key=lambda entry: (entry.key_min, entry.catalogue))
    if not entries:
        return None
    ends = np.cumsum([entry.row_groups for entry in entries])
    total = int(ends[-1])
    chosen = np.unique(np.linspace(0, total - 1, min(total, _GROUPS)).astype(np.int64))
    each = -(-count // len(chosen))
    codes = []
    for number, entry in enumerate(entries):
        first = int(ends[number]) - entry.row_groups
        groups = (chosen[(chosen >= first) & (chosen < ends[number])] - first).tolist()
        if groups:
            opened = loader.segment(entry)
            codes += [_some_keys(blocks, each) for _, blocks in loader.row_groups(opened, groups)]
    sampled = pc.unique(pa.concat_arrays(codes))
    return sampled.take(pc.sort_indices(sampled))


def _some_keys(blocks: Blocks, count: int) -> pa.Array:
    with_files = np.flatnonzero(np.diff(blocks.offsets) > 0)
    at = with_files[
        np.unique(np.linspace(0, len(with_files) - 1, min(count, len(with_files))).astype(np.int64))
    ]
    return _decoded(blocks, blocks.keys.take(pa.array(at)))


def file_bounds(
    loader: SegmentLoader, entry: SegmentEntry
) -> Iterator[tuple[np.ndarray, CodeBounds]]:
    """Yield the bounds of the keys of a segment's units, row group by row group.

    Yields:
        Distinct ordinals of units, and for each the bounds of its keys in this row group. The end
        is the end of the block of its highest code.
    """
    opened = loader.segment(entry)
    for number, blocks in loader.row_groups(opened, range(len(opened.firsts))):
        block = np.repeat(np.arange(len(blocks)), np.diff(blocks.offsets))
        if not len(block):
            continue
        ordinals, first = np.unique(blocks.ordinals, return_index=True)
        last = len(block) - 1 - np.unique(blocks.ordinals[::-1], return_index=True)[1]
        lows = _decoded(blocks, blocks.keys.take(pa.array(block[first])))
        yield ordinals, CodeBounds(lows=lows, ends=_ends(opened, number, blocks, block[last]))


def shared_keys(
    loader: SegmentLoader, entry: SegmentEntry, live: np.ndarray
) -> Iterator[tuple[pa.Array, pa.Array, np.ndarray]]:
    """Yield the keys that several live data files can hold, row group by row group.

    Yields:
        Starts and ends of half-open ranges of keys, ascending, where a null end is above all codes;
        and the distinct ordinals of these files.
    """
    opened = loader.segment(entry)
    for number, blocks in loader.row_groups(opened, range(len(opened.firsts))):
        several = chosen_units(live, blocks.offsets, blocks.ordinals) > 1
        if not several.any():
            continue
        bounds = block_bounds(opened, number, blocks, np.flatnonzero(several))
        ordinals = distinct(blocks.ordinals[np.repeat(several, np.diff(blocks.offsets))])
        yield bounds.lows, bounds.ends, ordinals[live[ordinals]]


def block_bounds(
    opened: OpenedSegment, number: int, blocks: Blocks, chosen: np.ndarray
) -> CodeBounds:
    """Return the ranges of keys of some blocks of a row group, by the positions of the blocks."""
    lows = _decoded(blocks, blocks.keys.take(pa.array(chosen)))
    return CodeBounds(lows=lows, ends=_ends(opened, number, blocks, chosen))


def _ends(opened: OpenedSegment, number: int, blocks: Blocks, chosen: np.ndarray) -> pa.Array:
    """Return the ends of the keys of some blocks of a row group. Null is above all codes."""
    behind = [*opened.firsts[number + 1 : number + 2], blocks.max_key][:1]
    of_blocks = pa.concat_arrays([blocks.keys[1:], pa.array(behind, blocks.keys.type)])
    ends = _decoded(blocks, of_blocks.take(pa.array(chosen)))
    is_last = chosen == len(blocks) - 1
    if number + 1 == len(opened.firsts) and is_last.any():
        # the last block of a segment has its highest code
        last = pa.scalar(_above(opened.entry.key_max), ends.type)
        ends = pc.if_else(pa.array(is_last), last, ends)
    return ends


def _decoded(blocks: Blocks, codes: pa.Array) -> pa.Array:
    return codes if blocks.text is None else blocks.text.decode(codes.to_numpy())


def _above(code: Code) -> Code | None:
    """Return the next code after ``code``, or ``None`` if there is none."""
    if isinstance(code, bytes):
        return code + b"\0"
    return code + 1 if code < HIGHEST else None
