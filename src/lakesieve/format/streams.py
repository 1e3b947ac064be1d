"""Streams: arrays of unsigned integers in few bytes.

Each value is split into its low bits, which are packed as they are, and a small symbol above them,
which zstd codes by its frequency. If the symbol would be too large, the rest of the value goes to a
list of escapes. For the ordinals, gaps and key steps of an index, the result is within a few per
cent of their entropy. General-purpose encodings of whole integers do not come close.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lakesieve.format.bits import pack_bits, unpack_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

# codec, number of low bits, least value, bytes of symbols, of low bits and of escapes
_HEADER = struct.Struct("<BBQIII")
_CONSTANT, _PLAIN = 0, 1
# bits of a symbol; zstd's codes are whole bits long, so several small symbols share a byte
_WIDTHS = {2: 8, 4: 4, 6: 2}
_WORD = np.dtype("<u8")

_SAMPLE = 4096
# with so few values, trying several codings saves nothing
_FEW = 8
_COMPRESSIBLE = 0.9
_RISEN = 0.25
_ESCAPE_BITS = 32
# Level 1 codes little more than the frequency of symbols, which is best for ordinals in no order.
# If its result is below their entropy, there are repetitions, for which level 9 is better.
_LEVELS = (1, 9)
_REPETITIVE = 1.0
# zstd cannot shorten so few bytes
_FRAME = 12
# how many streams with one name reuse a coding before all codings are tried again
_ALIKE = 8


class StreamError(ValueError):
    """Raised for bytes that are not a stream of the expected length."""


class StreamWriter:
    """Writes streams. Streams with the same name have similar values, like those of row groups.

    The best coding of one stream is reused for some streams that follow it under its name. It is
    reused as long as values of a sample take about as many bits as before.
    """

    def __init__(self) -> None:
        self._codings: dict[str, _Coding] = {}

    def write(self, name: str, values: np.ndarray) -> bytes:
        """Encode a stream.

        Args:
            name: Name of the stream. Streams with similar values share one name.
            values: Integers of any type. A negative value is read back as the value plus 2**64.
        """
        count = len(values)
        least, most = (int(values.min()), int(values.max())) if count else (0, 0)
        if least < 0:
            return self.write(name, values.astype(np.uint64))
        if most == least:
            return _HEADER.pack(_CONSTANT, 0, least, 0, 0, 0)
        # a smaller integer type means less memory to read
        above = values - values.dtype.type(least) if least else values
        values = above.astype(np.min_scalar_type(most - least))
        if count <= _FEW:
            codec, width = next(iter(_WIDTHS.items()))
            bits = max(0, (most - least).bit_length() - width)
            return _Coded(values, least, codec, bits, bits + width).joined()
        return self._coded(name, values, least).joined()

    def write_all(self, name: str, streams: Sequence[np.ndarray]) -> list[bytes]:
        """Encode several streams. Each is named by ``name`` and its position."""
        return [self.write(f"{name} {at}", values) for at, values in enumerate(streams)]

    def _coded(self, name: str, values: np.ndarray, least: int) -> _Coded:
        coding = self._codings.get(name)
        if coding is not None and coding.left:
            cost = _cost(_sampled(values), coding.bits, _WIDTHS[coding.codec])
            if coding.cost <= _worth(cost) and cost <= _worth(coding.cost):
                self._codings[name] = coding._replace(left=coding.left - 1)
                return _Coded(values, least, coding.codec, coding.bits, cost)
        estimates = _estimates(values)
        worth = _worth(min(cost for _, cost in estimates.values()))
        best = min(
            (
                _Coded(values, least, codec, *estimates[width])
                for codec, width in _WIDTHS.items()
                if estimates[width][1] <= worth
            ),
            key=lambda coded: coded.size,
        )
        bits, cost = estimates[_WIDTHS[best.codec]]
        self._codings[name] = _Coding(codec=best.codec, bits=bits, cost=cost, left=_ALIKE)
        return best


class _Coding(NamedTuple):
    """A stream's coding, its bits for each value, and how many more streams reuse it."""

    codec: int
    bits: int
    cost: float
    left: int


def _worth(cost: float) -> float:
    """Return the largest estimate of a coding that may be as good as one of this cost."""
    return 1.02 * cost + 0.02


def bits_a_value(values: np.ndarray) -> float:
    """Return the approximate bits that a value takes in a stream, from a sample."""
    if len(values) == 0:
        return 0.0
    sample = _sampled(values).astype(np.uint64)
    sample -= sample.min()
    return min(cost for _, cost in _estimates(sample).values())


class _Coded:
    """Values under one coding. :meth:`joined` packs the low bits, whose size is known before."""

    def __init__(self, values: np.ndarray, least: int, codec: int, bits: int, cost: float) -> None:
        width, word = _WIDTHS[codec], values.dtype.type
        escape = word((1 << width) - 1)
        above = values >> word(bits) if bits else values
        escaped = np.zeros(0, np.int64)
        # without escapes, the highest symbol stands for itself
        if above.max() > escape:
            symbols = np.minimum(above, escape).astype(np.uint8)
            escaped = np.flatnonzero(symbols == np.uint8(escape))
        else:
            symbols = above.astype(np.uint8)
        self.codec = codec
        joined = _together(symbols, width).tobytes()
        packed = joined
        if len(joined) > _FRAME:
            packed = _codec(_LEVELS[0]).compress(joined, asbytes=True)
        if 8 * len(packed) < _REPETITIVE * (cost - bits) * len(values):
            packed = min(packed, _codec(_LEVELS[-1]).compress(joined, asbytes=True), key=len)
        if len(packed) >= len(joined):
            codec, packed = codec | _PLAIN, joined
        rest = (above[escaped] - escape).astype(_WORD).tobytes()
        if rest:
            rest = _codec(_LEVELS[-1]).compress(rest, asbytes=True)
        low = (len(values) * bits + 7) // 8
        self._values, self._bits = values, bits
        self._header = _HEADER.pack(codec, bits, least, len(packed), low, len(rest))
        self._packed, self._rest = packed, rest
        self.size = len(self._header) + len(packed) + low + len(rest)

    def joined(self) -> bytes:
        """Return the encoded stream."""
        low = b""
        if self._bits:
            mask = self._values.dtype.type((1 << self._bits) - 1)
            low = pack_bits(self._values & mask, self._bits)
        return b"".join((self._header, self._packed, low, self._rest))


def _together(symbols: np.ndarray, width: int) -> np.ndarray:
    """Pack as many symbols into each byte as fit."""
    together = 8 // width
    if together == 1:
        return symbols
    padded = np.zeros(-(-len(symbols) // together) * together, np.uint8)
    padded[: len(symbols)] = symbols
    # each byte holds one symbol: move the symbols of a word together into its lowest byte
    words = padded.view(f"<u{together}")
    joined = words.copy()
    for at in range(1, together):
        joined |= words >> words.dtype.type((8 - width) * at)
    return joined.astype(np.uint8)


def decode_stream(data: memoryview, at: int, count: int) -> tuple[np.ndarray, int]:
    """Decode a stream.

    Returns:
        The values, read-only, in the smallest unsigned type that holds them; and where the stream
        ends. If all values are equal, the array is one value with stride 0.
    """
    try:
        codec, bits, least, *sizes = _HEADER.unpack_from(data, at)
    except struct.error as error:
        raise StreamError("a stream is incomplete") from error
    at += _HEADER.size
    sections = []
    for size in sizes:
        sections.append(data[at : at + size])
        at += size
    if at > len(data) or bits > 63:
        raise StreamError("a stream is incomplete")
    symbols, low, rest = sections
    if codec == _CONSTANT:
        return np.broadcast_to(np.uint64(least), count), at
    if codec & ~_PLAIN not in _WIDTHS:
        raise StreamError("a stream has an unknown coding")
    if len(low) != (count * bits + 7) // 8:
        raise StreamError("the low bits of a stream have the wrong length")
    width = _WIDTHS[codec & ~_PLAIN]
    symbol_values = _symbols(symbols, count, width, plain=bool(codec & _PLAIN))
    # a smaller integer type means less memory to read
    most = least + (1 << bits + width) - 1
    values = symbol_values.astype(_WORD if len(rest) or most >> 64 else np.min_scalar_type(most))
    word = values.dtype.type
    if len(rest):
        escaped = np.flatnonzero(symbol_values == (1 << width) - 1)
        values[escaped] += np.frombuffer(decompressed(rest, 8 * len(escaped)), _WORD)
    if bits:
        values <<= word(bits)
        values |= unpack_bits(low, count, bits).astype(word, copy=False)
    if least:
        values += word(least)
    return values, at


class StreamReader:
    """Reads streams one after the other, beginning at ``at``."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self.at = at

    def next(self, expected: int) -> np.ndarray:
        """Return ``expected`` values, like :func:`decode_stream`."""
        values, self.at = decode_stream(self._data, self.at, expected)
        return values

    def small(self, expected: int, limit: int) -> np.ndarray:
        """Return values of at most ``limit``, as int64."""
        values = self.next(expected)
        if len(values) and int(values[0] if is_one(values) else values.max()) > limit:
            raise StreamError("a value is too large")
        return values.view(np.int64) if values.itemsize == 8 else values.astype(np.int64)


def is_one(values: np.ndarray) -> bool:
    """Return whether a stream's values are one repeated value, which takes no memory for each."""
    return values.strides == (0,)


def _symbols(data: memoryview, count: int, width: int, *, plain: bool) -> np.ndarray:
    size = -(-count * width // 8)
    if plain and len(data) != size:
        raise StreamError("a stream has the wrong length")
    packed = np.frombuffer(data if plain else decompressed(data, size), np.uint8)
    return packed if width == 8 else _apart(width)[packed].view(np.uint8)[:count]


@lru_cache
def _apart(width: int) -> np.ndarray:
    """Return, for each byte, its symbols as one word, the lowest symbol first."""
    together = 8 // width
    every_byte = np.arange(256)
    symbols = [(every_byte >> (width * at)) & ((1 << width) - 1) for at in range(together)]
    return np.stack(symbols, axis=1).astype(np.uint8).view(f"<u{together}").ravel()


@lru_cache
def _codec(level: int) -> pa.Codec:
    return pa.Codec("zstd", compression_level=level)


def compressed(data: bytes) -> bytes:
    """Compress bytes with zstd."""
    packed: bytes = _codec(_LEVELS[-1]).compress(data, asbytes=True)
    return packed


def decompressed(data: bytes | memoryview, size: int) -> bytes:
    """Decompress what :func:`compressed` returned. The result must have ``size`` bytes."""
    try:
        unpacked = _codec(1).decompress(data, decompressed_size=size, asbytes=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StreamError("a stream cannot be decompressed") from error
    if len(unpacked) != size:
        raise StreamError("a stream has the wrong length")
    return bytes(unpacked)


def _sampled(values: np.ndarray) -> np.ndarray:
    return values[:: max(1, len(values) // _SAMPLE)]


def _estimates(values: np.ndarray) -> dict[int, tuple[int, float]]:
    """Return, for each symbol width, the best number of low bits and the bits for each value."""
    sample = _sampled(values)
    highest = int(values.max()).bit_length()
    middle = len(sample) // 2
    usual = int(np.partition(sample, middle)[middle]).bit_length()
    return {width: _low_bits(sample, width, usual, highest) for width in _WIDTHS.values()}


def _low_bits(sample: np.ndarray, width: int, usual: int, highest: int) -> tuple[int, float]:
    """Return the cheapest number of low bits by a sample's entropy, and its cost."""
    lowest = max(0, usual - width)
    best = (_cost(sample, lowest, width), lowest)
    for bits in range(lowest + 1, max(lowest, highest - width) + 2):
        cost = _cost(sample, bits, width)
        # after its minimum, the cost rises by up to a bit for each further low bit
        if cost > best[0] + _RISEN:
            break
        best = min(best, (cost, bits))
    cost, bits = best
    return bits, cost


def _cost(sample: np.ndarray, bits: int, width: int) -> float:
    """Return the bits for each value."""
    escape = (1 << width) - 1
    word = sample.dtype.type
    symbols = np.minimum(sample >> word(bits), word(escape)).astype(np.int64)
    share = np.bincount(symbols, minlength=escape + 1) / len(symbols)
    nonzero = share[share > 0]
    entropy = -float((nonzero * np.log2(nonzero)).sum())
    # zstd stores symbols as they are if they hardly compress
    coded = entropy if entropy < _COMPRESSIBLE * width else width
    return bits + coded + _ESCAPE_BITS * float(share[escape])
