"""Translate literals into key codes: an exact code, or a place between two codes."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.sieve import HIGHEST, LOWEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakesieve.predicate.expression import Literal
    from lakesieve.sieve import KeyType

CODES: dict[str, Callable[[Literal], Bound | None]] = {}
"""Functions that find the position of a literal, for key kinds that Spark's types do not have."""

_EPOCH_DAY = date(1970, 1, 1)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?\s*(Z|[+-]\d{2}:\d{2})?",
    re.ASCII,
)
_WHOLE = re.compile(r"[+-]?\d{1,60}", re.ASCII)
_BLANKS = " \t\r\n"
_INT_DIGITS, _LONG_DIGITS, _MAX_DIGITS = 10, 20, 38
_WIDEST = 10**40
"""Greater than the unscaled value of every decimal."""
_EXACT_LONGS = 2**53
"""Whole numbers below this limit are exact doubles. Above it, two of them become the same double.
"""
_EXACT_DIGITS = 15
"""Decimals with at most this many digits become different doubles, in the same order."""
_NEAR = timedelta(days=2)
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:(\d{1,2})(?::(\d{1,2})(?::(\d\d))?)?|(\d\d)(\d\d)(\d\d)?)", re.ASCII
)
# Java defines these zones as fixed offsets; other libraries treat them as regions with a history
_FIXED = {"Z": "+00", "UT": "+00", "EST": "-05", "MST": "-07", "HST": "-10"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A literal in a column's code space."""

    code: int | bytes  # the greatest code that is not above the literal
    exact: bool = True  # whether the literal equals that code


def code_of(literal: Literal, column: KeyType, timezone: str) -> Bound | None:
    """Return the position of a literal among the codes of a column, or ``None`` if it is unknown.

    If Spark would convert the column before it compares, the answer is ``None``, unless the
    conversion cannot change the result. The code of a decimal is its unscaled value, of any size.
    """
    if column.kind in CODES:
        return CODES[column.kind](literal)
    value = literal.value
    match column.kind:
        case "string" | "binary":
            return _bytes(literal, column.kind)
        case "integer" | "decimal":
            number = _number(literal, column)
            return None if number is None else _bound_of(number, column)
        case "float":
            return _float(literal)
    if literal.kind == column.kind and isinstance(value, int):
        return Bound(code=int(value))
    if isinstance(value, str):
        if column.kind == "date":
            return _date(value)
        if literal.kind == "day_text":
            return _begin_of_day(value, column.kind, timezone)
        if column.kind != "boolean":
            return _fitting(_timestamp(value, literal.kind, column.kind, timezone))
    if literal.kind == "date" and isinstance(value, int) and column.kind.startswith("timestamp"):
        try:
            day = (_EPOCH_DAY + timedelta(days=value)).isoformat()
        except OverflowError:
            return None
        return _fitting(_timestamp(day, "date_text", column.kind, timezone))
    return None


def are_comparable(literals: Sequence[Literal], column: KeyType, *, listed: bool) -> bool:
    """Return whether Spark compares a column with these values exactly, without rounding.

    Spark first converts all values to one type. Decimals become a type of at most 38 digits, which
    can cost digits after the point.
    """
    kinds = {literal.kind for literal in literals}
    if listed and len(kinds) > 1:
        return False
    if listed and kinds == {"text"}:
        # depending on the session, Spark reads the text as the column's type or prints the column
        return column.kind == "string" or (
            column.kind == "date" and all(_DATE.fullmatch(str(one.value)) for one in literals)
        )
    if column.kind not in {"integer", "decimal"} or kinds != {"number"}:
        return True
    is_decimal = column.kind == "decimal"
    before = [column.precision - column.scale if is_decimal else _LONG_DIGITS]
    after = [column.scale if is_decimal else 0]
    for literal in literals:
        digits, scale = _digits(literal)
        before.append(digits - scale)
        after.append(scale)
    return max(before) + max(after) <= _MAX_DIGITS


def _digits(literal: Literal) -> tuple[int, int]:
    """Return the total digits, and those after the point, of the type that Spark gives a number."""
    value = literal.value
    if literal.precision or not isinstance(value, Decimal):
        return literal.precision, literal.scale
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    if scale == 0:
        return max(_INT_DIGITS if abs(value) < 2**31 else _LONG_DIGITS, value.adjusted() + 1), 0
    return max(value.adjusted() + 1, 0) + scale, scale


def float_code(value: float) -> int:
    """Return the code of a float or double, like :func:`lakesieve.sieve.encode_keys`."""
    # adding 0.0 turns -0.0 into 0.0
    packed = b"\0\0\0\0\0\0\xf8\x7f" if math.isnan(value) else struct.pack("<d", value + 0.0)
    bits: int = struct.unpack("<q", packed)[0]
    return bits ^ ((bits >> 63) & HIGHEST)


def is_single(value: float) -> bool:
    """Return whether a number has single precision, so that no conversion rounds it."""
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def _bytes(literal: Literal, kind: str) -> Bound | None:
    if literal.kind == kind and isinstance(literal.value, bytes):
        return Bound(code=literal.value)
    if literal.kind == "text" and kind == "string" and isinstance(literal.value, str):
        return Bound(code=literal.value.encode())
    return None


def _float(literal: Literal) -> Bound | None:
    value = literal.value
    if literal.kind == "float" and isinstance(value, int):
        return Bound(code=value)
    if literal.kind not in {"number", "double"} or not isinstance(value, Decimal):
        return None
    nearest = float(value)
    if math.isinf(nearest) and value.is_finite():
        return None
    # Spark makes a whole number single or double, like the column, whose type is not known here
    whole = literal.kind == "number" and value == value.to_integral_value()
    if whole and (Decimal(nearest) != value or not is_single(nearest)):
        return None
    return Bound(code=float_code(nearest))


def _number(literal: Literal, column: KeyType) -> Fraction | None:
    """Return the number with which a column of integers or decimals is compared."""
    value = literal.value
    if isinstance(value, int):
        if literal.kind == "integer":
            return Fraction(value)
        return Fraction(value, 10**literal.scale) if literal.kind == "decimal" else None
    if isinstance(value, str):
        if literal.kind != "text" or not _WHOLE.fullmatch(value.strip(_BLANKS)):
            return None
        number = Decimal(value.strip(_BLANKS))
        # compared with text, Spark converts decimals to doubles
        return Fraction(number) if column.kind == "integer" or _is_safe(number, column) else None
    if not isinstance(value, Decimal) or not value.is_finite() or abs(value.adjusted()) > 300:
        return None
    if literal.kind == "number":
        return Fraction(value)
    if literal.kind != "double":
        return None
    if column.kind == "decimal":
        return Fraction(value) if _is_safe(value, column) else None
    nearest = float(value)
    return Fraction(nearest) if abs(nearest) < _EXACT_LONGS else None


def _is_safe(number: Decimal, column: KeyType) -> bool:
    """Return whether a number compares with the column's decimals as their doubles would."""
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    return column.precision <= _EXACT_DIGITS and len(digits) <= _EXACT_DIGITS


def _bound_of(number: Fraction, column: KeyType) -> Bound:
    is_decimal = column.kind == "decimal"
    scaled = number * 10**column.scale if is_decimal else number
    floor = scaled.numerator // scaled.denominator
    bound = Bound(code=floor, exact=scaled.denominator == 1)
    return _within(bound, -_WIDEST, _WIDEST) if is_decimal else _within(bound, LOWEST, HIGHEST)


def _within(bound: Bound, lowest: int, highest: int) -> Bound:
    if isinstance(bound.code, int) and bound.code > highest:
        return Bound(code=highest, exact=False)
    if isinstance(bound.code, int) and bound.code < lowest:
        return Bound(code=lowest - 1, exact=False)
    return bound


def _fitting(bound: Bound | None) -> Bound | None:
    return None if bound is None else _within(bound, LOWEST, HIGHEST)


def _date(text: str) -> Bound | None:
    match = _DATE.fullmatch(text.strip(_BLANKS))
    if match is None:
        return None
    try:
        day = date(*(int(part) for part in match.groups()))
    except ValueError:
        return None
    return Bound(code=(day - _EPOCH_DAY).days)


def _begin_of_day(text: str, kind: str, timezone: str) -> Bound | None:
    """Return the first moment of a day, if all moments of the day before are earlier."""
    if not kind.startswith("timestamp"):
        return None
    if not kind.startswith("timestamp_ntz") and not _is_steady(
        datetime.fromisoformat(text), zone_of(timezone)
    ):
        return None
    return _fitting(_timestamp(text, "date_text", kind, timezone))


def _timestamp(text: str, written: str, kind: str, timezone: str) -> Bound | None:
    """Read a timestamp. ``written`` names its SQL form: text, date, or a kind of timestamp."""
    text = text.strip(_BLANKS)
    if _DATE.fullmatch(text):
        text += " 00:00:00"
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    digits = 9 if kind.endswith("_ns") else 6
    is_local = kind.startswith("timestamp_ntz")
    if len(fraction or "") > digits or (zone and (is_local or written == "timestamp_ntz_text")):
        return None
    try:
        stamp = datetime.fromisoformat(f"{day}T{clock}{(zone or '').replace('Z', '+00:00')}")
    except ValueError:
        return None
    if is_local:
        if written == "timestamp_text" and not _is_steady(stamp, zone_of(timezone)):
            return None
        stamp = stamp.replace(tzinfo=UTC)
    elif zone is None:
        # Spark reads a local time that a clock change skips or repeats with the offset before the
        # change, which is what fold=0 means.
        stamp = stamp.replace(tzinfo=zone_of(timezone))
    since = stamp - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86400 + since.seconds
    return Bound(code=seconds * 10**digits + int((fraction or "").ljust(digits, "0")))


def _is_steady(stamp: datetime, zone: tzinfo) -> bool:
    """Return whether the clocks of a zone do not change around a local time.

    Compared with a time that has a zone, Spark gives a local time a zone first. Only a clock change
    can make two local times equal or swap their order.
    """
    try:
        around = [stamp + shift for shift in (-_NEAR, timedelta(), _NEAR)]
    except OverflowError:
        return False
    return len({moment.replace(tzinfo=zone).utcoffset() for moment in around}) == 1


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name such as ``Europe/Berlin``, ``+01:00`` or ``UTC-8``."""
    match = _OFFSET.fullmatch(_FIXED.get(name, name))
    try:
        if match is None:
            return ZoneInfo(name)
        sign, *fields = match.groups()
        written = zip(fields[:3], fields[3:], strict=True)
        hours, minutes, seconds = (int(first or second or 0) for first, second in written)
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(offset if sign == "+" else -offset) if offset else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"The time zone {name!r} is unknown.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a region such as Europe/Berlin or an offset such as +01:00, or write times "
            "with their offset. Spark's own zone is spark.sql.session.timeZone.",
        ) from error
