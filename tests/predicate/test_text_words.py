"""Patterns of texts as filters on words, compared with the words of drawn texts."""

from __future__ import annotations

import base64

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.predicate import (
    AllOf,
    AlwaysTrue,
    AnyOf,
    ColumnType,
    ElementRanges,
    KeysWith,
    Ranges,
    RowFilter,
    bind,
    condition_of,
    rows_where,
    to_sql,
)
from lakesieve.predicate.expression import TextPattern, Unknown
from lakesieve.predicate.parse import parse_sql
from lakesieve.predicate.text_words import like_pattern, words_of_pattern
from lakesieve.sieve import LONGEST_WORD, WordPart, split_words

_TEXT = ColumnType(field_id=1, kind="string")
_WORDS = 9


def _pattern(*parts: bytes, begins: bool = False, ends: bool = False) -> TextPattern:
    return TextPattern(parts=parts, begins=begins, ends=ends)


def _points(*words: bytes) -> list[Ranges]:
    return [Ranges.points([word]) for word in words]


def _part(text: bytes, at_end: bool = False) -> WordPart:
    return WordPart(text=text, at_end=at_end)


def test_words_at_the_edges() -> None:
    """A word with a separator on both sides is whole; at an open end it may go on."""
    assert words_of_pattern(_pattern(b" abc, de-")) == (_points(b"abc", b"de"), None)
    assert words_of_pattern(_pattern(b"req-8f3a")) == ([Ranges.prefix(b"8f3a")], None)
    assert words_of_pattern(_pattern(b"reqs-8f3")) == (
        [Ranges.prefix(b"8f3")],
        _part(b"reqs", True),
    )
    assert words_of_pattern(_pattern(b"abc")) == ([], _part(b"abc"))
    assert words_of_pattern(_pattern(b"abc", begins=True)) == ([Ranges.prefix(b"abc")], None)
    assert words_of_pattern(_pattern(b"abc", ends=True)) == ([], _part(b"abc", True))
    whole = _pattern(b"a bc", begins=True, ends=True)
    assert words_of_pattern(whole) == (_points(b"bc", b"a"), None)
    two = _pattern(b"ab", b"c d", begins=True, ends=True)
    assert words_of_pattern(two) == ([Ranges.prefix(b"ab"), *_points(b"d")], None)
    assert words_of_pattern(_pattern(b"--")) == ([], None)
    long = b"x" * (LONGEST_WORD + 5)
    assert words_of_pattern(_pattern(long, ends=True)) == ([], _part(long[:LONGEST_WORD]))
    many = _pattern(b" ".join(b"w" * size for size in range(1, 30)), begins=True, ends=True)
    assert words_of_pattern(many)[0] == _points(*(b"w" * size for size in range(29, 21, -1)))


def test_words_in_lower_case() -> None:
    """Of words in lower case, the longest run of ASCII characters is sought, and its limits."""

    def part(*parts: bytes, begins: bool = False, ends: bool = False) -> WordPart | None:
        pattern = TextPattern(parts=parts, begins=begins, ends=ends, is_folded=True)
        ranges, searched = words_of_pattern(pattern)
        assert ranges == []
        return searched

    def folded(text: bytes, *, at_start: bool = False, at_end: bool = False) -> WordPart:
        return WordPart(text=text, at_start=at_start, at_end=at_end, is_folded=True)

    assert part(b"abc") == folded(b"abc")
    assert part(b"-abc de-") == folded(b"abc", at_start=True, at_end=True)
    assert part(b"abcd e-") == folded(b"abcd", at_end=True)
    assert part(b"abc", begins=True) == folded(b"abc", at_start=True)
    assert part(b"abc", begins=True, ends=True) == folded(b"abc", at_start=True, at_end=True)
    assert part("-straße-".encode()) == folded(b"stra", at_start=True)
    assert part("-ßtrasse-".encode()) == folded(b"trasse", at_end=True)
    assert part("日本".encode(), b"--") is None
    long = b"x" * (LONGEST_WORD + 5)
    assert part(long, begins=True, ends=True) == folded(long[:LONGEST_WORD], at_start=True)


_PIECE = st.sampled_from([b"a", b"ab", b"b", b"-", b" ", b"\xc3\x9f", b"x" * LONGEST_WORD])
_STRING = st.lists(_PIECE, min_size=1, max_size=4).map(b"".join)


@given(
    st.lists(_STRING, min_size=1, max_size=3), st.lists(_STRING, min_size=4, max_size=4), st.data()
)
def test_no_text_is_lost(parts: list[bytes], between: list[bytes], data: st.DataObject) -> None:
    """A text that has a pattern has the words that the pattern asks for."""
    begins, ends = data.draw(st.booleans()), data.draw(st.booleans())
    text = b"" if begins else between[0]
    for part, gap in zip(parts, between[1:], strict=False):
        text += part + (gap if data.draw(st.booleans()) else b"")
    if ends and not text.endswith(parts[-1]):
        text += parts[-1]
    elif not ends:
        text += between[-1]
    if begins and ends and len(parts) == 1:
        text = parts[0]
    words = split_words(pa.array([text], pa.binary()))[0].to_pylist()
    ranges, searched = words_of_pattern(_pattern(*parts, begins=begins, ends=ends))
    for one in ranges:
        assert any(one.contains(word) for word in words)
    if searched is not None:
        sought = searched.text
        assert any(
            len(word) >= LONGEST_WORD
            or (word.endswith(sought) if searched.at_end else sought in word)
            for word in words
        )


def _filter(text: str) -> RowFilter:
    return rows_where(bind(parse_sql(text), {("s",): _TEXT}, strict=True, words={1: _WORDS}))


def _words(*words: bytes) -> ElementRanges:
    return ElementRanges(field_id=_WORDS, ranges=Ranges.points(words))


def test_conditions_on_the_text() -> None:
    """Equality, lists and prefixes ask for words, too; their negation does not."""
    of_column = rows_where(bind(parse_sql("s = 'a b'"), {("s",): _TEXT}, strict=True))
    assert _filter("s = 'a b'") == AllOf(args=(of_column, _words(b"a"), _words(b"b")))
    listed = _filter("s IN ('a', 'b-')")
    assert isinstance(listed, AllOf)
    assert listed.args[1] == _words(b"a", b"b")
    prefix = _filter("s LIKE 'ab cd%'")
    assert isinstance(prefix, AllOf)
    assert ElementRanges(field_id=_WORDS, ranges=Ranges.prefix(b"cd")) in prefix.args
    for text in ("s <> 'a b'", "NOT s LIKE 'ab%'", "s > 'a'", "s IS NULL", "s = '-'"):
        plain = rows_where(bind(parse_sql(text), {("s",): _TEXT}, strict=True))
        assert _filter(text) == plain, text


def test_patterns_of_like() -> None:
    """The parts lie between the wildcards."""
    assert like_pattern("%a_b%") == _pattern(b"a", b"b")
    assert like_pattern("a%b") == _pattern(b"a", b"b", begins=True, ends=True)
    assert like_pattern("_%") is None
    assert like_pattern("%\ufffd%") is None
    like = _filter("s LIKE '%-abc-%'")
    assert _words(b"abc") in (like.args if isinstance(like, AllOf) else (like,))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("s ILIKE '%-Abc-%'", "lower(x) = 'abc'"),
        ("s ILIKE 'Abc%'", "startswith(lower(x), 'abc')"),
        ("lower(s) LIKE '%abc%'", "contains(lower(x), 'abc')"),
        ("lower(s) = 'abc'", "lower(x) = 'abc'"),
        ("startswith(lower(s), 'abc')", "startswith(lower(x), 'abc')"),
        ("s RLIKE 'abc[0-9]+'", "contains(x, 'abc')"),
        ("s RLIKE '(?i)abc'", "contains(lower(x), 'abc')"),
        ("lower(s) RLIKE 'abc '", "endswith(lower(x), 'abc')"),
        (r"s RLIKE r'\.abc'", "x LIKE 'abc%'"),
        ("contains(s, 'abc')", "contains(x, 'abc')"),
        ("endswith(s, 'abc')", "endswith(x, 'abc')"),
    ],
)
def test_conditions_in_sql_text(text: str, written: str) -> None:
    """SQL text asks for the same words as conditions of an engine."""
    types = {"words(s)": ColumnType(field_id=_WORDS, kind="string")}
    assert to_sql(_filter(text), {}, expressions=types) == f"exists(words(s), x -> {written})"


@pytest.mark.parametrize(
    "text",
    [
        "s ILIKE '%Ä%'",
        "s ILIKE 'a!%' ESCAPE '!'",
        "upper(s) LIKE '%A%'",
        "NOT s ILIKE '%a%'",
        "s NOT RLIKE 'a'",
        "s RLIKE 'a|.'",
        "contains(s, '')",
        "contains(s, lower('A'))",
    ],
)
def test_texts_that_ask_for_no_words(text: str) -> None:
    """These conditions do not use the words: any row may meet them."""
    assert _filter(text) == AlwaysTrue()


def _text(part: bytes, **more: object) -> dict[str, object]:
    otherwise = {"op": "unknown", "text": "?"}
    parts = [base64.b64encode(part).decode()]
    plain = {"op": "text", "col": ["s"], "parts": parts, "begins": False, "ends": False}
    plain["folded"] = False
    return plain | {"otherwise": otherwise} | more


def _of_document(document: object, words: dict[int, int] | None = None) -> RowFilter:
    types: dict[tuple[str, ...], ColumnType] = {("s",): _TEXT}
    return rows_where(bind(condition_of(document), types, strict=False, words=words))


def test_conditions_of_the_protocol() -> None:
    """A condition with parts asks for words where words are keys; else it is the condition."""
    document = _text(b" failed ")
    assert _of_document(document) == AlwaysTrue()
    assert _of_document(document, {1: _WORDS}) == _words(b"failed")
    assert _of_document({"op": "not", "arg": document}, {1: _WORDS}) == AlwaysTrue()
    scan = _of_document(_text(b"fail"), {1: _WORDS})
    assert scan == KeysWith(field_id=_WORDS, part=_part(b"fail"))
    otherwise = {"op": "isnull", "col": ["s"]}
    known = _of_document(_text(b" a ", otherwise=otherwise), {1: _WORDS})
    assert isinstance(known, AllOf)
    either = _of_document({"op": "or", "args": [document, _text(b"-b-")]}, {1: _WORDS})
    assert either == _words(b"b", b"failed")
    mixed = _of_document({"op": "or", "args": [document, _text(b"b")]}, {1: _WORDS})
    assert isinstance(mixed, AnyOf)


def test_texts_that_are_no_strings() -> None:
    """A text whose collation is not known has no words."""
    other = ColumnType(field_id=1, kind="other")
    rows = bind(condition_of(_text(b" a ")), {("s",): other}, strict=False, words={1: _WORDS})
    assert rows_where(rows) == AlwaysTrue()


def test_regular_expressions_of_the_protocol() -> None:
    """The planner reads the parts of a regular expression. One that it cannot read is unknown."""

    def found(regex: bytes, /, **more: object) -> RowFilter:
        document = _text(b"") | {"op": "matches", "regex": base64.b64encode(regex).decode()}
        for name in ("parts", "begins", "ends"):
            del document[name]
        return _of_document(document | more, {1: _WORDS})

    assert found(b"-abc-") == _words(b"abc")
    assert found(b"-abc-|-b-") == _words(b"abc", b"b")
    folded = WordPart(text=b"abc", is_folded=True)
    assert found(b"abc", folded=True) == KeysWith(field_id=_WORDS, part=folded)
    for regex in (b".*", b"\xff", b"(a"):
        assert found(regex) == AlwaysTrue()
    odds: list[dict[str, object]] = [{"more": 1}, {"folded": 1}, {"regex": 5}, {"col": []}]
    for odd in odds:
        assert found(b"-abc-", **odd) == AlwaysTrue()


@pytest.mark.parametrize(
    "more",
    [
        {"folded": 1},
        {"parts": []},
        {"parts": [""]},
        {"parts": ["?"]},
        {"parts": "YQ=="},
        {"begins": 1},
        {"col": []},
        {"col": "s"},
        {"more": 1},
    ],
)
def test_odd_parts_are_ignored(more: dict[str, object]) -> None:
    """Parts that are not understood leave the condition itself."""
    assert isinstance(condition_of(_text(b" a ", **more)), Unknown)


def test_words_as_sql() -> None:
    """A filter on words is printed so that a person understands it."""
    types = {"words(s)": ColumnType(field_id=_WORDS, kind="string")}
    assert to_sql(_words(b"a"), {}, expressions=types) == "exists(words(s), x -> x = 'a')"
    scan = KeysWith(field_id=_WORDS, part=_part(b"ab", True))
    assert to_sql(scan, {}, expressions=types) == "exists(words(s), x -> endswith(x, 'ab'))"
