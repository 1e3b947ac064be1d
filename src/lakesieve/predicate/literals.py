"""Literals as key codes of a column's kind: exact, or between two codes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

if TYPE_CHECKING:
    from lakesieve.predicate.expression import Literal

__all__ = ["Bound", "code_of"]

_EPOCH_DAY = date(1970, 1, 1)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_TIMESTAMP = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(\.\d{1,6})?\s*(Z|[+-]\d{2}:\d{2})?"
)
_NUMBER = re.compile(r"[+-]?\d+")
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A literal in a column's code space.

    Args:
        code: The greatest code not above the literal.
        exact: Whether the literal is that code.
    """

    code: int | bytes
    exact: bool = True


def code_of(literal: Literal, kind: str, scale: int, timezone: str) -> Bound | None:
    """Place a literal among the codes of a column; ``None`` when that cannot be told.

    Args:
        literal: A typed value, or text or a number as written in SQL.
        kind: The column's key kind.
        scale: Its digits after the point.
        timezone: For timestamps written without one.
    """
    value = literal.value
    if kind == "string":
        return _string(literal)
    if kind in {"integer", "decimal"}:
        number = _number(literal)
        return None if number is None else _placed(number, scale if kind == "decimal" else 0)
    if literal.kind == kind and isinstance(value, int):
        return Bound(code=value)
    if literal.kind == "text" and isinstance(value, str):
        return _date(value) if kind == "date" else _timestamp(value, kind, timezone)
    if literal.kind == "date" and isinstance(value, int) and kind != "date":
        try:
            day = (_EPOCH_DAY + timedelta(days=value)).isoformat()
        except OverflowError:
            return None
        return _timestamp(f"{day} 00:00:00", kind, timezone)
    return None


def _string(literal: Literal) -> Bound | None:
    if isinstance(literal.value, bytes) and literal.kind == "string":
        return Bound(code=literal.value)
    if isinstance(literal.value, str) and literal.kind == "text":
        return Bound(code=literal.value.encode())
    return None


def _number(literal: Literal) -> Decimal | None:
    value = literal.value
    if literal.kind in {"integer", "number"} and isinstance(value, (int, Decimal)):
        return Decimal(value)
    if literal.kind == "decimal" and isinstance(value, int):
        return Decimal(value).scaleb(-literal.scale)
    if literal.kind == "text" and isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    return None


def _placed(number: Decimal, scale: int) -> Bound | None:
    try:
        exponent = number.adjusted() + scale if number else 0
        if not number.is_finite() or len(number.as_tuple().digits) > 60:
            return None
        if exponent > 40:
            return Bound(code=_HIGHEST if number > 0 else _LOWEST - 1, exact=False)
        numerator, denominator = number.as_integer_ratio()
    except (InvalidOperation, OverflowError, ValueError):
        return None
    scaled = numerator * 10**scale
    floor = scaled // denominator
    if floor > _HIGHEST:
        return Bound(code=_HIGHEST, exact=False)
    if floor < _LOWEST:
        return Bound(code=_LOWEST - 1, exact=False)
    return Bound(code=floor, exact=scaled % denominator == 0)


def _date(text: str) -> Bound | None:
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    try:
        day = date(*(int(part) for part in found.groups()))
    except ValueError:
        return None
    return Bound(code=(day - _EPOCH_DAY).days)


def _timestamp(text: str, kind: str, timezone: str) -> Bound | None:
    text = text.strip()
    if _DATE.fullmatch(text):
        text += " 00:00:00"
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    try:
        stamp = datetime.fromisoformat(f"{day}T{clock}")
        if kind == "timestamp":
            stamp = _zoned(stamp, zone, timezone)
        elif zone is not None:
            return None
        else:
            stamp = stamp.replace(tzinfo=UTC)
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        return None
    since = stamp - datetime(1970, 1, 1, tzinfo=UTC)
    micros = (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
    return Bound(code=micros + math.floor(Decimal(fraction or 0) * 1_000_000))


def _zoned(stamp: datetime, zone: str | None, timezone: str) -> datetime:
    if zone is not None:
        return datetime.fromisoformat(stamp.isoformat() + zone.replace("Z", "+00:00"))
    # a local time that a clock change skips or repeats is read as Spark reads it: by the offset
    # before the change, which is what fold=0 means
    return stamp.replace(tzinfo=ZoneInfo(timezone))
