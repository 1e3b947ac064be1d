"""Order-preserving key codes: int64 or bytes that compare like the values of a key type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Code = int | bytes
"""The code of one key, or of a bound."""

Interval = tuple[Code | None, Code | None]
"""Half-open interval ``[low, high)``; ``None`` means no bound."""

LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""The lowest and the highest code of the physical type int64."""

NARROW_DIGITS = 18
"""Most digits of a decimal whose unscaled value fits int64."""

_WIDE_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyType:
    """The type of an index's keys.

    Args:
        kind: One of ``KINDS``. ``float`` includes double, and ``string`` includes UUIDs as text.
        scale: For decimals: digits after the point.
        precision: For decimals: total number of digits. Above 18, the codes are bytes.
    """

    kind: str
    scale: int = 0
    precision: int = NARROW_DIGITS

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnsupportedError(
                f"The key kind {self.kind} is not supported.",
                kind=ErrorKind.UNSUPPORTED_TYPE,
                hint=f"Supported kinds: {', '.join(KINDS)}.",
            )

    @property
    def is_wide(self) -> bool:
        """True for decimals that do not fit int64."""
        return self.kind == "decimal" and self.precision > NARROW_DIGITS

    @property
    def physical(self) -> str:
        """How codes are stored: ``int64`` or ``bytes``."""
        return "bytes" if self.is_wide else KINDS[self.kind].physical


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyKind:
    """How values of one kind become key codes.

    Args:
        encode: Returns codes that compare like the values, with the same nulls, or ``None`` if
            the values have another type.
        physical: How codes are stored: ``int64`` or ``bytes``.
        decode: Returns the values of codes; ``None`` if the values are not known from the codes.
    """

    encode: Callable[[KeyType, pa.Array], pa.Array | None]
    physical: str = "int64"
    decode: Callable[[KeyType, pa.Array], pa.Array] | None = None


def encode_keys(key_type: KeyType, values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Encode column values as key codes. Nulls stay null.

    Floats follow IEEE 754's total order, with -0.0 = 0.0 and one NaN above all numbers, like
    Spark's comparison. Types that a column may be promoted between give the same code for the same
    value: int and long, float and double, decimals of any precision up to 18 digits.

    Args:
        key_type: The type whose order the codes follow.
        values: Booleans, integers, floats, decimals, dates, timestamps (with a zone for
            ``timestamp``, without for ``timestamp_ntz``, in nanoseconds for the ``ns`` kinds and in
            microseconds for the others), strings or bytes.

    Returns:
        An ``int64`` or ``binary`` array of the same length. Decimals of more than 18 digits become
        16 bytes, see :func:`wide_code`.
    """
    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks != 1:
            chunks = [encode_keys(key_type, chunk) for chunk in values.chunks]
            empty = pa.array([], pa.binary() if key_type.physical == "bytes" else pa.int64())
            return pa.concat_arrays(chunks) if chunks else empty
        values = values.chunk(0)
    codes = KINDS[key_type.kind].encode(key_type, values)
    if codes is None:
        raise UnsupportedError(
            f"Values of type {values.type} cannot be keys of kind {key_type.kind}.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="The column's type changed; build the index again.",
        )
    return codes


def decode_keys(key_type: KeyType, codes: Sequence[Code]) -> pa.Array:
    """Return the values of key codes: the opposite of :func:`encode_keys`.

    The sign of zero and the bits of NaN are lost, and UUIDs stay text. Integers are ``int64`` and
    floats ``float64``.

    Args:
        key_type: The type of the values.
        codes: Integers or byte strings, all of one type.
    """
    decode = KINDS[key_type.kind].decode
    if decode is None:
        raise UnsupportedError(
            f"Keys of kind {key_type.kind} cannot be turned into values again.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Ask Spark for the values.",
        )
    # a decimal that was widened may still have the codes of its narrow type
    is_bytes = isinstance(codes[0], bytes) if codes else key_type.physical == "bytes"
    return decode(key_type, pa.array(codes, pa.binary() if is_bytes else pa.int64()))


def successor(code: Code) -> Code:
    """Return the smallest code greater than a code."""
    return code + 1 if isinstance(code, int) else code + b"\0"


def wide_code(unscaled: int) -> bytes:
    """Return a decimal's unscaled value as 16 bytes that compare like it.

    The bytes are two's complement, big-endian, with the sign bit flipped. Values out of range are
    clamped.
    """
    limit = 1 << 127
    return (max(-limit, min(unscaled, limit - 1)) + limit).to_bytes(_WIDE_BYTES, "big")


@overload
def bytewise_code(code: Code) -> bytes: ...


@overload
def bytewise_code(code: None) -> None: ...


def bytewise_code(code: Code | None) -> bytes | None:
    """Return a code as bytes: an integer becomes its :func:`wide_code`."""
    return wide_code(code) if isinstance(code, int) else code


def bytewise_codes(codes: pa.Array) -> pa.Array:
    """Return an array of codes as bytes, see :func:`bytewise_code`. Nulls stay."""
    if codes.type == pa.binary():
        return codes
    words = codes.fill_null(0).to_numpy()
    wide = _wide_codes(words >> 63, words)
    return pc.if_else(codes.is_valid(), wide, pa.scalar(None, pa.binary()))


def _wide_codes(high: np.ndarray, low: np.ndarray) -> pa.Array:
    """Return the codes :func:`wide_code` of integers with 128 bits, from both int64 halves."""
    flipped = np.empty((len(low), 2), ">u8")
    flipped[:, 0] = high.view(np.uint64) ^ np.uint64(1 << 63)
    flipped[:, 1] = low.view(np.uint64)
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(_WIDE_BYTES), len(low), [None, pa.py_buffer(flipped.tobytes())]
    ).cast(pa.binary())


def code_order(codes: Iterable[Code]) -> Callable[[Any], Any]:
    """Return a function that converts codes of the physical types of ``codes`` to one order.

    An index has codes of both types after its decimal got more digits. Then integers become
    :func:`wide_code`. Codes of one type already compare, and stay as they are.
    """
    are_mixed = len({type(code) for code in codes}) > 1
    return bytewise_code if are_mixed else lambda code: code


def unscaled(code: bytes) -> int:
    """Return the unscaled value of a :func:`wide_code`; bytes that were cut off count as zeros."""
    return int.from_bytes(code.ljust(_WIDE_BYTES, b"\0"), "big") - (1 << 127)


def _bytes(_: KeyType, values: pa.Array) -> pa.Array | None:
    kind, types = values.type, pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_binary = types.is_binary(kind) or types.is_large_binary(kind)
    is_supported = is_text or is_binary or types.is_fixed_size_binary(kind)
    return values.cast(pa.binary()) if is_supported else None


def _integers(_: KeyType, values: pa.Array) -> pa.Array | None:
    is_supported = pa.types.is_integer(values.type) and values.type != pa.uint64()
    return values.cast(pa.int64()) if is_supported else None


def _booleans(_: KeyType, values: pa.Array) -> pa.Array | None:
    return values.cast(pa.int8()).cast(pa.int64()) if values.type == pa.bool_() else None


def _dates(_: KeyType, values: pa.Array) -> pa.Array | None:
    return values.view(pa.int32()).cast(pa.int64()) if values.type == pa.date32() else None


def _timestamps(key_type: KeyType, values: pa.Array) -> pa.Array | None:
    kind = values.type
    is_supported = pa.types.is_timestamp(kind) and key_type.kind == _timestamp_kind(kind)
    return values.view(pa.int64()) if is_supported else None


def _timestamp_kind(found: pa.DataType) -> str:
    zone = "timestamp_ntz" if found.tz is None else "timestamp"
    return {"us": zone, "ns": f"{zone}_ns"}.get(found.unit, "")


def _floats(_: KeyType, values: pa.Array) -> pa.Array | None:
    if not pa.types.is_floating(values.type):
        return None
    values = values.cast(pa.float64())
    numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False)
    # adding 0.0 turns -0.0 into 0.0; every NaN becomes the same NaN, above infinity
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.int64)
    bits[np.isnan(numbers)] = 0x7FF8 << 48
    # the bits of negative floats descend while the floats ascend: flip all bits but the sign
    codes = bits ^ ((bits >> 63) & np.int64(HIGHEST))
    return _masked(codes, values)


def _masked(codes: np.ndarray, values: pa.Array) -> pa.Array:
    if values.null_count == 0:
        return pa.array(codes, pa.int64())
    return pa.array(codes, pa.int64(), mask=values.is_null().to_numpy(zero_copy_only=False))


def _decimals(key_type: KeyType, values: pa.Array) -> pa.Array | None:
    if not pa.types.is_decimal128(values.type) or values.type.scale != key_type.scale:
        return None
    if values.type.precision > max(key_type.precision, NARROW_DIGITS):
        raise UnsupportedError(
            f"Decimals of {values.type.precision} digits cannot be keys of "
            f"{key_type.precision} digits.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="The column's type changed; refresh or build the index again.",
        )
    if len(values) == 0:
        return pa.array([], pa.binary() if key_type.is_wide else pa.int64())
    words = np.frombuffer(values.buffers()[1], "<i8")
    start = 2 * values.offset
    halves = words[start : start + 2 * len(values)].reshape(-1, 2)
    if not key_type.is_wide:
        return _masked(np.ascontiguousarray(halves[:, 0]), values)
    wide = _wide_codes(halves[:, 1], halves[:, 0])
    return pc.if_else(values.is_valid(), wide, pa.scalar(None, pa.binary()))


def _as_themselves(_: KeyType, codes: pa.Array) -> pa.Array:
    return codes


def _viewed(value_type: pa.DataType) -> Callable[[KeyType, pa.Array], pa.Array]:
    """Return the decoder of values that are stored as their codes."""
    return lambda _, codes: codes.cast(value_type)


def _floats_of(_: KeyType, codes: pa.Array) -> pa.Array:
    words = codes.to_numpy()
    return pa.array((words ^ ((words >> 63) & np.int64(HIGHEST))).view(np.float64))


def _decimals_of(key_type: KeyType, codes: pa.Array) -> pa.Array:
    value_type = pa.decimal128(max(key_type.precision, key_type.scale), key_type.scale)
    numbers = [unscaled(code) if isinstance(code, bytes) else code for code in codes.to_pylist()]
    data = b"".join(number.to_bytes(_WIDE_BYTES, "little", signed=True) for number in numbers)
    return pa.Array.from_buffers(value_type, len(numbers), [None, pa.py_buffer(data)])


def _strings_of(_: KeyType, codes: pa.Array) -> pa.Array:
    try:
        return codes.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            "A string of the index is not UTF-8.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Ask Spark for the values.",
        ) from error


KINDS: dict[str, KeyKind] = {
    "boolean": KeyKind(encode=_booleans, decode=_viewed(pa.bool_())),
    "integer": KeyKind(encode=_integers, decode=_as_themselves),
    "float": KeyKind(encode=_floats, decode=_floats_of),
    "decimal": KeyKind(encode=_decimals, decode=_decimals_of),
    "date": KeyKind(
        encode=_dates, decode=lambda _, codes: codes.cast(pa.int32()).cast(pa.date32())
    ),
    "timestamp": KeyKind(encode=_timestamps, decode=_viewed(pa.timestamp("us", "UTC"))),
    "timestamp_ntz": KeyKind(encode=_timestamps, decode=_viewed(pa.timestamp("us"))),
    "timestamp_ns": KeyKind(encode=_timestamps, decode=_viewed(pa.timestamp("ns", "UTC"))),
    "timestamp_ntz_ns": KeyKind(encode=_timestamps, decode=_viewed(pa.timestamp("ns"))),
    "string": KeyKind(encode=_bytes, physical="bytes", decode=_strings_of),
    "binary": KeyKind(encode=_bytes, physical="bytes", decode=_as_themselves),
}
"""All kinds of keys by name. Stored indexes contain these names."""
