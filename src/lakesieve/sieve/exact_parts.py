"""Parts of the units of a list of blocks, in which the blocks tell exactly which keys there are.

If lists of blocks are merged, a key of one list also gets the units of the block of another list
that it falls into. So the merged blocks are not exact. But restricted to the units of one list,
they still are that list, except that a block may be split into several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.sieve.blocks import slice_indices
from lakesieve.sieve.build import differing_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve.blocks import Blocks

MOST_PARTS = 64
"""Most exact parts that a merge keeps: those with the most units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPart:
    """Adjacent units. A key of these units is in all of the block's units that are in the part.

    Args:
        start: The first unit.
        end: The unit behind the last one.
        dense: Two int64 codes. Each code from the first up to and including the second is a key of
            the part, if its block has a unit of the part. ``None`` if this is not known.
    """

    start: int
    end: int
    dense: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactParts:
    """The exact parts of a list of blocks.

    Args:
        parts: The parts, ascending. Units between them are in no exact part.
        is_whole: Whether each block with units has a key. Otherwise each *run* has one: the longest
            possible list of adjacent blocks that have the same units of a part.
        is_cut_below: Whether the first run may have its only keys in a list of blocks before this.
        is_cut_above: Whether the last run may have its only keys in a list of blocks behind this.
    """

    parts: tuple[ExactPart, ...]
    is_whole: bool = False
    is_cut_below: bool = False
    is_cut_above: bool = False

    def outside(self, units: int) -> np.ndarray:
        """Return for each unit whether it is in no part."""
        outside = np.ones(units, bool)
        for part in self.parts:
            outside[part.start : part.end] = False
        return outside

    def split(self, offsets: np.ndarray, ordinals: np.ndarray) -> np.ndarray:
        """Return the offsets of the sets that result if each set is split into its parts.

        Args:
            offsets: The start of each set among the ordinals, and the end of the last set.
            ordinals: The units of the sets, ascending in each set.
        """
        borders = [border for part in self.parts for border in (part.start, part.end)]
        of_part = np.searchsorted(np.array(borders), ordinals, side="right")
        changes = np.flatnonzero(np.diff(of_part)) + 1
        return np.union1d(offsets, changes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockRuns:
    """Runs of adjacent blocks with the same units of a part, without runs that have no units.

    Args:
        first: The position of the first block of each run.
        last: The position of its last block.
        offsets: The start of each run's units among the ordinals, and the end of the last.
        ordinals: The units of the part.
    """

    first: np.ndarray
    last: np.ndarray
    offsets: np.ndarray
    ordinals: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def single(cls, blocks: Blocks) -> BlockRuns:
        """Return each block with units as a run by itself."""
        at = np.flatnonzero(np.diff(blocks.offsets))
        offsets = np.append(blocks.offsets[at], blocks.offsets[-1])
        return cls(first=at, last=at, offsets=offsets, ordinals=blocks.ordinals)

    @classmethod
    def of_part(cls, blocks: Blocks, part: ExactPart) -> BlockRuns:
        """Return the runs of the units of a part."""
        inside = (blocks.ordinals >= part.start) & (blocks.ordinals < part.end)
        ordinals = blocks.ordinals[inside]
        sizes = np.diff(np.concatenate(([0], np.cumsum(inside)))[blocks.offsets])
        starts = np.cumsum(sizes) - sizes
        first = np.flatnonzero(differing_sets(ordinals, sizes))
        last = np.append(first[1:], len(sizes)) - 1
        filled = sizes[first] > 0
        first, last = first[filled], last[filled]
        offsets, at = slice_indices(starts[first], sizes[first])
        return cls(first=first, last=last, offsets=offsets, ordinals=ordinals[at])


def largest_parts(parts: Sequence[ExactPart]) -> tuple[ExactPart, ...]:
    """Return the :data:`MOST_PARTS` parts with the most units, ascending."""
    by_size = sorted(parts, key=lambda part: (part.start - part.end, part.start))
    return tuple(sorted(by_size[:MOST_PARTS], key=lambda part: part.start))
