"""Merge lists of blocks into one, with units renumbered or dropped, without reading data."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.sieve.blocks import Blocks, slice_indices
from lakesieve.sieve.build import differing_sets
from lakesieve.sieve.byte_order import byte_views, bytewise_order
from lakesieve.sieve.keys import HIGHEST
from lakesieve.sieve.order import ascending_order
from lakesieve.sieve.pairs import sort_pairs
from lakesieve.sieve.text import TextCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lakesieve.sieve.keys import Code

# most pairs in memory while sets are united
_PAIRS = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Chunk:
    """Adjacent blocks of one list.

    Args:
        end: The code after the last block; ``None`` is after all codes.
    """

    keys: pa.Array
    offsets: np.ndarray
    ordinals: np.ndarray
    end: Code | None

    def split(self, cut: Code) -> tuple[_Chunk | None, _Chunk | None]:
        """Return the parts before a code, and from the code on."""
        count = len(self.keys)
        at = bisect.bisect_left(range(count), cut, key=lambda i: self.keys[i].as_py())
        before = None
        if at:
            end = cut if self.end is None else min(self.end, cut)
            before = replace(
                self, keys=self.keys.slice(0, at), offsets=self.offsets[: at + 1], end=end
            )
        if self.end is not None and self.end <= cut:  # type: ignore[operator]
            return before, None
        if at < count and self.keys[at].as_py() == cut:
            since = replace(self, keys=self.keys.slice(at), offsets=self.offsets[at:])
        elif at == 0:
            since = self
        else:
            # the block that holds the cut continues after it
            keys = pa.concat_arrays([pa.array([cut], self.keys.type), self.keys.slice(at)])
            since = replace(self, keys=keys, offsets=self.offsets[at - 1 :])
        return before, since


def merge_blocks(chunks: Sequence[Blocks], ordinals: Sequence[np.ndarray]) -> Blocks | None:
    """Merge several lists of blocks into one that gives the same answers.

    The caller gives every list's units their new ordinals.

    Args:
        chunks: Blocks of keys of one physical type. Their key ranges may overlap.
        ordinals: For each chunk, the new ordinal by old ordinal; -1 drops the unit.

    Returns:
        The blocks, exact if the chunks were: the set of a key is the union of its sets in the
        chunks, without the dropped units. ``None`` if no unit remains. The counts of keys and
        pairs are upper bounds.
    """
    merged = list(merge_streams([[chunk] for chunk in chunks], ordinals, max_ordinals=2**62))
    if not merged:
        return None
    bounds = [chunk.bounds for chunk in chunks]
    return replace(
        merged[0],
        bounds=(min(low for low, _ in bounds), max(high for _, high in bounds)),
        key_count=sum(chunk.key_count for chunk in chunks),
        pair_count=sum(chunk.pair_count for chunk in chunks),
    )


def merge_streams(
    streams: Sequence[Iterable[Blocks]],
    ordinals: Sequence[np.ndarray],
    *,
    max_ordinals: int,
    whole: bool = False,
) -> Iterator[Blocks]:
    """Merge lists of blocks of any length with bounded memory.

    Args:
        streams: For each list its blocks in order. All have one text code, and none is empty.
        ordinals: For each stream, the new ordinal by old ordinal; -1 drops the unit.
        max_ordinals: About how many ordinals one of the merged :class:`Blocks` may hold.
        whole: Whether every key, a byte string, is a separator and must remain one.

    Yields:
        Merged blocks in key order. Their counts of keys and pairs are 0.
    """
    sources = [_Source(iter(stream)) for stream in streams]
    union = TextCode.union([source.text for source in sources])
    bytewise = any(source.is_bytewise for source in sources)
    waiting: list[_Chunk] = []
    while any(source.chunk is not None for source in sources):
        cuts = [source.next_first for source in sources if source.next_first is not None]
        cut = min(cuts) if cuts else None
        parts = [(source.take(cut), new) for source, new in zip(sources, ordinals, strict=True)]
        chunks = [(chunk, new) for chunk, new in parts if chunk is not None]
        merged = _merged(chunks, bytewise=bytewise, whole=whole) if chunks else None
        if merged is not None:
            waiting.append(merged)
        if sum(len(chunk.ordinals) for chunk in waiting) >= max_ordinals:
            yield _finished(waiting, union)
            waiting = []
    if waiting:
        yield _finished(waiting, union)


class _Source:
    """A stream that keeps one list of blocks read ahead."""

    def __init__(self, stream: Iterator[Blocks]) -> None:
        self._stream = stream
        first = next(stream)
        self.text = first.text
        self.is_bytewise = first.text is not None or first.keys.type == pa.binary()
        self._ahead: Blocks | None = first
        self.chunk: _Chunk | None = None
        self._advance()

    @property
    def next_first(self) -> Code | None:
        """First code of the blocks read ahead."""
        return None if self._ahead is None else _starts(self._ahead)[0].as_py()

    def take(self, cut: Code | None) -> _Chunk | None:
        """Return the blocks before a code, and keep the rest."""
        if self.chunk is None or cut is None:
            part, self.chunk = self.chunk, None
            return part
        part, self.chunk = self.chunk.split(cut)
        if self.chunk is None or self.next_first == cut:
            self._advance()
        return part

    def _advance(self) -> None:
        if self._ahead is None:
            return
        blocks, self._ahead = self._ahead, next(self._stream, None)
        self.chunk = _Chunk(
            keys=_starts(blocks),
            offsets=blocks.offsets,
            ordinals=blocks.ordinals,
            end=_end(blocks) if self._ahead is None else self.next_first,
        )


def _plain_keys(blocks: Blocks) -> pa.Array:
    """Return the separators, as byte strings if the keys are byte strings."""
    return blocks.keys if blocks.text is None else blocks.text.decode(blocks.keys.to_numpy())


def _starts(blocks: Blocks) -> pa.Array:
    """Return the separators. The first is not below the first key, as other lists may end there."""
    keys = _plain_keys(blocks)
    low = blocks.bounds[0]
    if keys[0].as_py() >= low:
        return keys
    return pa.concat_arrays([pa.array([low], keys.type), keys.slice(1)])


def _end(blocks: Blocks) -> Code | None:
    """Return the end of a list of blocks, or ``None`` if there is no greater code.

    The end is a code above the last key. It is at most the first key of any list that comes after
    this list.
    """
    last = blocks.bounds[1]
    if isinstance(last, bytes):
        end = last + b"\0"
        if blocks.text is None or int(blocks.max_key) + 1 >= blocks.text.size:
            return end
        # decoding the bound of the text codes could give the first key of the next list
        behind: bytes = blocks.text.decode(np.array([int(blocks.max_key) + 1]))[0].as_py()
        return min(end, behind)
    return None if last == HIGHEST else last + 1


def _merged(
    chunks: Sequence[tuple[_Chunk, np.ndarray]], *, bytewise: bool, whole: bool
) -> _Chunk | None:
    keys = pa.concat_arrays([chunk.keys for chunk, _ in chunks])
    ends = [chunk.end for chunk, _ in chunks]
    bounded = [end for end in ends if end is not None]
    everything = pa.concat_arrays([keys, pa.array(bounded, keys.type)])
    if bytewise:
        order, differs = bytewise_order(everything)
    else:
        order, ascending = ascending_order(everything.to_numpy())
        differs = np.diff(ascending, prepend=0) != 0
        differs[0] = True
    # ranks of codes merge like the codes
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(differs) - 1
    behind = iter(ranks[len(keys) :].tolist())
    rank_ends = [None if end is None else next(behind) for end in ends]
    bounds = np.cumsum([len(chunk.keys) for chunk, _ in chunks])
    starts = np.split(ranks[: len(keys)], bounds[:-1])
    sizes, units = _united(chunks, starts, rank_ends, int(differs.sum()))
    filled = np.flatnonzero(sizes)
    if len(filled) == 0:
        return None
    # empty blocks at the ends are dropped
    inside = slice(filled[0], filled[-1] + 1)
    kept_ranks = np.arange(len(sizes))[inside]
    distinct = order[differs]
    behind_all = distinct[filled[-1] + 1 :][:1]
    sizes = sizes[inside]
    # equal sets of neighbours would become one block, whose separator is only the first key
    fresh = np.ones(len(sizes), bool) if whole else differing_sets(units, sizes)
    _, at = slice_indices((np.cumsum(sizes) - sizes)[fresh], sizes[fresh])
    return _Chunk(
        keys=everything.take(pa.array(distinct[kept_ranks[fresh]])),
        offsets=np.append(0, np.cumsum(sizes[fresh])),
        ordinals=units[at],
        end=everything[int(behind_all[0])].as_py() if len(behind_all) else None,
    )


def _united(
    chunks: Sequence[tuple[_Chunk, np.ndarray]],
    starts: Sequence[np.ndarray],
    ends: Sequence[int | None],
    count: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes of the united sets at every rank, and the sets one after the other."""
    ranks = np.arange(count)
    firsts, lengths = [], []
    for (chunk, _), first_ranks, end in zip(chunks, starts, ends, strict=True):
        block = np.searchsorted(first_ranks, ranks, side="right") - 1
        outside = (block < 0) | (ranks >= (count if end is None else end))
        block[outside] = 0
        firsts.append(chunk.offsets[block])
        lengths.append(np.where(outside, 0, chunk.offsets[block + 1] - chunk.offsets[block]))
    sizes = np.zeros(count, np.int64)
    units: list[np.ndarray] = [np.zeros(0, np.int32)]
    for start, end in _slices(np.sum(lengths, axis=0)):
        rows, packed = [], []
        for (chunk, new), first, length in zip(chunks, firsts, lengths, strict=True):
            _, at = slice_indices(first[start:end], length[start:end])
            mapped = new[chunk.ordinals[at]]
            alive = mapped >= 0
            rows.append(np.repeat(ranks[start:end], length[start:end])[alive])
            packed.append(mapped[alive].astype(np.int32))
        row, unit = sort_pairs(pa.array(np.concatenate(rows)), np.concatenate(packed))
        sizes += np.bincount(row.to_numpy(), minlength=count)
        units.append(unit)
    return sizes, np.concatenate(units)


def _slices(costs: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield slices of rows of bounded cost."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        used = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, used + _PAIRS, side="right")), start + 1)
        yield start, end
        start = end


def _finished(chunks: Sequence[_Chunk], union: TextCode | None) -> Blocks:
    """Join ordered parts into blocks, with a text code if one is possible."""
    keys, lengths = _joined(chunks)
    end = chunks[-1].end
    last = end if isinstance(end, bytes) else (HIGHEST + 1 if end is None else end) - 1
    blocks = Blocks(
        keys=keys,
        offsets=np.append(0, np.cumsum(lengths)),
        ordinals=np.concatenate([p.ordinals[p.offsets[0] : p.offsets[-1]] for p in chunks]),
        max_key=last,
        bounds=(keys[0].as_py(), last),
        key_count=0,
        pair_count=0,
    )
    return blocks if union is None else _coded(blocks, union)


def _joined(chunks: Sequence[_Chunk]) -> tuple[pa.Array, np.ndarray]:
    """Return separators and set sizes of ordered chunks, with empty blocks between them."""
    keys, lengths = [chunks[0].keys], [np.diff(chunks[0].offsets)]
    for before, chunk in itertools.pairwise(chunks):
        if before.end != chunk.keys[0].as_py():
            keys.append(pa.array([before.end], chunk.keys.type))
            lengths.append(np.zeros(1, np.int64))
        keys.append(chunk.keys)
        lengths.append(np.diff(chunk.offsets))
    return pa.concat_arrays(keys), np.concatenate(lengths)


def _coded(blocks: Blocks, text: TextCode) -> Blocks:
    """Put blocks of byte strings under a text code, if their separators stay distinct."""
    codes, is_known, _ = text.encode(pa.concat_arrays([blocks.keys, pa.array([blocks.max_key])]))
    codes, last = codes[:-1], int(codes[-1])
    is_known = is_known[:-1]
    _, _, lengths = byte_views(blocks.keys)
    # a separator longer than the code reaches would take keys of the block before it
    exact = ~is_known | (lengths <= text.reach(blocks.keys))
    codes = np.where(is_known, codes, np.minimum(codes, HIGHEST - 1) + 1)
    if not (exact.all() and (codes[1:] > codes[:-1]).all()):
        return blocks
    return replace(blocks, keys=pa.array(codes), max_key=max(last, int(codes[-1])), text=text)
