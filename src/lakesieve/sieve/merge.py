"""Merging of blocks: many lists of blocks as one, units renumbered or dropped, no data read."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.sieve.blocks import Blocks
from lakesieve.sieve.build import differing_sets
from lakesieve.sieve.byte_order import byte_views, bytewise_order
from lakesieve.sieve.order import ascending_order
from lakesieve.sieve.pairs import sort_pairs
from lakesieve.sieve.slices import slice_indices
from lakesieve.sieve.text import TextCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["merge_blocks", "merge_streams"]

Code = int | bytes

# pairs held at once while sets are united
_PAIRS = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """Adjacent blocks of one list.

    Args:
        keys: Separators, ``int64`` or ``binary``.
        offsets: Of their sets.
        ordinals: The sets.
        end: The code behind them; ``None`` is behind all codes.
    """

    keys: pa.Array
    offsets: np.ndarray
    ordinals: np.ndarray
    end: Code | None

    def split(self, cut: Code) -> tuple[_Part | None, _Part | None]:
        """What lies before a code, and what lies from it on."""
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
            # the block that holds the code goes on behind it
            keys = pa.concat_arrays([pa.array([cut], self.keys.type), self.keys.slice(at)])
            since = replace(self, keys=keys, offsets=self.offsets[at - 1 :])
        return before, since


def merge_blocks(parts: Sequence[Blocks], ordinals: Sequence[np.ndarray]) -> Blocks | None:
    """Make one list of blocks that answers like several together.

    Args:
        parts: Blocks of keys of one physical type, whose key ranges may overlap.
        ordinals: For each part, by old ordinal, the new one; -1 drops the unit.

    Returns:
        The blocks, exact where the parts were: a key gets the union of what the parts say of it,
        less the dropped units. ``None`` when no unit is left. The counts of keys and pairs are
        upper bounds.
    """
    merged = list(merge_streams([[part] for part in parts], ordinals, max_ordinals=2**62))
    if not merged:
        return None
    bounds = [part.bounds for part in parts]
    return replace(
        merged[0],
        bounds=(min(low for low, _ in bounds), max(high for _, high in bounds)),
        key_count=sum(part.key_count for part in parts),
        pair_count=sum(part.pair_count for part in parts),
    )


def merge_streams(
    streams: Sequence[Iterable[Blocks]], ordinals: Sequence[np.ndarray], *, max_ordinals: int
) -> Iterator[Blocks]:
    """Merge lists of blocks of any length with bounded memory.

    Args:
        streams: Each the blocks of one list, in order, all of one text code; none of them empty.
        ordinals: For each stream, by old ordinal, the new one; -1 drops the unit.
        max_ordinals: About how many ordinals one of the merged :class:`Blocks` may hold.

    Yields:
        Merged blocks in order. Their counts of keys and pairs are 0.
    """
    sources = [_Source(iter(stream)) for stream in streams]
    union = TextCode.union([source.text for source in sources])
    bytewise = any(source.is_bytewise for source in sources)
    held: list[_Part] = []
    while any(source.part is not None for source in sources):
        cuts = [source.next_first for source in sources if source.next_first is not None]
        cut = min(cuts) if cuts else None
        taken = [(source.take(cut), new) for source, new in zip(sources, ordinals, strict=True)]
        parts = [(part, new) for part, new in taken if part is not None]
        merged = _merged(parts, bytewise=bytewise) if parts else None
        if merged is not None:
            held.append(merged)
        if sum(len(part.ordinals) for part in held) >= max_ordinals:
            yield _finished(held, union)
            held = []
    if held:
        yield _finished(held, union)


class _Source:
    """One stream, a list of blocks ahead."""

    def __init__(self, stream: Iterator[Blocks]) -> None:
        self._stream = stream
        first = next(stream)
        self.text = first.text
        self.is_bytewise = first.text is not None or first.keys.type == pa.binary()
        self._ahead: Blocks | None = first
        self.part: _Part | None = None
        self._advance()

    @property
    def next_first(self) -> Code | None:
        """First code of the blocks ahead."""
        return None if self._ahead is None else _starts(self._ahead)[0].as_py()

    def take(self, cut: Code | None) -> _Part | None:
        """Give what lies before a code and keep the rest."""
        if self.part is None or cut is None:
            taken, self.part = self.part, None
            return taken
        taken, self.part = self.part.split(cut)
        if self.part is None or self.next_first == cut:
            self._advance()
        return taken

    def _advance(self) -> None:
        if self._ahead is None:
            return
        blocks, self._ahead = self._ahead, next(self._stream, None)
        self.part = _Part(
            keys=_starts(blocks),
            offsets=blocks.offsets,
            ordinals=blocks.ordinals,
            end=_end(blocks) if self._ahead is None else self.next_first,
        )


def _plain_keys(blocks: Blocks) -> pa.Array:
    """Separators, byte strings where the keys are."""
    return blocks.keys if blocks.text is None else blocks.text.decode(blocks.keys.to_numpy())


def _starts(blocks: Blocks) -> pa.Array:
    """Separators, the first not below the first key: what lies there may be keys of other lists."""
    keys = _plain_keys(blocks)
    low = blocks.bounds[0]
    if keys[0].as_py() >= low:
        return keys
    return pa.concat_arrays([pa.array([low], keys.type), keys.slice(1)])


def _end(blocks: Blocks) -> Code | None:
    """A code behind the last key, and not behind a key of another list that follows it."""
    last = blocks.bounds[1]
    if isinstance(last, bytes):
        end = last + b"\0"
        if blocks.text is None or int(blocks.max_key) + 1 >= blocks.text.size:
            return end
        # the bound of text codes need not be a key of this list, but the first of the next
        behind: bytes = blocks.text.decode(np.array([int(blocks.max_key) + 1]))[0].as_py()
        return min(end, behind)
    return None if last == 2**63 - 1 else last + 1


def _merged(parts: Sequence[tuple[_Part, np.ndarray]], *, bytewise: bool) -> _Part | None:
    keys = pa.concat_arrays([part.keys for part, _ in parts])
    ends = [part.end for part, _ in parts]
    known = [end for end in ends if end is not None]
    everything = pa.concat_arrays([keys, pa.array(known, keys.type)])
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
    bounds = np.cumsum([len(part.keys) for part, _ in parts])
    starts = np.split(ranks[: len(keys)], bounds[:-1])
    sizes, units = _united(parts, starts, rank_ends, int(differs.sum()))
    filled = np.flatnonzero(sizes)
    if len(filled) == 0:
        return None
    # empty blocks at the ends are none
    inside = slice(filled[0], filled[-1] + 1)
    places = np.arange(len(sizes))[inside]
    distinct = order[differs]
    behind_all = distinct[filled[-1] + 1 :][:1]
    sizes = sizes[inside]
    fresh = differing_sets(units, sizes)
    _, at = slice_indices((np.cumsum(sizes) - sizes)[fresh], sizes[fresh])
    return _Part(
        keys=everything.take(pa.array(distinct[places[fresh]])),
        offsets=np.append(0, np.cumsum(sizes[fresh])),
        ordinals=units[at],
        end=everything[int(behind_all[0])].as_py() if len(behind_all) else None,
    )


def _united(
    parts: Sequence[tuple[_Part, np.ndarray]],
    starts: Sequence[np.ndarray],
    ends: Sequence[int | None],
    count: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of the united sets at every place, and the sets one after the other.

    Args:
        parts: The blocks, and new ordinals by old.
        starts: Place of each block of each part.
        ends: First place behind each part.
        count: How many places there are.
    """
    places = np.arange(count)
    firsts, lengths = [], []
    for (part, _), own, end in zip(parts, starts, ends, strict=True):
        block = np.searchsorted(own, places, side="right") - 1
        outside = (block < 0) | (places >= (count if end is None else end))
        block[outside] = 0
        firsts.append(part.offsets[block])
        lengths.append(np.where(outside, 0, part.offsets[block + 1] - part.offsets[block]))
    sizes = np.zeros(count, np.int64)
    units: list[np.ndarray] = [np.zeros(0, np.int32)]
    for start, end in _slices(np.sum(lengths, axis=0)):
        rows, found = [], []
        for (part, new), first, length in zip(parts, firsts, lengths, strict=True):
            _, at = slice_indices(first[start:end], length[start:end])
            mapped = new[part.ordinals[at]]
            alive = mapped >= 0
            rows.append(np.repeat(places[start:end], length[start:end])[alive])
            found.append(mapped[alive].astype(np.int32))
        row, unit = sort_pairs(pa.array(np.concatenate(rows)), np.concatenate(found))
        sizes += np.bincount(row.to_numpy(), minlength=count)
        units.append(unit)
    return sizes, np.concatenate(units)


def _slices(costs: np.ndarray) -> Iterator[tuple[int, int]]:
    """Cut rows into slices of bounded cost."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        used = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, used + _PAIRS, side="right")), start + 1)
        yield start, end
        start = end


def _finished(parts: Sequence[_Part], union: TextCode | None) -> Blocks:
    """Parts in order as blocks, with a text code where there can be one."""
    keys, lengths = _joined(parts)
    end = parts[-1].end
    last = end if isinstance(end, bytes) else (2**63 if end is None else end) - 1
    blocks = Blocks(
        keys=keys,
        offsets=np.append(0, np.cumsum(lengths)),
        ordinals=np.concatenate([p.ordinals[p.offsets[0] : p.offsets[-1]] for p in parts]),
        max_key=last,
        bounds=(keys[0].as_py(), last),
        key_count=0,
        pair_count=0,
    )
    return blocks if union is None else _coded(blocks, union)


def _joined(parts: Sequence[_Part]) -> tuple[pa.Array, np.ndarray]:
    """Separators and set sizes of parts in order, with empty blocks where they are apart."""
    keys, lengths = [parts[0].keys], [np.diff(parts[0].offsets)]
    for before, part in itertools.pairwise(parts):
        if before.end != part.keys[0].as_py():
            keys.append(pa.array([before.end], part.keys.type))
            lengths.append(np.zeros(1, np.int64))
        keys.append(part.keys)
        lengths.append(np.diff(part.offsets))
    return pa.concat_arrays(keys), np.concatenate(lengths)


def _coded(blocks: Blocks, text: TextCode) -> Blocks:
    """Blocks of byte strings under a text code, where that keeps their separators apart."""
    codes, known, _ = text.encode(pa.concat_arrays([blocks.keys, pa.array([blocks.max_key])]))
    codes, last = codes[:-1], int(codes[-1])
    known = known[:-1]
    _, _, lengths = byte_views(blocks.keys)
    # one that goes on where the code ends would take keys of the block before it
    exact = ~known | (lengths <= text.reach(blocks.keys))
    codes = np.where(known, codes, np.minimum(codes, 2**63 - 2) + 1)
    if not (exact.all() and (codes[1:] > codes[:-1]).all()):
        return blocks
    return replace(blocks, keys=pa.array(codes), max_key=max(last, int(codes[-1])), text=text)
