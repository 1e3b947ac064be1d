"""Some of the keys of an index, evenly spread over its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import Blocks
    from lakesieve.store.segment_loader import SegmentLoader

# row groups that are read for it
_GROUPS = 32


def key_sample(loader: SegmentLoader, entries: Sequence[SegmentEntry], count: int) -> pa.Array:
    """First codes of some blocks that have files.

    Returns:
        Key codes, ``int64`` or ``binary``, ascending, each once.
    """
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
            codes += [_of(blocks, each) for _, blocks in loader.row_groups(opened, groups)]
    if len({found.type for found in codes}) > 1:
        codes = [found for found in codes if found.type == pa.binary()]
    sampled = pc.unique(pa.concat_arrays(codes))
    return sampled.take(pc.sort_indices(sampled))


def _of(blocks: Blocks, count: int) -> pa.Array:
    held = np.flatnonzero(np.diff(blocks.offsets) > 0)
    at = held[np.unique(np.linspace(0, len(held) - 1, min(count, len(held))).astype(np.int64))]
    codes = blocks.keys.take(pa.array(at))
    return codes if blocks.text is None else blocks.text.decode(codes.to_numpy())
