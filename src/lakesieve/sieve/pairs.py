"""Sort pairs of a key and a unit, and drop duplicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakesieve.sieve.byte_order import bytewise_order
from lakesieve.sieve.order import ascending_order
from lakesieve.sieve.text import TextCode

_SAMPLE = 10_000
_FEW = 1000


def sort_pairs(keys: pa.Array, ordinals: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """Sort pairs by key, then ordinal, and drop duplicates.

    Args:
        keys: Key codes, ``int64`` or ``binary``, without nulls.
        ordinals: One unit a key, int32, not negative.

    Returns:
        Keys and ordinals of the distinct pairs, ascending.
    """
    if len(keys) == 0:
        return keys, ordinals
    if keys.type == pa.int64():
        values, units = _sort_ints(keys.to_numpy(), ordinals)
        return pa.array(values), units
    if _is_repetitive(keys):
        # rank the distinct byte strings, then sort small integers instead of strings
        encoded = keys.dictionary_encode()
        order, _ = bytewise_order(encoded.dictionary)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        ranks, units = _sort_packed(rank[encoded.indices.to_numpy()], ordinals)
        return encoded.dictionary.take(pa.array(order[ranks])), units
    return _ranked(keys, ordinals, *bytewise_order(keys))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairText:
    """The text code of some pairs, under which different keys have different codes.

    Args:
        code: The text code.
        keys: The keys of all pairs, ``binary``.
        codes: The text codes of these keys.
    """

    code: TextCode
    keys: pa.Array
    codes: np.ndarray

    def originals(self, wanted: np.ndarray) -> pa.Array:
        """Return the keys with some text codes, which ascend and are close to each other."""
        near = np.flatnonzero((self.codes >= wanted[0]) & (self.codes <= wanted[-1]))
        ascending, first = np.unique(self.codes[near], return_index=True)
        return self.keys.take(pa.array(near[first[np.searchsorted(ascending, wanted)]]))


def code_pairs(
    keys: pa.Array, ordinals: np.ndarray
) -> tuple[pa.Array, np.ndarray, PairText | None]:
    """Sort pairs like :func:`sort_pairs`, but replace byte strings by text codes if possible.

    Returns:
        The keys (or their text codes) and the ordinals of the distinct pairs, in order. Then the
        text code, or ``None`` if the keys were not replaced. A text code gives different codes to
        different keys.
    """
    if keys.type == pa.int64():
        return *sort_pairs(keys, ordinals), None
    text, codes, whole = TextCode.of(keys)
    if whole:
        ascending, units = _sort_ints(codes, ordinals)
        return pa.array(ascending), units, PairText(code=text, keys=keys, codes=codes)
    order, ascending = ascending_order(codes)
    first = _firsts(ascending)
    tied = np.flatnonzero(~first)
    if _are_equal(keys, order[tied], order[tied - 1]):
        ascending, units = _ranked_ints(ascending, ordinals[order], first)
        return pa.array(ascending), units, PairText(code=text, keys=keys, codes=codes)
    if _is_repetitive(keys):
        return *sort_pairs(keys, ordinals), None
    ordered = bytewise_order(keys, (codes, len(text.prefix) + len(text.alphabets)))
    return *_ranked(keys, ordinals, *ordered), None


def _are_equal(keys: pa.Array, subset: np.ndarray, others: np.ndarray) -> bool:
    """Return whether strings equal others, one by one. A few of them are compared first."""
    return all(
        keys.take(pa.array(subset[rows])).equals(keys.take(pa.array(others[rows])))
        for rows in (slice(_FEW), slice(_FEW, None))
    )


def _ranked(
    keys: pa.Array, ordinals: np.ndarray, order: np.ndarray, differs: np.ndarray
) -> tuple[pa.Array, np.ndarray]:
    """Return pairs in the order of their keys, then ordinals, without duplicates."""
    ranks, units = _sort_packed(np.cumsum(differs) - 1, ordinals[order])
    return keys.take(pa.array(order[differs][ranks])), units


def _is_repetitive(keys: pa.Array) -> bool:
    sample = keys.take(pa.array(np.arange(0, len(keys), max(1, len(keys) // _SAMPLE))))
    return 2 * len(sample.unique()) < len(sample)


def _sort_ints(keys: np.ndarray, ordinals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    spread = int(keys.max()) - int(keys.min())
    dropped = spread.bit_length() + int(ordinals.max()).bit_length() - 64
    if dropped <= 0:
        return _sort_packed(keys, ordinals)
    # key and ordinal do not fit one word, but the keys may differ even without their low bits
    ascending = np.sort(keys)
    if _tell_apart(ascending, dropped):
        return _sort_packed(keys, ordinals, dropped, ascending)
    # ... and if not, the ranks of the keys fit
    order, ascending = ascending_order(keys)
    return _ranked_ints(ascending, ordinals[order], _firsts(ascending))


def _tell_apart(ascending: np.ndarray, dropped: int) -> bool:
    """Return whether different integers still differ without their ``dropped`` low bits."""
    high = (ascending.view(np.uint64) - ascending[:1].view(np.uint64)) >> np.uint64(dropped)
    return not (_firsts(ascending) & ~_firsts(high)).any()


def _ranked_ints(
    ascending: np.ndarray, ordinals: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of ascending keys without duplicates. ``first`` marks each key's first row."""
    if first.all():
        return ascending, ordinals
    ranks, units = _sort_packed(np.cumsum(first) - 1, ordinals)
    return ascending[first][ranks], units


def _sort_packed(
    keys: np.ndarray,
    ordinals: np.ndarray,
    dropped: int = 0,
    ascending: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sort pairs with one sort of integers: each key and its ordinal are packed in one word.

    The lowest ``dropped`` bits of a key do not fit in the word. If ``dropped`` is not 0, different
    keys must differ without these bits, and ``ascending`` has the sorted keys.
    """
    low = np.uint64(int(keys.min()) % 2**64)
    bits = int(ordinals.max()).bit_length()
    # unsigned arithmetic wraps, so the distance from the lowest key is right for any sign
    packed = keys.view(np.uint64) - low
    # in place from here on, because fresh memory costs more than the work itself
    if dropped:
        packed >>= np.uint64(dropped)
    packed <<= np.uint64(bits)
    np.bitwise_or(packed, ordinals, out=packed, dtype=np.uint64, casting="unsafe")
    packed.sort()
    first = _firsts(packed)
    if not first.all():
        packed = packed[first]
    units = np.empty(len(packed), np.int32)
    mask = np.uint64((1 << bits) - 1)
    np.bitwise_and(packed, mask, out=units, dtype=np.uint64, casting="unsafe")
    if ascending is not None:
        # the word at each index has the high bits of the key at this index
        return ascending if first.all() else ascending[first], units
    packed >>= np.uint64(bits)
    packed += low
    return packed.view(np.int64), units


def _firsts(values: np.ndarray) -> np.ndarray:
    """Return true where a value differs from the value before it."""
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first
