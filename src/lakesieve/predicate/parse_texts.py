"""Conditions of SQL text on parts of texts: LIKE, ILIKE, RLIKE and functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import expressions as sql

from lakesieve.predicate.expression import (
    And,
    Compare,
    Expr,
    Literal,
    OnText,
    StartsWith,
    TextPattern,
    Unknown,
)
from lakesieve.predicate.regex_parts import patterns_of_regex
from lakesieve.predicate.sql_operands import column_of
from lakesieve.predicate.text_words import like_pattern

if TYPE_CHECKING:
    from sqlglot.expressions import Expression


def text_condition(node: Expression) -> Expr | None:
    """Return a condition on parts of a text, or ``None`` if the node is none or is not understood.

    ``lower(column)`` may stand in the place of the column.
    """
    text, of = _constant(node.args.get("expression")), node.args.get("this")
    is_lower = isinstance(of, sql.Lower)
    column = column_of(of.this if is_lower else of) if isinstance(of, sql.Expression) else None
    # a third argument, such as flags, would change the meaning
    has_more = any(part for name, part in node.args.items() if name not in {"this", "expression"})
    if column is None or text is None or has_more:
        return None
    match node:
        case sql.StartsWith() if not is_lower:
            return StartsWith(column=column, prefix=text.encode())
        case sql.Like() if not is_lower:
            return _like(column, text, node)
        case sql.Like() if "\\" not in text:
            patterns = _one(like_pattern(text))
        case sql.ILike() if "\\" not in text and text.isascii() and not is_lower:
            # the lower case of other characters depends on the session
            patterns, is_lower = _one(like_pattern(text.lower())), True
        case sql.RegexpLike():
            patterns = patterns_of_regex(text)
        case sql.Contains() | sql.StartsWith() | sql.EndsWith() if text:
            patterns = (_pattern(text, node),)
        case sql.EQ() if is_lower and text:
            patterns = (_pattern(text, node),)
        case _:
            return None
    if is_lower:
        patterns = tuple(replace(pattern, is_folded=True) for pattern in patterns)
    return _of_text(column, patterns, node)


def _pattern(text: str, node: Expression) -> TextPattern:
    begins, ends = (
        isinstance(node, sql.StartsWith | sql.EQ),
        isinstance(node, sql.EndsWith | sql.EQ),
    )
    return TextPattern(parts=(text.encode(),), begins=begins, ends=ends)


def _constant(node: object) -> str | None:
    """Return a constant text that Spark can encode, or ``None`` for anything else."""
    is_text = isinstance(node, sql.RawString) or (isinstance(node, sql.Literal) and node.is_string)
    if not isinstance(node, sql.Expression) or not is_text:
        return None
    text = str(node.this)
    return text if all(not "\ud800" <= symbol <= "\udfff" for symbol in text) else None


def _one(pattern: TextPattern | None) -> tuple[TextPattern, ...]:
    return () if pattern is None else (pattern,)


def _of_text(
    column: tuple[str, ...], patterns: tuple[TextPattern, ...], node: Expression
) -> Expr | None:
    rest = Unknown(text=node.sql(dialect="spark", normalize_functions="lower"))
    return OnText(column=column, patterns=patterns, otherwise=rest) if patterns else None


def _like(column: tuple[str, ...], text: str, node: Expression) -> Expr | None:
    if "\\" in text:
        return None
    stem = text.split("%", 1)[0].split("_", 1)[0]
    if stem == text:
        # Spark matches patterns with strings, and converts columns of other types to text first
        return Compare(column=column, op="=", value=Literal(kind="string", value=stem.encode()))
    starts = StartsWith(column=column, prefix=stem.encode())
    if text == stem + "%":
        return starts
    of_words = _of_text(column, _one(like_pattern(text)), node)
    return And(args=(starts, of_words or Unknown(text=text)))
