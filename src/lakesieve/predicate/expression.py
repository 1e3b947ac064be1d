"""Define predicates as values, which SQL text and engine conditions are translated into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from lakesieve.predicate.ranges import Ranges

ELEMENT = ("value",)
"""Stands for an element of a list or a key of a map, where conditions have a column's path."""

ENTRY = (("key",), ("value",))
"""Stand for the key and the value of an entry of a map, where conditions have a column's path."""

Node = TypeVar("Node")
"""Operands of AND, OR and NOT: conditions on column names, or conditions bound to fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A typed value."""

    # A key kind, or one of the forms of SQL text: `number` (a Decimal without exponent or suffix),
    # `double` (with one), `text` (str), and the text inside `DATE '...'` (`date_text`), `TIMESTAMP
    # '...'` (`timestamp_text`) and `TIMESTAMP_NTZ '...'` (`timestamp_ntz_text`). `day_text` is a
    # day that is compared with the day of a timestamp.
    kind: str
    value: object  # a key code for key kinds, a `bool` for `boolean`
    scale: int = 0  # digits after the point, of an unscaled decimal or of a number's SQL type
    precision: int = 0  # total digits of a number's SQL type, if the text names one


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """``column op value``, where op is one of ``=  <  <=  >  >=``."""

    column: tuple[str, ...]
    op: str
    value: Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class In:
    """``column IN (values)``; the list may contain null."""

    column: tuple[str, ...]
    values: tuple[Literal, ...]
    has_null: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IsNull:
    """``column IS NULL``."""

    column: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NullSafeEqual:
    """``column <=> value``, where the value ``None`` is null."""

    column: tuple[str, ...]
    value: Literal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartsWith:
    """``column LIKE 'prefix%'``, compared byte by byte."""

    column: tuple[str, ...]
    prefix: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """``column IN (values)`` with key codes as values, taken from the other side of a join."""

    column: tuple[str, ...]
    kind: str  # key kind of the values
    values: Ranges  # codes of the values, without null
    scale: int = 0  # for decimals: digits after the point


@dataclass(frozen=True, slots=True, kw_only=True)
class OnExpression:
    """A condition on the value of an expression over columns, such as ``lower(email) = 'x'``.

    If it has an entry, the value is that of the entry with this key: ``attributes['color'] = 'x'``.
    """

    tree: str  # the expression, or the entries of the map, as JSON, with columns by path
    text: str  # the whole condition, for people
    condition: Compare | In | IsNull | NullSafeEqual | StartsWith  # on the value; has no column
    entry: Literal | None = None  # a key of the map


@dataclass(frozen=True, slots=True, kw_only=True)
class OnElements:
    """A condition that is true if some element, or some key or entry of a map, meets a condition.

    Whether it is false or null for all other rows is not known. It may also be true of rows without
    elements if null meets the condition.
    """

    tree: str  # the elements of the list or entries of the map as JSON, with columns by path
    text: str  # the whole condition, for people
    condition: Expr  # on one element or key, the column `ELEMENT`, or on one entry, `ENTRY`
    is_on_entries: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPattern:
    """Constant parts that a text has in this order, with anything between them.

    Args:
        parts: Bytes, at least one part, none empty.
        begins: Whether the text begins with the first part.
        ends: Whether the text ends with the last part.
        is_folded: Whether the text in lower case has the parts, in place of the text itself.
    """

    parts: tuple[bytes, ...]
    begins: bool
    ends: bool
    is_folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OnText:
    """A condition that is true only of texts with a pattern, such as ``message LIKE '%failed%'``.

    The patterns may fit more texts.
    """

    column: tuple[str, ...]
    patterns: tuple[TextPattern, ...]  # at least one; the text has one of them
    otherwise: Expr  # the same condition for indexes that are not on words


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A condition that is not understood. It may be true of any row."""

    text: str
    # columns that it compares with each other; one of them may be text whose quotes were forgotten
    compared: tuple[tuple[str, ...], ...] = ()
    # subtractions such as 2026-01-31, which are dates whose quotes were forgotten
    bare_dates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Not(Generic[Node]):
    """NOT of one operand."""

    arg: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class And(Generic[Node]):
    """AND of any number of operands. Without operands it is TRUE."""

    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Or(Generic[Node]):
    """OR of any number of operands. Without operands it is FALSE."""

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
    | OnElements
    | OnExpression
    | OnText
    | StartsWith
    | Constant
    | Unknown
)
