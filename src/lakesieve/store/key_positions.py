"""Where ascending key codes lie among others, of the same or the other physical type."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.sieve import wide_code

if TYPE_CHECKING:
    from collections.abc import Sequence

Code = int | bytes


def in_bytes(keys: pa.Array) -> pa.Array:
    """Codes as bytes, see :func:`lakesieve.sieve.wide_code`."""
    if keys.type == pa.binary():
        return keys
    return pa.array([wide_code(key) for key in keys.to_pylist()], pa.binary())


def in_words(keys: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Wide codes as int64, those beyond it left out, and where each of them was."""
    halves = np.frombuffer(b"".join(keys.to_pylist()), ">u8").reshape(-1, 2)
    high = (halves[:, 0] ^ np.uint64(1 << 63)).astype(np.int64)
    low = halves[:, 1].astype(np.uint64).view(np.int64)
    at = np.flatnonzero(high == low >> 63)
    return pa.array(low[at]), at


def between(keys: pa.Array, low: Code, high: Code) -> tuple[int, int]:
    """Where the ascending keys from low to high lie, both included.

    Args:
        keys: Ascending codes, int64 or ``binary``.
        low: The first code.
        high: The last code.
    """
    if keys.type == pa.int64():
        values = keys.to_numpy()
        return int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right"))
    rows = range(len(keys))
    start = bisect.bisect_left(rows, low, key=lambda at: keys[at].as_py())
    return start, bisect.bisect_right(rows, high, key=lambda at: keys[at].as_py())


def predecessor_indices(keys: pa.Array, firsts: Sequence[Code]) -> np.ndarray:
    """For each of ascending byte strings the last of others not above it, int64; -1 for none.

    Args:
        keys: Ascending byte strings, ``binary``.
        firsts: Ascending byte strings.
    """
    # few firsts, many keys: find where each first would stand among the keys
    starts = [between(keys, first, first)[0] for first in firsts]
    marks = np.zeros(len(keys) + 1, np.int64)
    np.add.at(marks, starts, 1)
    return np.cumsum(marks[:-1]) - 1
