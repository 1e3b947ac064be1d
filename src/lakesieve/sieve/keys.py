"""Order-preserving key codes: every key type becomes int64 or bytes that compare alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, UnsupportedError

__all__ = ["KINDS", "KeyType", "encode_keys"]

KINDS = ("integer", "date", "timestamp", "timestamp_ntz", "decimal", "string")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyType:
    """Type of an index's keys.

    Args:
        kind: One of ``KINDS``.
        scale: Digits after the point, for decimals.

    Raises:
        UnsupportedError: An unknown kind.
    """

    kind: str
    scale: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnsupportedError(
                f"Keys of the kind {self.kind} are not supported.",
                kind=ErrorKind.UNSUPPORTED_TYPE,
                hint=f"Supported are: {', '.join(KINDS)}.",
            )

    @property
    def physical(self) -> str:
        """``int64`` or ``bytes``: how codes are stored."""
        return "bytes" if self.kind == "string" else "int64"


def encode_keys(key_type: KeyType, values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Turn column values into key codes; nulls stay null.

    Args:
        key_type: What the codes must compare like.
        values: Integers, dates, timestamps in microseconds (with a zone for ``timestamp``, without
            for ``timestamp_ntz``), decimals, strings or their bytes.

    Returns:
        An ``int64`` or ``binary`` array of the same length.

    Raises:
        UnsupportedError: The values are not of the key type.
    """
    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks != 1:
            parts = [encode_keys(key_type, chunk) for chunk in values.chunks]
            empty = pa.array([], pa.binary() if key_type.physical == "bytes" else pa.int64())
            return pa.concat_arrays(parts) if parts else empty
        values = values.chunk(0)
    kind, found = key_type.kind, values.type
    if kind == "string" and (_is_text(found) or _is_binary(found)):
        return values.cast(pa.binary())
    if kind == "integer" and pa.types.is_integer(found) and found != pa.uint64():
        return values.cast(pa.int64())
    if kind == "date" and found == pa.date32():
        return values.view(pa.int32()).cast(pa.int64())
    if _is_micros(found) and (kind == "timestamp_ntz" if found.tz is None else kind == "timestamp"):
        return values.view(pa.int64())
    if kind == "decimal" and pa.types.is_decimal128(found) and found.scale == key_type.scale:
        return _unscaled(values)
    raise UnsupportedError(
        f"Values of the type {found} cannot be keys of the kind {kind}.",
        kind=ErrorKind.UNSUPPORTED_TYPE,
        hint="The column's type changed; build the index again.",
    )


def _is_text(found: pa.DataType) -> bool:
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def _is_binary(found: pa.DataType) -> bool:
    return bool(pa.types.is_binary(found) or pa.types.is_large_binary(found))


def _is_micros(found: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(found) and found.unit == "us")


def _unscaled(values: pa.Array) -> pa.Array:
    """Low halves of 128-bit decimals, which hold any value of up to 18 digits."""
    if values.type.precision > 18:
        raise UnsupportedError(
            f"Decimals of {values.type.precision} digits cannot be keys.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Up to 18 digits can.",
        )
    if len(values) == 0:
        return pa.array([], pa.int64())
    words = np.frombuffer(values.buffers()[1], "<i8")
    start = 2 * values.offset
    low = np.ascontiguousarray(words[start : start + 2 * len(values) : 2])
    return pc.if_else(values.is_valid(), pa.array(low), pa.scalar(None, pa.int64()))
