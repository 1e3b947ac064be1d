"""Words of texts: maximal runs of bytes that are ASCII letters, ASCII digits, or above 127.

The rule looks at bytes alone. So it does not change with the version of Unicode that a language
knows, and it holds for bytes that are no UTF-8. ``docs/spec/format-v1.md`` specifies it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.byte_order import binary_array

LONGEST_WORD = 256
"""Longer words are cut to this many bytes."""


# By each small letter, the characters beyond ASCII of which it is the beginning in lower case, in
# the UTF-8 of some language: the sign of Kelvin, and the letter i with various marks.
_SMALL_BEYOND_ASCII = {
    "k": ("\u212a",),
    "i": ("\u0130", "\u00cc", "\u00cd", "\u0128"),
}
# Turkish drops this mark behind an I
_DOT_ABOVE = "\u0307"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPart:
    """Bytes that a word has, at any place or at its ends.

    If it is folded, the bytes are ASCII, and the word in lower case has them, in any language.
    """

    text: bytes
    at_start: bool = False
    at_end: bool = False
    is_folded: bool = False

    def are_in(self, words: pa.Array) -> pa.Array:
        """Return which of some words, ``binary``, have the part. If folded, more may be marked."""
        if not self.is_folded and not self.at_start:
            has_part = pc.ends_with if self.at_end else pc.match_substring
            return has_part(words, self.text)
        letters = map(_of_any_case if self.is_folded else _as_written, self.text.decode("latin-1"))
        start, end = r"\A" if self.at_start else "", r"\z" if self.at_end else ""
        # Arrow reads the patterns for binary values byte by byte
        return pc.match_substring_regex(words, f"(?s){start}{''.join(letters)}{end}")

    def is_nowhere(self, words: bytes) -> bool:
        """Return whether words, one after the other, surely lack the part. This is fast."""
        if not self.is_folded:
            return self.text not in words
        # of other characters, the lower case is not known here
        return words.isascii() and self.text.lower() not in words.lower()

    def may_be_in(self, occurs: np.ndarray) -> np.ndarray:
        """Return which of some groups of words can have a word with the part.

        Args:
            occurs: For each group and each of the 256 bytes, whether a word has the byte.
        """
        may_be = np.ones(len(occurs), bool)
        for byte in set(self.text):
            sources = [byte]
            if self.is_folded:
                letter = chr(byte).lower()
                # characters beyond ASCII may be letters in lower case
                sources = [ord(letter), ord(letter.upper()), *range(128, 256)]
            may_be &= occurs[:, sources].any(axis=1)
        return may_be


def _as_written(byte: str) -> str:
    return f"\\x{ord(byte):02x}"


def _of_any_case(letter: str) -> str:
    """Return a pattern for bytes that are a letter in lower case, in some language."""
    small = letter.lower()
    others = [
        "".join(f"\\x{byte:02x}" for byte in other.encode())
        for other in _SMALL_BEYOND_ASCII.get(small, ())
    ]
    one = "|".join([*map(_as_written, dict.fromkeys((small, small.upper()))), *others])
    dots = "".join(f"\\x{byte:02x}" for byte in _DOT_ABOVE.encode())
    return f"(?:{one})(?:{dots})*" if small == "i" else f"(?:{one})"


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
