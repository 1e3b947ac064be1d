"""Kernels for many byte strings: sorting, shared prefixes, ends of prefixes, front coding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.blocks import slice_indices
from lakesieve.sieve.order import ascending_order

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = 8

# a digit is 0 for "the string ends here", or a byte plus one
END = 0
SYMBOLS = 257
CODE_LIMIT = 1 << 63
# more positions would make a code too slow to compute
POSITIONS = 128
_CACHED = 1 << 15
# a binary view stores a string of up to this length inline
_INLINED = 12
# strings longer than this are decoded one by one
_FAR = 256


def bytewise_order(
    strings: pa.Array, first: tuple[np.ndarray, int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the order that sorts strings bytewise.

    The first bytes of each string are coded as one integer, see :func:`position_codes`, and sorted.
    Only strings whose codes tie continue with the next bytes.

    Args:
        strings: ``binary``, without nulls, at least one.
        first: The codes of all strings and the number of bytes they cover, if known already.

    Returns:
        Indices, int64, with equal strings in any order; and where a string differs from the one
        before it.
    """
    count = len(strings)
    data, starts, lengths = byte_views(strings)
    order = np.arange(count)
    groups = np.zeros(count, np.int64)
    active = np.arange(count)
    skipped = len(shared_prefix(strings))
    differs = np.zeros(count, bool)
    while len(active):
        active_order = order[active]
        whole = False
        if first is not None:
            codes, skipped = first
            first = None
        else:
            # reading in memory order is faster than reading in sorted order
            rows = np.sort(active_order)
            by_row = np.empty(count, np.int64)
            by_row[rows], alphabets, whole = position_codes(
                data, starts[rows] + skipped, lengths[rows] - skipped
            )
            codes = by_row[active_order]
            skipped += len(alphabets)
        within = _sorted_within(groups[active], codes)
        order[active] = active_order[within]
        codes = codes[within]
        fresh = np.ones(len(active), bool)
        fresh[1:] = (codes[1:] != codes[:-1]) | (groups[active][1:] != groups[active][:-1])
        differs[active[fresh]] = True
        # a group's number is the first index in it, so numbers ascend and stay distinct
        groups[active] = active[fresh][np.cumsum(fresh) - 1]
        tied = ~fresh
        tied[:-1] |= ~fresh[1:]
        active = active[tied] if not whole else active[:0]
    return order, differs


def position_codes(
    data: np.ndarray, starts: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, tuple[tuple[int, ...], ...], bool]:
    """Code strings by the symbols that occur at each position, keeping their order.

    A negative length means that the string ended before the first position.

    Returns:
        One integer for each string, below 2**63; the symbols of each covered position, as many
        positions as fit; and whether equal codes mean equal strings.
    """
    alphabets: list[tuple[int, ...]] = []
    columns: list[np.ndarray] = []
    size, shortest, longest = 1, int(lengths.min()), max(int(lengths.max()), 0)
    for at in range(min(longest + 1, POSITIONS)):
        column, symbols = _column(data, starts, None if at < shortest else lengths, at)
        if size * len(symbols) >= CODE_LIMIT:
            break
        size *= len(symbols)
        alphabets.append(tuple(symbols.tolist()))
        columns.append(column if len(symbols) > 1 else column[:0])
    codes = np.zeros(len(starts), np.int64)
    weight = 1
    for alphabet, column in zip(reversed(alphabets), reversed(columns), strict=True):
        if len(column):
            steps = np.zeros(SYMBOLS, np.int64)
            steps[list(alphabet)] = np.arange(len(alphabet)) * weight
            if column.dtype == np.uint8:
                steps = steps[1:]
            for rows in cached_slices(len(column)):
                codes[rows] += steps.take(column[rows])
        weight *= len(alphabet)
    return codes, tuple(alphabets), len(alphabets) > longest


def _column(
    data: np.ndarray, starts: np.ndarray, lengths: np.ndarray | None, at: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the symbols at one position, as bytes if no string ended, and the distinct symbols."""
    if lengths is None:
        column = np.empty(len(starts), np.uint8)
        symbols = b""
        for rows in cached_slices(len(starts)):
            values = data.take(starts[rows] + at, mode="clip", out=column[rows])
            # nearly all symbols are known after the first slice
            symbols += bytes(set(values.tobytes().translate(None, symbols)))
        return column, np.array(sorted(symbols)) + 1
    column = np.empty(len(starts), np.int16)
    marks = np.zeros(SYMBOLS, bool)
    for rows in cached_slices(len(starts)):
        column[rows] = symbols_at(data, starts[rows], lengths[rows], at)
        marks[column[rows]] = True
    return column, np.flatnonzero(marks)


def cached_slices(count: int) -> Iterator[slice]:
    """Yield slices of rows whose symbols and offsets fit into a processor's cache."""
    return (slice(start, start + _CACHED) for start in range(0, count, _CACHED))


def symbols_at(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray, at: int) -> np.ndarray:
    """Return the symbol of every string at one position, ``END`` after the string's end."""
    if len(data) == 0:
        return np.zeros(len(starts), np.int16)
    symbols: np.ndarray = data.take(starts + at, mode="clip").astype(np.int16)
    symbols += 1
    symbols *= lengths > at
    return symbols


def _sorted_within(groups: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the order by group, then key. The groups ascend already."""
    order, _ = ascending_order(keys)
    if groups[0] == groups[-1]:
        return order
    within: np.ndarray = order[ascending_order(groups[order])[0]]
    return within


def shared_prefix(strings: pa.Array) -> bytes:
    """Return the longest prefix that all strings share."""
    if len(strings) == 0:
        return b""
    # all strings share what the least and the greatest of them share
    extremes = pc.min_max(strings).as_py()
    low, high = extremes["min"], extremes["max"]
    unlike = (at for at, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
    prefix: bytes = low[: next(unlike, min(len(low), len(high)))]
    return prefix


def byte_views(strings: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the memory of a ``binary`` array: its bytes, and each string's start and length."""
    if len(strings) == 0:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64)
    first = strings.offset
    offsets = np.frombuffer(strings.buffers()[1], np.int32)[first : first + len(strings) + 1]
    data = np.frombuffer(strings.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    lengths = np.diff(offsets).astype(np.int64)
    return data, offsets[:-1].astype(np.int64) - offsets[0], lengths


def shared_with_next(strings: pa.Array) -> np.ndarray:
    """Return how many leading bytes each string, except the last, shares with the next one.

    The strings are ``binary``, without nulls, strictly ascending.
    """
    data, starts, lengths = byte_views(strings)
    shared: np.ndarray = np.minimum(lengths[:-1], lengths[1:])
    active = np.arange(len(shared))
    at = len(shared_prefix(strings))
    # a view of the word at every byte; padding makes the last words readable
    padded = np.append(data, np.zeros(_WORD, np.uint8))
    words = np.ndarray((len(data) + 1,), ">u8", buffer=padded, strides=(1,))
    while len(active):
        here = np.minimum(starts[active] + at, len(data))
        there = np.minimum(starts[active + 1] + at, len(data))
        # bytes after a string's end are compared too, so the shorter length limits the result
        equal = _leading_zero_bytes(words[here].astype(np.uint64) ^ words[there].astype(np.uint64))
        differs = equal < _WORD
        shared[active[differs]] = np.minimum(shared[active[differs]], at + equal[differs])
        at += _WORD
        active = active[~differs & (shared[active] > at)]
    return shared


def _leading_zero_bytes(words: np.ndarray) -> np.ndarray:
    count = np.zeros(len(words), np.int64)
    for width in range(1, _WORD + 1):
        count += words < np.uint64(1) << np.uint64(64 - 8 * width) if width < _WORD else words == 0
    return count


def prefixes(strings: pa.Array, lengths: np.ndarray) -> pa.Array:
    """Return the first ``lengths`` bytes of each string, or the whole string if it is shorter."""
    data, starts, starts_of = byte_views(strings)
    return substrings(data, starts, np.minimum(lengths, starts_of)).cast(pa.binary())


def substrings(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> pa.Array:
    """Return slices of a buffer as a ``binary_view`` array, without copying long strings."""
    # a view is the length, then either all bytes of a short string, or the first four bytes, the
    # buffer's number and the offset in it
    views = np.zeros((len(starts), 4), np.int32)
    views[:, 0] = lengths
    long = np.flatnonzero(lengths > _INLINED)
    if len(long):
        words = np.ndarray((len(data) - 3,), "<i4", buffer=data, strides=(1,))
        views[long, 1] = words[starts[long]]
        views[long, 3] = starts[long]
    inlined = views.view(np.uint8).reshape(-1, 16)
    short = np.flatnonzero(lengths <= _INLINED)
    for at in range(int(lengths[short].max(initial=0))):
        having = short[lengths[short] > at]
        inlined[having, 4 + at] = data[starts[having] + at]
    buffers = [None, pa.py_buffer(views), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary_view(), len(starts), buffers)


def prefix_ends(prefixes: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the end of each prefix: the least string above all strings that begin with it.

    A prefix that is empty or has only bytes 0xFF has no end.
    """
    data, starts, lengths = byte_views(prefixes)
    ends = starts + lengths
    raised = data.copy()
    is_prefix = lengths > 0
    is_prefix[is_prefix] = raised[ends[is_prefix] - 1] < 255
    raised[ends[is_prefix] - 1] += 1
    return binary_array(np.append(0, ends), raised), is_prefix


def binary_array(offsets: np.ndarray, data: np.ndarray) -> pa.Array:
    """Return a ``binary`` array over existing memory.

    Args:
        offsets: Start of each string, then the end of the last; int32.
        data: The bytes of all strings, uint8.
    """
    return pa.Array.from_buffers(
        pa.binary(),
        len(offsets) - 1,
        [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))],
    )


def front_coded(strings: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Front-code ascending strings: drop the bytes that each shares with the one before it.

    Returns:
        The number of shared bytes and of added bytes of each string, and all added bytes.
    """
    data, starts, lengths = byte_views(strings)
    shared = np.append(0, shared_with_next(strings))
    _, at = slice_indices(starts + shared, lengths - shared)
    return shared, lengths - shared, data[at]


def front_decoded(shared: np.ndarray, added: np.ndarray, data: np.ndarray) -> pa.Array:
    """Decode what :func:`front_coded` wrote.

    The caller has checked that no string shares more bytes than the string before it has.

    Args:
        shared: Number of bytes that each string shares with the one before it, int64.
        added: Number of bytes that each string adds, int64.
        data: The added bytes, one string after the other, uint8.
    """
    lengths = shared + added
    if int(lengths.max(initial=0)) > _FAR:
        return _front_decoded_one_by_one(shared, added, data)
    offsets = np.append(0, np.cumsum(lengths))
    out = np.empty(offsets[-1], np.uint8)
    starts = np.cumsum(added) - added
    out[np.repeat(offsets[:-1] + shared - starts, added) + np.arange(len(data))] = data
    for at in range(int(shared.max(initial=0))):
        # a byte comes from the latest string that added this position itself
        added_here = shared <= at
        latest = np.flatnonzero(added_here)[np.cumsum(added_here) - 1]
        rows = np.flatnonzero(~added_here)
        out[offsets[rows] + at] = out[offsets[latest[rows]] + at]
    return binary_array(offsets, out)


def _front_decoded_one_by_one(shared: np.ndarray, added: np.ndarray, data: np.ndarray) -> pa.Array:
    """Decode strings one by one.

    For long strings this is faster than :func:`front_decoded`, which makes one pass over all
    strings for each byte position.
    """
    rest, at, text = data.tobytes(), 0, b""
    strings: list[bytes] = []
    for prefix_length, new in zip(shared.tolist(), added.tolist(), strict=True):
        text = text[:prefix_length] + rest[at : at + new]
        at += new
        strings.append(text)
    return pa.array(strings, pa.binary())
