"""Predicates as values: what SQL text and the conditions of query engines have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from lakesieve.predicate.ranges import Ranges

Node = TypeVar("Node")
"""What AND, OR and NOT hold: conditions by name, or bound to fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A typed value."""

    # A key kind; or as written in SQL: `number` (Decimal) without and `double` with an exponent or
    # suffix, `text` (str), and the text of `DATE '...'` (`date_text`), a day with which the day of
    # a moment is compared (`day_text`), `TIMESTAMP '...'` (`timestamp_text`) and `TIMESTAMP_NTZ
    # '...'` (`timestamp_ntz_text`)
    kind: str
    value: object  # the value: key code for key kinds, `bool` for `boolean`
    scale: int = 0  # digits after the point of an unscaled decimal, or of a number's type
    precision: int = 0  # digits in all of a number's type, where it was written


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """``column op value``, op one of ``=  <  <=  >  >=``."""

    column: tuple[str, ...]
    op: str
    value: Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class In:
    """``column IN (values)``, with or without a null among them."""

    column: tuple[str, ...]
    values: tuple[Literal, ...]
    has_null: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IsNull:
    """``column IS NULL``."""

    column: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NullSafeEqual:
    """``column <=> value``; ``None`` is null."""

    column: tuple[str, ...]
    value: Literal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartsWith:
    """``column LIKE 'prefix%'``, bytewise."""

    column: tuple[str, ...]
    prefix: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """``column IN (values)`` with the values as key codes: what a join's other side holds."""

    column: tuple[str, ...]
    kind: str  # key kind of the values
    values: Ranges  # their codes, without null
    scale: int = 0  # digits after the point, for decimals


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Something that is not understood: it may be true of any row."""

    text: str
    # columns that it compares with each other; one of them may be text whose quotes were forgotten
    compared: tuple[tuple[str, ...], ...] = ()
    # subtractions such as 2026-01-31, which are dates whose quotes were forgotten
    bare_dates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Not(Generic[Node]):
    """NOT."""

    arg: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class And(Generic[Node]):
    """AND of any number; none is TRUE."""

    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Or(Generic[Node]):
    """OR of any number; none is FALSE."""

    args: tuple[Node, ...]


Expr = (
    And["Expr"]
    | Or["Expr"]
    | Not["Expr"]
    | Compare
    | In
    | IsNull
    | Keys
    | NullSafeEqual
    | StartsWith
    | Constant
    | Unknown
)
