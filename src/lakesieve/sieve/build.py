"""From pairs of a key and a unit to blocks, cut where the set of units changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.defaults import ABSENT_HITS
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.sieve.blocks import Blocks, key_steps, slice_indices
from lakesieve.sieve.pairs import code_pairs
from lakesieve.sieve.separators import Cuts, cut_bytes, cut_ints, with_gaps
from lakesieve.sieve.text import TextCode

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_STRINGS = 8


def build_blocks(
    keys: pa.Array, ordinals: np.ndarray, *, absent_hits: float = ABSENT_HITS
) -> Blocks:
    """Cut sorted distinct pairs into exact runs.

    Args:
        keys: As :func:`sort_pairs` gives them; at least one.
        ordinals: The unit of each pair.
        absent_hits: Share of the absent keys between the first and the last that may find a unit:
            for integers and text codes at most half as many again, for other strings an aim.
            Where it is 1, separators are kept whole and nothing is cut out between the keys.
    """
    return build_runs(keys, ordinals, absent_hits=absent_hits)[0]


def build_runs(
    keys: pa.Array,
    ordinals: np.ndarray,
    *,
    absent_hits: float,
    text: TextCode | None = None,
    top: bytes | None = None,
) -> tuple[Blocks, pa.Array, np.ndarray]:
    """Cut pairs as :func:`build_blocks` does, with more to go on.

    ``text`` is the text code, where the keys are codes; then ``top`` is a string not below any of
    them.

    Returns:
        The blocks; the codes of all distinct keys; the first of those in each block but the gaps.
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
    elif keys.type == pa.binary():
        coded = TextCode.fit(distinct)
        if coded is not None:
            text, codes = coded[0], pa.array(coded[1])
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
    """Return the index of each key's first pair; blocks of pairs out of order would lose units."""
    greater, equal = key_steps(keys)
    if len(keys) == 0 or not (greater | (equal & (ordinals[1:] > ordinals[:-1]))).all():
        raise InvalidInputError(
            "Blocks are built from pairs that are sorted and distinct, at least one.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Sort them with sort_pairs first.",
        )
    return np.concatenate(([0], np.flatnonzero(greater) + 1))


def differing_sets(ordinals: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return which of adjacent sets are another one than the set before; the first is.

    Returns:
        One bool a set; the first is another one.
    """
    if len(lengths) == len(ordinals) and lengths.min(initial=1) == 1:
        # one unit each, which is usual
        return np.append(True, ordinals[1:] != ordinals[:-1])
    starts = np.cumsum(lengths) - lengths
    same: np.ndarray = lengths[1:] == lengths[:-1]
    candidates = np.flatnonzero(same & (lengths[1:] > 0)) + 1
    ends = starts + lengths - 1
    alike = ordinals[starts[candidates]] == ordinals[starts[candidates - 1]]
    alike &= ordinals[ends[candidates]] == ordinals[ends[candidates - 1]]
    same[candidates - 1] = alike
    # with first, last and length alike, only sets of three or more can still differ
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
) -> Iterator[Blocks]:
    """Cut pairs in any order into blocks of bounded size.

    Args:
        keys: Key codes, ``int64`` or ``binary``, without nulls.
        ordinals: One unit a key, int32, not negative.
        max_pairs: As for :class:`BlockBuilder`; an eighth of it for byte strings that no text code
            holds, which take more memory.
        absent_hits: As for :func:`build_blocks`.
        counts: Gets the number of distinct pairs of each unit added to what it holds, int64.

    Yields:
        Blocks in order, which never share a key.
    """
    if len(keys) == 0:
        return
    codes, units, text = code_pairs(keys, ordinals)
    if counts is not None:
        counts += np.bincount(units, minlength=len(counts))
    top = None if text is None else pc.max(keys).as_py()
    if codes.type == pa.binary():
        max_pairs = max(1, max_pairs // _OF_STRINGS)
    builder = BlockBuilder(max_pairs=max_pairs, absent_hits=absent_hits, text=text, top=top)
    yield from builder.push(codes, units)
    yield from builder.finish()


class BlockBuilder:
    """Cuts a stream of sorted pairs into blocks of bounded size.

    The blocks it gives out one after the other never share a key.

    Args:
        max_pairs: How many pairs one :class:`Blocks` may hold; a single key with more pairs than
            that is still kept whole.
        absent_hits: As for :func:`build_blocks`.
        text: The text code of the keys, where they are codes.
        top: A string not below any of them then.
    """

    def __init__(
        self,
        *,
        max_pairs: int,
        absent_hits: float = ABSENT_HITS,
        text: TextCode | None = None,
        top: bytes | None = None,
    ) -> None:
        self._max_pairs = max_pairs
        self._absent_hits = absent_hits
        self._text = text
        self._top = top
        self._keys: list[pa.Array] = []
        self._ordinals: list[np.ndarray] = []
        self._held = 0

    def push(self, keys: pa.Array, ordinals: np.ndarray) -> list[Blocks]:
        """Take the next chunk of sorted distinct pairs; the pairs of a key may straddle chunks.

        Returns:
            What is finished by now.
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
            block_of = np.searchsorted(starts, at)
            cut = int(starts[max(fitting, block_of + 1)])
            done.append(self._built(keys.slice(at, cut - at), ordinals[at:cut], keys[cut]))
            at = cut
        self._hold(keys.slice(at), ordinals[at:])
        return done

    def finish(self) -> list[Blocks]:
        """Give out what is left, if anything."""
        return [self._built(*self._take(), None)] if self._held else []

    def _built(self, keys: pa.Array, ordinals: np.ndarray, behind: pa.Scalar | None) -> Blocks:
        top = self._top
        if self._text is not None and behind is not None:
            top = self._text.decode(np.array([behind.as_py()]))[0].as_py()
        blocks, _, _ = build_runs(
            keys, ordinals, absent_hits=self._absent_hits, text=self._text, top=top
        )
        return blocks

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
