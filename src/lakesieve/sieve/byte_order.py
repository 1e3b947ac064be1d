"""The bytewise order of many strings, found by sorting machine words instead of strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["bytewise_order"]

_WORD = 8
# words looked at before the strings that still tie are compared in full
_WORDS = 4


def bytewise_order(strings: pa.Array) -> np.ndarray:
    """Find the order that sorts strings bytewise.

    After the prefix that all of them share, eight bytes at a time are read as one big-endian word
    and sorted as integers; only strings whose words tie go on. A word that is cut short by the end
    of its string is filled with zeros, so ties are never decided by words: those left at the end
    are compared in full.

    Args:
        strings: ``binary``, without nulls.

    Returns:
        Indices, int64; equal strings in any order.
    """
    count = len(strings)
    order = np.arange(count)
    groups = np.zeros(count, np.int64)
    active = np.arange(count)
    skipped = _shared_prefix(strings) if count else 0
    for number in range(_WORDS + 1):
        if len(active) == 0:
            break
        if number < _WORDS:
            keys = _words(strings, order[active], skipped + number * _WORD)
        else:
            keys = _full_ranks(strings.take(pa.array(order[active])))
        within = _sorted_within(groups[active], keys)
        order[active] = order[active][within]
        keys = keys[within]
        fresh = np.ones(len(active), bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (groups[active][1:] != groups[active][:-1])
        # a group is named by the first of its places, so names ascend and stay apart
        groups[active] = active[fresh][np.cumsum(fresh) - 1]
        tied = ~fresh
        tied[:-1] |= ~fresh[1:]
        active = active[tied]
    return order


def _sorted_within(groups: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The order by group, then key; the groups are ascending already."""
    order = np.argsort(keys)
    if groups[0] == groups[-1]:
        return order
    # group and place by key in one word: both count rows, which fit into 32 bits
    place = np.uint64(len(keys).bit_length())
    packed = (groups[order].astype(np.uint64) << place) | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    within: np.ndarray = order[packed & ((np.uint64(1) << place) - np.uint64(1))]
    return within


def _shared_prefix(strings: pa.Array) -> int:
    # what the least and the greatest share, all between them share
    extremes = pc.min_max(strings).as_py()
    low, high = extremes["min"], extremes["max"]
    unlike = (at for at, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
    return next(unlike, min(len(low), len(high)))


def _words(strings: pa.Array, chosen: np.ndarray, skipped: int) -> np.ndarray:
    """Eight bytes of each chosen string from a position on, big-endian, zeros after its end."""
    offsets = np.frombuffer(strings.buffers()[1], np.int32)[strings.offset :]
    starts = offsets[chosen].astype(np.int64) + skipped
    left = offsets[chosen + 1] - starts
    data = np.frombuffer(strings.buffers()[2] or b"", np.uint8)
    # a view of the word at every byte; the last ones need padding to read from
    padded = np.zeros(len(data) + _WORD, np.uint8)
    padded[: len(data)] = data
    everywhere = np.ndarray((len(data) + 1,), ">u8", buffer=padded, strides=(1,))
    words: np.ndarray = everywhere[np.minimum(starts, len(data))].astype(np.uint64)
    beyond = (8 * (_WORD - np.clip(left, 1, _WORD))).astype(np.uint64)
    words = (words >> beyond) << beyond
    words[left <= 0] = 0
    return words


def _full_ranks(strings: pa.Array) -> np.ndarray:
    """Dense ranks by full comparison."""
    ranks: np.ndarray = pc.rank(strings, tiebreaker="dense").to_numpy().astype(np.int64)
    return ranks
