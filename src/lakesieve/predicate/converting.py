"""Share code between the readers of other libraries' filters."""

from __future__ import annotations

import struct
import uuid
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from lakesieve.predicate.expression import (
    Expr,
    IsNull,
    Literal,
    Not,
    OnText,
    Or,
    StartsWith,
    TextPattern,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

Reader = TypeVar("Reader", bound="Callable[..., Expr]")

MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Comparisons with their sides exchanged."""

DEEPEST = 200
"""How deep conditions may be nested. Deeper parts become ``Unknown``."""


class OddError(Exception):
    """Raised for a part of a filter whose form is not supported."""


_UNREADABLE = (
    *(OddError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(struct.error, pa.ArrowException),
)


def or_unknown(read: Reader) -> Reader:
    """Make a reader return ``Unknown`` for parts that it cannot read or that are nested too deep.

    The last positional argument of the reader is the nesting depth of the part.
    """

    @wraps(read)
    def read_part(*args: object, **rest: object) -> Expr:
        depth = args[-1]
        if isinstance(depth, int) and depth > DEEPEST:
            return Unknown(text="too deep")
        try:
            return read(*args, **rest)
        except _UNREADABLE:
            return Unknown(text="a part of the filter")

    return read_part  # type: ignore[return-value]


def negated_or_null(condition: Expr, column: tuple[str, ...]) -> Expr:
    """Return the opposite of a condition, which is true for nulls as well."""
    return Or(args=(Not(arg=condition), IsNull(column=column)))


def text_condition(
    column: tuple[str, ...],
    *texts: bytes,
    begins: bool = False,
    ends: bool = False,
    is_folded: bool = False,
) -> Expr:
    """Return the condition that a column's value, or its lower case if folded, has some text."""
    if begins and not ends and not is_folded and len(texts) == 1:
        return StartsWith(column=column, prefix=texts[0])
    if not texts or not all(texts):
        raise OddError
    patterns = tuple(
        TextPattern(parts=(text,), begins=begins, ends=ends, is_folded=is_folded) for text in texts
    )
    return OnText(column=column, patterns=patterns, otherwise=Unknown(text="a part of a text"))


def decimal_literal(number: Decimal, scale: int) -> Literal:
    """Return a decimal as an exact literal, whatever its number of digits."""
    # arithmetic on Decimal would round to the context's precision
    unscaled = Fraction(number) * 10**scale
    if unscaled.denominator != 1:
        raise OddError
    return Literal(kind="decimal", value=unscaled.numerator, scale=scale)


def uuid_literal(value: object) -> Literal:
    """Return a UUID, or its 16 bytes, as the text that indexes store for it."""
    if isinstance(value, bytes):
        value = uuid.UUID(bytes=value)
    if not isinstance(value, uuid.UUID):
        raise OddError
    return Literal(kind="string", value=str(value).encode())
