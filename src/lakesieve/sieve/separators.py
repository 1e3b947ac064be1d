"""Separators: choose where blocks begin and end, with as few bits as exactness allows.

A separator may lie anywhere between the last key of one block and the first key of the next. Sparse
keys allow separators of only their highest bits. A block then ends in a gap instead of at the next
block, so that an absent key finds no unit. Present keys stay exact. Suffix truncation of separators
goes back to Bayer and Unterauer, Prefix B-trees (ACM TODS 1977).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.blocks import single_offsets
from lakesieve.sieve.byte_order import byte_views, prefix_ends, prefixes, shared_with_next

# share of the keys that may share one unit of the cut separators with another key
_CROWDED = 1 / 64
# above this share of gaps, every key becomes a block of its own
_TORN = 1 / 3
_SAMPLE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cuts:
    """Result of cutting ascending distinct keys into blocks.

    Args:
        first: Index of the first key of each block.
        separators: Separator of each block.
        gaps: Indices of the blocks that are followed by a gap.
        ends: First code of each gap.
    """

    first: np.ndarray
    separators: pa.Array
    gaps: np.ndarray
    ends: pa.Array


def cut_ints(keys: np.ndarray, runs: np.ndarray, absent_hits: float) -> Cuts:
    """Cut blocks out of int64 keys.

    Args:
        keys: Strictly ascending.
        runs: Where the set of units differs from that of the key before.
        absent_hits: Share of the absent codes between the first and the last key that may fall into
            a block; 1 allows all.
    """
    absent = int(keys[-1]) - int(keys[0]) + 1 - len(keys)
    starts = runs.copy()
    starts[0] = True
    cut_after = np.zeros(len(keys), bool)
    bits = 0
    if absent and absent_hits < 1:
        bits = _spare_bits(keys, absent_hits * absent)
        empty = _unit_steps(keys, bits) - np.uint64(1)
        empty[empty == np.uint64(2**64 - 1)] = 0
        cut_after[:-1] = _wide_gaps(empty, absent_hits / 2 * absent / 2**bits)
        starts[1:] |= cut_after[:-1]
        # blocks of a few keys, cut by gaps and by sets, are less regular than the keys themselves
        starts |= np.count_nonzero(cut_after) > _TORN * len(keys)
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(keys)) - 1
    separators = short_separators(keys, first, bits)
    gaps = np.flatnonzero(cut_after[last])
    # the code after the last key's unit; a greater key follows, so it cannot overflow
    ends = ((keys[last[gaps]] >> bits) + 1) << bits
    apart = ends < separators[gaps + 1]
    return Cuts(
        first=first,
        separators=pa.array(separators),
        gaps=gaps[apart],
        ends=pa.array(ends[apart]),
    )


def _spare_bits(keys: np.ndarray, allowed: float) -> int:
    """Return how many low bits separators can leave out.

    A unit is ``2**bits`` codes. The units that hold a key may contain at most ``allowed`` absent
    codes in total, and only few units may contain more than one key.
    """
    bits = 62
    if len(keys) > 4 * _SAMPLE:
        # almost certainly, all keys need the bits that a sample of them needs
        middle = len(keys) // 2
        sample = keys[middle : middle + _SAMPLE]
        bits = min(62, _spare_bits(sample, allowed * _SAMPLE / len(keys)) + 1)
    while bits and not _is_spare(keys, bits, allowed):
        bits -= 1
    return bits


def _is_spare(keys: np.ndarray, bits: int, allowed: float) -> bool:
    crowded = int(np.count_nonzero(_unit_steps(keys, bits) == 0))
    codes_held = (len(keys) - crowded) * 2**bits
    return codes_held - len(keys) <= allowed and crowded <= _CROWDED * len(keys)


def _unit_steps(keys: np.ndarray, bits: int) -> np.ndarray:
    """Return the number of units from each key to the next, unsigned: it may exceed int64."""
    units = (keys >> bits).view(np.uint64)
    steps: np.ndarray = units[1:] - units[:-1]
    return steps


def _wide_gaps(empty: np.ndarray, allowed: float) -> np.ndarray:
    """Return the gaps to cut, so that the uncut gaps hold at most ``allowed`` units in total."""
    # rounding the bound to a power of two cuts a few gaps too many and avoids a sort
    sizes = empty.astype(np.float64)
    widths = np.frexp(sizes)[1]
    sums = np.cumsum(np.bincount(widths, weights=sizes))
    cut: np.ndarray = widths >= np.searchsorted(sums, allowed, side="right")
    return cut


def short_separators(keys: np.ndarray, first: np.ndarray, bits: int) -> np.ndarray:
    """Return first codes of blocks, without the low ``bits`` where blocks stay correct."""
    separators: np.ndarray = (keys[first] >> bits) << bits
    if len(first) < 2:
        return separators
    before = keys[first[1:] - 1]
    close = np.flatnonzero(separators[1:] <= before)
    if len(close):
        words = keys[first[1:]][close].view(np.uint64)
        highest = _highest_bit(words ^ before[close].view(np.uint64))
        separators[close + 1] = (words & ~(highest - np.uint64(1))).view(np.int64)
    return separators


def _highest_bit(words: np.ndarray) -> np.ndarray:
    smeared = words.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        smeared |= smeared >> np.uint64(shift)
    highest: np.ndarray = smeared ^ (smeared >> np.uint64(1))
    return highest


def cut_bytes(keys: pa.Array, runs: np.ndarray, absent_hits: float) -> Cuts:
    """Cut blocks out of byte strings that have no text code.

    If absent keys matter, every key is a block of its own. The block covers all strings that share
    the key's first bytes: as many as tell the key from its neighbours, and a few more.

    Args:
        keys: ``binary``, strictly ascending.
        runs: Where the set of units differs from that of the key before.
        absent_hits: As for :func:`cut_ints`, but below 1 it is a target, not a bound.
    """
    shared = shared_with_next(keys)
    if absent_hits >= 1:
        starts = runs.copy()
        starts[0] = True
        first = np.flatnonzero(starts)
        prefix_lengths = np.append(0, shared)[first] + 1
        # one byte more than the shared prefix makes a string greater than the key before it
        separators = prefixes(keys.take(pa.array(first)), prefix_lengths)
        return Cuts(first=first, separators=separators, gaps=first[:0], ends=keys[:0])
    common = np.maximum(np.append(0, shared), np.append(shared, 0))
    return _own_blocks(keys, prefixes(keys, common + 1 + _telling_bytes(keys, common, absent_hits)))


def whole_keys(keys: pa.Array) -> Cuts:
    """Make every key a block of its own, whose separator is the whole key.

    The block ends in a gap after all strings that begin with the key.
    """
    return _own_blocks(keys, keys)


def _own_blocks(keys: pa.Array, separators: pa.Array) -> Cuts:
    ends, has_gap = prefix_ends(separators.slice(0, len(keys) - 1))
    has_gap &= pc.less(ends, separators.slice(1)).to_numpy(zero_copy_only=False)
    gaps = np.flatnonzero(has_gap)
    return Cuts(
        first=np.arange(len(keys)), separators=separators, gaps=gaps, ends=ends.take(pa.array(gaps))
    )


def _telling_bytes(keys: pa.Array, common: np.ndarray, absent_hits: float) -> int:
    """Return how many more bytes make an absent string differ, assuming evenly spread bytes."""
    data, starts, lengths = byte_views(keys)
    after = common + 1
    inside = lengths > after
    kinds = len(np.unique(data[(starts + after)[inside]]))
    return math.ceil(math.log(1 / absent_hits) / math.log(max(kinds, 2)))


def with_gaps(
    separators: pa.Array, lengths: np.ndarray, gaps: np.ndarray, ends: pa.Array
) -> tuple[pa.Array, np.ndarray]:
    """Insert empty blocks, the gaps, between blocks.

    Returns:
        Separators and set offsets of all blocks.
    """
    if not len(gaps):
        if (lengths == 1).all():
            return separators, single_offsets(len(lengths))
        return separators, np.append(0, np.cumsum(lengths))
    rows = np.ones(len(separators), np.int64)
    rows[gaps] = 2
    # the set of an empty block ends where it begins
    offsets = np.append(0, np.repeat(np.cumsum(lengths), rows))
    after = gaps + np.arange(1, len(gaps) + 1)
    if separators.type == pa.int64():
        merged = np.repeat(separators.to_numpy(), rows)
        merged[after] = ends.to_numpy()
        return pa.array(merged), offsets
    indices = np.repeat(np.arange(len(separators)), rows)
    indices[after] = np.arange(len(gaps)) + len(separators)
    return pa.concat_arrays([separators, ends]).take(pa.array(indices)), offsets
