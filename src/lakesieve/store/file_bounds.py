"""Minimum and maximum of the keys of each data file, as an index has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakesieve.format import SegmentEntry
    from lakesieve.store.segment_loader import SegmentLoader


def file_bounds(
    loader: SegmentLoader, entry: SegmentEntry
) -> Iterator[tuple[np.ndarray, pa.Array, pa.Array]]:
    """First and last codes of the data files of a segment, row group by row group.

    Yields:
        Ordinals of data files, each once; and for each its lowest code, and the code at which the
        block of its highest one ends, excluded but where it is the highest of the segment.
    """
    opened = loader.segment(entry)
    text = opened.footer.text
    numbers = list(range(len(opened.firsts)))
    for number, blocks in loader.row_groups(opened, numbers):
        block = np.repeat(np.arange(len(blocks)), np.diff(blocks.offsets))
        if not len(block):
            continue
        ordinals, first = np.unique(blocks.ordinals, return_index=True)
        last = len(block) - 1 - np.unique(blocks.ordinals[::-1], return_index=True)[1]
        behind = [*opened.firsts[number + 1 : number + 2], blocks.max_key][:1]
        ends = pa.concat_arrays([blocks.keys[1:], pa.array(behind, blocks.keys.type)])
        lows, highs = blocks.keys.take(pa.array(block[first])), ends.take(pa.array(block[last]))
        if text is not None:
            lows, highs = text.decode(lows.to_numpy()), text.decode(highs.to_numpy())
        yield ordinals, lows, highs
