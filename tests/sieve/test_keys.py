"""Key codes keep values, order and nulls."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.strategies import key_columns
from tests.kit.twins import codes_of

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.sieve import KINDS, KeyType, code_order, encode_keys, wide_code


def listed(values: pa.Array) -> list[Any]:
    # no Python type holds nanoseconds
    if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
        values = values.cast(pa.int64())
    return list(values.to_pylist())


@given(st.lists(st.tuples(st.integers(-(10**18) + 1, 10**18 - 1), st.booleans())))
def test_codes_of_both_types_have_one_order(numbers: list[tuple[int, bool]]) -> None:
    """Codes from before and after a decimal got more digits compare like the numbers."""
    codes = {number: wide_code(number) if is_wide else number for number, is_wide in numbers}
    in_order = code_order(codes.values())

    assert sorted(codes, key=lambda number: in_order(codes[number])) == sorted(codes)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_codes_equal_the_twin(kind: str, data: st.DataObject) -> None:
    """Values of every kind, sliced and with nulls, get the codes that plain Python gives them."""
    column = data.draw(key_columns(kind))
    codes = encode_keys(column.key_type, column.values)

    assert codes.to_pylist() == codes_of(column.key_type, listed(column.values))
    assert codes.type == (pa.binary() if column.key_type.physical == "bytes" else pa.int64())


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_codes_keep_the_order(kind: str, data: st.DataObject) -> None:
    """Codes compare like values: texts by UTF-8 bytes, NaN above all and equal to itself."""
    column = data.draw(key_columns(kind))
    values = column.values.drop_null()
    plain = [v.encode() if isinstance(v, str) else v for v in listed(values)]
    if kind == "float":
        plain = [(math.isnan(v), 0.0 if math.isnan(v) else v) for v in map(float, plain)]
    codes = encode_keys(column.key_type, values).to_pylist()

    assert [a < b for a in codes for b in codes] == [a < b for a in plain for b in plain]


@given(st.lists(st.floats(width=32)))
def test_float_and_double_have_the_same_codes(values: list[float]) -> None:
    """A float column promoted to double keeps its codes."""
    float_type = KeyType(kind="float")

    narrow = encode_keys(float_type, pa.array(values, pa.float32()))
    assert narrow.equals(encode_keys(float_type, pa.array(values, pa.float64())))


@given(st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-(10**40), 10**40))
def test_wide_codes_of_literals_are_those_of_values(unscaled: int) -> None:
    """The code of a decimal literal equals that of the value; larger literals are clamped."""
    if abs(unscaled) < 10**38:
        value = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), 0))
        key_type = KeyType(kind="decimal", precision=38)
        assert encode_keys(key_type, pa.array([value], pa.decimal128(38, 0)))[0].as_py() == (
            wide_code(unscaled)
        )
    else:
        assert (wide_code(unscaled) > wide_code(10**38 - 1)) == (unscaled > 0)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_chunks_do_not_matter(kind: str, data: st.DataObject) -> None:
    """A column in no, two or more chunks gets the codes that it gets in one piece."""
    column = data.draw(key_columns(kind))
    values, half = column.values, len(column.values) // 2
    chunked = pa.chunked_array([values[:half], values[half:], values[:0]])
    empty = pa.chunked_array([], values.type)

    assert encode_keys(column.key_type, chunked).equals(encode_keys(column.key_type, values))
    assert encode_keys(column.key_type, empty).equals(encode_keys(column.key_type, values[:0]))


@pytest.mark.parametrize(
    ("key_type", "values"),
    [
        (KeyType(kind="integer"), pa.array([2**63], pa.uint64())),
        (KeyType(kind="integer"), pa.array([1.0])),
        (KeyType(kind="date"), pa.array([1], pa.int32())),
        (KeyType(kind="timestamp"), pa.array([1], pa.timestamp("us"))),
        (KeyType(kind="timestamp_ntz"), pa.array([1], pa.timestamp("us", tz="UTC"))),
        (KeyType(kind="timestamp"), pa.array([1], pa.timestamp("ns", tz="UTC"))),
        (KeyType(kind="decimal", scale=2), pa.array([Decimal("1.000")], pa.decimal128(9, 3))),
        (KeyType(kind="decimal", scale=2), pa.array([Decimal("1.00")], pa.decimal128(19, 2))),
        (KeyType(kind="string"), pa.array([1])),
    ],
    ids=lambda value: value.kind if isinstance(value, KeyType) else str(value.type),
)
def test_other_types_are_refused(key_type: KeyType, values: pa.Array) -> None:
    """Values that are not of the key type are refused, never converted with a loss."""
    with pytest.raises(UnsupportedError) as caught:
        encode_keys(key_type, values)

    assert caught.value.kind is ErrorKind.UNSUPPORTED_TYPE


def test_unknown_kinds_are_refused() -> None:
    """A key kind that this version does not know is refused."""
    with pytest.raises(UnsupportedError) as caught:
        KeyType(kind="map")

    assert caught.value.kind is ErrorKind.UNSUPPORTED_TYPE
