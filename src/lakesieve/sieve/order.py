"""The order of many integers, faster than by sorting their places."""

from __future__ import annotations

import numpy as np

__all__ = ["ascending_order"]

_WORD = 64
# where more are alike in their high bits, these are not worth sorting by
_MAX_ALIKE = 1 / 8
_PART = 1 << 15


def ascending_order(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort integers.

    The high bits of each share a word with its place, so that plain words are sorted, which numpy
    has vector code for; those that are alike in all of these bits are set in order afterwards.

    Args:
        values: int64.

    Returns:
        Where each stood, int64, equal values in that order; and the values, ascending.
    """
    count = len(values)
    if count == 0:
        return np.zeros(0, np.int64), values
    low = int(values.min())
    places = (count - 1).bit_length()
    dropped = max(0, (int(values.max()) - low).bit_length() + places - _WORD)
    # unsigned arithmetic wraps, so the distance from the lowest is right for any sign
    packed = values.view(np.uint64) - np.uint64(low % 2**_WORD)
    packed >>= np.uint64(dropped)
    packed <<= np.uint64(places)
    # in place and in parts: fresh memory costs more than what is done with it
    for start in range(0, count, _PART):
        end = min(start + _PART, count)
        packed[start:end] |= np.arange(start, end, dtype=np.uint64)
    packed.sort()
    alike = _alike(packed, places) if dropped else np.zeros(0, np.int64)
    if len(alike) > _MAX_ALIKE * count:
        order = np.argsort(values, kind="stable")
        return order, values[order]
    packed &= np.uint64((1 << places) - 1)
    order = packed.view(np.int64)
    ascending = values[order]
    if len(alike):
        tied = np.union1d(alike, alike + 1)
        groups = np.append(0, np.cumsum(np.diff(alike) > 1))
        groups = groups[np.searchsorted(alike, tied, side="right") - 1]
        resolved = tied[np.lexsort((ascending[tied], groups))]
        order[tied], ascending[tied] = order[resolved], ascending[resolved]
    return order, ascending


def _alike(packed: np.ndarray, places: int) -> np.ndarray:
    """Which words have the same high bits as the next."""
    found = []
    for start in range(0, len(packed) - 1, _PART):
        part = packed[start : start + _PART + 1] >> np.uint64(places)
        found.append(np.flatnonzero(part[1:] == part[:-1]) + start)
    return np.concatenate(found)
