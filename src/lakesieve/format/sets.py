"""Encode the sets of units of a row group's blocks as a few streams."""

from __future__ import annotations

import numpy as np

from lakesieve.format.streams import StreamError, StreamReader, StreamWriter, bits_a_value, is_one

MAX_ORDINALS = 1 << 24

# encodings of sets
_LISTS, _STEPS, _BITMAPS, _RETURNING = 0, 1, 2, 3
# flag of both kinds of lists: units after the first are stored plainly, not as steps
_AS_THEY_ARE = 4
_KINDS = frozenset(range(_RETURNING + 1)) | {_LISTS | _AS_THEY_ARE, _RETURNING | _AS_THEY_ARE}
# codes of a set's first unit: equal to the first unit of the previous set, of the set before that
# one, or of neither
_SAME, _RETURN, _OTHER = 0, 1, 2
# try "returning" if this share of first units occurs in the two sets before
_EXPECTED = 1 / 4
# ... and skip the plain encoding if "returning" takes less than this share of its estimate
_CLEARLY = 3 / 4
# try bitmaps if sets hold more than one unit in this many
_SPARSE = 24
# sets of at least this average size are stored as steps that continue from set to set
_MANY = 8


def encode_sets(
    writer: StreamWriter, lengths: np.ndarray, sets: np.ndarray, units: int
) -> tuple[int, list[bytes]]:
    """Encode the sets of some blocks in the encoding that takes the fewest bytes.

    Returns:
        The encoding, and the streams.
    """
    if len(sets) == np.count_nonzero(lengths):
        # each key is in one file
        plain, kind, streams = False, _LISTS, [lengths, sets, sets[:0]]
    elif len(sets) < _MANY * len(lengths):
        first_units = (np.cumsum(lengths) - lengths)[lengths > 0]
        inner = np.ones(len(sets), bool)
        inner[first_units] = False
        skips = np.diff(sets, prepend=np.int32(0))[inner] - 1
        # after a rewrite of data, each key is in any one old file and in the same new file
        plain = bits_a_value(sets[inner]) < bits_a_value(skips)
        kind, streams = _LISTS, [lengths, sets[first_units], sets[inner] if plain else skips]
    else:
        # large sets as numbers that continue from set to set, so that no lengths are needed
        numbers = np.repeat(np.arange(len(lengths)) * units, lengths) + sets
        kind, streams = _STEPS, [np.array([len(sets)]), np.diff(numbers, prepend=-1) - 1]
    if kind == _LISTS:
        returns = _return_streams(writer, streams[1])
        kind = (_RETURNING if len(returns) > 1 else _LISTS) | _AS_THEY_ARE * plain
        lists = [writer.write("lengths", streams[0]), *returns, writer.write("others", streams[2])]
    else:
        lists = writer.write_all("steps", streams)
    if len(sets) * _SPARSE < len(lengths) * units:
        return kind, lists
    width = (units + 7) // 8
    bits = np.zeros((len(lengths), 8 * width), bool)
    bits[np.repeat(np.arange(len(lengths)), lengths), sets] = True
    bitmaps = [writer.write("bitmaps", np.packbits(bits, axis=1).ravel())]
    if sum(map(len, bitmaps)) < sum(map(len, lists)):
        return _BITMAPS, bitmaps
    return kind, lists


def _return_streams(writer: StreamWriter, first_units: np.ndarray) -> list[bytes]:
    """Encode first units by reference to the two sets before.

    Data that arrives late causes this pattern: it adds one more file to every other set.

    Returns:
        Streams of codes and of the units that are new; or, if that is longer, of all units.
    """
    codes = np.full(len(first_units), _OTHER, np.uint8)
    codes[2:][first_units[2:] == first_units[:-2]] = _RETURN
    codes[1:][first_units[1:] == first_units[:-1]] = _SAME
    other = codes == _OTHER
    if np.count_nonzero(other) > (1 - _EXPECTED) * len(first_units):
        return [writer.write("heads", first_units)]
    coded = [writer.write("returns", codes), writer.write("new heads", first_units[other])]
    size = sum(map(len, coded))
    # an estimate shows whether the other encoding is worth a try
    if 8 * size < _CLEARLY * bits_a_value(first_units) * len(first_units):
        return coded
    plain = [writer.write("heads", first_units)]
    return min(coded, plain, key=lambda streams: sum(map(len, streams)))


def _returning(reader: StreamReader, count: int, limit: int) -> np.ndarray:
    codes = reader.small(count, _OTHER)
    others = reader.small(int(np.count_nonzero(codes == _OTHER)), limit)
    if count and (codes[0] != _OTHER or (count > 1 and codes[1] == _RETURN)):
        raise StreamError("a first unit refers to a set that does not exist")
    changes = np.flatnonzero(codes != _SAME)
    change = np.cumsum(codes != _SAME) - 1
    # the index from which each change takes its unit; every round doubles the distance looked back
    source = np.arange(len(changes))
    back = np.flatnonzero(codes[changes] == _RETURN)
    source[back] = change[changes[back] - 2]
    while not np.array_equal(source, source[source]):
        source = source[source]
    values = np.empty(len(changes), np.int64)
    values[codes[changes] == _OTHER] = others
    first_units: np.ndarray = values[source][change]
    return first_units


def decode_sets(
    reader: StreamReader, rows: int, units: int, kind: int
) -> tuple[np.ndarray, np.ndarray]:
    """Decode the sets of some blocks.

    Returns:
        Sizes of the sets, int64, and the sets one after the other, int32.
    """
    if kind not in _KINDS:
        raise StreamError("its header is invalid")
    if kind == _BITMAPS:
        return _bitmaps(reader, rows, units)
    if kind == _STEPS:
        return _steps(reader, rows, units)
    return _lists(reader, rows, units, kind)


def _lists(reader: StreamReader, rows: int, units: int, kind: int) -> tuple[np.ndarray, np.ndarray]:
    lengths = reader.small(rows, units)
    total = rows * int(lengths[0]) if is_one(lengths) else int(lengths.sum())
    if total > MAX_ORDINALS:
        raise StreamError("its sets are too large")
    sets = rows if total and is_one(lengths) else int(np.count_nonzero(lengths))
    read = _returning if kind & ~_AS_THEY_ARE == _RETURNING else StreamReader.small
    ordinals, others = read(reader, sets, units - 1), reader.small(total - sets, units)
    # if each key is in one file, the first units are everything
    if len(others):
        nonempty = lengths[lengths > 0]
        ordinals = _joined(ordinals, others, nonempty, as_they_are=bool(kind & _AS_THEY_ARE))
        if int(ordinals.max()) >= units:
            raise StreamError("it has an ordinal that is not below the number of units")
    return lengths, ordinals.astype(np.int32)


def _joined(
    firsts: np.ndarray, others: np.ndarray, lengths: np.ndarray, *, as_they_are: bool
) -> np.ndarray:
    """Join the first unit of each set with its other units, or with the steps to them."""
    starts = np.cumsum(lengths) - lengths
    inner = np.ones(len(firsts) + len(others), bool)
    inner[starts] = False
    steps = np.empty(len(inner), np.int64)
    steps[starts] = firsts
    if as_they_are:
        steps[inner] = others
        return steps
    steps[inner] = others + 1
    sums = np.cumsum(steps)
    # steps restart in each set: subtract the sum before its first unit
    ordinals: np.ndarray = sums - np.repeat(sums[starts] - firsts, lengths)
    return ordinals


def _steps(reader: StreamReader, rows: int, units: int) -> tuple[np.ndarray, np.ndarray]:
    total = int(reader.small(1, MAX_ORDINALS)[0])
    steps = reader.small(total, rows * units)
    if float(steps.sum(dtype=np.float64)) + total > rows * units:
        raise StreamError("it has an ordinal that is not below the number of units")
    numbers = np.cumsum(steps + 1) - 1
    row, ordinals = np.divmod(numbers, units)
    return np.bincount(row, minlength=rows).astype(np.int64), ordinals.astype(np.int32)


def _bitmaps(reader: StreamReader, rows: int, units: int) -> tuple[np.ndarray, np.ndarray]:
    width = (units + 7) // 8
    if rows * width * 8 > MAX_ORDINALS:
        raise StreamError("its sets are too large")
    packed = reader.small(rows * width, 255).astype(np.uint8)
    bits = np.unpackbits(packed.reshape(rows, width), axis=1)
    if bits[:, units:].any():
        raise StreamError("it has an ordinal that is not below the number of units")
    row, ordinals = np.nonzero(bits)
    return np.bincount(row, minlength=rows).astype(np.int64), ordinals.astype(np.int32)
