"""Literals as key codes of a column's kind: exact, or between two codes."""

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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakesieve.predicate.expression import Literal
    from lakesieve.sieve import KeyType

CODES: dict[str, Callable[[Literal], Bound | None]] = {}
"""Of kinds of keys besides those that Spark's own types have: the position of a literal."""

_EPOCH_DAY = date(1970, 1, 1)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?\s*(Z|[+-]\d{2}:\d{2})?",
    re.ASCII,
)
_WHOLE = re.compile(r"[+-]?\d{1,60}", re.ASCII)
_BLANKS = " \t\r\n"
_INT_DIGITS, _LONG_DIGITS, _MAX_DIGITS = 10, 20, 38
LOWEST, HIGHEST = -(2**63), 2**63 - 1
_WIDEST = 10**40
"""Beyond every decimal's unscaled value."""
_EXACT_LONGS = 2**53
"""Whole numbers below it are doubles; above it two of them become the same double."""
_EXACT_DIGITS = 15
"""Decimals of so many digits become different doubles, in the same order."""
_NEAR = timedelta(days=2)
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:(\d{1,2})(?::(\d{1,2})(?::(\d\d))?)?|(\d\d)(\d\d)(\d\d)?)", re.ASCII
)
# as Java has them; elsewhere they are regions with a history
_FIXED = {"Z": "+00", "UT": "+00", "EST": "-05", "MST": "-07", "HST": "-10"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A literal in a column's code space."""

    code: int | bytes  # the greatest code not above the literal
    exact: bool = True  # whether the literal is that code


def code_of(literal: Literal, column: KeyType, timezone: str) -> Bound | None:
    """Return the position of a literal among the codes of a column; ``None`` when it is unknown.

    Where Spark would convert the column to compare it, the answer is ``None`` unless the result is
    the same. Codes of decimals are unscaled values of any size.
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
    """Return whether Spark compares a column with values as they are, without rounding.

    All of them are first converted to one type, decimals to one of at most 38 digits, which may
    cost digits after the point.
    """
    kinds = {literal.kind for literal in literals}
    if listed and len(kinds) > 1:
        return False
    if listed and kinds == {"text"}:
        # read as the column's type, or the column as text, depending on the session
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
    """Most digits in all, and after the point, of the type that Spark gives a written number."""
    value = literal.value
    if literal.precision or not isinstance(value, Decimal):
        return literal.precision, literal.scale
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    if scale == 0:
        return max(_INT_DIGITS if abs(value) < 2**31 else _LONG_DIGITS, value.adjusted() + 1), 0
    return max(value.adjusted() + 1, 0) + scale, scale


def float_code(value: float) -> int:
    """Return the code of one float or double, as :func:`lakesieve.sieve.encode_keys` makes them."""
    # adding 0.0 turns -0.0 into 0.0
    packed = b"\0\0\0\0\0\0\xf8\x7f" if math.isnan(value) else struct.pack("<d", value + 0.0)
    bits: int = struct.unpack("<q", packed)[0]
    return bits ^ ((bits >> 63) & HIGHEST)


def is_single(value: float) -> bool:
    """Return whether a number has single precision, so that no rounding on the way changes it."""
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
    # a whole number is made single or double as the column is, which is not known here
    whole = literal.kind == "number" and value == value.to_integral_value()
    if whole and (Decimal(nearest) != value or not is_single(nearest)):
        return None
    return Bound(code=float_code(nearest))


def _number(literal: Literal, column: KeyType) -> Fraction | None:
    """Return the number that a column of integers or decimals is compared with."""
    value = literal.value
    if isinstance(value, int):
        if literal.kind == "integer":
            return Fraction(value)
        return Fraction(value, 10**literal.scale) if literal.kind == "decimal" else None
    if isinstance(value, str):
        if literal.kind != "text" or not _WHOLE.fullmatch(value.strip(_BLANKS)):
            return None
        number = Decimal(value.strip(_BLANKS))
        # text makes doubles of decimals
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
    """Return whether decimals compare with a number as their doubles do with its double."""
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
    found = _DATE.fullmatch(text.strip(_BLANKS))
    if found is None:
        return None
    try:
        day = date(*(int(part) for part in found.groups()))
    except ValueError:
        return None
    return Bound(code=(day - _EPOCH_DAY).days)


def _begin_of_day(text: str, kind: str, timezone: str) -> Bound | None:
    """Return the first moment of a day, where all moments of the day before are earlier."""
    if not kind.startswith("timestamp"):
        return None
    if not kind.startswith("timestamp_ntz") and not _is_steady(
        datetime.fromisoformat(text), zone_of(timezone)
    ):
        return None
    return _fitting(_timestamp(text, "date_text", kind, timezone))


def _timestamp(text: str, written: str, kind: str, timezone: str) -> Bound | None:
    """Read a time; ``written`` tells text from dates, times and times without a zone."""
    text = text.strip(_BLANKS)
    if _DATE.fullmatch(text):
        text += " 00:00:00"
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
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
        # a local time that a clock change skips or repeats is read as Spark reads it: by the offset
        # before the change, which is what fold=0 means
        stamp = stamp.replace(tzinfo=zone_of(timezone))
    since = stamp - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86400 + since.seconds
    return Bound(code=seconds * 10**digits + int((fraction or "").ljust(digits, "0")))


def _is_steady(stamp: datetime, zone: tzinfo) -> bool:
    """Return whether clocks do not change around a local time.

    Times without a zone become times with one when they are compared with such; only a clock change
    makes two of them equal, or swaps them.
    """
    try:
        around = [stamp + shift for shift in (-_NEAR, timedelta(), _NEAR)]
    except OverflowError:
        return False
    return len({moment.replace(tzinfo=zone).utcoffset() for moment in around}) == 1


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name such as ``Europe/Berlin``, ``+01:00`` or ``UTC-8``."""
    found = _OFFSET.fullmatch(_FIXED.get(name, name))
    try:
        if found is None:
            return ZoneInfo(name)
        sign, *fields = found.groups()
        written = zip(fields[:3], fields[3:], strict=True)
        hours, minutes, seconds = (int(first or second or 0) for first, second in written)
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(offset if sign == "+" else -offset) if offset else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"The time zone {name!r} is not known.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a region such as Europe/Berlin or an offset such as +01:00, or write times "
            "with their offset. Spark's own zone is spark.sql.session.timeZone.",
        ) from error
