"""Row groups of a segment: a few thousand blocks as a few streams."""

from __future__ import annotations

import bisect
import struct
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import InvalidInputError
from lakesieve.format.sets import decode_sets, encode_sets
from lakesieve.format.streams import StreamError, StreamReader, StreamWriter, is_one
from lakesieve.sieve import Blocks, front_coded, front_decoded, prefix_ends, with_gaps

if TYPE_CHECKING:
    from lakesieve.sieve import Code, TextCode

MAX_BLOCKS = 1 << 20
MAX_BYTES = 1 << 24
LONGEST_SEPARATOR = 1 << 20

# the encoding of the sets, and the number of blocks that are not gaps
_HEADER = struct.Struct("<BI")
# spans are written in a regular way only up to this length
_LONG = 1 << 16
_CROWDED = 1 / 16
_SAMPLE = 4096


def encode_group(
    writer: StreamWriter,
    keys: pa.Array,
    offsets: np.ndarray,
    ordinals: np.ndarray,
    units: int,
) -> bytes:
    """Encode some blocks.

    ``offsets`` has the start of each set in ``ordinals`` and the end of the last.
    """
    lengths = np.diff(offsets)
    # an empty block after a block with units is stored as the end of that block
    gap = np.append(False, (lengths[1:] == 0) & (lengths[:-1] > 0))
    if keys.type == pa.binary():
        empty = np.flatnonzero(gap)
        gap[empty] = _end_prefixes(keys.take(pa.array(empty - 1)), keys.take(pa.array(empty)))
    elif len(keys) == 2:
        # a span is the step plus one; from the least code to the greatest it would not fit in a
        # word
        gap[1] &= keys[1].as_py() - keys[0].as_py() < 2**64 - 1
    positions, gaps = np.flatnonzero(~gap), np.flatnonzero(gap)
    ended = gaps - np.arange(1, len(gaps) + 1)
    if keys.type == pa.binary():
        streams = _byte_streams(writer, keys.take(pa.array(positions)), ended)
    else:
        words = keys.to_numpy().view(np.uint64)
        streams = _int_streams(writer, words.take(positions), ended, words.take(gaps))
    sets = ordinals[offsets[0] : offsets[-1]]
    kind, coded = encode_sets(writer, lengths.take(positions), sets, units)
    return b"".join((_HEADER.pack(kind, len(positions)), *streams, *coded))


def decode_group(
    data: bytes,
    *,
    count: int,
    units: int,
    text: TextCode | None,
    bytewise: bool,
    max_key: Code,
) -> Blocks:
    """Decode ``count`` blocks. ``max_key`` is the last code that they cover."""
    if len(data) < _HEADER.size or not 0 < count <= MAX_BLOCKS:
        raise StreamError("it is incomplete")
    kind, rows = _HEADER.unpack_from(data)
    if not 0 < rows <= count:
        raise StreamError("its header is invalid")
    reader = StreamReader(memoryview(data), _HEADER.size)
    if bytewise:
        keys, gaps, ends = _byte_keys(reader, rows)
    else:
        keys, gaps, ends = _int_keys(reader, rows)
    lengths, ordinals = decode_sets(reader, rows, units, kind)
    separators, offsets = with_gaps(keys, lengths, gaps, ends)
    if len(separators) != count or reader.at != len(data):
        raise StreamError("its number of blocks differs from the footer")
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


def _int_streams(
    writer: StreamWriter, words: np.ndarray, ended: np.ndarray, ends: np.ndarray
) -> list[bytes]:
    base, cell = _grid(words)
    cells, rest = _divided(words - base, cell)
    end_cells, end_rest = _divided(ends - base, cell)
    gap_ends = np.zeros(len(words), np.uint64)
    gap_ends[ended] = end_cells - cells[ended] + np.uint64(1)
    if len(ended) and not rest.any() and not end_rest.any():
        # a block that ends where the next begins is stored with the usual length, if it has that
        # length
        usual = np.bincount(np.minimum(gap_ends[ended], _LONG).astype(np.int64)).argmax()
        alike = np.flatnonzero((gap_ends[:-1] == 0) & (np.diff(cells) + np.uint64(1) == usual))
        gap_ends[alike] = usual
        end_rest = np.zeros(len(ended) + len(alike), np.uint64)
    streams = [np.array([base, cell]), np.diff(cells), rest, gap_ends, end_rest]
    return writer.write_all("keys", streams)


def _grid(words: np.ndarray) -> tuple[np.uint64, np.uint64]:
    """Find the grid on which nearly all separators lie.

    Return its first code and its cell width.
    """
    steps = np.diff(words[:_SAMPLE])
    steps = steps[steps > 0]
    if len(steps):
        # the median step is the value that more than half of the steps have, if there is one
        usual = np.sort(steps)[len(steps) // 2]
        if usual > 1 and 2 * np.count_nonzero(steps == usual) > len(steps):
            apart = np.count_nonzero((words - words[0]) % usual)
            if apart <= _CROWDED * len(words):
                return words[0], usual
    # the largest number of low bits that hardly any separator uses
    sample = words[:: max(1, len(words) // _SAMPLE)]
    bits = bisect.bisect_right(
        range(1, 63),
        _CROWDED * len(sample),
        key=lambda bits: float(np.count_nonzero(sample & np.uint64((1 << bits) - 1))),
    )
    cell = np.uint64(1 << bits)
    return words[0] & ~(cell - np.uint64(1)), cell


def _divided(values: np.ndarray, cell: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """Return quotients and remainders. For powers of two, which are usual, shifts are faster."""
    bits = int(cell).bit_length() - 1
    if int(cell) == 1 << bits:
        return values >> np.uint64(bits), values & (cell - np.uint64(1))
    return np.divmod(values, cell)


def _int_keys(reader: StreamReader, rows: int) -> tuple[pa.Array, np.ndarray, pa.Array]:
    base, cell = reader.next(2).astype(np.uint64)
    cells = np.zeros(rows, np.uint64)
    np.cumsum(reader.next(rows - 1), out=cells[1:])
    rest = reader.next(rows)
    gap_ends = reader.next(rows)
    none = is_one(gap_ends) and not gap_ends[0]
    gaps = np.zeros(0, np.int64) if none else np.flatnonzero(gap_ends)
    end_rest = reader.next(len(gaps))
    ends: np.ndarray = (cells[gaps] + gap_ends[gaps] - np.uint64(1)) * cell + end_rest + base
    keys = np.multiply(cells, cell, out=cells) if cell > 1 else cells
    keys += base
    if not is_one(rest) or rest[0]:
        keys += rest
    # a block that ends where the next begins leaves no gap
    apart = (gaps == rows - 1) | (ends != keys[np.minimum(gaps + 1, rows - 1)])
    return pa.array(keys.view(np.int64)), gaps[apart], pa.array(ends[apart].view(np.int64))


def _end_prefixes(keys: pa.Array, following: pa.Array) -> np.ndarray:
    """Return which strings equal the end of a prefix."""
    ends, found_ends = prefix_ends(keys)
    ended: np.ndarray = found_ends & pc.equal(ends, following).to_numpy(zero_copy_only=False)
    return ended


def _byte_streams(writer: StreamWriter, keys: pa.Array, ended: np.ndarray) -> list[bytes]:
    shared, rest, data = front_coded(keys)
    gap_ends = np.zeros(len(keys), np.uint64)
    gap_ends[ended] = 1
    return writer.write_all("texts", [shared, rest, data, gap_ends])


def _byte_keys(reader: StreamReader, rows: int) -> tuple[pa.Array, np.ndarray, pa.Array]:
    shared = reader.small(rows, LONGEST_SEPARATOR)
    rest = reader.small(rows, LONGEST_SEPARATOR)
    lengths = shared + rest
    if int(lengths.max()) > LONGEST_SEPARATOR or int(lengths.sum()) > MAX_BYTES:
        raise StreamError("its separators are too long")
    if shared[0] or (shared[1:] > lengths[:-1]).any():
        raise StreamError("the shared prefix of a separator is longer than the previous separator")
    data = reader.small(int(rest.sum()), 255).astype(np.uint8)
    keys = front_decoded(shared, rest, data)
    gaps = np.flatnonzero(reader.small(rows, 1))
    ends, found_ends = prefix_ends(keys.take(pa.array(gaps)))
    if not found_ends.all():
        raise StreamError("a gap begins after a prefix that has no end")
    return keys, gaps, ends
