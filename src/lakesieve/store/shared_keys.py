"""The keys of a segment that several data files can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.sieve import distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakesieve.format import SegmentEntry
    from lakesieve.store.segment_loader import SegmentLoader
    from lakesieve.store.segment_row import Code

_HIGHEST = 2**63 - 1


def shared_keys(
    loader: SegmentLoader, entry: SegmentEntry, live: np.ndarray
) -> Iterator[tuple[pa.Array, pa.Array, np.ndarray]]:
    """Ranges of keys that several data files can hold, row group by row group.

    Yields:
        Where ranges of keys begin and end, half-open, ascending; an end that is null is above all
        codes. And the ordinals of any of them, each once.
    """
    opened = loader.segment(entry)
    text = opened.footer.text
    numbers = list(range(len(opened.firsts)))
    for number, blocks in loader.row_groups(opened, numbers):
        counted = np.concatenate(([0], np.cumsum(live[blocks.ordinals])))
        several = np.diff(counted[blocks.offsets]) > 1
        if not several.any():
            continue
        at = pa.array(np.flatnonzero(several))
        next_codes = [*opened.firsts[number + 1 : number + 2], blocks.max_key][:1]
        ends = pa.concat_arrays([blocks.keys[1:], pa.array(next_codes, blocks.keys.type)])
        lows, highs = blocks.keys.take(at), ends.take(at)
        if text is not None:
            lows, highs = text.decode(lows.to_numpy()), text.decode(highs.to_numpy())
        if number == numbers[-1] and several[-1]:
            last = pa.array([_above(entry.key_max)], lows.type)
            highs = pa.concat_arrays([highs[:-1], last])
        ordinals = distinct(blocks.ordinals[np.repeat(several, np.diff(blocks.offsets))])
        yield lows, highs, ordinals[live[ordinals]]


def _above(code: Code) -> Code | None:
    """The least code above one, if there is one."""
    if isinstance(code, bytes):
        return code + b"\0"
    return code + 1 if code < _HIGHEST else None
