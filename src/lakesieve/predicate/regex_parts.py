"""Constant parts of Java's regular expressions, which every text with a match has.

The reader understands only what means the same in every version of Java. Any other expression has
no known parts.
"""

from __future__ import annotations

import string
from itertools import groupby

from lakesieve.predicate.expression import TextPattern

_LONGEST = 10_000
# each alternative may need a search of all words
_MOST_PATTERNS = 16
_DEEPEST = 30
_ANY_CASE = "(?i)"
_START = object()
_BREAK = object()
"""Stands for anything, also nothing."""

_DIGITS = frozenset(string.digits)
_LETTERS = frozenset(string.ascii_letters)
# they stand for one character or a place, whatever flags and versions say of it
_CLASSES = frozenset("dDsSwW")
_PLACES = frozenset("bB")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r"}
# in Spark, this character also stands for bytes that are no UTF-8
_REPLACEMENT = "\ufffd"
# inside brackets, these mean themselves or a range
_IN_BRACKETS = frozenset(string.ascii_letters + string.digits + " _-.,:;/@#%=+")


def patterns_of_regex(regex: str, *, is_folded: bool = False) -> tuple[TextPattern, ...]:
    """Return patterns, of which a text has one if a regular expression finds a match in it.

    Args:
        regex: The expression, in the language of ``java.util.regex.Pattern`` without flags.
        is_folded: Whether the match is sought in the text in lower case.

    Returns:
        A pattern for each alternative; none if the expression has no such parts, or is not read.
    """
    if len(regex) > _LONGEST:
        return ()
    ignores_case = regex.startswith(_ANY_CASE)
    reader = _Reader(regex[len(_ANY_CASE) :] if ignores_case else regex)
    try:
        branches = reader.branches(0)
        reader.check_end()
    except _UnreadError:
        return ()
    if len(branches) > _MOST_PATTERNS:
        return ()
    patterns = [_pattern(branch, is_folded=is_folded or ignores_case) for branch in branches]
    known = tuple(pattern for pattern in patterns if pattern is not None)
    return known if len(known) == len(patterns) else ()


class _UnreadError(Exception):
    """Raised for an expression that is not read."""


_Item = object
"""A character, the start of the text, or a break."""


def _pattern(items: list[_Item], *, is_folded: bool) -> TextPattern | None:
    """Return the constant parts between breaks, or ``None`` if there are none."""
    parts = [
        "".join(map(str, run)).encode()
        for is_text, run in groupby(items, lambda item: isinstance(item, str))
        if is_text
    ]
    if not parts:
        return None
    begins = items[0] is _START and isinstance(items[1], str)
    if is_folded:
        parts = [part.lower() for part in parts]
    return TextPattern(parts=tuple(parts), begins=begins, ends=False, is_folded=is_folded)


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def check_end(self) -> None:
        """Check that all of the expression was read."""
        if self._at < len(self._text):
            raise _UnreadError

    def branches(self, depth: int) -> list[list[_Item]]:
        """Read alternatives. Each is a list of what a match of it has, in this order."""
        if depth > _DEEPEST:
            raise _UnreadError
        branches = [self._branch(depth)]
        while self._next() == "|":
            self._at += 1
            branches.append(self._branch(depth))
        return branches

    def _branch(self, depth: int) -> list[_Item]:
        items: list[_Item] = []
        while self._next() not in {"", "|", ")"}:
            begin = self._at
            atom = self._atom(depth)
            least = self._least_times()
            if least is None:
                items += atom
                continue
            if self._text[begin] in "^$" or self._text[begin : begin + 2] in {r"\b", r"\B", r"\Q"}:
                # a place cannot repeat, and after a quotation only its last character does
                raise _UnreadError
            items += [*atom, _BREAK] if least else [_BREAK]
        return items

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        symbol = self._next()
        if not symbol or symbol == _REPLACEMENT:
            raise _UnreadError
        self._at += 1
        return symbol

    def _atom(self, depth: int) -> list[_Item]:
        symbol = self._take()
        match symbol:
            case "." | "$":
                return [_BREAK]
            case "^":
                return [_START]
            case "(":
                return self._group(depth)
            case "[":
                return self._brackets()
            case "\\":
                return self._escaped()
            case "*" | "+" | "?" | "{" | "}" | "]":
                raise _UnreadError
        return [symbol]

    def _group(self, depth: int) -> list[_Item]:
        """Read a group. Of alternatives in it, nothing is known."""
        if self._next() == "?":
            self._at += 1
            # others look around, have a name or change the rules
            if self._take() != ":":
                raise _UnreadError
        branches = self.branches(depth + 1)
        if self._take() != ")":
            raise _UnreadError
        return branches[0] if len(branches) == 1 else [_BREAK]

    def _brackets(self) -> list[_Item]:
        """Read a class of characters, which stands for one of them."""
        if self._next() == "^":
            self._at += 1
        begin = self._at
        while (symbol := self._take()) != "]":
            if symbol == "\\":
                escaped = self._take()
                if escaped in _DIGITS | _LETTERS - _CLASSES or not escaped.isascii():
                    raise _UnreadError
            elif symbol.isascii() and symbol not in _IN_BRACKETS:
                raise _UnreadError
        if self._at == begin + 1:
            # in Java, a bracket at the beginning means itself
            raise _UnreadError
        return [_BREAK]

    def _escaped(self) -> list[_Item]:
        symbol = self._take()
        if symbol in _CLASSES or symbol in _PLACES:
            return [_BREAK]
        if symbol in _CONTROLS:
            return [_CONTROLS[symbol]]
        if symbol == "Q":
            quoted, end, _ = self._text[self._at :].partition(r"\E")
            self._at += len(quoted) + len(end)
            if _REPLACEMENT in quoted:
                raise _UnreadError
            return list(quoted)
        if symbol in _DIGITS | _LETTERS or not symbol.isascii():
            raise _UnreadError
        return [symbol]

    def _least_times(self) -> int | None:
        """Read how often the atom before repeats at least; ``None`` if nothing says so."""
        symbol = self._next()
        if symbol not in {"?", "*", "+", "{"} or not symbol:
            return None
        self._at += 1
        least = 1 if symbol == "+" else 0
        if symbol == "{":
            counts, end, _ = self._text[self._at :].partition("}")
            low, _, high = counts.partition(",")
            is_read = end and _is_count(low) and (not high or _is_count(high))
            if not is_read:
                raise _UnreadError
            self._at += len(counts) + 1
            least = int(low)
        if self._next() in {"?", "+"}:
            # reluctant or possessive: it finds no match without the atom either
            self._at += 1
        return least


def _is_count(text: str) -> bool:
    return 0 < len(text) <= 4 and _DIGITS.issuperset(text)
