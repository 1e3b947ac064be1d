"""Keys of joins as conditions with many values."""

from __future__ import annotations

import base64
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.predicate import ColumnType, Ranges, bind, condition_of, rows_where
from lakesieve.predicate.literals import float_code
from lakesieve.predicate.row_filter import AlwaysFalse, AlwaysTrue, ColumnRanges

LONGS = st.integers(-(2**63), 2**63 - 1)


def _words(kind: str, values: list[int], **more: int) -> dict[str, object]:
    data = base64.b64encode(np.array(values, "<i8").tobytes()).decode()
    return {"op": "keys", "col": ["c"], "type": kind, "count": len(values), "values": data} | more


def _texts(kind: str, values: list[bytes]) -> dict[str, object]:
    lengths = base64.b64encode(np.array([len(v) for v in values], "<i4").tobytes()).decode()
    result = _words(kind, [])
    return result | {"lengths": lengths, "values": base64.b64encode(b"".join(values)).decode()}


def _true(document: dict[str, object], kind: str, scale: int = 0) -> object:
    columns: dict[tuple[str, ...], ColumnType] = {
        ("c",): ColumnType(field_id=1, kind=kind, scale=scale)
    }
    return rows_where(bind(condition_of(document), columns, strict=False))


def _ranges(document: dict[str, object], kind: str, scale: int = 0) -> Ranges:
    result = _true(document, kind, scale)
    if isinstance(result, AlwaysFalse):
        return Ranges()
    assert isinstance(result, ColumnRanges)
    return result.ranges


@given(st.lists(LONGS))
def test_codes_are_those_of_single_points(values: list[int]) -> None:
    """Joining neighbouring codes gives the same set as one point for each code."""
    codes = np.array(values, np.int64)

    assert Ranges.of_codes(codes) == Ranges.points(values)


@pytest.mark.parametrize("kind", ["integer", "date", "timestamp", "timestamp_ntz"])
def test_words(kind: str) -> None:
    """Numbers, days and moments are their own codes."""
    assert _ranges(_words(kind, [7, 8, -3]), kind) == Ranges.points([7, 8, -3])


def test_doubles_compare_as_spark_does() -> None:
    """-0.0 equals 0.0, and every NaN is the same."""
    numbers = [-0.0, 1.5, math.inf, struct.unpack("<d", b"\1\0\0\0\0\0\xf8\xff")[0]]
    bits = [struct.unpack("<q", struct.pack("<d", number))[0] for number in numbers]
    codes = [float_code(number) for number in (0.0, 1.5, math.inf, math.nan)]

    assert _ranges(_words("float", bits), "float") == Ranges.points(codes)


@given(st.lists(st.binary(max_size=4)))
def test_byte_strings(values: list[bytes]) -> None:
    """Byte strings are written end to end with their lengths."""
    assert _ranges(_texts("string", values), "string") == Ranges.points(values)


def test_decimals_need_the_same_scale() -> None:
    """Unscaled values are not compared under another scale."""
    assert _ranges(_words("decimal", [150], scale=2), "decimal", 2) == Ranges.points([150])
    assert _true(_words("decimal", [150], scale=2), "decimal", 3) == AlwaysTrue()


_LENGTHS = base64.b64encode(struct.pack("<2i", -1, 3)).decode()
ODD = {
    "other kind": _words("date", [1]),
    "unknown kind": _words("interval", [1]),
    "engine's kind": _words("int", [1]),
    "scale": _words("integer", [1], scale=0),
    "no scale": _words("decimal", [1]),
    "lengths": _texts("string", [b"ab"]) | {"lengths": base64.b64encode(b"\1\0\0\0").decode()},
    "negative length": _texts("string", [b"ab"]) | {"lengths": _LENGTHS},
    "lengths of words": _words("integer", [1]) | {"lengths": ""},
    "half a word": _words("integer", [1]) | {"values": "AAA="},
    "no text": _words("integer", [1]) | {"values": 5},
    "unknown field": _words("integer", [1], more=1),
}


@pytest.mark.parametrize("kind", ["integer", "string", "decimal"])
@pytest.mark.parametrize("document", ODD.values(), ids=list(ODD))
def test_what_is_odd_may_be_anything(document: dict[str, object], kind: str) -> None:
    """Keys of another kind than the column, or of a broken form, keep every row."""
    assert _true(document, kind) == AlwaysTrue()


def test_no_keys_match_nothing() -> None:
    """Without keys, no row matches."""
    assert _true(_words("integer", []), "integer") == AlwaysFalse()
