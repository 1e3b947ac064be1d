"""Convert values in the statistics and partitions of table formats to key codes."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.predicate.literals import float_code
from lakesieve.sieve import HIGHEST, LOWEST, wide_code

if TYPE_CHECKING:
    from lakesieve.sieve import Code
    from lakesieve.tables.contract import Column

_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?\d{1,38}(\.\d{1,38})?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EPOCH, _EPOCH_DAY = datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST_SINGLE = float(np.finfo(np.float32).max)


def is_bytewise(column: Column) -> bool:
    """Return whether the codes of a column are byte strings."""
    if column.kind == "decimal":
        return column.precision > 18
    return column.kind in {"string", "binary"}


def text_code(text: str, column: Column) -> Code | None:
    """Return the code of a value that a table format writes as text, such as a partition value.

    Returns:
        The code, or ``None`` if the text may not be exactly one value of the column.
    """
    match column.kind:
        case "string":
            return text.encode()
        case "boolean":
            return {"true": 1, "false": 0}.get(text.lower())
        case "integer":
            number = int(text) if _INTEGER.fullmatch(text) else None
            return number if number is not None and LOWEST <= number <= HIGHEST else None
        case "float":
            try:
                parsed = float(text)
            except ValueError:
                return None
            return float_code(to_single(parsed) if column.type == "float" else parsed)
        case "decimal":
            return decimal_code(Decimal(text), column) if _DECIMAL.fullmatch(text) else None
        case "date":
            return value_code(_date(text), column)
        case "timestamp" | "timestamp_ntz":
            return value_code(_moment(text, is_local=column.kind.endswith("ntz")), column)
    return None


def to_single(number: float) -> float:
    """Return the nearest float32. A number outside the range of float32 is returned unchanged."""
    return number if abs(number) > _LARGEST_SINGLE else float(np.float32(number))


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _moment(text: str, *, is_local: bool) -> datetime | None:
    """Parse a timestamp. Without a zone it belongs to the session's zone, which is unknown here."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if (moment.tzinfo is None) is not is_local:
        return None
    return moment.replace(tzinfo=UTC) if is_local else moment


def decimal_code(number: Decimal, column: Column, *, upwards: bool = False) -> Code | None:
    """Return the code of a decimal, rounded to the scale of the column."""
    if not number.is_finite():
        return None
    try:
        # at most 38 digits before the point and as many after it
        with localcontext(prec=100):
            unscaled, rest = divmod(number * 10**column.scale, 1)
    except ArithmeticError:
        return None
    code = int(unscaled) + (upwards and rest > 0) - (not upwards and rest < 0)
    if abs(code) >= 10**38:
        return None
    return wide_code(code) if is_bytewise(column) else code


def value_code(value: object, column: Column) -> Code | None:
    """Return the code of a Python value.

    Returns:
        The code, or ``None`` if the value does not have the column's type.
    """
    match column.kind, value:
        case "boolean", bool():
            return int(value)
        case _, bool():
            return None
        case "integer" | "date", int():
            return value if LOWEST <= value <= HIGHEST else None
        case "float", float():
            return float_code(value)
        case "decimal", Decimal():
            return decimal_code(value, column)
        case "string", str():
            return value.encode()
        case "binary", bytes():
            return value
        case "timestamp" | "timestamp_ntz", datetime():
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return (moment - _EPOCH) // _MICROSECOND
        case "date", date() if not isinstance(value, datetime):
            return (value - _EPOCH_DAY).days
    return None
