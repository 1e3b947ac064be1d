"""Patterns of texts as filters on the words of the texts.

A word of the pattern that a separator or an end of the text limits on both sides is a word of the
text. A word at an open end of a part may be the beginning, the end or the middle of a longer word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from lakesieve.predicate.expression import (
    Compare,
    In,
    Literal,
    NullSafeEqual,
    StartsWith,
    TextPattern,
)
from lakesieve.predicate.ranges import Ranges
from lakesieve.sieve import LONGEST_WORD, WordPart, is_of_word, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakesieve.predicate.expression import Expr

# an index is asked for this many words of a pattern: the longest ones
_MOST_WORDS = 8
# patterns of one condition, such as the values of a list
MOST_PATTERNS = 64
_ASCII = re.compile(rb"[\x00-\x7f]+")


def patterns_of(condition: Expr) -> tuple[TextPattern, ...]:
    """Return patterns, of which a text has one where a condition on it is true.

    Returns:
        The patterns; none if the condition says nothing of the words, or too much.
    """
    match condition:
        case Compare(op="=", value=value) | NullSafeEqual(value=Literal() as value):
            patterns = [_whole(value)]
        case In() if len(condition.values) <= MOST_PATTERNS:
            patterns = [_whole(value) for value in condition.values]
        case StartsWith() if condition.prefix:
            patterns = [TextPattern(parts=(condition.prefix,), begins=True, ends=False)]
        case _:
            return ()
    known = tuple(pattern for pattern in patterns if pattern is not None)
    return known if len(known) == len(patterns) else ()


def like_pattern(text: str) -> TextPattern | None:
    """Return the parts of a pattern of LIKE without escapes, or ``None`` if it has none."""
    parts = tuple(part.encode() for part in re.split("[%_]", text) if part)
    # in Spark, this character also matches bytes that are no UTF-8
    if not parts or "\ufffd" in text:
        return None
    return TextPattern(parts=parts, begins=text[0] not in "%_", ends=text[-1] not in "%_")


def _whole(value: Literal) -> TextPattern | None:
    """Return the pattern of a text that equals a literal, or ``None`` if it has no parts."""
    text = value.value
    if value.kind == "text" and isinstance(text, str):
        try:
            text = text.encode()
        except UnicodeEncodeError:
            return None
    if value.kind not in {"string", "text"} or not isinstance(text, bytes) or not text:
        return None
    return TextPattern(parts=(text,), begins=True, ends=True)


def words_of_pattern(pattern: TextPattern) -> tuple[list[Ranges], WordPart | None]:
    """Return which words every text with a pattern has.

    To find words by a part, all keys are read. So this is done for one part, and only if all words
    that can be found otherwise are shorter: long words are in fewer texts.

    Returns:
        Ranges of words, from each of which the text has a word, the longest words first; and a part
        of a word that the text has, if it is worth the search.
    """
    words = sorted(_limited_words(pattern), key=lambda one: (-len(one[0]), one[1]))
    if pattern.is_folded:
        return [], _folded_part(words)
    ranges = [
        Ranges.prefix(word) if is_open_right else Ranges.points([word])
        for word, is_open_left, is_open_right in words
        if not is_open_left
    ]
    part = None
    if words and words[0][1]:
        word, _, is_open_right = words[0]
        # a longer word is cut, so it need not end with these bytes
        part = WordPart(text=word, at_end=not is_open_right and len(word) < LONGEST_WORD)
    return ranges[:_MOST_WORDS], part


def _folded_part(words: list[tuple[bytes, bool, bool]]) -> WordPart | None:
    """Return the longest part of words in lower case, in one case of which the words are unknown.

    The lower case of characters beyond ASCII depends on the language and on versions. So only the
    runs of ASCII characters count.
    """
    parts = [
        WordPart(
            text=run[0],
            at_start=run.start() == 0 and not is_open_left,
            at_end=run.end() == len(word) < LONGEST_WORD and not is_open_right,
            is_folded=True,
        )
        for word, is_open_left, is_open_right in words
        for run in _ASCII.finditer(word)
    ]
    return max(parts, key=lambda part: len(part.text), default=None)


def _limited_words(pattern: TextPattern) -> Iterator[tuple[bytes, bool, bool]]:
    """Yield the words of a pattern, and whether each may continue to the left and to the right."""
    last_part = len(pattern.parts) - 1
    for at, part in enumerate(pattern.parts):
        words = split_words(pa.array([part], pa.binary()))[0].to_pylist()
        is_open_left = is_of_word(part[0]) and not (at == 0 and pattern.begins)
        is_open_right = is_of_word(part[-1]) and not (at == last_part and pattern.ends)
        for number, word in enumerate(words):
            yield (
                word,
                is_open_left and number == 0,
                is_open_right and number == len(words) - 1,
            )
