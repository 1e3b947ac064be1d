"""Which units can hold given keys: binary search over separators, slices for intervals."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve.blocks import Blocks

__all__ = ["RangeSet", "lookup_points", "lookup_ranges"]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeSet:
    """Sorted, disjoint ranges of key codes, both ends included.

    Args:
        lows: First codes: an int64 array, or a list of bytes.
        highs: Last codes; for bytes the *excluded* end, ``None`` for no end.
    """

    lows: Any
    highs: Any

    @classmethod
    def from_intervals(
        cls, intervals: Sequence[tuple[int | bytes | None, int | bytes | None]], physical: str
    ) -> RangeSet:
        """Make it from half-open intervals, ``None`` meaning unbounded.

        Args:
            intervals: ``[low, high)`` pairs, sorted and disjoint.
            physical: ``int64`` or ``bytes``.
        """
        if physical == "bytes":
            return cls(
                lows=[low if isinstance(low, bytes) else b"" for low, _ in intervals],
                highs=[high if isinstance(high, bytes) else None for _, high in intervals],
            )
        lows = [_clamp(low, _LOWEST) for low, _ in intervals]
        highs = [_HIGHEST if high is None else _clamp(high, 0) - 1 for _, high in intervals]
        kept = [(a, b) for a, b in zip(lows, highs, strict=True) if a <= b]
        return cls(
            lows=np.array([a for a, _ in kept], np.int64),
            highs=np.array([b for _, b in kept], np.int64),
        )


def _clamp(code: int | bytes | None, absent: int) -> int:
    if not isinstance(code, int):
        return absent
    return max(_LOWEST, min(code, _HIGHEST + 1))


def lookup_ranges(blocks: Blocks, ranges: RangeSet) -> np.ndarray:
    """Units that can hold a key of any of the ranges.

    Args:
        blocks: The blocks to search.
        ranges: Sorted, disjoint ranges.

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
    return np.unique(_gather(blocks, first, ends))


def _touched(blocks: Blocks, ranges: RangeSet) -> tuple[np.ndarray, np.ndarray]:
    """Half-open block slices that overlap each range."""
    if blocks.keys.type == pa.int64():
        keys = blocks.keys.to_numpy()
        first = np.maximum(np.searchsorted(keys, ranges.lows, side="right") - 1, 0)
        last = np.searchsorted(keys, ranges.highs, side="right")
        beyond = ranges.lows > blocks.max_key
        return first, np.where(beyond, first, last)
    count = len(blocks)
    at = _BytesAt(blocks.keys)
    pairs = list(zip(ranges.lows, ranges.highs, strict=True))
    firsts = [max(bisect.bisect_right(range(count), low, key=at) - 1, 0) for low, _ in pairs]
    lasts = [
        0
        if low > blocks.max_key
        else count
        if high is None
        else bisect.bisect_left(range(count), high, key=at)
        for low, high in pairs
    ]
    return np.array(firsts, np.int64), np.array(lasts, np.int64)


class _BytesAt:
    """The key of a block by its number, read from Arrow one at a time."""

    def __init__(self, keys: pa.Array) -> None:
        self._keys = keys

    def __call__(self, number: int) -> bytes:
        value: bytes = self._keys[number].as_py()
        return value


def _gather(blocks: Blocks, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    starts, ends = blocks.offsets[first], blocks.offsets[np.maximum(first, last)]
    lengths = ends - starts
    shift = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    gathered: np.ndarray = blocks.ordinals[np.arange(lengths.sum()) + shift]
    return gathered


def lookup_points(blocks: Blocks, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The units of each of many keys.

    Args:
        blocks: The blocks to search.
        keys: Key codes of the blocks' type, without nulls, in any order.

    Returns:
        Offsets, int64, one more than keys, and the sets one after the other, int32. A key below
        the first or above the last has the empty set.
    """
    if len(blocks) == 0:
        return np.zeros(len(keys) + 1, np.int64), np.zeros(0, np.int32)
    if keys.type == pa.int64():
        values = keys.to_numpy()
        at = np.searchsorted(blocks.keys.to_numpy(), values, side="right") - 1
        outside = (at < 0) | (values > blocks.max_key)
    else:
        key_of, count = _BytesAt(blocks.keys), len(blocks)
        asked = keys.to_pylist()
        at = np.array([bisect.bisect_right(range(count), k, key=key_of) - 1 for k in asked], int)
        outside = (at < 0) | np.array([k > blocks.max_key for k in asked], bool)
    at = np.where(outside, 0, at)
    lengths = np.where(outside, 0, blocks.offsets[at + 1] - blocks.offsets[at])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    shift = np.repeat(blocks.offsets[at] - offsets[:-1], lengths)
    return offsets, blocks.ordinals[np.arange(offsets[-1]) + shift]
