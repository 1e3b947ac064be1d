"""Row groups of a segment: some thousand blocks as a handful of streams."""

from __future__ import annotations

import bisect
import struct
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import InvalidInputError
from lakesieve.format.streams import StreamError, StreamWriter, bits_a_value, decode_stream
from lakesieve.sieve import Blocks, front_coded, front_decoded, prefix_ends, with_gaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve import TextCode

__all__ = [
    "LONGEST_SEPARATOR",
    "MOST_BLOCKS",
    "MOST_BYTES",
    "MOST_ORDINALS",
    "decode_group",
    "encode_group",
]

MOST_BLOCKS = 1 << 20
MOST_ORDINALS = 1 << 24
MOST_BYTES = 1 << 24
LONGEST_SEPARATOR = 1 << 20

# how sets are stored, blocks without the gaps after them
_HEADER = struct.Struct("<BI")
_LISTS, _STEPS, _BITMAPS, _RETURNING = 0, 1, 2, 3
# lists of either kind whose units behind the first are told as they are, not by what they skip
_AS_THEY_ARE = 4
_KINDS = frozenset(range(_RETURNING + 1)) | {_LISTS | _AS_THEY_ARE, _RETURNING | _AS_THEY_ARE}
# the first unit of a set: that of the set before, that of the one before that, or another
_SAME, _RETURN, _OTHER = 0, 1, 2
# returns are tried where so many first units are told by the two sets before
_EXPECTED = 1 / 4
# ... and not compared with the units themselves where they take less than that share of these
_CLEARLY = 3 / 4
# bitmaps are tried where sets hold more than one unit in so many
_SPARSE = 24
# no longer spans are told for regularity alone
_LONG = 1 << 16
_CROWDED = 1 / 16
_MANY = 8
_SAMPLE = 4096


def encode_group(
    writer: StreamWriter,
    keys: pa.Array,
    offsets: np.ndarray,
    ordinals: np.ndarray,
    units: int,
) -> bytes:
    """Write some blocks.

    Args:
        writer: Writes the streams of all row groups of a segment.
        keys: Separators, ``int64`` or ``binary``.
        offsets: Where each set starts in ``ordinals``, one more than keys.
        ordinals: The sets.
        units: Units that the ordinals count.
    """
    lengths = np.diff(offsets)
    # an empty block after one that is not is stored as the end of that one
    gap = np.append(False, (lengths[1:] == 0) & (lengths[:-1] > 0))
    if keys.type == pa.binary():
        empty = np.flatnonzero(gap)
        gap[empty] = _end_prefixes(keys.take(pa.array(empty - 1)), keys.take(pa.array(empty)))
    elif len(keys) == 2:
        # a span is one more than the step: from the least code to the greatest it is no word
        gap[1] &= keys[1].as_py() - keys[0].as_py() < 2**64 - 1
    own, gaps = np.flatnonzero(~gap), np.flatnonzero(gap)
    ended = gaps - np.arange(1, len(gaps) + 1)
    if keys.type == pa.binary():
        streams = _byte_streams(writer, keys.take(pa.array(own)), ended)
    else:
        words = keys.to_numpy().view(np.uint64)
        streams = _int_streams(writer, words.take(own), ended, words.take(gaps))
    sets = ordinals[offsets[0] : offsets[-1]]
    kind, coded = _set_streams(writer, lengths.take(own), sets, units)
    return b"".join((_HEADER.pack(kind, len(own)), *streams, *coded))


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
    kind, rows = _HEADER.unpack_from(data)
    if kind not in _KINDS or not 0 < rows <= count:
        raise StreamError("its header is none")
    reader = _Reader(memoryview(data), _HEADER.size)
    if bytewise:
        keys, gaps, ends = _byte_keys(reader, rows)
    else:
        keys, gaps, ends = _int_keys(reader, rows)
    if kind == _BITMAPS:
        lengths, ordinals = _bitmaps(reader, rows, units)
    elif kind == _STEPS:
        lengths, ordinals = _steps(reader, rows, units)
    else:
        lengths, ordinals = _lists(reader, rows, units, kind)
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
        return values.view(np.int64)


def _int_streams(
    writer: StreamWriter, words: np.ndarray, ended: np.ndarray, ends: np.ndarray
) -> list[bytes]:
    base, cell = _grid(words)
    cells, rest = _divided(words - base, cell)
    end_cells, end_rest = _divided(ends - base, cell)
    spans = np.zeros(len(words), np.uint64)
    spans[ended] = end_cells - cells[ended] + np.uint64(1)
    if len(ended) and not rest.any() and not end_rest.any():
        # a block that ends where the next begins is told like the others, if it is as long
        usual = np.bincount(np.minimum(spans[ended], _LONG).astype(np.int64)).argmax()
        alike = np.flatnonzero((spans[:-1] == 0) & (np.diff(cells) + np.uint64(1) == usual))
        spans[alike] = usual
        end_rest = np.zeros(len(ended) + len(alike), np.uint64)
    return _written(writer, "keys", [np.array([base, cell]), np.diff(cells), rest, spans, end_rest])


def _grid(words: np.ndarray) -> tuple[np.uint64, np.uint64]:
    """Where nearly all separators lie: so many codes apart, from a first one on."""
    steps = np.diff(words[:_SAMPLE])
    steps = steps[steps > 0]
    if len(steps):
        # what more than half of them are stands in their middle
        usual = np.sort(steps)[len(steps) // 2]
        if usual > 1 and 2 * np.count_nonzero(steps == usual) > len(steps):
            apart = np.count_nonzero((words - words[0]) % usual)
            if apart <= _CROWDED * len(words):
                return words[0], usual
    # the most low bits that hardly any separator uses
    sample = words[:: max(1, len(words) // _SAMPLE)]
    bits = bisect.bisect_right(
        range(1, 63),
        _CROWDED * len(sample),
        key=lambda bits: float(np.count_nonzero(sample & np.uint64((1 << bits) - 1))),
    )
    cell = np.uint64(1 << bits)
    return words[0] & ~(cell - np.uint64(1)), cell


def _divided(values: np.ndarray, cell: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """Quotients and remainders; powers of two, which are usual, are faster shifted."""
    bits = int(cell).bit_length() - 1
    if int(cell) == 1 << bits:
        return values >> np.uint64(bits), values & (cell - np.uint64(1))
    return np.divmod(values, cell)


def _int_keys(reader: _Reader, rows: int) -> tuple[pa.Array, np.ndarray, pa.Array]:
    base, cell = reader.next(2)
    cells = np.zeros(rows, np.uint64)
    np.cumsum(reader.next(rows - 1), out=cells[1:])
    rest = reader.next(rows)
    spans = reader.next(rows)
    gaps = np.flatnonzero(spans)
    end_rest = reader.next(len(gaps))
    ends: np.ndarray = (cells[gaps] + spans[gaps] - np.uint64(1)) * cell + end_rest + base
    keys = np.multiply(cells, cell, out=cells)
    keys += rest
    keys += base
    # an end where the next block begins leaves no gap
    apart = (gaps == rows - 1) | (ends != keys[np.minimum(gaps + 1, rows - 1)])
    return pa.array(keys.view(np.int64)), gaps[apart], pa.array(ends[apart].view(np.int64))


def _end_prefixes(keys: pa.Array, following: pa.Array) -> np.ndarray:
    """Whether strings are the ends of prefixes, one by one."""
    ends, told = prefix_ends(keys)
    ended: np.ndarray = told & pc.equal(ends, following).to_numpy(zero_copy_only=False)
    return ended


def _byte_streams(writer: StreamWriter, keys: pa.Array, ended: np.ndarray) -> list[bytes]:
    shared, rest, data = front_coded(keys)
    spans = np.zeros(len(keys), np.uint64)
    spans[ended] = 1
    return _written(writer, "texts", [shared, rest, data, spans])


def _written(writer: StreamWriter, name: str, streams: Sequence[np.ndarray]) -> list[bytes]:
    return [writer.write(f"{name} {at}", values) for at, values in enumerate(streams)]


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


def _set_streams(
    writer: StreamWriter, lengths: np.ndarray, sets: np.ndarray, units: int
) -> tuple[int, list[bytes]]:
    if len(sets) == np.count_nonzero(lengths):
        # each key is in one file
        plain, kind, parts = False, _LISTS, [lengths, sets, sets[:0]]
    elif len(sets) < _MANY * len(lengths):
        heads = (np.cumsum(lengths) - lengths)[lengths > 0]
        inner = np.ones(len(sets), bool)
        inner[heads] = False
        skips = np.diff(sets, prepend=np.int32(0))[inner] - 1
        # where data was rewritten, each key is in its old file, any one, and in the same new one
        plain = bits_a_value(sets[inner]) < bits_a_value(skips)
        kind, parts = _LISTS, [lengths, sets[heads], sets[inner] if plain else skips]
    else:
        # sets of many as numbers that go on from one set to the next, so that none has a length
        numbers = np.repeat(np.arange(len(lengths)) * units, lengths) + sets
        kind, parts = _STEPS, [np.array([len(sets)]), np.diff(numbers, prepend=-1) - 1]
    if kind == _LISTS:
        returns = _return_streams(writer, parts[1])
        kind = (_RETURNING if len(returns) > 1 else _LISTS) | _AS_THEY_ARE * plain
        lists = [writer.write("lengths", parts[0]), *returns, writer.write("others", parts[2])]
    else:
        lists = _written(writer, "steps", parts)
    if len(sets) * _SPARSE < len(lengths) * units:
        return kind, lists
    width = (units + 7) // 8
    bits = np.zeros((len(lengths), 8 * width), bool)
    bits[np.repeat(np.arange(len(lengths)), lengths), sets] = True
    bitmaps = [writer.write("bitmaps", np.packbits(bits, axis=1).ravel())]
    if sum(map(len, bitmaps)) < sum(map(len, lists)):
        return _BITMAPS, bitmaps
    return kind, lists


def _return_streams(writer: StreamWriter, heads: np.ndarray) -> list[bytes]:
    """First units told by those of the sets before: in late data, every other set is of one file.

    Returns:
        Streams of codes and of the units that are new, or, where that is longer, of the units.
    """
    codes = np.full(len(heads), _OTHER, np.uint8)
    codes[2:][heads[2:] == heads[:-2]] = _RETURN
    codes[1:][heads[1:] == heads[:-1]] = _SAME
    other = codes == _OTHER
    if np.count_nonzero(other) > (1 - _EXPECTED) * len(heads):
        return [writer.write("heads", heads)]
    told = [writer.write("returns", codes), writer.write("new heads", heads[other])]
    size = sum(map(len, told))
    # an estimate tells where it need not be tried
    if 8 * size < _CLEARLY * bits_a_value(heads) * len(heads):
        return told
    return min(told, [writer.write("heads", heads)], key=lambda streams: sum(map(len, streams)))


def _returning(reader: _Reader, count: int, limit: int) -> np.ndarray:
    codes = reader.small(count, _OTHER)
    told = reader.small(int(np.count_nonzero(codes == _OTHER)), limit)
    if count and (codes[0] != _OTHER or (count > 1 and codes[1] == _RETURN)):
        raise StreamError("a first unit is told by sets that are not there")
    changes = np.flatnonzero(codes != _SAME)
    change = np.cumsum(codes != _SAME) - 1
    # where each change has its unit from; every round looks twice as far back
    source = np.arange(len(changes))
    back = np.flatnonzero(codes[changes] == _RETURN)
    source[back] = change[changes[back] - 2]
    while not np.array_equal(source, source[source]):
        source = source[source]
    values = np.empty(len(changes), np.int64)
    values[codes[changes] == _OTHER] = told
    heads: np.ndarray = values[source][change]
    return heads


def _lists(reader: _Reader, rows: int, units: int, kind: int) -> tuple[np.ndarray, np.ndarray]:
    lengths = reader.small(rows, units)
    filled = lengths > 0
    total = int(lengths.sum())
    if total > MOST_ORDINALS:
        raise StreamError("sets are too large")
    sets = int(np.count_nonzero(filled))
    read = _returning if kind & ~_AS_THEY_ARE == _RETURNING else _Reader.small
    firsts, others = read(reader, sets, units), reader.small(total - sets, units)
    # where each key is in one file, that is all
    ordinals = firsts
    if len(others):
        ordinals = _joined(firsts, others, lengths[filled], as_they_are=bool(kind & _AS_THEY_ARE))
    if total and int(ordinals.max()) >= units:
        raise StreamError("it names a file that is not there")
    return lengths, ordinals.astype(np.int32)


def _joined(
    firsts: np.ndarray, others: np.ndarray, lengths: np.ndarray, *, as_they_are: bool
) -> np.ndarray:
    """Sets of their first units and of the others, or of the steps to these."""
    heads = np.cumsum(lengths) - lengths
    inner = np.ones(len(firsts) + len(others), bool)
    inner[heads] = False
    steps = np.empty(len(inner), np.int64)
    steps[heads] = firsts
    if as_they_are:
        steps[inner] = others
        return steps
    steps[inner] = others + 1
    sums = np.cumsum(steps)
    # each set starts anew: take off what had been summed before its head
    ordinals: np.ndarray = sums - np.repeat(sums[heads] - firsts, lengths)
    return ordinals


def _steps(reader: _Reader, rows: int, units: int) -> tuple[np.ndarray, np.ndarray]:
    total = int(reader.small(1, MOST_ORDINALS)[0])
    steps = reader.small(total, rows * units)
    if float(steps.sum(dtype=np.float64)) + total > rows * units:
        raise StreamError("it names a file that is not there")
    numbers = np.cumsum(steps + 1) - 1
    row, ordinals = np.divmod(numbers, units)
    return np.bincount(row, minlength=rows).astype(np.int64), ordinals.astype(np.int32)


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
