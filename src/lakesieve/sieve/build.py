"""From (key, ordinal) pairs to blocks: sort, drop duplicates, cut where the set changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BlockBuilder", "build_blocks", "sort_pairs"]


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
    # rank the distinct byte strings, then sort small integers instead of strings
    encoded = keys.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    ranks, units = _sort_ints(rank[encoded.indices.to_numpy()], ordinals)
    return encoded.dictionary.take(pa.array(order[ranks])), units


def _sort_ints(keys: np.ndarray, ordinals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low = int(keys.min())
    unit_bits = int(ordinals.max()).bit_length()
    if (int(keys.max()) - low).bit_length() + unit_bits <= 64:
        # key and ordinal in one word: a single sort of machine integers
        packed = (keys.view(np.uint64) - np.uint64(low % 2**64)) << np.uint64(unit_bits)
        packed |= ordinals.astype(np.uint64)
        packed.sort()
        packed = packed[_firsts(packed)]
        units = (packed & np.uint64((1 << unit_bits) - 1)).astype(np.int32)
        return ((packed >> np.uint64(unit_bits)) + np.uint64(low % 2**64)).view(np.int64), units
    order = np.lexsort((ordinals, keys))
    keys, ordinals = keys[order], ordinals[order]
    distinct = _firsts(keys) | _firsts(ordinals)
    return keys[distinct], ordinals[distinct]


def _firsts(values: np.ndarray) -> np.ndarray:
    """True where a value differs from the one before it."""
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def build_blocks(keys: pa.Array, ordinals: np.ndarray) -> Blocks:
    """Cut sorted distinct pairs into exact runs.

    Args:
        keys: As :func:`sort_pairs` gives them; at least one.
        ordinals: The unit of each pair.
    """
    starts = np.flatnonzero(_new_keys(keys))
    ends = np.append(starts[1:], len(ordinals))
    lengths = ends - starts
    first = np.ones(len(starts), bool)
    first[1:] = ~_same_as_before(ordinals, starts, lengths)
    kept = np.flatnonzero(first)
    sizes = lengths[kept]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    shift = np.repeat(starts[kept] - offsets[:-1], sizes)
    return Blocks(
        keys=keys.take(pa.array(starts[kept])),
        offsets=offsets,
        ordinals=ordinals[np.arange(offsets[-1]) + shift],
        max_key=keys[-1].as_py(),
        key_count=len(starts),
        pair_count=len(ordinals),
    )


def _new_keys(keys: pa.Array) -> np.ndarray:
    if keys.type == pa.int64():
        return _firsts(keys.to_numpy())
    new = np.ones(len(keys), bool)
    new[1:] = pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1)).to_numpy(
        zero_copy_only=False
    )
    return new


def _same_as_before(ordinals: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """For every key but the first: is its set that of the key before it?"""
    same: np.ndarray = lengths[1:] == lengths[:-1]
    # compare element by element with the one a set's length earlier
    here = np.repeat(same, lengths[1:])
    at = np.arange(starts[1], len(ordinals)) if len(starts) > 1 else np.zeros(0, np.int64)
    before = at - np.repeat(lengths[:-1], lengths[1:])
    differs = np.zeros(len(at) + 1, np.int64)
    np.cumsum(here & (ordinals[at] != ordinals[before]), out=differs[1:])
    left = starts[1:] - (starts[1] if len(starts) > 1 else 0)
    same &= differs[left + lengths[1:]] == differs[left]
    return same


class BlockBuilder:
    """Cuts a stream of sorted pairs into blocks of bounded size.

    Args:
        max_pairs: About how many pairs one :class:`Blocks` may hold; a single key with more pairs
            than that is still kept whole.
    """

    def __init__(self, *, max_pairs: int) -> None:
        self._max_pairs = max_pairs
        self._keys: list[pa.Array] = []
        self._ordinals: list[np.ndarray] = []
        self._held = 0

    def push(self, keys: pa.Array, ordinals: np.ndarray) -> Iterator[Blocks]:
        """Take the next chunk of sorted distinct pairs; yields blocks that are finished."""
        for start in range(0, len(keys), self._max_pairs):
            self._keys.append(keys.slice(start, self._max_pairs))
            self._ordinals.append(ordinals[start : start + self._max_pairs])
            self._held += len(self._ordinals[-1])
            if self._held > self._max_pairs:
                yield from self._flush()

    def finish(self) -> Iterator[Blocks]:
        """Yield what is left."""
        if self._held:
            keys, ordinals = self._take()
            yield build_blocks(keys, ordinals)

    def _take(self) -> tuple[pa.Array, np.ndarray]:
        keys, ordinals = pa.concat_arrays(self._keys), np.concatenate(self._ordinals)
        self._keys, self._ordinals, self._held = [], [], 0
        return keys, ordinals

    def _flush(self) -> Iterator[Blocks]:
        """Give out all keys but the last, whose pairs may go on in the next chunk."""
        keys, ordinals = self._take()
        last = int(np.flatnonzero(_new_keys(keys))[-1])
        if last:
            yield build_blocks(keys.slice(0, last), ordinals[:last])
        self._keys, self._ordinals = [keys.slice(last)], [ordinals[last:]]
        self._held = len(ordinals) - last
