"""Find the units that can hold given keys, by binary search over separators."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.blocks import slice_indices
from lakesieve.sieve.byte_order import CODE_LIMIT
from lakesieve.sieve.words import LONGEST_WORD

if TYPE_CHECKING:
    from lakesieve.sieve.blocks import Blocks
    from lakesieve.sieve.range_set import RangeSet
    from lakesieve.sieve.words import WordPart

# reading one key by its index costs as much as reading this many keys at once
_SCALAR_COST = 16

# marking ordinals in an array beats sorting, up to this many units for each ordinal
_MARKED = 16


def lookup_ranges(blocks: Blocks, ranges: RangeSet) -> np.ndarray:
    """Return the units that can hold a key of any of the ranges.

    A block matches if any code that it covers lies in a range, even if only absent keys do.

    Returns:
        Ascending distinct ordinals, int32.
    """
    if len(blocks) == 0 or len(ranges.lows) == 0:
        return np.zeros(0, np.int32)
    if len(ranges.lows) == 1:
        return lookup_range(blocks, ranges.lows[0], ranges.highs[0])
    first, last = _touched(blocks, ranges)
    nonempty = first < last
    first, last = first[nonempty], last[nonempty]
    # neighbouring ranges may share a block: join them, then read slices of the sets
    ends = np.maximum.accumulate(last)
    first[1:] = np.maximum(first[1:], ends[:-1])
    starts = blocks.offsets[first]
    _, at = slice_indices(starts, blocks.offsets[np.maximum(first, ends)] - starts)
    return distinct(blocks.ordinals[at])


def lookup_range(blocks: Blocks, low: Any, high: Any) -> np.ndarray:
    """Look up a single range, without the work that only many ranges need.

    For integers, ``high`` is the last code, included. For bytes, it is the excluded end, or
    ``None`` for no end.
    """
    codes = blocks.codes
    if codes is None:
        first, last = _overlapping_in_bytes(blocks, low, high)
    else:
        behind = int(codes.searchsorted(low, "right"))
        last = behind if high == low else int(codes.searchsorted(high, "right"))
        first = behind - 1 if behind else 0
    if last <= first or low > blocks.max_key:
        return blocks.ordinals[:0]
    # plain integers slice faster than numpy's own
    units = blocks.ordinals[blocks.offsets.item(first) : blocks.offsets.item(last)]
    return units if last - first == 1 else distinct(units)


def _overlapping_in_bytes(blocks: Blocks, low: bytes, high: bytes | None) -> tuple[int, int]:
    """Return the first block that overlaps a range of byte strings, and the end of these blocks."""
    key, count = blocks.text_at, len(blocks)
    first = max(bisect.bisect_right(range(count), low, key=key) - 1, 0)
    last = count
    if high is not None:
        # most ranges end in the block where they begin
        near = first + 1 == count or key(first + 1) >= high
        last = first + 1 if near else bisect.bisect_left(range(count), high, lo=first, key=key)
        last = last if key(first) < high else first
    return first, last


def distinct(ordinals: np.ndarray) -> np.ndarray:
    """Return ascending distinct ordinals."""
    if len(ordinals) == 0:
        return ordinals
    top = int(ordinals.max())
    if top > _MARKED * len(ordinals):
        return np.unique(ordinals)
    marked = np.zeros(top + 1, bool)
    marked[ordinals] = True
    return np.flatnonzero(marked).astype(np.int32)


def chosen_units(chosen: np.ndarray, offsets: np.ndarray, ordinals: np.ndarray) -> np.ndarray:
    """Return how many units of each set are chosen.

    Args:
        chosen: For each unit, whether it is chosen.
        offsets: The start of each set among the ordinals, and the end of the last set.
        ordinals: The units of the sets, one set after the other.
    """
    counted = np.concatenate(([0], np.cumsum(chosen[ordinals])))
    return np.diff(counted[offsets])


def _touched(blocks: Blocks, ranges: RangeSet) -> tuple[np.ndarray, np.ndarray]:
    """Return the half-open slice of blocks that overlaps each range."""
    if blocks.codes is not None:
        first = np.searchsorted(blocks.codes, ranges.lows, side="right") - 1
        last = np.searchsorted(blocks.codes, ranges.highs, side="right")
        beyond = ranges.lows > blocks.max_key
    else:
        count = len(blocks)
        first = _search_bytes(blocks, ranges.lows, side="right") - 1
        ended = [high for high in ranges.highs if high is not None]
        last = np.full(len(first), count)
        endless = np.array([high is None for high in ranges.highs], bool)
        last[~endless] = _search_bytes(blocks, ended, side="left")
        beyond = np.array([low > blocks.max_key for low in ranges.lows], bool)
    first = np.maximum(first, 0)
    return first, np.where(beyond, first, last)


def lookup_points(blocks: Blocks, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the units of each of many keys.

    The keys have the type of the blocks' codes, or are byte strings if the blocks have a text code.
    They have no nulls and any order.

    Returns:
        Offsets (int64, one more than keys), and the sets one after the other (int32). The set of
        a key outside the first and last key, or in a gap, is empty.
    """
    if len(blocks) == 0 or len(keys) == 0:
        return np.zeros(len(keys) + 1, np.int64), np.zeros(0, np.int32)
    if blocks.text is not None:
        codes, is_known, _ = blocks.text.encode(keys)
        # no key has this code
        return lookup_codes(blocks, np.where(is_known, codes, CODE_LIMIT - 1))
    if blocks.codes is not None:
        return lookup_codes(blocks, keys.to_numpy())
    block = _search_bytes(blocks, keys.to_pylist(), side="right") - 1
    beyond = pc.greater(keys, pa.scalar(blocks.max_key, keys.type)).to_numpy(zero_copy_only=False)
    return _sets(blocks, block, beyond)


def lookup_codes(blocks: Blocks, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Look up keys by their codes, in blocks whose separators are integers.

    For byte strings, these are the text codes of strings that can be keys.
    """
    separators: np.ndarray = blocks.codes  # type: ignore[assignment]
    block = np.searchsorted(separators, codes, side="right") - 1
    return _sets(blocks, block, codes > blocks.max_key)


def _sets(blocks: Blocks, block: np.ndarray, beyond: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets of some blocks: empty before the first block, and where ``beyond`` is set."""
    outside = (block < 0) | beyond
    block = np.where(outside, 0, block)
    starts = blocks.offsets[block]
    lengths = np.where(outside, 0, blocks.offsets[block + 1] - starts)
    offsets, at = slice_indices(starts, lengths)
    return offsets, blocks.ordinals[at]


def lookup_spans(blocks: Blocks, lows: pa.Array, highs: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the units that can hold a key of each of many ranges of byte strings.

    A block matches if any code that it covers lies in the range, even if only absent keys do.
    Ranges are ``binary``, without nulls. No key equals the end of a range.

    Returns:
        Offsets (int64, one more than ranges), and the units of all blocks of each range, one after
        the other, int32. A unit may occur several times.
    """
    if len(blocks) == 0 or len(lows) == 0:
        return np.zeros(len(lows) + 1, np.int64), np.zeros(0, np.int32)
    if blocks.codes is not None and blocks.text is not None:
        # both bounds round down, because no key lies between a text and the code below it
        codes = blocks.text.encode(lows)[0]
        first = np.searchsorted(blocks.codes, codes, side="right") - 1
        last = np.searchsorted(blocks.codes, blocks.text.encode(highs)[0], side="right")
        beyond = codes > blocks.max_key
    else:
        first = _search_bytes(blocks, lows.to_pylist(), side="right") - 1
        last = _search_bytes(blocks, highs.to_pylist(), side="left")
        beyond = pc.greater(lows, pa.scalar(blocks.max_key, lows.type)).to_numpy(
            zero_copy_only=False
        )
    first = np.maximum(first, 0)
    starts = blocks.offsets[first]
    ends = blocks.offsets[np.where(beyond, first, np.maximum(first, last))]
    offsets, at = slice_indices(starts, ends - starts)
    return offsets, blocks.ordinals[at]


def _search_bytes(
    blocks: Blocks, wanted: list[bytes], *, side: Literal["left", "right"]
) -> np.ndarray:
    """Do what ``numpy.searchsorted`` does, for separators that are byte strings."""
    count = len(blocks)
    if len(wanted) * count.bit_length() * _SCALAR_COST < count:
        # a few keys: read only the separators that the search compares
        search = bisect.bisect_right if side == "right" else bisect.bisect_left
        indices = [search(range(count), text, key=blocks.text_at) for text in wanted]
        return np.array(indices, np.int64)
    targets = np.empty(len(wanted), object)
    targets[:] = wanted
    return np.searchsorted(blocks.keys.to_numpy(zero_copy_only=False), targets, side=side)


def lookup_words(blocks: Blocks, part: WordPart, ranges: RangeSet) -> np.ndarray:
    """Return the units of all keys in some ranges that contain ``part``.

    Every key is the separator of a block. A key of :data:`LONGEST_WORD` bytes may have a cut word,
    so it always matches.

    Returns:
        Ascending distinct ordinals, int32.
    """
    keys = blocks.keys
    may_be_cut = pc.greater_equal(pc.binary_length(keys), LONGEST_WORD)
    rows = np.flatnonzero(pc.or_(part.are_in(keys), may_be_cut).to_numpy(zero_copy_only=False))
    first, last = _touched(blocks, ranges)
    # a range has a block if it begins before the block and ends behind it; ranges ascend
    at = np.searchsorted(first, rows, side="right") - 1
    rows = rows[(at >= 0) & (rows < np.maximum.accumulate(last)[at])]
    starts = blocks.offsets[rows]
    _, at = slice_indices(starts, blocks.offsets[rows + 1] - starts)
    return distinct(blocks.ordinals[at])
