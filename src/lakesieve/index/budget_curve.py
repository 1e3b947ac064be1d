"""What coarser forms of an index would take and cost, drawn from some of its own keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.format import encode_segment
from lakesieve.sieve import trade_offs

if TYPE_CHECKING:
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.sieve import Blocks

# a row group of so many blocks takes a second
_BLOCKS = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPoint:
    """One point of the curve.

    Args:
        size: What the index would take, of what it takes now.
        false_files: Data files that a point query would read in vain, on average.
    """

    size: float
    false_files: float


def budget_curve(index: OpenedIndex) -> list[BudgetPoint]:
    """Try all budgets on the keys of one row group, about in the middle of an index.

    Returns:
        By increasing size, only points that no other one beats in both; nothing for an index
        without keys, or one that has a budget already.
    """
    segments = index.snapshot.segments
    if index.definition.budget or not segments:
        return []
    entry = max(segments, key=lambda one: one.blocks)
    loader = index.loader
    opened = loader.segment(entry)
    ((_, blocks),) = loader.row_groups(opened, [entry.row_groups // 2])
    sizes = np.diff(blocks.offsets)[:_BLOCKS]
    if not sizes.sum():
        return []
    at = np.repeat(np.arange(len(sizes)), sizes)
    ordinals = blocks.ordinals[: len(at)]
    files = dict(index.files())[entry.catalogue]

    def measure(tried: Blocks) -> int:
        return len(encode_segment(tried, unit_count=files)[0])

    keys = blocks.keys.take(pa.array(at))
    found = trade_offs(keys, ordinals, unit_count=files, measure=measure)
    exact = found[0].size
    points = sorted((point.size / exact, point.false_units) for point in found)
    best: list[BudgetPoint] = []
    for size, false in points:
        if not best or false < best[-1].false_files:
            best.append(BudgetPoint(size=size, false_files=false))
    return best
