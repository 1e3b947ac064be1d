"""Ranges of keys of a segment, each with units that surely have the same keys of the range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.sieve import HIGHEST, BlockRuns, CodeBounds, ExactPart, ExactParts
from lakesieve.store.segment_scans import block_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakesieve.sieve import Blocks
    from lakesieve.store.segment_loader import OpenedSegment


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyRuns:
    """Runs of the blocks of a row group with the same units of an exact part.

    Each key of these units that lies in a run is in every unit of the run.

    Args:
        opened: The segment.
        number: The number of the row group.
        blocks: The row group.
        runs: The runs.
        has_key: Whether surely a key of the units lies in each run.
        dense: As for :class:`ExactPart`.
    """

    opened: OpenedSegment
    number: int
    blocks: Blocks
    runs: BlockRuns
    has_key: np.ndarray
    dense: tuple[int, int] | None

    def bounds(self, chosen: np.ndarray) -> CodeBounds:
        """Return the ranges of keys of some runs, by their positions."""
        first, last = self.runs.first[chosen], self.runs.last[chosen]
        ends = block_bounds(self.opened, self.number, self.blocks, last)
        if np.array_equal(first, last):
            return ends
        starts = block_bounds(self.opened, self.number, self.blocks, first)
        return CodeBounds(lows=starts.lows, ends=ends.ends)


def exact_parts(opened: OpenedSegment) -> ExactParts | None:
    """Return the units of a segment whose keys its blocks tell exactly; ``None`` without any."""
    footer = opened.footer
    if footer.ends is not None and footer.ends.is_exact:
        part = ExactPart(start=0, end=footer.unit_count, dense=_dense_keys(opened))
        return ExactParts(parts=(part,), is_whole=True)
    return footer.parts


def key_runs(
    opened: OpenedSegment, parts: ExactParts, number: int, blocks: Blocks
) -> Iterator[KeyRuns]:
    """Yield the runs of each exact part in one row group of a segment."""
    last_group = len(opened.firsts) - 1
    # a run at the border of a row group may go on, and have its keys, in the next one
    is_cut_below = number > 0 or parts.is_cut_below
    is_cut_above = number < last_group or parts.is_cut_above
    for part in parts.parts:
        if parts.is_whole:
            runs = BlockRuns.single(blocks)
            has_key = np.ones(len(runs), bool)
        else:
            runs = BlockRuns.of_part(blocks, part)
            has_key = np.ones(len(runs), bool)
            if is_cut_below:
                has_key &= runs.first > 0
            if is_cut_above:
                has_key &= runs.last < len(blocks) - 1
        yield KeyRuns(
            opened=opened,
            number=number,
            blocks=blocks,
            runs=runs,
            has_key=has_key,
            dense=part.dense,
        )


def _dense_keys(opened: OpenedSegment) -> tuple[int, int] | None:
    """Return the first and the last key of a segment, if it has every code between them."""
    entry, ends = opened.entry, opened.footer.ends
    first, last = entry.key_min, entry.key_max
    if not isinstance(first, int) or not isinstance(last, int) or ends is None:
        return None
    # the highest code has no end that is an int64
    is_dense = ends.count == last - first + 1 and last < HIGHEST
    return (first, last) if is_dense else None
