"""Composite keys: codes of several columns, one after the other, as bytes that compare alike.

Each component begins with a marker: 0x00 for null, 0x01 for a value. A value's code follows: int64
codes as eight bytes, big-endian, the sign bit flipped; decimals as the 16 bytes of
:func:`lakesieve.sieve.wide_code`, with any precision; byte strings with 0x00 written as
0x00 0xff and 0x00 0x00 behind them. Nulls are filled with zeros to the width of the values, if all
have the same: keys whose columns begin at the same bytes get text codes, half as large.

No component begins another one, so composite keys compare like the tuples of their components, null
first. Promotions of a column keep its components.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.byte_order import binary_array
from lakesieve.sieve.keys import KeyType, encode_keys, unscaled, wide_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve.keys import Code

MAX_COLUMNS = 8
"""Columns that a composite key may have."""

VALUES = (b"\x01", b"\x02")
"""The half-open interval of all components that are not null."""

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_SIGN = np.uint64(1 << 63)
_ESCAPED = b"\x00\xff"
_END = b"\x00\x00"
_MAX_DIGITS = 38
_WIDTHS = {"string": 0, "binary": 0, "decimal": 16}
"""Bytes of every value's code, 0 where they differ, 8 for the kinds not named."""


def encode_rows(
    key_types: Sequence[KeyType], columns: Sequence[pa.Array | pa.ChunkedArray]
) -> pa.Array:
    """Turn the key columns of rows into one key code a row.

    Returns:
        Of one column its plain codes, null where it is. Of several a ``binary`` array without
        nulls: a row whose columns are all null has a key like any other.
    """
    if len(key_types) == 1:
        return encode_keys(key_types[0], columns[0])
    return encode_composite(key_types, columns)


def encode_composite(
    key_types: Sequence[KeyType], columns: Sequence[pa.Array | pa.ChunkedArray]
) -> pa.Array:
    """Turn leading key columns into what all composite keys of their values begin with.

    Returns:
        A ``binary`` array without nulls. The keys lie between a prefix and the same with the end of
        ``VALUES`` behind it.
    """
    components = [_components(*both) for both in zip(key_types, columns, strict=True)]
    return _joined(*components)


def component_code(kind: str, code: Code | None) -> bytes:
    """Return one component of a composite key, as :func:`encode_rows` writes it.

    Of decimals the code is the unscaled value; ``None`` is null. An integer beyond all codes of the
    kind gives the end of ``VALUES`` that it lies beyond.
    """
    if code is None:
        return bytes(1 + _WIDTHS.get(kind, 8))
    below, above = VALUES
    if isinstance(code, bytes):
        return below + code.replace(b"\x00", _ESCAPED) + _END
    if kind == "decimal":
        return below + wide_code(code)
    if not _LOWEST <= code <= _HIGHEST:
        return below if code < 0 else above
    return below + (code - _LOWEST).to_bytes(8, "big")


def leading_code(kind: str, key: bytes) -> Code | None:
    """Return the code of a composite key's first component; ``None`` for null.

    The key may be cut: what is missing counts as zeros.
    """
    if key[:1] != VALUES[0]:
        return None
    width = _WIDTHS.get(kind, 8)
    if not width:
        # zeros are escaped, so that two of them end the component
        parts = key[1:].split(_ESCAPED)
        ends = [at for at, part in enumerate(parts) if b"\x00" in part]
        whole = parts[: ends[0] + 1] if ends else parts
        return b"\x00".join([*whole[:-1], whole[-1].partition(b"\x00")[0]])
    word = key[1 : 1 + width].ljust(width, b"\x00")
    return unscaled(word) if kind == "decimal" else int.from_bytes(word, "big") + _LOWEST


def _components(key_type: KeyType, values: pa.Array | pa.ChunkedArray) -> pa.Array:
    is_decimal = key_type.kind == "decimal"
    wide = replace(key_type, precision=_MAX_DIGITS) if is_decimal else key_type
    codes = encode_keys(wide, values)
    if codes.type == pa.int64():
        return _marked_words(codes)
    begin = pa.scalar(VALUES[0], pa.binary())
    if is_decimal:
        components = _joined(begin, codes)
    else:
        escaped = pc.replace_substring(codes, pattern=b"\x00", replacement=_ESCAPED)
        components = _joined(begin, escaped, pa.scalar(_END, pa.binary()))
    return pc.fill_null(components, component_code(key_type.kind, None))


def _marked_words(codes: pa.Array) -> pa.Array:
    valid = codes.is_valid().to_numpy(zero_copy_only=False)
    words = codes.fill_null(0).to_numpy().view(np.uint64) ^ _SIGN
    rows = np.empty((len(words), 9), np.uint8)
    rows[:, 0] = valid
    rows[:, 1:] = (words * valid).astype(">u8").view(np.uint8).reshape(-1, 8)
    return binary_array(np.arange(len(rows) + 1) * 9, rows.reshape(-1))


def _joined(*components: pa.Array | pa.Scalar) -> pa.Array:
    joined: pa.Array = pc.binary_join_element_wise(*components, pa.scalar(b"", pa.binary()))
    return joined
