"""Constant parts of regular expressions."""

from __future__ import annotations

import pytest

from lakesieve.predicate.expression import TextPattern
from lakesieve.predicate.regex_parts import patterns_of_regex


def _pattern(*parts: str, begins: bool = False, is_folded: bool = False) -> TextPattern:
    encoded = tuple(part.encode() for part in parts)
    return TextPattern(parts=encoded, begins=begins, ends=False, is_folded=is_folded)


@pytest.mark.parametrize(
    ("regex", "parts"),
    [
        ("abc", ["abc"]),
        ("a b-c", ["a b-c"]),
        (r"10\.0\.0\.1", ["10.0.0.1"]),
        ("status=5..", ["status=5"]),
        ("error.*timeout", ["error", "timeout"]),
        ("ab+c", ["ab", "c"]),
        ("ab?c", ["a", "c"]),
        ("ab*c", ["a", "c"]),
        ("ab{2,3}c", ["ab", "c"]),
        ("ab{0,3}c", ["a", "c"]),
        ("ab{02}c", ["ab", "c"]),
        ("ab+?c++d", ["ab", "c", "d"]),
        ("a(bc)d", ["abcd"]),
        ("a(?:bc)+d", ["abc", "d"]),
        ("a(bc)?d", ["a", "d"]),
        ("a(b|c)d", ["a", "d"]),
        ("a(b(c)+e)d", ["abc", "ed"]),
        (r"user\d+x", ["user", "x"]),
        (r"\bword\b", ["word"]),
        ("id[0-9a-f]+z", ["id", "z"]),
        (r"a[^\]\d ]b", ["a", "b"]),
        (r"\Qa.b|c\Ed", ["a.b|cd"]),
        (r"\Qa.b", ["a.b"]),
        (r"a\tb", ["a\tb"]),
        ("日本.ß", ["日本", "ß"]),
        ("a$", ["a"]),
        ("a^b", ["a", "b"]),
    ],
)
def test_parts(regex: str, parts: list[str]) -> None:
    """Every match has the characters that stand in the expression themselves."""
    assert patterns_of_regex(regex) == (_pattern(*parts),)


def test_starts_and_alternatives() -> None:
    """A text begins with what follows the start, and has one of the alternatives."""
    assert patterns_of_regex("^GET /") == (_pattern("GET /", begins=True),)
    assert patterns_of_regex("^(GET) /") == (_pattern("GET /", begins=True),)
    assert patterns_of_regex("^.GET") == (_pattern("GET"),)
    assert patterns_of_regex("(^GET)? b") == (_pattern(" b"),)
    assert patterns_of_regex("error|^fail") == (_pattern("error"), _pattern("fail", begins=True))
    assert patterns_of_regex("error|.*") == ()
    assert patterns_of_regex("error|") == ()


def test_upper_and_lower_case() -> None:
    """The parts of an expression that ignores case are in lower case."""
    assert patterns_of_regex("(?i)Error É") == (_pattern("error É", is_folded=True),)
    assert patterns_of_regex("a|b", is_folded=True) == (
        _pattern("a", is_folded=True),
        _pattern("b", is_folded=True),
    )


@pytest.mark.parametrize(
    "regex",
    [
        *("", ".*", "^", "[ab]", "(a|b)", "a*", "(abc)?", r"\d+"),
        *(
            "a(?=b)",
            "a(?!b)",
            "(?<=a)b",
            "(?<n>a)",
            "(?>a)",
            "(?x)a b",
            "a(?i)b",
            "(?i:a)",
            "(?u)a",
        ),
        *(r"a\x41", r"a\u0041", r"a\p{L}", r"(a)\1", r"\Aa", r"a\z", r"a\Rb", r"a\E", "a\\"),
        *("a[b&&c]", "a[[b]]", "a[]b]", "a[b", r"a[\p{L}]", r"a[\Qb\E]"),
        *("a**", "*a", "a{", "a{,2}", "a{x}", "a{1,99999}", "a}", "a]", "(a", "a)", "^*a", r"\b+a"),
        *(r"\Qab\E?", r"a\Q\E*", "a\ufffd", "\\Q\ufffd\\E"),
        *("(" * 40 + "a" + ")" * 40, "a" * 10_001, "|".join("a" * 17)),
    ],
)
def test_unread_expressions(regex: str) -> None:
    """Of expressions without constant parts, and of everything else, nothing is known."""
    assert patterns_of_regex(regex) == ()
