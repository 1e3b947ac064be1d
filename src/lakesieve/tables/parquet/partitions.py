"""Infer the partition columns of a directory from the names of its folders, as Spark does.

The rules are those of ``PartitioningUtils`` in Spark 4.1 with its default settings. Types are
inferred from the escaped names. Only strings and times are unescaped.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import time
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.tables.paths import NULL_PARTITION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?0*[0-9]{1,10})?")
_DOUBLE = re.compile(
    r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?"
    r"|(?P<hexadecimal>0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
# Java writes a year of more than four digits with a sign
_DAY = r"(?P<day>(?:(?!-0000)-?[0-9]{4}|[+-][1-9][0-9]{4,%d})-[0-9]{2}-[0-9]{2})"
_DATE = re.compile(_DAY % 6)
_CLOCK = r"(?P<clock>(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]%s)?)"
_TIME = re.compile(_CLOCK % "{1,6}")
_TIMESTAMP = re.compile(f"{_DAY % 5} {_CLOCK % ''}")
_BLANKS = "".join(map(chr, range(0x21)))
"""Characters that Java's ``String.trim`` removes."""

_LARGEST_DECIMAL = 38
_LARGEST_DAY = 2**31
_LARGEST_MICROS = 2**63
_MICROS_OF_A_DAY = 86_400_000_000
_DIGITS_OF = {"integer": 10, "long": 20}
"""Digits of a decimal that holds all integers of a type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPartition:
    """The partition of a folder, with values escaped as in the folders' names.

    ``base`` is the folder above the outermost partition folder.
    """

    names: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    base: str


def partition_of(folder: str) -> FolderPartition:
    """Read the partition columns and values from the names of folders, the innermost first.

    Raises:
        UnsupportedError: A folder's name lacks the column or the value.
    """
    columns: list[tuple[str, str]] = []
    base = folder
    while base:
        above, _, name = base.rpartition("/")
        column, equals, value = name.partition("=")
        if equals and not (column and value):
            raise UnsupportedError(
                f"The folder {folder} does not name a partition: {name!r} lacks the column or the "
                "value.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Rename or remove the folder. Spark does not read it either.",
            )
        if equals:
            columns.append((unescaped(column), value))
        elif columns:
            break
        base = above
    if not columns:
        return FolderPartition(base=folder)
    names, values = zip(*reversed(columns), strict=True)
    return FolderPartition(names=names, values=values, base=base)


def partitioning_of(
    folders: Iterable[str], location: str
) -> tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]:
    """Find the partition columns of a directory, and the escaped partition values of each folder.

    If some folders are partitions, other folders are left out: Spark reads none of their files.

    Raises:
        UnsupportedError: The folders do not belong to one table.
    """
    partition_by_folder = {folder: partition_of(folder) for folder in folders}
    partitions = {folder: one for folder, one in partition_by_folder.items() if one.names}
    if not partitions:
        return (), {}
    names = {one.names for one in partitions.values()}
    # Spark compares the paths of the bases regardless of case
    bases = {one.base.lower() for one in partition_by_folder.values()}
    if len(names) > 1 or len(bases) > 1:
        raise UnsupportedError(
            f"The folders below {location} are partitioned in different ways.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Give the folder of a single table.",
        )
    (columns,) = names
    twice = [name for name, count in Counter(map(str.lower, columns)).items() if count > 1]
    if twice:
        raise UnsupportedError(
            f"The folders below {location} have two values for the column {twice[0]}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Rename the folders. Spark does not read them either.",
        )
    return columns, {folder: one.values for folder, one in partitions.items()}


def unescaped(text: str) -> str:
    """Replace each escape such as ``%2F`` by the character with this number."""
    # like Hive and Spark, one character for each escape, not bytes of UTF-8
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)


def partition_type(values: Sequence[str]) -> str:
    """Infer the type of a partition column, with its name in Spark's schema JSON."""
    return reduce(_wider, dict.fromkeys(map(_inferred, dict.fromkeys(values))), "void")


def _inferred(value: str) -> str:
    """Return the type of one value."""
    if value == NULL_PARTITION:
        return "void"
    digits = _ascii_digits(value)
    if _INTEGER.fullmatch(digits):
        number = int(digits)
        if -(2**31) <= number < 2**31:
            return "integer"
        if -(2**63) <= number < 2**63:
            return "long"
    precision = _precision(digits)
    if precision is not None:
        return f"decimal({precision},0)"
    if _DOUBLE.fullmatch(value.strip(_BLANKS)):
        return "double"
    plain = unescaped(value)
    if _is_timestamp(plain):
        return "timestamp"
    if _clock(plain) is not None:
        return "time(6)"
    return "string" if _day(value) is None else "date"


def _ascii_digits(value: str) -> str:
    """Replace the digits of all scripts that Java's integers accept by ASCII digits."""
    if value.isascii():
        return value
    # Java looks at each 16-bit unit separately
    return "".join(
        str(int(sign)) if sign.isdecimal() and sign <= "\uffff" else sign for sign in value
    )


def _precision(digits: str) -> int | None:
    """Return the number of digits of a whole number, if a decimal can hold it."""
    number = _decimal(digits)
    if number is None:
        return None
    _, figures, exponent = number.as_tuple()
    if not isinstance(exponent, int) or exponent > _LARGEST_DECIMAL:
        return None
    precision = len(figures) + max(exponent, 0)
    return precision if exponent >= 0 and precision <= _LARGEST_DECIMAL else None


def _decimal(digits: str) -> Decimal | None:
    return Decimal(digits) if _DECIMAL.fullmatch(digits) else None


def _is_timestamp(text: str) -> bool:
    match = _TIMESTAMP.fullmatch(text)
    days = None if match is None else _days(match["day"])
    if match is None or days is None:
        return False
    clock: int = pa.scalar(_clock(match["clock"]), pa.time64("us")).value
    micros = days * _MICROS_OF_A_DAY + clock
    return -_LARGEST_MICROS <= micros < _LARGEST_MICROS


def _clock(text: str) -> time | None:
    return time.fromisoformat(text) if _TIME.fullmatch(text) else None


def _day(text: str) -> int | None:
    """Return days since 1970 for a date as Java writes it."""
    return _days(text) if _DATE.fullmatch(text) else None


def _days(text: str) -> int | None:
    try:
        # Python's own dates end with the year 9999
        days = int(np.datetime64(text, "D").astype(np.int64))
    except ValueError:
        return None
    return days if -_LARGEST_DAY <= days < _LARGEST_DAY else None


def _wider(one: str, other: str) -> str:
    """Return the type that holds the values of two types."""
    kinds = {one, other} - {"void"}
    if len(kinds) <= 1:
        return kinds.pop() if kinds else "void"
    if kinds == {"integer", "long"}:
        return "long"
    if kinds == {"integer", "double"}:
        return "double"
    if kinds == {"date", "timestamp"}:
        return "timestamp"
    digits = [_digits(kind) for kind in kinds]
    return "string" if None in digits else f"decimal({max(d for d in digits if d)},0)"


def _digits(kind: str) -> int | None:
    if kind.startswith("decimal("):
        return int(kind[len("decimal(") : -len(",0)")])
    return _DIGITS_OF.get(kind)


def partition_value(value: str, kind: str, column: str) -> pa.Scalar | str:
    """Read the value of a partition column, escaped as in the name of a folder.

    A timestamp is returned as text, because its moment depends on the session's time zone.

    Raises:
        UnsupportedError: The value does not have the type that :func:`partition_type` inferred.
    """
    if value == NULL_PARTITION:
        return pa.scalar(None)
    if kind == "timestamp":
        return unescaped(value)
    read = _value(value, kind)
    if read is None:
        raise UnsupportedError(
            f"The folder {column}={value} has a value that does not fit the column's type {kind}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Rename the folder. Spark does not read it either.",
        )
    return read


def _value(value: str, kind: str) -> pa.Scalar | None:
    read: Any
    match kind.partition("(")[0]:
        case "string":
            return pa.scalar(unescaped(value), pa.string())
        case "integer" | "long":
            return pa.scalar(int(_ascii_digits(value)), pa.int64())
        case "decimal":
            read = _decimal(_ascii_digits(value))
            if read is None:
                return None
            return pa.scalar(Decimal(int(read)), pa.decimal128(_digits(kind) or 0, 0))
        case "double":
            read = _double(value.strip(_BLANKS))
            return None if read is None else pa.scalar(read, pa.float64())
        case "date":
            days = _day(value)
            return None if days is None else pa.scalar(days, pa.int32()).cast(pa.date32())
        case "time":
            return pa.scalar(_clock(unescaped(value)), pa.time64("us"))
    return None


def _double(text: str) -> float | None:
    match = _DOUBLE.fullmatch(text)
    if match is None:
        return None
    if match["hexadecimal"] is None:
        return float(text.rstrip("fFdD"))
    sign = -1.0 if text.startswith("-") else 1.0
    try:
        return sign * float.fromhex(match["hexadecimal"])
    except OverflowError:
        return sign * float("inf")
