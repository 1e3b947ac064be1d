"""From (key, ordinal) pairs to blocks: sort, drop duplicates, cut where the set changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.sieve.blocks import Blocks, key_steps
from lakesieve.sieve.byte_order import bytewise_order
from lakesieve.sieve.separators import ABSENT_HITS, Cuts, cut_bytes, cut_ints, with_gaps
from lakesieve.sieve.spans import spans
from lakesieve.sieve.text import TextCode

__all__ = ["BlockBuilder", "build_blocks", "build_runs", "differing_sets", "sort_pairs"]

_SAMPLE = 10_000


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
    order, differs = bytewise_order(keys)
    ranks, units = _sort_packed(np.cumsum(differs) - 1, ordinals[order])
    return keys.take(pa.array(order[differs][ranks])), units


def _is_repetitive(keys: pa.Array) -> bool:
    sample = keys.take(pa.array(np.arange(0, len(keys), max(1, len(keys) // _SAMPLE))))
    return 2 * len(sample.unique()) < len(sample)


def _sort_ints(keys: np.ndarray, ordinals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    spread = int(keys.max()) - int(keys.min())
    if spread.bit_length() + int(ordinals.max()).bit_length() <= 64:
        return _sort_packed(keys, ordinals)
    # too wide to share a word with the ordinal: their ranks are not
    order = np.argsort(keys)
    ascending = keys[order]
    first = _firsts(ascending)
    ranks, units = _sort_packed(np.cumsum(first) - 1, ordinals[order])
    return ascending[first][ranks], units


def _sort_packed(keys: np.ndarray, ordinals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort key and ordinal in one word: a single sort of machine integers."""
    low = np.uint64(int(keys.min()) % 2**64)
    bits = int(ordinals.max()).bit_length()
    # unsigned arithmetic wraps, so the distance from the lowest key is right for any sign
    packed = (keys.view(np.uint64) - low) << np.uint64(bits)
    packed |= ordinals.astype(np.uint64)
    packed.sort()
    packed = packed[_firsts(packed)]
    units = (packed & np.uint64((1 << bits) - 1)).astype(np.int32)
    return ((packed >> np.uint64(bits)) + low).view(np.int64), units


def _firsts(values: np.ndarray) -> np.ndarray:
    """True where a value differs from the one before it."""
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def build_blocks(
    keys: pa.Array, ordinals: np.ndarray, *, absent_hits: float = ABSENT_HITS
) -> Blocks:
    """Cut sorted distinct pairs into exact runs.

    Args:
        keys: As :func:`sort_pairs` gives them; at least one.
        ordinals: The unit of each pair.
        absent_hits: Share of the absent keys between the first and the last that may find a unit.
            A guarantee for integers, an aim for strings; 1 makes the smallest blocks.

    Raises:
        InvalidInputError: There are no pairs, or they are not sorted and distinct.
    """
    return build_runs(keys, ordinals, absent_hits=absent_hits)[0]


def build_runs(
    keys: pa.Array, ordinals: np.ndarray, *, absent_hits: float
) -> tuple[Blocks, pa.Array, np.ndarray]:
    """:func:`build_blocks`, with more to go on.

    Returns:
        The blocks; the codes of all distinct keys; the first of those in each block but the gaps.
    """
    starts = _key_starts(keys, ordinals)
    lengths = np.diff(starts, append=len(ordinals))
    runs = differing_sets(ordinals, lengths)
    distinct = keys if len(starts) == len(keys) else keys.take(pa.array(starts))
    text, codes = None, distinct
    if keys.type == pa.binary():
        coded = TextCode.fit(distinct)
        if coded is not None:
            text, codes = coded[0], pa.array(coded[1])
    cut = cut_bytes if codes.type == pa.binary() else _cut_ints
    cuts = cut(codes, runs, absent_hits)
    sizes = lengths[cuts.first]
    _, at = spans(starts[cuts.first], sizes)
    separators, offsets = with_gaps(cuts.separators, sizes, cuts.gaps, cuts.ends)
    blocks = Blocks(
        keys=separators,
        offsets=offsets,
        ordinals=ordinals[at],
        max_key=codes[-1].as_py(),
        bounds=(keys[0].as_py(), keys[-1].as_py()),
        key_count=len(starts),
        pair_count=len(ordinals),
        text=text,
    )
    return blocks, codes, cuts.first


def _cut_ints(keys: pa.Array, runs: np.ndarray, absent_hits: float) -> Cuts:
    return cut_ints(keys.to_numpy(), runs, absent_hits)


def _key_starts(keys: pa.Array, ordinals: np.ndarray) -> np.ndarray:
    """Index of each key's first pair; blocks of pairs out of order would lose units."""
    greater, equal = key_steps(keys)
    if len(keys) == 0 or not (greater | (equal & (ordinals[1:] > ordinals[:-1]))).all():
        raise InvalidInputError(
            "Blocks are built from pairs that are sorted and distinct, at least one.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Sort them with sort_pairs first.",
        )
    return np.concatenate(([0], np.flatnonzero(greater) + 1))


def differing_sets(ordinals: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Which of adjacent sets are another one than the set before.

    Args:
        ordinals: The sets one after the other, each ascending.
        lengths: Their sizes.

    Returns:
        One bool a set; the first is another one.
    """
    starts = np.cumsum(lengths) - lengths
    same: np.ndarray = lengths[1:] == lengths[:-1]
    some = np.flatnonzero(same & (lengths[1:] > 0)) + 1
    ends = starts + lengths - 1
    alike = ordinals[starts[some]] == ordinals[starts[some - 1]]
    alike &= ordinals[ends[some]] == ordinals[ends[some - 1]]
    same[some - 1] = alike
    # with first, last and length alike, only sets of three or more can still differ
    unsure = some[alike & (lengths[some] > 2)]
    if len(unsure):
        sizes = lengths[unsure]
        offsets, at = spans(starts[unsure], sizes)
        differs = ordinals[at] != ordinals[at - np.repeat(sizes, sizes)]
        same[unsure - 1] = ~np.logical_or.reduceat(differs, offsets[:-1])
    return np.append(True, ~same)


class BlockBuilder:
    """Cuts a stream of sorted pairs into blocks of bounded size.

    The blocks it gives out one after the other never share a key.

    Args:
        max_pairs: How many pairs one :class:`Blocks` may hold; a single key with more pairs than
            that is still kept whole.
        absent_hits: As for :func:`build_blocks`.
    """

    def __init__(self, *, max_pairs: int, absent_hits: float = ABSENT_HITS) -> None:
        self._max_pairs = max_pairs
        self._absent_hits = absent_hits
        self._keys: list[pa.Array] = []
        self._ordinals: list[np.ndarray] = []
        self._held = 0

    def push(self, keys: pa.Array, ordinals: np.ndarray) -> list[Blocks]:
        """Take the next chunk of sorted distinct pairs; the pairs of a key may straddle chunks.

        Returns:
            What is finished by now.

        Raises:
            InvalidInputError: The pairs are not sorted and distinct.
        """
        self._hold(keys, ordinals)
        if self._held <= self._max_pairs:
            return []
        keys, ordinals = self._take()
        starts = _key_starts(keys, ordinals)
        done: list[Blocks] = []
        at = 0
        # the last key stays, as the next chunk may go on with it
        while len(ordinals) - at > self._max_pairs and at < starts[-1]:
            fitting = np.searchsorted(starts, at + self._max_pairs, side="right") - 1
            own = np.searchsorted(starts, at)
            cut = int(starts[max(fitting, own + 1)])
            done.append(self._built(keys.slice(at, cut - at), ordinals[at:cut]))
            at = cut
        self._hold(keys.slice(at), ordinals[at:])
        return done

    def finish(self) -> list[Blocks]:
        """Give out what is left, if anything."""
        return [self._built(*self._take())] if self._held else []

    def _built(self, keys: pa.Array, ordinals: np.ndarray) -> Blocks:
        return build_blocks(keys, ordinals, absent_hits=self._absent_hits)

    def _hold(self, keys: pa.Array, ordinals: np.ndarray) -> None:
        if len(keys):
            self._keys.append(keys)
            self._ordinals.append(ordinals)
            self._held += len(keys)

    def _take(self) -> tuple[pa.Array, np.ndarray]:
        keys, ordinals = pa.concat_arrays(self._keys), np.concatenate(self._ordinals)
        self._keys, self._ordinals, self._held = [], [], 0
        return keys, ordinals
