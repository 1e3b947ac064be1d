"""Which units can hold given keys: binary search over separators, slices for intervals."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.blocks import spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve.blocks import Blocks

__all__ = ["RangeSet", "lookup_points", "lookup_ranges"]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1

# what reading one key by its number costs, in keys read at once
_SCALAR_COST = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeSet:
    """Ranges of key codes, ordered by their first code.

    Args:
        lows: First codes, ascending: an int64 array, or a list of bytes.
        highs: Last codes, *included*, as an int64 array; for bytes a list of the *excluded* ends,
            ``None`` for no end.
    """

    lows: Any
    highs: Any

    @classmethod
    def from_intervals(
        cls, intervals: Sequence[tuple[int | bytes | None, int | bytes | None]], physical: str
    ) -> RangeSet:
        """Make it from half-open intervals, ``None`` meaning unbounded.

        Args:
            intervals: ``[low, high)`` pairs in any order; empty ones are dropped. An integer high
                may be ``2**63``, one more than the highest code.
            physical: ``int64`` or ``bytes``.
        """
        if physical == "bytes":
            texts: list[tuple[Any, Any]] = [(low or b"", high) for low, high in intervals]
            texts.sort(key=itemgetter(0))
            some = [(low, high) for low, high in texts if high is None or low < high]
            return cls(lows=[low for low, _ in some], highs=[high for _, high in some])
        numbers = sorted(
            (_clamp(low, _LOWEST), _clamp(high, _HIGHEST + 1) - 1) for low, high in intervals
        )
        kept = [(low, high) for low, high in numbers if low <= high]
        return cls(
            lows=np.array([low for low, _ in kept], np.int64),
            highs=np.array([high for _, high in kept], np.int64),
        )


def _clamp(code: int | bytes | None, absent: int) -> int:
    if not isinstance(code, int):
        return absent
    return max(_LOWEST, min(code, _HIGHEST + 1))


def lookup_ranges(blocks: Blocks, ranges: RangeSet) -> np.ndarray:
    """Units that can hold a key of any of the ranges.

    A block is taken when any code it covers lies in a range, also if only absent keys do.

    Args:
        blocks: The blocks to search.
        ranges: The ranges; they may overlap.

    Returns:
        Ascending distinct ordinals, int32.
    """
    if len(blocks) == 0 or len(ranges.lows) == 0:
        return np.zeros(0, np.int32)
    first, last = _touched(blocks, ranges)
    some = first < last
    first, last = first[some], last[some]
    # neighbouring ranges may share a block: join them, then read slices of the sets
    ends = np.maximum.accumulate(last)
    first[1:] = np.maximum(first[1:], ends[:-1])
    starts = blocks.offsets[first]
    _, at = spans(starts, blocks.offsets[np.maximum(first, ends)] - starts)
    return np.unique(blocks.ordinals[at])


def _touched(blocks: Blocks, ranges: RangeSet) -> tuple[np.ndarray, np.ndarray]:
    """Half-open block slices that overlap each range."""
    if blocks.keys.type == pa.int64():
        keys = blocks.keys.to_numpy()
        first = np.searchsorted(keys, ranges.lows, side="right") - 1
        last = np.searchsorted(keys, ranges.highs, side="right")
        beyond = ranges.lows > blocks.max_key
    else:
        count = len(blocks)
        first = _search_bytes(blocks.keys, ranges.lows, side="right") - 1
        ended = [high for high in ranges.highs if high is not None]
        last = np.full(len(first), count)
        endless = np.array([high is None for high in ranges.highs], bool)
        last[~endless] = _search_bytes(blocks.keys, ended, side="left")
        beyond = np.array([low > blocks.max_key for low in ranges.lows], bool)
    first = np.maximum(first, 0)
    return first, np.where(beyond, first, last)


def lookup_points(blocks: Blocks, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The units of each of many keys.

    Args:
        blocks: The blocks to search.
        keys: Key codes of the blocks' type, without nulls, in any order.

    Returns:
        Offsets, int64, one more than keys, and the sets one after the other, int32. A key below
        the first or above the last has the empty set.
    """
    if len(blocks) == 0 or len(keys) == 0:
        return np.zeros(len(keys) + 1, np.int64), np.zeros(0, np.int32)
    if keys.type == pa.int64():
        values = keys.to_numpy()
        block = np.searchsorted(blocks.keys.to_numpy(), values, side="right") - 1
        beyond = values > blocks.max_key
    else:
        block = _search_bytes(blocks.keys, keys.to_pylist(), side="right") - 1
        beyond = pc.greater(keys, pa.scalar(blocks.max_key, keys.type)).to_numpy(
            zero_copy_only=False
        )
    outside = (block < 0) | beyond
    block = np.where(outside, 0, block)
    starts = blocks.offsets[block]
    lengths = np.where(outside, 0, blocks.offsets[block + 1] - starts)
    offsets, at = spans(starts, lengths)
    return offsets, blocks.ordinals[at]


def _search_bytes(
    keys: pa.Array, wanted: list[bytes], *, side: Literal["left", "right"]
) -> np.ndarray:
    """``numpy.searchsorted`` for binary keys."""
    count = len(keys)
    if len(wanted) * count.bit_length() * _SCALAR_COST < count:
        # few: read only the keys that the search passes
        search = bisect.bisect_right if side == "right" else bisect.bisect_left
        places = [search(range(count), text, key=lambda at: keys[at].as_py()) for text in wanted]
        return np.array(places, np.int64)
    asked = np.empty(len(wanted), object)
    asked[:] = wanted
    return np.searchsorted(keys.to_numpy(zero_copy_only=False), asked, side=side)
