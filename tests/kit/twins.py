"""Slow twins of the index core: plain Python over dicts and sets, too simple to be wrong.

Every kernel of ``lakesieve.sieve`` has its twin here, and a property test that both agree.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lakesieve.sieve import Blocks, Code, Interval, KeyType

_SCHEME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-"

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is taken from the value
_MICRO = dt.timedelta(microseconds=1)


def codes_of(key_type: KeyType, values: Iterable[Any]) -> list[Code | None]:
    """Twin of ``encode_keys``, on Python values.

    Args:
        key_type: Type of the keys.
        values: As ``to_pylist`` gives them, nanoseconds as integers; ``None`` is null.

    Raises:
        UnsupportedError: The type has no code here.
    """
    return [None if value is None else _code_of(key_type, value) for value in values]


def _code_of(key_type: KeyType, value: Any) -> Code:
    match key_type.kind, value:
        case (("integer" | "boolean" | "timestamp_ns" | "timestamp_ntz_ns"), int()):
            return int(value)
        case "float", float():
            return _float_code(value)
        case "timestamp", dt.datetime():
            return (value - _EPOCH.replace(tzinfo=dt.UTC)) // _MICRO
        case "timestamp_ntz", dt.datetime():
            return (value - _EPOCH) // _MICRO
        case "date", dt.date():
            return (value - _EPOCH.date()).days
        case "decimal", Decimal():
            sign, digits, _ = value.as_tuple()
            unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
            return (unscaled + 2**127).to_bytes(16, "big") if key_type.is_wide else unscaled
        case "string", str():
            return value.encode()
        case (("string" | "binary"), bytes()):
            return value
    raise UnsupportedError(
        f"{value!r} has no code as a key of the kind {key_type.kind}.",
        kind=ErrorKind.UNSUPPORTED_TYPE,
    )


def _float_code(value: float) -> int:
    """Sign and magnitude: IEEE 754 orders the magnitudes of floats like their bits."""
    if math.isnan(value):
        return 0x7FF8 << 48
    if value == 0:
        return 0
    magnitude: int = struct.unpack(">q", struct.pack(">d", abs(value)))[0]
    return magnitude if value > 0 else -magnitude - 1


def rows_as_tuples(
    key_types: Sequence[KeyType], columns: Sequence[Iterable[Any]]
) -> list[tuple[Any, ...]]:
    """What composite keys must compare like: tuples of the rows' codes, null before all values.

    Args:
        key_types: The type of each column.
        columns: The columns, of one length.
    """
    codes = [codes_of(*both) for both in zip(key_types, columns, strict=True)]
    return [
        tuple((False,) if code is None else (True, code) for code in row)
        for row in zip(*codes, strict=True)
    ]


def keys_of_lists(
    key_type: KeyType, lists: Iterable[Sequence[Any] | None]
) -> list[tuple[int, Code | None]]:
    """Twin of ``keys_of_rows`` for lists: the row and the code of each element that is no null."""
    return [
        (row, code)
        for row, values in enumerate(lists)
        for code in codes_of(key_type, values or ())
        if code is not None
    ]


def rows_as_bytes(key_types: Sequence[KeyType], columns: Sequence[Iterable[Any]]) -> list[bytes]:
    """Twin of ``encode_rows`` for several columns, byte by byte.

    Args:
        key_types: The type of each column.
        columns: The columns, of one length.
    """
    return [
        b"".join(
            _component(key_type.kind, value[1] if value[0] else None)
            for key_type, value in zip(key_types, row, strict=True)
        )
        for row in rows_as_tuples(key_types, columns)
    ]


def _component(kind: str, code: Code | None) -> bytes:
    if code is None:
        return b"\x00" * {"string": 1, "binary": 1, "decimal": 17}.get(kind, 9)
    if kind in {"string", "binary"} and isinstance(code, bytes):
        escaped = bytearray()
        for byte in code:
            escaped += bytes([byte, 255]) if byte == 0 else bytes([byte])
        return b"\x01" + bytes(escaped) + b"\x00\x00"
    if isinstance(code, bytes):
        return b"\x01" + code
    size = 16 if kind == "decimal" else 8
    shifted: bytes = (code + 256**size // 2).to_bytes(size, "big")
    return b"\x01" + shifted


def sorted_pairs(pairs: Iterable[tuple[Code, int]]) -> list[tuple[Code, int]]:
    """Twin of ``sort_pairs``."""
    return sorted(set(pairs))


def as_sets(pairs: Iterable[tuple[Code, int]]) -> dict[Code, set[int]]:
    """Units of every key: what an index in any form must answer."""
    sets: dict[Code, set[int]] = {}
    for key, ordinal in pairs:
        sets.setdefault(key, set()).add(ordinal)
    return sets


def as_blocks(sets: Mapping[Code, set[int]]) -> list[tuple[Code, list[int]]]:
    """Twin of ``build_blocks``: the first key and the set of every exact run."""
    runs: list[tuple[Code, list[int]]] = []
    for key in sorted(sets):
        units = sorted(sets[key])
        if not runs or runs[-1][1] != units:
            runs.append((key, units))
    return runs


def block_sets(blocks: Blocks) -> list[tuple[Code, list[int]]]:
    """Read blocks back one by one, in the form of :func:`as_blocks`."""
    return [
        (key, blocks.ordinals[blocks.offsets[i] : blocks.offsets[i + 1]].tolist())
        for i, key in enumerate(blocks.keys.to_pylist())
    ]


def point_units(
    runs: Sequence[tuple[Code, list[int]]], max_key: Code, keys: Iterable[Code]
) -> list[list[int]]:
    """Twin of ``lookup_points``: the set of the last block that starts at or below each key.

    Args:
        runs: First key and set of units of each block, ascending.
        max_key: The largest key.
        keys: The keys to look up.
    """
    answers: list[list[int]] = []
    for key in keys:
        # codes of one index are all of one type
        below = [units for first, units in runs if first <= key]  # type: ignore[operator]
        absent = not below or key > max_key  # type: ignore[operator]
        answers.append([] if absent else below[-1])
    return answers


def range_units(
    runs: Sequence[tuple[Code, list[int]]], max_key: Code, intervals: Iterable[Interval]
) -> list[int]:
    """Twin of ``lookup_ranges``: units of all blocks that overlap a half-open interval.

    Args:
        runs: First key and set of units of each block, ascending.
        max_key: The largest key.
        intervals: Half-open intervals of keys.
    """
    units: set[int] = set()
    ranges = list(intervals)
    for number, (first, run) in enumerate(runs):
        after: Any = runs[number + 1][0] if number + 1 < len(runs) else _successor(max_key)
        for low, high in ranges:
            start: Any = first if low is None else max(first, low)
            end: Any = after if high is None else min(after, high)
            if start < end:
                units.update(run)
    return sorted(units)


def united_ranges(ranges: Iterable[tuple[int, Interval]]) -> dict[int, Interval]:
    """Twin of ``CodeBounds.united``: the lowest code and the highest end of each place.

    Args:
        ranges: Places, and ranges of each. An end that is ``None`` is above all codes.
    """
    of_places: dict[int, list[Interval]] = {}
    for place, one in ranges:
        of_places.setdefault(place, []).append(one)
    return {
        place: (
            min((low for low, _ in several), key=_wide),  # type: ignore[arg-type]
            max((end for _, end in several), key=_end),
        )
        for place, several in of_places.items()
    }


def is_inside(one: Interval, interval: Interval) -> bool:
    """Twin of ``CodeBounds.inside``: whether a range lies in an interval as a whole."""
    (low, end), (first, behind) = one, interval
    begins_inside = first is None or _wide(low) >= _wide(first)  # type: ignore[arg-type]
    return begins_inside and (behind is None or (end is not None and _wide(end) <= _wide(behind)))


def do_meet(one: Interval, interval: Interval) -> bool:
    """Twin of ``CodeBounds.meet``: whether a range and an interval have a code in common."""
    (low, end), (first, behind) = one, interval
    ends_behind = first is None or end is None or _wide(end) > _wide(first)
    return ends_behind and (behind is None or _wide(low) < _wide(behind))  # type: ignore[arg-type]


def _end(code: Code | None) -> tuple[bool, bytes]:
    return code is None, b"" if code is None else _wide(code)


def _wide(code: Code) -> bytes:
    """Return a code as bytes, as decimals of many digits have them."""
    return code if isinstance(code, bytes) else (code + 2**127).to_bytes(16, "big")


def _successor(code: Code) -> Code:
    """The lowest code above this one."""
    return code + 1 if isinstance(code, int) else code + b"\0"


def normal_path(path: str) -> str:
    """The one spelling of a data file's path, one letter after the other.

    Args:
        path: Any text.
    """
    if path.startswith("/"):
        return "file:" + _one_slash(path)
    scheme, colon, rest = path.partition(":")
    letters = scheme.isascii() and len(scheme) > 1 and scheme[0].isalpha()
    if not colon or not letters or set(scheme) - set(_SCHEME_LETTERS):
        return path
    scheme = scheme.lower()
    scheme = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb"}.get(scheme, scheme)
    host = None
    if rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        if scheme in {"hdfs", "webhdfs", "abfs", "wasb"}:
            host = "".join(c.lower() if c.isascii() else c for c in host)
    if scheme in {"file", "hdfs", "webhdfs"}:
        rest = _one_slash(rest)
    if scheme == "file" and host is not None and host.lower() in {"", "localhost"}:
        host = None
    return f"{scheme}:{rest}" if host is None else f"{scheme}://{host}{rest}"


def _one_slash(path: str) -> str:
    return "".join(c for at, c in enumerate(path) if path[max(0, at - 1) : at + 1] != "//")


def hitting_set(
    sets: Sequence[Sequence[int]], usable: Sequence[bool], chosen: Iterable[int]
) -> set[int]:
    """Twin of ``hitting_units``, which takes one unit after the other.

    Args:
        sets: The units of each set.
        usable: For each unit, whether it may stand for a set.
        chosen: The units that are chosen already.
    """
    result = set(chosen)
    for units in sets:
        held = [unit for unit in units if usable[unit]]
        result |= {*units} if not held else {*held} if len(held) == 1 else set()
    left = [{unit for unit in units if usable[unit]} for units in sets]
    left = [units for units in left if units and not units & result]
    while left:
        counts = [sum(unit in units for units in left) for unit in range(len(usable))]
        best = counts.index(max(counts))
        result.add(best)
        left = [units for units in left if best not in units]
    return result
