"""Pack numbers of a few bits each. Eight numbers of ``n`` bits fill ``n`` bytes."""

from __future__ import annotations

import numpy as np

# this many values end at a whole byte, whatever their number of bits
_OCTET = 8
# up to this many values are packed as one number
_FEW_BITS = 6
_IN_WORD = 57
_WORD = np.dtype("<u8")


def pack_bits(values: np.ndarray, bits: int) -> bytes:
    """Write values one after the other, highest bits first."""
    size = (len(values) * bits + 7) // 8
    if len(values) <= _OCTET:
        # a few values: pack them as one big number
        number = 0
        for value in values.tolist():
            number = number << bits | value
        return (number << 8 * size - len(values) * bits).to_bytes(size, "big")
    packed = np.zeros((-(-len(values) // _OCTET), bits), np.uint8)
    for at in range(_OCTET):
        octet = values[at::_OCTET]
        first, skipped = divmod(at * bits, 8)
        for byte in range(first, (at * bits + bits + 7) // 8):
            # how far the value's lowest bit lies below the byte's lowest bit
            below = skipped + bits - 8 * (byte - first + 1)
            shifted = octet >> below if below >= 0 else octet << -below
            packed[: len(octet), byte] |= shifted.astype(np.uint8)
    return packed.tobytes()[:size]


def unpack_bits(data: memoryview, count: int, bits: int) -> np.ndarray:
    """Unpack ``count`` values that :func:`pack_bits` wrote with ``bits`` bits each, 1 to 63.

    Returns:
        The values, in an unsigned type that is wide enough for them.
    """
    if count <= _OCTET:
        number = int.from_bytes(data, "big") >> 8 * len(data) - count * bits
        above, mask = range(bits * (count - 1), -1, -bits), (1 << bits) - 1
        return np.array([number >> at & mask for at in above], _WORD)
    if bits <= _FEW_BITS:
        single = np.unpackbits(np.frombuffer(data, np.uint8), count=count * bits)
        values = single[::bits]
        for at in range(1, bits):
            values = values << np.uint8(1) | single[at::bits]
        return values
    values = np.empty(-(-count // _OCTET) * _OCTET, np.min_scalar_type((1 << bits) - 1))
    # `_field` reads a whole word at each byte of the last octet: padding keeps it in the array
    padded = np.zeros(len(values) // _OCTET * bits + _WORD.itemsize, np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    # at any place in a byte, a word holds at least `_IN_WORD` bits of a value: read the rest apart
    high = max(0, bits - _IN_WORD)
    for at in range(_OCTET):
        octet = _field(padded, bits, at * bits + high, bits - high)
        if high:
            octet |= _field(padded, bits, at * bits, high) << np.uint64(bits - high)
        values[at::_OCTET] = octet
    return values[:count]


def _field(padded: np.ndarray, stride: int, start: int, bits: int) -> np.ndarray:
    """Return the bits from ``start`` on of each ``stride`` bytes."""
    first, skipped = divmod(start, 8)
    octets = (len(padded) - _WORD.itemsize) // stride
    words = np.ndarray((octets,), ">u8", padded, first, (stride,)).astype(np.uint64)
    words >>= np.uint64(64 - skipped - bits)
    words &= np.uint64((1 << bits) - 1)
    return words
