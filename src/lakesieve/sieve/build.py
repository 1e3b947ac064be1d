"""Build blocks from pairs of a key and a unit. A block ends where the set of units changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.defaults import ABSENT_HITS
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.sieve.blocks import Blocks, key_steps, slice_indices
from lakesieve.sieve.end_keys import MOST_END_KEYS, EndKeys
from lakesieve.sieve.pairs import PairText, code_pairs, sort_pairs
from lakesieve.sieve.separators import Cuts, cut_bytes, cut_ints, whole_keys, with_gaps
from lakesieve.sieve.text import TextCode

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_STRINGS = 8


def build_blocks(
    keys: pa.Array, ordinals: np.ndarray, *, absent_hits: float = ABSENT_HITS
) -> Blocks:
    """Cut sorted distinct pairs into exact runs.

    Args:
        keys: Keys as :func:`sort_pairs` returns them; at least one.
        ordinals: The unit of each pair.
        absent_hits: Share of the absent keys between the first and the last key that may find a
            unit. Integers and text codes exceed it by at most half; for other strings it is a
            target, not a bound. If it is 1, separators stay whole and gaps are not cut out.
    """
    return build_runs(keys, ordinals, absent_hits=absent_hits)[0]


def build_runs(
    keys: pa.Array,
    ordinals: np.ndarray,
    *,
    absent_hits: float,
    text: TextCode | None = None,
    top: bytes | None = None,
    whole: bool = False,
) -> tuple[Blocks, pa.Array, np.ndarray]:
    """Cut pairs as :func:`build_blocks` does, and return what later steps need.

    ``text`` is the text code if the keys are codes. Then ``top`` is a string that is not below any
    of them. If ``whole``, the keys are byte strings, and each is the separator of a block.

    Returns:
        The blocks; the codes of all distinct keys; and, for each block except gaps, the index of
        its first key.
    """
    starts = _key_starts(keys, ordinals)
    lengths = np.diff(starts, append=len(ordinals))
    runs = differing_sets(ordinals, lengths)
    distinct = keys if len(starts) == len(keys) else keys.take(pa.array(starts))
    codes = distinct
    bounds = (keys[0].as_py(), keys[-1].as_py())
    if text is not None:
        low, high = text.decode(keys.to_numpy()[[0, -1]]).to_pylist()
        bounds = (low, high if top is None else top)
    elif keys.type == pa.binary() and not whole:
        coded = TextCode.fit(distinct)
        if coded is not None:
            text, codes = coded[0], pa.array(coded[1])
    if whole:
        cuts = whole_keys(codes)
    else:
        cut = cut_bytes if codes.type == pa.binary() else _cut_ints
        cuts = cut(codes, runs, absent_hits)
    sizes = lengths[cuts.first]
    if len(cuts.first) < len(starts):
        ordinals = ordinals[slice_indices(starts[cuts.first], sizes)[1]]
    separators, offsets = with_gaps(cuts.separators, sizes, cuts.gaps, cuts.ends)
    blocks = Blocks(
        keys=separators,
        offsets=offsets,
        ordinals=ordinals,
        max_key=codes[-1].as_py(),
        bounds=bounds,
        key_count=len(starts),
        pair_count=len(keys),
        text=text,
    )
    return blocks, codes, cuts.first


def _cut_ints(keys: pa.Array, runs: np.ndarray, absent_hits: float) -> Cuts:
    return cut_ints(keys.to_numpy(), runs, absent_hits)


def _key_starts(keys: pa.Array, ordinals: np.ndarray) -> np.ndarray:
    """Return the index of each key's first pair.

    Raises:
        InvalidInputError: The pairs are not sorted and distinct. Their blocks would lose units.
    """
    greater, equal = key_steps(keys)
    if len(keys) == 0 or not (greater | (equal & (ordinals[1:] > ordinals[:-1]))).all():
        raise InvalidInputError(
            "Blocks are built from pairs that are sorted and distinct, at least one.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Sort them with sort_pairs first.",
        )
    return np.concatenate(([0], np.flatnonzero(greater) + 1))


def differing_sets(ordinals: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return which of adjacent sets differ from the set before them.

    Returns:
        One bool for each set. The first is true.
    """
    if len(lengths) == len(ordinals) and lengths.min(initial=1) == 1:
        # one unit in each set, which is usual
        return np.append(True, ordinals[1:] != ordinals[:-1])
    starts = np.cumsum(lengths) - lengths
    same: np.ndarray = lengths[1:] == lengths[:-1]
    candidates = np.flatnonzero(same & (lengths[1:] > 0)) + 1
    ends = starts + lengths - 1
    alike = ordinals[starts[candidates]] == ordinals[starts[candidates - 1]]
    alike &= ordinals[ends[candidates]] == ordinals[ends[candidates - 1]]
    same[candidates - 1] = alike
    # sets whose first, last and length are equal can differ only if they have three or more units
    unsure = candidates[alike & (lengths[candidates] > 2)]
    if len(unsure):
        sizes = lengths[unsure]
        offsets, at = slice_indices(starts[unsure], sizes)
        differs = ordinals[at] != ordinals[at - np.repeat(sizes, sizes)]
        same[unsure - 1] = ~np.logical_or.reduceat(differs, offsets[:-1])
    return np.append(True, ~same)


def blocks_of_pairs(
    keys: pa.Array,
    ordinals: np.ndarray,
    *,
    max_pairs: int,
    absent_hits: float = ABSENT_HITS,
    counts: np.ndarray | None = None,
    whole: bool = False,
) -> Iterator[Blocks]:
    """Cut pairs in any order into blocks of bounded size.

    Args:
        keys: Key codes, ``int64`` or ``binary``, without nulls.
        ordinals: One unit a key, int32, not negative.
        max_pairs: As for :class:`BlockBuilder`. Byte strings without a text code take more memory,
            so their limit is an eighth of it.
        absent_hits: As for :func:`build_blocks`.
        counts: Array to which the number of distinct pairs of each unit is added, int64.
        whole: Whether every key, a byte string, must be the separator of a block.

    Yields:
        Blocks in key order. No two of them share a key.
    """
    if len(keys) == 0:
        return
    codes, units, text = (
        (*sort_pairs(keys, ordinals), None) if whole else code_pairs(keys, ordinals)
    )
    if counts is not None:
        counts += np.bincount(units, minlength=len(counts))
    top = None if text is None else pc.max(keys).as_py()
    if codes.type == pa.binary():
        max_pairs = max(1, max_pairs // _OF_STRINGS)
    builder = BlockBuilder(
        max_pairs=max_pairs, absent_hits=absent_hits, text=text, top=top, whole=whole
    )
    yield from builder.push(codes, units)
    yield from builder.finish()


class BlockBuilder:
    """Cuts a stream of sorted pairs into blocks of bounded size.

    No two of the resulting blocks share a key.

    Args:
        max_pairs: How many pairs one :class:`Blocks` may hold. A single key with more pairs is kept
            whole.
        absent_hits: As for :func:`build_blocks`.
        text: The text code, if the keys are codes, with the keys themselves.
        top: A string that is not below any of the keys, if they are codes.
        whole: As for :func:`blocks_of_pairs`.
    """

    def __init__(
        self,
        *,
        max_pairs: int,
        absent_hits: float = ABSENT_HITS,
        text: PairText | None = None,
        top: bytes | None = None,
        whole: bool = False,
    ) -> None:
        self._max_pairs = max_pairs
        self._absent_hits = absent_hits
        self._text = text
        self._top = top
        self._whole = whole
        self._keys: list[pa.Array] = []
        self._ordinals: list[np.ndarray] = []
        self._held = 0

    def push(self, keys: pa.Array, ordinals: np.ndarray) -> list[Blocks]:
        """Add the next chunk of sorted distinct pairs. A key may continue in the next chunk.

        Returns:
            The blocks that are finished by now.
        """
        self._hold(keys, ordinals)
        if self._held <= self._max_pairs:
            return []
        keys, ordinals = self._take()
        starts = _key_starts(keys, ordinals)
        finished: list[Blocks] = []
        at = 0
        # the last key stays, because the next chunk may continue it
        while len(ordinals) - at > self._max_pairs and at < starts[-1]:
            fitting = np.searchsorted(starts, at + self._max_pairs, side="right") - 1
            block_of = np.searchsorted(starts, at)
            cut = int(starts[max(fitting, block_of + 1)])
            finished.append(self._built(keys.slice(at, cut - at), ordinals[at:cut], keys[cut]))
            at = cut
        self._hold(keys.slice(at), ordinals[at:])
        return finished

    def finish(self) -> list[Blocks]:
        """Return the blocks of the remaining pairs, if there are any."""
        return [self._built(*self._take(), None)] if self._held else []

    def _built(self, keys: pa.Array, ordinals: np.ndarray, behind: pa.Scalar | None) -> Blocks:
        top = self._top
        text = None if self._text is None else self._text.code
        if text is not None and behind is not None:
            top = text.decode(np.array([behind.as_py()]))[0].as_py()
        blocks, _, _ = build_runs(
            keys,
            ordinals,
            absent_hits=self._absent_hits,
            text=text,
            top=top,
            whole=self._whole,
        )
        return replace(blocks, ends=self._ends(keys, blocks.key_count))

    def _ends(self, keys: pa.Array, count: int) -> EndKeys:
        """Return the first and the last of some sorted keys, each of which may occur many times."""
        starts = np.flatnonzero(np.append(True, key_steps(keys)[0]))
        first, last = (
            keys.take(pa.array(at)) for at in (starts[:MOST_END_KEYS], starts[-MOST_END_KEYS:])
        )
        if self._text is not None:
            first, last = (self._text.originals(some.to_numpy()) for some in (first, last))
        return EndKeys.of(first, last, count)

    def _hold(self, keys: pa.Array, ordinals: np.ndarray) -> None:
        if len(keys):
            self._keys.append(keys)
            self._ordinals.append(ordinals)
            self._held += len(keys)

    def _take(self) -> tuple[pa.Array, np.ndarray]:
        keys, ordinals = self._keys[0], self._ordinals[0]
        if len(self._keys) > 1:
            keys, ordinals = pa.concat_arrays(self._keys), np.concatenate(self._ordinals)
        self._keys, self._ordinals, self._held = [], [], 0
        return keys, ordinals
