"""Composite keys: codes of several columns, joined into bytes that compare like their tuple.

Each component begins with a marker: 0x00 for null, 0x01 for a value. A value's code follows. An
int64 code is eight bytes, big-endian, with the sign bit flipped. A decimal of any precision is the
16 bytes of :func:`lakesieve.sieve.wide_code`. A byte string has 0x00 escaped as 0x00 0xff and ends
with 0x00 0x00. If all values have the same width, nulls are filled with zeros to it: then every
column begins at a fixed byte, and the keys get text codes of half the size.

No component is a prefix of another one, so composite keys compare like the tuples of their
components, null first. Promoting a column's type does not change its components.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.byte_order import binary_array
from lakesieve.sieve.keys import HIGHEST, LOWEST, KeyType, encode_keys, unscaled, wide_code
from lakesieve.sieve.words import WordPart, split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve.keys import Code

MAX_COLUMNS = 8
"""Largest number of columns in a composite key."""


class KeysOfRow(Enum):
    """How many values a row has in a key column, and what these values are made of."""

    ONE = "one"
    """One value, or null."""
    LISTS = "lists"
    """One for each place in a list. All such columns of an index are equally long."""
    WORDS = "words"
    """One for each word of a text. No other column of an index has many values."""


VALUES = (b"\x01", b"\x02")
"""Half-open interval of all components that are not null."""

_SIGN = np.uint64(1 << 63)
_ESCAPED = b"\x00\xff"
_END = b"\x00\x00"
_MAX_DIGITS = 38
_WIDTHS = {"string": 0, "binary": 0, "decimal": 16}
"""Width of each kind's value codes: 0 if values differ in width, 8 for kinds not listed."""


def encode_rows(
    key_types: Sequence[KeyType], columns: Sequence[pa.Array | pa.ChunkedArray]
) -> pa.Array:
    """Encode the key columns of rows as one key code for each row.

    Returns:
        For one column its plain codes, with its nulls. For several columns a ``binary`` array
        without nulls, because a row whose columns are all null has a key, too.
    """
    if len(key_types) == 1:
        return encode_keys(key_types[0], columns[0])
    return encode_composite(key_types, columns)


def keys_of_rows(
    key_types: Sequence[KeyType],
    columns: Sequence[pa.Array | pa.ChunkedArray],
    keys: Sequence[KeysOfRow] = (),
) -> tuple[pa.Array, np.ndarray | None]:
    """Return the keys of rows, and the row number of each key.

    Args:
        key_types: The types of the key columns.
        columns: The key columns.
        keys: For each column, how the keys of a row follow from it; empty if each row has one key.

    Returns:
        Key codes without nulls. Then the row number of each key, ascending, int64. The row numbers
        are ``None`` if each row has exactly one key.
    """
    rows: np.ndarray | None = None
    if any(each is not KeysOfRow.ONE for each in keys):
        columns, rows = _values_of_many(columns, keys)
    codes = encode_rows(key_types, columns)
    if not codes.null_count:
        return codes, rows
    at = np.flatnonzero(codes.is_valid().to_numpy(zero_copy_only=False))
    return codes.drop_null(), at if rows is None else rows[at]


def _values_of_many(
    columns: Sequence[pa.Array | pa.ChunkedArray], keys: Sequence[KeysOfRow]
) -> tuple[list[pa.Array | pa.ChunkedArray], np.ndarray]:
    """Return the values of the columns in each key, and the row number of each key."""
    parts: dict[int, pa.Array | pa.ChunkedArray] = {}
    if KeysOfRow.WORDS in keys:
        at = keys.index(KeysOfRow.WORDS)
        parts[at], rows = split_words(columns[at])
    else:
        of_lists = [at for at, each in enumerate(keys) if each is KeysOfRow.LISTS]
        # a null list has no elements, whatever its offsets say
        parts = {at: pc.list_flatten(columns[at]) for at in of_lists}
        lists = columns[of_lists[0]]
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
        rows = np.repeat(np.arange(len(lists)), lengths)
    at_rows = pa.array(rows)
    values = [
        parts[at] if at in parts else column.take(at_rows) for at, column in enumerate(columns)
    ]
    return values, rows


def encode_composite(
    key_types: Sequence[KeyType], columns: Sequence[pa.Array | pa.ChunkedArray]
) -> pa.Array:
    """Encode leading key columns as the prefix that all composite keys of their values share.

    Returns:
        A ``binary`` array without nulls. The keys lie between a prefix and the prefix followed by
        the end of ``VALUES``.
    """
    components = [_components(*both) for both in zip(key_types, columns, strict=True)]
    return _joined(*components)


def component_code(kind: str, code: Code | None) -> bytes:
    """Return one component of a composite key, as :func:`encode_rows` writes it.

    The code of a decimal is its unscaled value; the code ``None`` is null. An integer outside the
    range of the kind's codes becomes the start or the end of ``VALUES``.
    """
    if code is None:
        return bytes(1 + _WIDTHS.get(kind, 8))
    below, above = VALUES
    if isinstance(code, bytes):
        return below + code.replace(b"\x00", _ESCAPED) + _END
    if kind == "decimal":
        return below + wide_code(code)
    if not LOWEST <= code <= HIGHEST:
        return below if code < 0 else above
    return below + (code - LOWEST).to_bytes(8, "big")


def component_part(part: WordPart) -> WordPart:
    """Return a part of a word as a part of composite keys with a component for the word."""
    begin, end = VALUES[0] * part.at_start, _END * part.at_end
    return WordPart(text=begin + part.text + end, is_folded=part.is_folded)


def leading_code(kind: str, key: bytes) -> Code | None:
    """Return the code of a composite key's first component; ``None`` for null.

    The key may be cut: what is missing counts as zeros.
    """
    if key[:1] != VALUES[0]:
        return None
    width = _WIDTHS.get(kind, 8)
    if not width:
        # zero bytes are escaped, so two zero bytes in a row mark the end of the component
        parts = key[1:].split(_ESCAPED)
        ends = [at for at, part in enumerate(parts) if b"\x00" in part]
        whole = parts[: ends[0] + 1] if ends else parts
        return b"\x00".join([*whole[:-1], whole[-1].partition(b"\x00")[0]])
    word = key[1 : 1 + width].ljust(width, b"\x00")
    return unscaled(word) if kind == "decimal" else int.from_bytes(word, "big") + LOWEST


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
