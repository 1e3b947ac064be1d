"""Words of texts: maximal runs of bytes that are ASCII letters, ASCII digits, or above 127.

The rule looks at bytes alone. So it does not change with the version of Unicode that a language
knows, and it holds for bytes that are no UTF-8. ``docs/spec/format-v1.md`` specifies it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.byte_order import binary_array

LONGEST_WORD = 256
"""Longer words are cut to this many bytes."""


def _of_words() -> np.ndarray:
    table = np.zeros(256, bool)
    for first, last in ((b"0", b"9"), (b"A", b"Z"), (b"a", b"z"), (b"\x80", b"\xff")):
        table[first[0] : last[0] + 1] = True
    return table


_OF_WORDS = _of_words()


def split_words(texts: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Split texts into words.

    Args:
        texts: ``binary``; a null has no words.

    Returns:
        The words of all texts in order, ``binary``, each at most ``LONGEST_WORD`` bytes; and for
        each word the number of its text, int64.
    """
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    whole = pa.concat_arrays([pa.array([], pa.binary()), *chunks])
    filled = pc.fill_null(whole, b"")
    offsets = np.frombuffer(filled.buffers()[1], np.int32)[filled.offset :][: len(filled) + 1]
    data = np.frombuffer(filled.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    is_inside = _OF_WORDS[data]
    begins = np.ones(len(data), bool)
    begins[1:] = ~is_inside[:-1]
    # a word ends where its text ends
    begins[offsets[:-1][offsets[:-1] < len(data)]] = True
    begins &= is_inside
    starts = np.flatnonzero(begins)
    rows = np.repeat(np.arange(len(filled)), np.diff(np.searchsorted(starts, offsets)))
    letters = data[is_inside]
    ends = np.append(np.flatnonzero(begins[is_inside]), len(letters))
    lengths = np.diff(ends)
    if len(lengths) and int(lengths.max()) > LONGEST_WORD:
        places = np.arange(len(letters)) - np.repeat(ends[:-1], lengths)
        letters = letters[places < LONGEST_WORD]
        ends = np.append(0, np.cumsum(np.minimum(lengths, LONGEST_WORD)))
    return binary_array(ends.astype(np.int64), letters), rows


def is_of_word(byte: int) -> bool:
    """Return whether a byte belongs to words."""
    return bool(_OF_WORDS[byte])
