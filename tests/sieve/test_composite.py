"""Composite keys compare like the tuples of their components."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.strategies import KeyColumn, key_columns
from tests.kit.twins import codes_of, keys_of_lists, rows_as_bytes, rows_as_tuples
from tests.sieve.test_keys import listed

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.sieve import (
    KINDS,
    VALUES,
    KeysOfRow,
    KeyType,
    RangeSet,
    build_blocks,
    component_code,
    encode_keys,
    encode_rows,
    keys_of_rows,
    leading_code,
    lookup_ranges,
    sort_pairs,
)

LOWEST, HIGHEST = -(2**63), 2**63 - 1
DECIMAL = KeyType(kind="decimal", scale=2, precision=38)


@st.composite
def composites(draw: st.DrawFn) -> tuple[list[KeyType], list[pa.Array]]:
    """Two to four key columns of equal length, of any kinds, sliced and with nulls."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=2, max_size=4))
    columns = [draw(key_columns(kind)) for kind in kinds]
    rows = min(len(column.values) for column in columns)
    return [c.key_type for c in columns], [c.values[:rows] for c in columns]


@given(composites())
def test_keys_equal_the_twin(drawn: tuple[list[KeyType], list[pa.Array]]) -> None:
    """Columns of every kind, sliced and with nulls, get the bytes that plain Python gives them."""
    key_types, columns = drawn
    keys = encode_rows(key_types, columns)

    assert keys.to_pylist() == rows_as_bytes(key_types, [listed(column) for column in columns])
    assert keys.type == pa.binary()


@given(st.sampled_from(list(KINDS)).flatmap(key_columns), st.data())
def test_keys_of_lists_equal_the_twin(drawn: KeyColumn, data: st.DataObject) -> None:
    """The elements of lists are keys of their rows, whatever null lists have below them."""
    lists = _drawn_lists(drawn, data)
    first = data.draw(st.integers(0, len(lists)))
    for rows in (lists, lists[first:], pa.chunked_array([lists[:first], lists[first:]])):
        keys, numbers = keys_of_rows([drawn.key_type], [rows], [KeysOfRow.LISTS])
        assert numbers is not None
        values = [None if one is None else listed(one) for one in _each(rows)]
        expected = keys_of_lists(drawn.key_type, values)
        assert list(zip(numbers.tolist(), keys.to_pylist(), strict=True)) == expected


@given(st.sampled_from(list(KINDS)).flatmap(key_columns), st.data())
def test_keys_of_lists_beside_a_column(drawn: KeyColumn, data: st.DataObject) -> None:
    """Each element makes a key with the value that another column has in its row."""
    lists = _drawn_lists(drawn, data)
    numbers_beside = st.lists(
        st.none() | st.integers(-2, 2), min_size=len(lists), max_size=len(lists)
    )
    beside = pa.array(data.draw(numbers_beside), pa.int64())
    first = data.draw(st.integers(0, len(lists)))
    types = [drawn.key_type, KeyType(kind="integer")]
    kinds = [KeysOfRow.LISTS, KeysOfRow.ONE]
    for rows, column in (
        (lists, beside),
        (lists[first:], beside[first:]),
        (pa.chunked_array([lists[:first], lists[first:]]), pa.chunked_array([beside])),
    ):
        expected = [
            (row, value, other)
            for row, (elements, other) in enumerate(
                zip(_each(rows), column.to_pylist(), strict=True)
            )
            for value in ([] if elements is None else listed(elements))
        ]
        values, others = ([each[at] for each in expected] for at in (1, 2))
        for order in (1, -1):
            keys, numbers = keys_of_rows(types[::order], [rows, column][::order], kinds[::order])
            assert numbers is not None
            assert numbers.tolist() == [row for row, *_ in expected]
            assert keys.to_pylist() == rows_as_bytes(types[::order], [values, others][::order])


def _drawn_lists(drawn: KeyColumn, data: st.DataObject) -> pa.ListArray:
    """Draw lists of some values. A null list may have values below it."""
    ends = sorted(data.draw(st.lists(st.integers(0, len(drawn.values)), max_size=6)))
    offsets = pa.array([0, *ends], pa.int32())
    nulls = data.draw(st.lists(st.booleans(), min_size=len(ends), max_size=len(ends)))
    return pa.ListArray.from_arrays(offsets, drawn.values, mask=pa.array(nulls, pa.bool_()))


def _each(lists: pa.Array | pa.ChunkedArray) -> list[pa.Array | None]:
    """The elements of each list."""
    chunks = lists.chunks if isinstance(lists, pa.ChunkedArray) else [lists]
    return [row.values if row.is_valid else None for chunk in chunks for row in chunk]


@given(composites())
def test_keys_keep_the_order_and_tell_rows_apart(
    drawn: tuple[list[KeyType], list[pa.Array]],
) -> None:
    """Keys compare like the tuples of codes: null first, then by the first different column."""
    key_types, columns = drawn
    keys = encode_rows(key_types, columns).to_pylist()
    plain = rows_as_tuples(key_types, [listed(column) for column in columns])

    assert [a < b for a in keys for b in keys] == [a < b for a in plain for b in plain]
    assert [a == b for a in keys for b in keys] == [a == b for a in plain for b in plain]


@given(composites())
def test_no_component_begins_another(drawn: tuple[list[KeyType], list[pa.Array]]) -> None:
    """No bytes after a component change how it compares with others."""
    (key_type, *_), (values, *_) = drawn
    padding = pa.nulls(len(values), pa.int64())
    keys = encode_rows([key_type, KeyType(kind="integer")], [values, padding]).to_pylist()
    stems = {key[:-1] for key in keys}

    assert [(a, b) for a in stems for b in stems if a != b and b.startswith(a)] == []


@given(composites())
def test_single_codes_make_the_same_components(
    drawn: tuple[list[KeyType], list[pa.Array]],
) -> None:
    """A component made from a condition's value equals the component in the keys of rows."""
    key_types, columns = drawn
    # decimals as conditions hold them: unscaled, whatever their precision
    codes = [
        codes_of(replace(key_type, precision=18), listed(values))
        for key_type, values in zip(key_types, columns, strict=True)
    ]

    made = [
        b"".join(component_code(k.kind, code) for k, code in zip(key_types, row, strict=True))
        for row in zip(*codes, strict=True)
    ]
    assert made == encode_rows(key_types, columns).to_pylist()


@given(composites())
def test_the_first_code_is_read_back(drawn: tuple[list[KeyType], list[pa.Array]]) -> None:
    """From whole keys, and from keys that are cut behind their first byte at least."""
    (first, *_), (values, *_) = drawn
    codes = codes_of(replace(first, precision=18), listed(values))
    keys = encode_rows(*drawn).to_pylist()

    assert [leading_code(first.kind, key) for key in keys] == codes
    for key in keys:
        leading_code(first.kind, key[:2])


@pytest.mark.parametrize(
    ("kind", "code", "expected"),
    [
        ("integer", HIGHEST + 1, VALUES[1]),
        ("integer", LOWEST - 1, VALUES[0]),
        ("timestamp", 2**70, VALUES[1]),
        ("decimal", 10**40, b"\x01" + b"\xff" * 16),
        ("decimal", -(10**40), b"\x01" + b"\x00" * 16),
    ],
    ids=["above", "below", "far above", "decimal above", "decimal below"],
)
def test_codes_beyond_all_values_are_clamped(kind: str, code: int, expected: bytes) -> None:
    """A bound outside the range of values lies outside the keys of all values."""
    assert component_code(kind, code) == expected


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.lists(st.floats(width=32)))
def test_promotions_keep_the_keys(integers: list[int], floats: list[float]) -> None:
    """After int, float and decimal columns grew, equal values have equal keys."""
    rows = min(len(integers), len(floats))
    integers, floats = integers[:rows], floats[:rows]
    decimals = [Decimal(number).scaleb(-2) for number in integers]
    types = [KeyType(kind="integer"), KeyType(kind="float")]
    narrow = [pa.array(integers, pa.int32()), pa.array(floats, pa.float32())]
    grown = [pa.array(integers, pa.int64()), pa.array(floats, pa.float64())]

    assert encode_rows(
        [*types, replace(DECIMAL, precision=12)],
        [*narrow, pa.array(decimals, pa.decimal128(12, 2))],
    ).equals(encode_rows([*types, DECIMAL], [*grown, pa.array(decimals, pa.decimal128(38, 2))]))


@pytest.mark.parametrize(
    ("key_types", "columns", "expected"),
    [
        (("integer", "string"), ([5], ["a"]), "01 8000000000000005 01 61 0000"),
        (("integer", "string"), ([None], [""]), "00 0000000000000000 01 0000"),
        (("string", "boolean"), (["a\0b"], [None]), "01 61 00ff 62 0000 00 0000000000000000"),
        (
            ("decimal", "date"),
            ([Decimal("-1.50")], [0]),
            "01 7fffffffffffffffffffffffffffff6a 01 8000000000000000",
        ),
        (("string", "decimal"), ([None], [None]), "00 00" + 16 * "00"),
    ],
    ids=["number and text", "null and empty", "zero byte", "decimal", "nulls"],
)
def test_examples_of_the_specification(
    key_types: tuple[str, ...], columns: tuple[list[Any], ...], expected: str
) -> None:
    """The examples in docs/spec/format-v1.md match the keys that the code makes."""
    arrow = {
        "integer": pa.int64(),
        "string": pa.string(),
        "boolean": pa.bool_(),
        "decimal": pa.decimal128(10, 2),
        "date": pa.date32(),
    }
    keys = encode_rows(
        [KeyType(kind=kind, scale=2 if kind == "decimal" else 0) for kind in key_types],
        [pa.array(values, arrow[kind]) for kind, values in zip(key_types, columns, strict=True)],
    )

    assert keys.to_pylist() == [bytes.fromhex(expected)]


def test_one_column_keeps_its_plain_codes() -> None:
    """The key of a single column is its code, null where it is."""
    values = pa.array([3, None, -1], pa.int32())
    key_type = KeyType(kind="integer")

    assert encode_rows([key_type], [values]).equals(encode_keys(key_type, values))


def test_chunks_do_not_matter() -> None:
    """Keys do not depend on how columns are cut into chunks."""
    numbers, texts = pa.array([1, None, 3], pa.int64()), pa.array(["a", "b\0", None])
    types = [KeyType(kind="integer"), KeyType(kind="string")]
    chunked = [
        pa.chunked_array([numbers[:1], numbers[1:]]),
        pa.chunked_array([texts[:2], texts[2:]]),
    ]

    assert encode_rows(types, chunked).equals(encode_rows(types, [numbers, texts]))


def test_values_of_another_type_are_refused() -> None:
    """A column that is not of its key type is refused, wherever it stands."""
    types = [KeyType(kind="integer"), KeyType(kind="date")]

    with pytest.raises(UnsupportedError) as caught:
        encode_rows(types, [pa.array([1]), pa.array(["2026-01-31"])])

    assert caught.value.kind is ErrorKind.UNSUPPORTED_TYPE


def test_a_tenant_within_a_time_is_one_interval() -> None:
    """In blocks of composite keys, one interval finds the files of a tenant's hour."""
    random = np.random.default_rng(5)
    tenants = random.integers(0, 50, 20_000)
    times = np.sort(random.integers(0, 10**9, 20_000))
    types = [KeyType(kind="integer"), KeyType(kind="timestamp_ntz")]
    keys = encode_rows(types, [pa.array(tenants), pa.array(times).cast(pa.timestamp("us"))])
    units = (np.arange(20_000) * 100 // 20_000).astype(np.int32)
    blocks = build_blocks(*sort_pairs(keys, units))
    low, high = (
        component_code("integer", 7) + component_code("timestamp_ntz", at)
        for at in (2 * 10**8, 3 * 10**8)
    )

    found = lookup_ranges(blocks, RangeSet.from_intervals([(low, high)], "bytes", blocks.text))

    inside = (tenants == 7) & (times >= 2 * 10**8) & (times < 3 * 10**8)
    assert set(units[inside]) <= set(found.tolist())
    # at most the file before the first
    assert len(found) <= len(set(units[inside])) + 1
