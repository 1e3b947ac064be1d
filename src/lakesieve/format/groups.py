"""Row groups of a segment: some thousand blocks as a handful of streams."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import InvalidInputError
from lakesieve.format.streams import StreamError, decode_stream, encode_stream
from lakesieve.sieve import Blocks, front_coded, front_decoded, prefix_ends, with_gaps

if TYPE_CHECKING:
    from lakesieve.sieve import TextCode

__all__ = ["LONGEST_SEPARATOR", "MOST_BLOCKS", "decode_group", "encode_group"]

MOST_BLOCKS = 1 << 20
MOST_ORDINALS = 1 << 24
MOST_BYTES = 1 << 24
LONGEST_SEPARATOR = 1 << 20

# how sets are stored, low bits that integer separators lack, blocks without the gaps after them
_HEADER = struct.Struct("<BBI")
_LISTS, _BITMAPS = 0, 1
# bitmaps are tried where sets hold more than one unit in so many
_SPARSE = 24
_CROWDED = 1 / 16


def encode_group(keys: pa.Array, offsets: np.ndarray, ordinals: np.ndarray, units: int) -> bytes:
    """Write some blocks.

    Args:
        keys: Separators, ``int64`` or ``binary``.
        offsets: Where each set starts in ``ordinals``, one more than keys.
        ordinals: The sets.
        units: Units that the ordinals count.
    """
    lengths = np.diff(offsets)
    gap = np.zeros(len(keys), bool)
    # an empty block after one that is not is stored as the end of that one
    gap[1:] = (lengths[1:] == 0) & (lengths[:-1] > 0)
    if keys.type == pa.binary():
        gap[1:] &= _ends_prefix(keys)
        low_bits, streams = 0, _byte_streams(keys, gap)
    else:
        steps = np.diff(keys.to_numpy().view(np.uint64))
        gap[1:] &= steps < np.uint64(2**64 - 1)  # whose span is one more
        low_bits, streams = _int_streams(keys.to_numpy(), gap)
    sets = ordinals[offsets[0] : offsets[-1]]
    kind, coded = _set_streams(lengths[~gap], sets, units)
    return b"".join((_HEADER.pack(kind, low_bits, int((~gap).sum())), *streams, *coded))


def decode_group(
    data: bytes,
    *,
    count: int,
    units: int,
    text: TextCode | None,
    bytewise: bool,
    max_key: int | bytes,
) -> Blocks:
    """Read some blocks.

    Args:
        data: As :func:`encode_group` wrote it.
        count: How many blocks there must be.
        units: Units that the ordinals count.
        text: The text code of the separators, if they have one.
        bytewise: Whether the separators are byte strings.
        max_key: The last code that the blocks answer for.

    Raises:
        StreamError: The bytes contradict themselves.
    """
    if len(data) < _HEADER.size or not 0 < count <= MOST_BLOCKS:
        raise StreamError("it is cut off")
    kind, low_bits, rows = _HEADER.unpack_from(data)
    if kind not in {_LISTS, _BITMAPS} or low_bits > 63 or not 0 < rows <= count:
        raise StreamError("its header is none")
    reader = _Reader(memoryview(data), _HEADER.size)
    if bytewise:
        keys, gaps, ends = _byte_keys(reader, rows)
    else:
        keys, gaps, ends = _int_keys(reader, rows, low_bits)
    lengths, ordinals = (_lists if kind == _LISTS else _bitmaps)(reader, rows, units)
    separators, offsets = with_gaps(keys, lengths, gaps, ends)
    if len(separators) != count or reader.at != len(data):
        raise StreamError("it holds another number of blocks")
    blocks = Blocks(
        keys=separators,
        offsets=offsets,
        ordinals=ordinals,
        max_key=max_key,
        bounds=(separators[0].as_py(), max_key),
        key_count=0,
        pair_count=0,
        text=text,
    )
    try:
        blocks.validate()
    except InvalidInputError as error:
        raise StreamError(error.message) from error
    return blocks


class _Reader:
    """Reads streams one after the other."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self.at = at

    def next(self, expected: int) -> np.ndarray:
        values, self.at = decode_stream(self._data, self.at, expected)
        return values

    def small(self, expected: int, limit: int) -> np.ndarray:
        """Values of which none is above a limit, int64."""
        values = self.next(expected)
        if len(values) and int(values.max()) > limit:
            raise StreamError("a value is too great")
        return values.astype(np.int64)


def _int_streams(keys: np.ndarray, gap: np.ndarray) -> tuple[int, list[bytes]]:
    own = keys[~gap]
    bits = _shared_zero_bits(own)
    mask = np.int64((1 << bits) - 1)
    units = own >> bits
    ended = np.flatnonzero(gap) - 1
    place = np.cumsum(~gap)[ended] - 1
    spans = np.zeros(len(own), np.uint64)
    spans[place] = ((keys[ended + 1] >> bits).view(np.uint64) - units[place].view(np.uint64)) + 1
    steps = np.diff(units.view(np.uint64))
    first = np.array([units[0]]).view(np.uint64)
    streams = [first, steps, own & mask, spans, keys[ended + 1] & mask]
    return bits, [encode_stream(values.view(np.uint64)) for values in streams]


def _shared_zero_bits(keys: np.ndarray) -> int:
    """Low bits that are zero in nearly all keys."""
    words = keys.view(np.uint64)
    bits = 0
    while bits < 62 and np.count_nonzero(words & np.uint64((2 << bits) - 1)) <= _CROWDED * len(
        words
    ):
        bits += 1
    return bits


def _int_keys(reader: _Reader, rows: int, bits: int) -> tuple[pa.Array, np.ndarray, pa.Array]:
    first = reader.next(1)
    steps = np.concatenate((first, reader.next(rows - 1)))
    units: np.ndarray = np.cumsum(steps, dtype=np.uint64)
    low = reader.next(rows)
    spans = reader.next(rows)
    gaps = np.flatnonzero(spans)
    end_low = reader.next(len(gaps))
    if int((low | (end_low.max() if len(gaps) else np.uint64(0))).max()) >> bits:
        raise StreamError("low bits are too great")
    ends: np.ndarray = units[gaps] + (spans[gaps] - np.uint64(1))
    shift = np.uint64(bits)
    keys = ((units << shift) | low).view(np.int64)
    return pa.array(keys), gaps, pa.array(((ends << shift) | end_low).view(np.int64))


def _ends_prefix(keys: pa.Array) -> np.ndarray:
    """Whether each separator but the first is the end of the prefix before it."""
    ends, told = prefix_ends(keys.slice(0, len(keys) - 1))
    following = keys.slice(1)
    ended: np.ndarray = told & pc.equal(ends, following).to_numpy(zero_copy_only=False)
    return ended


def _byte_streams(keys: pa.Array, gap: np.ndarray) -> list[bytes]:
    shared, rest, data = front_coded(keys.filter(pa.array(~gap)))
    spans = np.zeros(len(keys), np.uint64)
    spans[np.flatnonzero(gap) - 1] = 1
    streams = [shared, rest, data, spans[~gap]]
    return [encode_stream(values.astype(np.uint64)) for values in streams]


def _byte_keys(reader: _Reader, rows: int) -> tuple[pa.Array, np.ndarray, pa.Array]:
    shared = reader.small(rows, LONGEST_SEPARATOR)
    rest = reader.small(rows, LONGEST_SEPARATOR)
    lengths = shared + rest
    if int(lengths.max()) > LONGEST_SEPARATOR or int(lengths.sum()) > MOST_BYTES:
        raise StreamError("its separators are too long")
    if shared[0] or (shared[1:] > lengths[:-1]).any():
        raise StreamError("a separator shares more than there is")
    data = reader.small(int(rest.sum()), 255).astype(np.uint8)
    keys = front_decoded(shared, rest, data)
    gaps = np.flatnonzero(reader.small(rows, 1))
    ends, told = prefix_ends(keys.take(pa.array(gaps)))
    if not told.all():
        raise StreamError("a prefix has no end")
    return keys, gaps, ends


def _set_streams(lengths: np.ndarray, sets: np.ndarray, units: int) -> tuple[int, list[bytes]]:
    starts = np.cumsum(lengths) - lengths
    filled = lengths > 0
    inner = np.ones(len(sets), bool)
    inner[starts[filled]] = False
    first = np.zeros(len(lengths), np.int64)
    first[filled] = sets[starts[filled]]
    gaps = np.diff(sets, prepend=np.int32(0))[inner] - 1
    lists = [encode_stream(values.astype(np.uint64)) for values in (lengths, first, gaps)]
    if len(sets) * _SPARSE < len(lengths) * units:
        return _LISTS, lists
    width = (units + 7) // 8
    bits = np.zeros((len(lengths), 8 * width), bool)
    bits[np.repeat(np.arange(len(lengths)), lengths), sets] = True
    bitmaps = [encode_stream(np.packbits(bits, axis=1).ravel().astype(np.uint64))]
    if sum(map(len, bitmaps)) < sum(map(len, lists)):
        return _BITMAPS, bitmaps
    return _LISTS, lists


def _lists(reader: _Reader, rows: int, units: int) -> tuple[np.ndarray, np.ndarray]:
    lengths = reader.small(rows, units)
    first = reader.small(rows, max(units - 1, 0))
    filled = lengths > 0
    total = int(lengths.sum())
    if total > MOST_ORDINALS:
        raise StreamError("sets are too large")
    steps = np.empty(total, np.int64)
    heads = (np.cumsum(lengths) - lengths)[filled]
    inner = np.ones(total, bool)
    inner[heads] = False
    steps[inner] = reader.small(total - len(heads), max(units - 1, 0)) + 1
    steps[heads] = first[filled]
    sums = np.cumsum(steps)
    # each set starts anew: take off what had been summed before its head
    before = sums[heads] - steps[heads]
    ordinals = sums - np.repeat(before, lengths[filled])
    if total and int(ordinals.max()) >= units:
        raise StreamError("it names a file that is not there")
    return lengths, ordinals.astype(np.int32)


def _bitmaps(reader: _Reader, rows: int, units: int) -> tuple[np.ndarray, np.ndarray]:
    width = (units + 7) // 8
    if rows * width * 8 > MOST_ORDINALS:
        raise StreamError("sets are too large")
    packed = reader.small(rows * width, 255).astype(np.uint8)
    bits = np.unpackbits(packed.reshape(rows, width), axis=1)
    if bits[:, units:].any():
        raise StreamError("it names a file that is not there")
    row, ordinals = np.nonzero(bits)
    return np.bincount(row, minlength=rows).astype(np.int64), ordinals.astype(np.int32)
