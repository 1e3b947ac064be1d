"""Exact parts of merged segments: what the blocks still tell of the keys of each source."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.sieve import ExactPart, largest_parts
from lakesieve.store.key_runs import exact_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.store.segment_loader import OpenedSegment

    Range = tuple[int, int]


def merged_parts(
    chains: Sequence[Sequence[OpenedSegment]], ordinals: Mapping[str, np.ndarray]
) -> tuple[ExactPart, ...]:
    """Return the exact parts of the blocks into which segments are merged.

    Args:
        chains: The segments. The blocks of a chain are merged as one list.
        ordinals: For each catalogue that is merged, the new ordinal by old ordinal, -1 for dropped
            units.
    """
    held = np.concatenate([np.zeros(0, np.int64), *(new[new >= 0] for new in ordinals.values())])
    # a unit of two catalogues gets units of blocks of both
    is_shared = np.bincount(held) > 1
    lists = Counter(chain[0].entry.catalogue for chain in chains)
    parts: list[ExactPart] = []
    for chain in chains:
        catalogue = chain[0].entry.catalogue
        # at the border of two lists, a key of one may get units of the other
        if lists[catalogue] == 1:
            moved = (_moved(part, ordinals[catalogue]) for part in _parts_of_chain(chain))
            parts += [
                part
                for part in moved
                if part is not None and not is_shared[part.start : part.end].any()
            ]
    return largest_parts(parts)


def _parts_of_chain(chain: Sequence[OpenedSegment]) -> list[ExactPart]:
    """Return the exact parts of the segments of a catalogue, which are all segments of it."""
    known = [exact_parts(opened) for opened in chain]
    every = [parts for parts in known if parts is not None]
    if len(every) < len(known) or every[0].is_cut_below or every[-1].is_cut_above:
        return []
    first = every[0].parts
    borders = [[(part.start, part.end) for part in parts.parts] for parts in every]
    if any(each != borders[0] for each in borders):
        return []
    dense = zip(*([part.dense for part in parts.parts] for parts in every), strict=True)
    return [
        replace(part, dense=reduce(_joined, codes))
        for part, codes in zip(first, dense, strict=True)
    ]


def _joined(before: Range | None, behind: Range | None) -> Range | None:
    """Return the dense keys of two segments of a part that follow one another."""
    if before is None or behind is None or before == behind:
        return before if before == behind else None
    return (before[0], behind[1]) if before[1] + 1 == behind[0] else None


def _moved(part: ExactPart, new: np.ndarray) -> ExactPart | None:
    """Return a part with its new ordinals; ``None`` if it has no live units, or is torn apart."""
    units = new[part.start : part.end]
    units = units[units >= 0]
    if not len(units) or not (np.diff(units) == 1).all():
        return None
    return replace(part, start=int(units[0]), end=int(units[-1]) + 1)
