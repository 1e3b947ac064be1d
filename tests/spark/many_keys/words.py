"""Words of texts: drawn texts, and the conditions of the suite."""

from __future__ import annotations

import hashlib
import re
import string
from typing import TYPE_CHECKING

import pyarrow as pa
from tests.spark.many_keys.key_kind import DrawnTable, FileTable, KeyKind, SmallTable

from lakesieve.sieve import WordPart

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

_LETTERS = (
    "a",
    "ab",
    "abc",
    "B",
    "9",
    "ß",
    "İ",
    "日本",
    "\U0001d4b3",
    "\ufffd",
    "x" * 255,
    "xy" * 150,
)
_BREAKS = (" ", "-", "_", "%", "\\", ".", "'", "\n", "\0", "—")
_ODD = ("X'FF'", "X'61FF62'", "X'C320'", "X'F09F'")


def literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
    return "'" + escaped.replace("\n", "\\n") + "'"


def drawn_text(drawn: random.Random, most: int = 6, alike: str = "") -> str:
    """Draw a text: words, separators, and pieces of another text."""
    pieces = [_LETTERS, _BREAKS, *([re.findall(r"[\w.]+|.", alike)] * 3 if alike else [])]
    count = drawn.randint(1, most)
    return "".join(drawn.choice(drawn.choice(pieces)) for _ in range(count))


def _text_sql(drawn: random.Random, _: str) -> str:
    """A text as SQL: sometimes null, empty, or no UTF-8."""
    kind = drawn.randrange(12)
    if kind < 2:
        return ("CAST(NULL AS STRING)", "''")[kind]
    if kind == 2:
        return f"CAST({drawn.choice(_ODD)} AS STRING)"
    return literal(drawn_text(drawn))


def _pattern(drawn: random.Random, escape: str) -> str:
    """A pattern of LIKE: texts between wildcards."""
    parts = []
    for _ in range(drawn.randint(1, 3)):
        text = drawn_text(drawn, 3)
        for special in dict.fromkeys((escape, "%", "_")):
            text = text.replace(special, escape + special)
        parts += [drawn.choice(["", "%", "_", "%%"]), text]
    return "".join([*parts, drawn.choice(["", "%", "_"])])


_PARTS_OF_REGEX = (
    *(
        "a",
        "b",
        "B",
        "9",
        "ab",
        "ß",
        "İ",
        "K",
        "日",
        "\U0001d4b3",
        " ",
        "-",
        "_",
        r"\.",
        r"\\",
        "a b",
    ),
    *(".", r"\d", r"\w", r"\S", "[ab]", "[^a]", r"[\w-]", r"\bab", "^", "$", r"\Qa.b\E", r"\t"),
    *("(ab|b)", "(?:a-b)", "(b)"),
)
"""Pieces of regular expressions that are read, and that Spark accepts."""


def drawn_regex(drawn: random.Random) -> str:
    """Draw a regular expression that Spark accepts."""
    regex = drawn.choice(["", "", "", "^", "(?i)", "(?i)^"])
    for _ in range(drawn.randint(1, 4)):
        part = drawn.choice(_PARTS_OF_REGEX)
        if part[-1] not in "^$E" and drawn.random() < 0.25:
            part += drawn.choice(["?", "*", "+", "+?", "{2}", "{0,1}", "{1,2}+"])
        regex += part + drawn.choice(["", "", "", "", ".*", "|"])
    return regex


def _leaf(drawn: random.Random, names: Sequence[str]) -> str:
    name = drawn.choice(names)
    a, b = (literal(drawn_text(drawn, drawn.choice([1, 2, 3]))) for _ in range(2))
    odd = f"CAST({drawn.choice(_ODD)} AS STRING)"
    # Spark refuses a pattern with a backslash before other characters
    plain = a.replace("\\\\", "")
    forms = [
        f"contains({name}, {a})",
        f"startswith({name}, {a})",
        f"endswith({name}, {a})",
        f"contains({name}, {odd})",
        f"{name} LIKE {literal(_pattern(drawn, chr(92)))}",
        f"{name} LIKE {literal(_pattern(drawn, '!'))} ESCAPE '!'",
        f"{name} LIKE concat('%', {plain}, '%')",
        f"{name} NOT LIKE {literal(_pattern(drawn, chr(92)))}",
        f"{name} ILIKE {literal(_pattern(drawn, chr(92)))}",
        f"{name} = {a}",
        f"{name} <=> {a}",
        f"{name} <> {a}",
        f"{name} IN ({a}, {b}, '')",
        f"{name} > {a}",
        f"{name} ILIKE {literal(_pattern(drawn, '!'))} ESCAPE '!'",
        f"{name} NOT ILIKE concat('%', {plain}, '%')",
        f"lower({name}) LIKE {literal(_pattern(drawn, chr(92)))}",
        f"lower({name}) = lower({a})",
        f"lower({name}) = {a}",
        f"upper({name}) LIKE upper({literal(_pattern(drawn, chr(92)))})",
        f"{name} RLIKE {literal(drawn_regex(drawn))}",
        f"{name} RLIKE {literal(drawn_regex(drawn))}",
        f"{name} NOT RLIKE {literal(drawn_regex(drawn))}",
        f"lower({name}) RLIKE {literal(drawn_regex(drawn))}",
        f"contains({name}, '')",
        f"contains({name}, inner.s)",
        f"{name} LIKE '%'",
        f"{name} IS NULL",
        f"contains({name}, {a}) AND startswith({name}, {b})",
    ]
    return f"({drawn.choice(forms)})"


_HASH = hashlib.md5(b"5", usedforsecurity=False).hexdigest()
_SKIPS = {
    "word": ("contains(message, '/item5/')", 1),
    "words": ("message LIKE '%item5/x by%'", 1),
    "begin of a word": ("message LIKE '%-' || '5 %'", 1),
    "inside a word": (f"message LIKE '%{_HASH[3:20]}%'", 1),
    "end of a word": (f"contains(message, '{_HASH[20:]}')", 1),
    "end of the text": (f"endswith(message, '{_HASH[20:]}')", 1),
    "begin of the text": ("message LIKE 'GET /item5/%'", 1),
    "several parts": ("message LIKE 'GET%/item5/%user_5 %'", 1),
    "escaped": ("message LIKE '%100\\\\% item5/%'", 1),
    "whole": (f"message = 'GET /item5/x by user-5 {_HASH}'", 1),
    "list": (f"message IN ('GET /item5/x by user-5 {_HASH}', 'none')", 1),
    "or": ("contains(message, '/item5/') OR contains(message, '/item12/')", 2),
    "and": ("contains(message, '/item5/') AND contains(message, '/item12/')", 0),
    "field of a struct": ("line.s LIKE '%level 5!%'", 1),
    "column as well": ("message LIKE '%user-%' AND message LIKE '%/item5/%' AND id = 5", 1),
    "absent": ("contains(message, 'nothing')", 0),
    "any case": ("message ILIKE '%/ITEM5/%'", 1),
    "any case, whole": (f"lower(message) = lower('get /ITEM5/X by user-5 {_HASH}')", 1),
    "any case, inside a word": (f"message ILIKE '%{_HASH[3:20].upper()}%'", 1),
    "lower case": ("contains(lower(message), 'get /item5/')", 1),
    "regular expression": (r"message RLIKE '^GET /item5/.* by user-\\d+ '", 1),
    "alternatives": ("message RLIKE '/item5/|/item12/'", 2),
    "expression of any case": ("regexp_like(message, '(?i)ITEM(5)/X')", 1),
}

_FILES = FileTable(
    columns=[
        "concat('GET /item', id, '/x by user-', id, ' ', md5(string(id))) AS message",
        "named_struct('s', if(id % 5 = 4, NULL, concat('level ', id, '!'))) AS line",
    ],
    indexes={"words": "words(message)", "levels": "Words( line.S )"},
    skips=_SKIPS,
    # a negation, other upper and lower case, separators alone and a null
    unanswered=[
        "NOT contains(message, '/item5/')",
        "message NOT LIKE '%item5/%'",
        "upper(message) LIKE '%ITEM5/%'",
        "message NOT ILIKE '%ITEM5/%'",
        "contains(message, '/')",
        "message RLIKE '(?=item5/)'",
        "message RLIKE '[a-z]+[0-9]/'",
        "message NOT RLIKE 'item5/'",
        "contains(message, line.s)",
        "line.s IS NULL",
    ],
    shown=(
        f"message LIKE '%/item5/%' AND message LIKE '%{_HASH[3:20]}%'",
        [
            "exists(words(message), x -> x = 'item5')",
            f"exists(words(message), x -> contains(x, '{_HASH[3:20]}'))",
        ],
    ),
    numbered=("words", lambda number: f"message LIKE '%/item{number}/%'"),
    type="string",
)

_SMALL = SmallTable(
    types=("STRING", "STRING"),
    rows=("concat('no ', id)", "concat('at-', id)"),
    added=("'no 3 abcdef'", "''"),
    old="{} LIKE '%no 3%'",
    new="{} LIKE '%bcde%'",
    other="{} LIKE '%-3'",
    plain={
        "c = 'no 3'": 1,
        "c LIKE 'no 3%'": 1,
        "c IN ('no 3', 'yes')": 1,
        "c LIKE '%o 3'": 1,
        "c ILIKE '%O 3'": 1,
        "lower(c) LIKE '%o 3'": 1,
        "c RLIKE '^no 3$|nothing'": 1,
        "contains(c, ' 3')": 1,
        "endswith(c, ' 3')": 1,
        "c RLIKE '[a-z]+'": 2,
        "c ILIKE '%é'": 2,
    },
)

WORDS = KeyKind(
    name="words",
    drawn=DrawnTable(columns=["s", "inner.s"], also="s", value=_text_sql, leaf=_leaf),
    files=_FILES,
    small=_SMALL,
)


_ASCII = "".join(map(chr, range(128)))


_HAS_ASCII = re.compile(r"[\x00-\x7f]")


def check_letters(characters: Sequence[str], lowered: Sequence[str]) -> None:
    """Check what the search for words in lower case takes for granted of each character."""
    for character, lower in zip(characters, lowered, strict=True):
        if not _HAS_ASCII.search(lower) and character not in _ASCII:
            continue
        ascii_part = "".join(symbol for symbol in lower if symbol in _ASCII)
        if character in _ASCII:
            # in Turkish, the lower case of I is no ASCII letter
            assert ascii_part in {character.lower(), ""}, character
            assert ascii_part or character == "I", character
            continue
        found = WordPart(text=ascii_part.encode(), at_start=True, is_folded=True)
        assert all(symbol in string.ascii_lowercase for symbol in ascii_part), character
        assert len(ascii_part) == 1, character
        assert lower.startswith(ascii_part), character
        assert found.are_in(pa.array([character.encode()], pa.binary()))[0].as_py(), character


def characters() -> list[str]:
    """Every character but line breaks and halves of surrogate pairs."""
    codes = (code for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    return [chr(code) for code in codes if chr(code) not in "\r\n"]
