"""Words of texts: the rule that splits them, blocks that keep words whole, and their look-up."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.sieve import (
    LONGEST_WORD,
    Blocks,
    KeysOfRow,
    KeyType,
    RangeSet,
    WordPart,
    blocks_of_pairs,
    is_of_word,
    keys_of_rows,
    lookup_points,
    lookup_words,
    merge_streams,
    split_words,
)

CASES = {
    "": [],
    " ": [],
    "word": ["word"],
    "two words": ["two", "words"],
    "  GET /api/v2?id=42&x=a-b ": ["GET", "api", "v2", "id", "42", "x", "a", "b"],
    "under_score, semi;colon": ["under", "score", "semi", "colon"],
    "a\0b\tc\nd\x7fe": ["a", "b", "c", "d", "e"],
    "UPPER lower": ["UPPER", "lower"],
    "Straße İstanbul": ["Straße", "İstanbul"],
    "日本語 テキスト": ["日本語", "テキスト"],
    "smile \U0001f600!": ["smile", "\U0001f600"],
    # punctuation above 127 is no separator
    "dash—dash\u00a0space": ["dash—dash\u00a0space"],
    "x" * (LONGEST_WORD + 3): ["x" * LONGEST_WORD],
}
"""Texts and their words: the cases of the specification."""

_PARTS = st.binary(max_size=4) | st.sampled_from(
    [b" ", b"-", b"a", b"Zz", b"9", b"\xff", b"x" * 300]
)
_TEXTS = st.lists(st.none() | st.lists(_PARTS, max_size=6).map(b"".join), max_size=8)


def _words_one_by_one(text: bytes | None) -> list[bytes]:
    """The slow twin of the splitter."""
    words = re.findall(rb"[0-9A-Za-z\x80-\xff]+", text or b"")
    return [word[:LONGEST_WORD] for word in words]


@pytest.mark.parametrize("text", CASES)
def test_cases(text: str) -> None:
    """The cases of the specification."""
    words, rows = split_words(pa.array([None, text.encode()], pa.binary()))
    assert [word.decode() for word in words.to_pylist()] == CASES[text]
    assert rows.tolist() == [1] * len(CASES[text])


@given(_TEXTS, st.integers(0, 3))
def test_split_as_the_twin(texts: list[bytes | None], skipped: int) -> None:
    """Each row has the words of its text, in order; slices and nulls change nothing."""
    array = pa.array(texts, pa.binary()).slice(skipped)
    words, rows = split_words(array)
    expected = [(at, word) for at, t in enumerate(texts[skipped:]) for word in _words_one_by_one(t)]
    assert list(zip(rows.tolist(), words.to_pylist(), strict=True)) == expected
    chunked = pa.chunked_array([array.slice(0, 2), array.slice(2)], pa.binary())
    assert split_words(chunked)[0].equals(words)
    keys, numbers = keys_of_rows([KeyType(kind="string")], [array], [KeysOfRow.WORDS])
    assert keys.equals(words)
    assert numbers is not None
    assert numbers.tolist() == rows.tolist()


def test_bytes_of_words() -> None:
    """ASCII letters and digits, and all bytes above 127."""
    found = bytes(byte for byte in range(256) if is_of_word(byte))
    assert found == b"".join(_words_one_by_one(bytes(range(256))))


_PAIRS = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"ab", b"abc", b"b", b"ac", b"x" * LONGEST_WORD, b"\xff", b"a\xff"]),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=30,
)


def _blocks(pairs: list[tuple[bytes, int]], most: int = 1000) -> list[Blocks]:
    keys = pa.array([key for key, _ in pairs], pa.binary())
    units = np.array([unit for _, unit in pairs], np.int32)
    blocks = list(blocks_of_pairs(keys, units, max_pairs=8 * most, whole=True))
    for one in blocks:
        one.validate()
    return blocks


EVERY = RangeSet.from_intervals([(None, None)], "bytes")


def _check(blocks: list[Blocks], pairs: list[tuple[bytes, int]], *, exact: bool) -> None:
    """Every key is a separator, and look-ups by key and by part find its units."""
    separators = {key for one in blocks for key in one.keys.to_pylist()}
    assert {key for key, _ in pairs} <= separators
    for key in {key for key, _ in pairs}:
        units = {unit for other, unit in pairs if other == key}
        found: set[int] = set()
        for one in blocks:
            if one.keys[0].as_py() <= key <= one.max_key:  # type: ignore[operator]
                _, ordinals = lookup_points(one, pa.array([key], pa.binary()))
                found |= set(ordinals.tolist())
        assert found == units if exact else found >= units
    for part in (b"a", b"b", b"bc", b"\xff", b"zz"):
        for at_end in (False, True):
            wanted = {
                unit
                for key, unit in pairs
                if len(key) == LONGEST_WORD or (key.endswith(part) if at_end else part in key)
            }
            found = {
                u
                for one in blocks
                for u in lookup_words(one, WordPart(text=part, at_end=at_end), EVERY).tolist()
            }
            assert found == wanted if exact else found >= wanted


@given(_PAIRS, st.integers(1, 20))
def test_blocks_of_whole_keys(pairs: list[tuple[bytes, int]], most: int) -> None:
    """Words with equal sets stay apart, so that all words can be read."""
    _check(_blocks(pairs, most), pairs, exact=True)


@given(_PAIRS, _PAIRS, _PAIRS)
def test_merged_blocks_keep_whole_keys(
    one: list[tuple[bytes, int]], two: list[tuple[bytes, int]], three: list[tuple[bytes, int]]
) -> None:
    """A merge keeps every word."""
    parts = (one, two, three)
    new = np.arange(6, dtype=np.int64)
    streams = [_blocks(pairs) for pairs in parts]
    merged = list(merge_streams(streams, [new] * 3, max_ordinals=5, whole=True))
    for blocks in merged:
        blocks.validate()
    _check(merged, [pair for pairs in parts for pair in pairs], exact=False)


_LETTERS = ["a", "A", "k", "K", "\u212a", "i", "I", "\u0130", "\u00cc", "\u0307", "9", "\u00df"]
_LETTER = st.sampled_from([letter.encode() for letter in _LETTERS] + [b"\xff", b"\xc4"])
_WORDS = st.lists(st.lists(_LETTER, min_size=1, max_size=5).map(b"".join), max_size=20)
_ASCII_PART = st.text("aki9", min_size=1, max_size=3).map(str.encode)


def _folded_one_by_one(word: bytes) -> bytes:
    """The slow twin: a word with the small letters that some language begins its letters with."""
    for small, others in {"k": "\u212a", "i": "\u0130\u00cc\u00cd\u0128"}.items():
        for other in others:
            word = word.replace(other.encode(), small.encode())
    return re.sub("i(?:\u0307)+".encode(), b"i", word.lower())


@given(_WORDS, _ASCII_PART, st.booleans(), st.booleans(), st.booleans())
def test_parts_as_the_twin(
    words: list[bytes], text: bytes, at_start: bool, at_end: bool, is_folded: bool
) -> None:
    """Words have a part at its place, as they are written or in lower case."""
    part = WordPart(text=text, at_start=at_start, at_end=at_end, is_folded=is_folded)
    found = part.are_in(pa.array(words, pa.binary())).to_pylist()
    for word, has_part in zip(words, found, strict=True):
        written = _folded_one_by_one(word) if is_folded else word
        starts = not at_start or written.startswith(text)
        ends = not at_end or written.endswith(text)
        whole = not (at_start and at_end) or written == text
        assert has_part == (text in written and starts and ends and whole), word
