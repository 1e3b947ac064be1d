"""Sort many integers faster than ``numpy.argsort``."""

from __future__ import annotations

import numpy as np

_WORD = 64
# if more than this share of values agree in their high bits, sorting by them is not worth it
_MAX_ALIKE = 1 / 8
_CHUNK = 1 << 15


def ascending_order(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort int64 values.

    Each word holds the high bits of a value and the value's index, because numpy has vector code
    for sorting plain words. Values that agree in these bits are put in order afterwards.

    Returns:
        The indices, int64, with equal values in their original order; and the sorted values.
    """
    count = len(values)
    if count == 0:
        return np.zeros(0, np.int64), values
    low = int(values.min())
    index_bits = (count - 1).bit_length()
    dropped = max(0, (int(values.max()) - low).bit_length() + index_bits - _WORD)
    # unsigned arithmetic wraps, so the distance from the lowest value is right for any sign
    packed = values.view(np.uint64) - np.uint64(low % 2**_WORD)
    packed >>= np.uint64(dropped)
    packed <<= np.uint64(index_bits)
    # in place and in chunks, because fresh memory costs more than the work itself
    for start in range(0, count, _CHUNK):
        end = min(start + _CHUNK, count)
        packed[start:end] |= np.arange(start, end, dtype=np.uint64)
    packed.sort()
    alike = _alike(packed, index_bits) if dropped else np.zeros(0, np.int64)
    if len(alike) > _MAX_ALIKE * count:
        order = np.argsort(values, kind="stable")
        return order, values[order]
    packed &= np.uint64((1 << index_bits) - 1)
    order = packed.view(np.int64)
    ascending = values[order]
    if len(alike):
        tied = np.union1d(alike, alike + 1)
        groups = np.append(0, np.cumsum(np.diff(alike) > 1))
        groups = groups[np.searchsorted(alike, tied, side="right") - 1]
        resolved = tied[np.lexsort((ascending[tied], groups))]
        order[tied], ascending[tied] = order[resolved], ascending[resolved]
    return order, ascending


def _alike(packed: np.ndarray, index_bits: int) -> np.ndarray:
    """Return which words have the same high bits as the next word."""
    parts = []
    for start in range(0, len(packed) - 1, _CHUNK):
        high_bits = packed[start : start + _CHUNK + 1] >> np.uint64(index_bits)
        parts.append(np.flatnonzero(high_bits[1:] == high_bits[:-1]) + start)
    return np.concatenate(parts)
