"""Codes of literals agree with exact arithmetic and with the codes of stored values."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lakesieve.predicate.expression import Literal
from lakesieve.predicate.literals import Bound, are_comparable, code_of, float_code
from lakesieve.sieve import KeyType, encode_keys

LONG = KeyType(kind="integer")
FLOAT = KeyType(kind="float")

doubles = st.floats() | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, math.inf, -math.inf])
singles = st.floats(width=32)
numbers = st.decimals(allow_nan=False, allow_infinity=False, places=12) | st.integers().map(Decimal)
decimal_types = st.integers(1, 38).flatmap(
    lambda p: st.integers(0, p).map(lambda s: KeyType(kind="decimal", precision=p, scale=s))
)


def _spark_less(a: float, b: float) -> bool:
    """Return whether Spark sorts a before b."""
    return not math.isnan(a) if math.isnan(b) else a < b


@given(doubles, doubles)
def test_codes_of_floats_are_ordered_as_spark_orders_floats(a: float, b: float) -> None:
    """NaN is above all numbers and equals itself; the two zeros are equal."""
    assert (float_code(a) < float_code(b)) == _spark_less(a, b)
    same = not _spark_less(a, b) and not _spark_less(b, a)
    assert (float_code(a) == float_code(b)) == same


@given(st.lists(doubles, min_size=1))
def test_codes_of_floats_are_those_that_are_stored(values: list[float]) -> None:
    """A literal gets the code of the same stored value, in single or double precision."""
    assert [float_code(v) for v in values] == encode_keys(FLOAT, pa.array(values)).to_pylist()


@given(singles)
def test_codes_of_single_floats_are_those_of_doubles(value: float) -> None:
    """A float column keeps its codes when it becomes double."""
    stored = encode_keys(FLOAT, pa.array([value], pa.float32())).to_pylist()

    assert stored == [float_code(value)]


@given(numbers)
def test_numbers_meet_floats_as_the_nearest_double(number: Decimal) -> None:
    """A number becomes the nearest double, or its position is unknown."""
    literal = Literal(kind="number", value=number)
    bound = code_of(literal, FLOAT, "UTC")

    if bound is None:
        # what single and double precision round differently
        assert number == number.to_integral_value()
        assert Fraction(number) != Fraction(float(number)) or abs(number) > 2**24
    else:
        assert bound == Bound(code=float_code(float(number)))


@given(numbers, decimal_types)
def test_numbers_meet_decimals_exactly(number: Decimal, column: KeyType) -> None:
    """The code of a number is the greatest unscaled value that is not above it."""
    literal = Literal(kind="number", value=number)
    bound = code_of(literal, column, "UTC")
    limit = 10**40

    assert bound is not None
    assert isinstance(bound.code, int)
    scaled = Fraction(number) * 10**column.scale
    if bound.exact:
        assert bound.code == scaled
    elif abs(scaled) < limit:
        assert bound.code < scaled < bound.code + 1
    else:
        # beyond every value that such a column can hold
        assert abs(bound.code) >= limit
        assert (bound.code > 0) == (scaled > 0)


@given(st.integers(-(10**38) + 1, 10**38 - 1), decimal_types)
def test_unscaled_decimals_are_their_own_codes(unscaled: int, column: KeyType) -> None:
    """A typed decimal of the column's scale loses no digit, however long."""
    literal = Literal(kind="decimal", value=unscaled, scale=column.scale)

    assert code_of(literal, column, "UTC") == Bound(code=unscaled)


@given(st.integers(-(2**63), 2**63 - 1), doubles.filter(math.isfinite))
def test_doubles_meet_longs_only_where_no_long_is_rounded(value: int, number: float) -> None:
    """A bound is known only if comparing as doubles and comparing exactly agree."""
    literal = Literal(kind="double", value=Decimal(repr(number)))
    bound = code_of(literal, LONG, "UTC")
    assume(bound is not None)

    assert bound is not None
    assert isinstance(bound.code, int)
    below = value <= bound.code
    assert below == (float(value) <= number)
    assert (bound.exact and value == bound.code) == (float(value) == number)


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 15), st.data())
def test_doubles_meet_short_decimals_as_they_are_written(
    unscaled: int, scale: int, data: st.DataObject
) -> None:
    """Decimals of up to 15 digits compare with a short double as their doubles do."""
    column = KeyType(kind="decimal", precision=15, scale=scale)
    nearby = unscaled + data.draw(st.integers(-2, 2))
    written = Decimal(nearby).scaleb(data.draw(st.sampled_from([-scale, -scale, -scale - 1])))
    bound = code_of(Literal(kind="double", value=written), column, "UTC")
    assume(bound is not None)

    assert bound is not None
    assert isinstance(bound.code, int)
    mine, other = float(Decimal(unscaled).scaleb(-scale)), float(written)
    assert (unscaled <= bound.code) == (mine <= other)
    assert (bound.exact and unscaled == bound.code) == (mine == other)


@pytest.mark.parametrize(
    ("column", "literals", "listed", "comparable"),
    [
        (KeyType(kind="decimal", precision=38, scale=10), ["1.1234567891"], False, True),
        (KeyType(kind="decimal", precision=38, scale=10), ["1.12345678912"], False, False),
        (KeyType(kind="decimal", precision=38, scale=18), ["5000000000"], False, True),
        (KeyType(kind="decimal", precision=38, scale=30), ["5"], False, False),
        (KeyType(kind="decimal", precision=38, scale=30), ["5.5"], False, True),
        (LONG, ["0.999999999999999999"], False, True),
        (LONG, ["0.9999999999999999999"], False, False),
        (LONG, ["1" + "0" * 29, "0.5"], True, True),
        (LONG, ["1" + "0" * 29, "0.9999999999"], True, False),
    ],
)
def test_spark_rounds_what_does_not_fit_into_38_digits(
    column: KeyType, literals: list[str], listed: bool, comparable: bool
) -> None:
    """A comparison counts only if column and values fit together into 38 digits."""
    values = [Literal(kind="number", value=Decimal(text)) for text in literals]

    assert are_comparable(values, column, listed=listed) is comparable
