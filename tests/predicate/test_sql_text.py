"""Filters printed as SQL: read again, the text means the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.predicate.drawn import COLUMNS as DRAWN
from tests.predicate.drawn import expressions, rows
from tests.predicate.test_row_filter import holds

from lakesieve.predicate import (
    AllOf,
    ColumnRanges,
    ColumnType,
    Ranges,
    RowFilter,
    bind,
    rows_where,
    to_sql,
    value_text,
)
from lakesieve.predicate.literals import float_code
from lakesieve.predicate.parse import parse_sql
from lakesieve.sieve import HIGHEST, LOWEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import SearchStrategy

KINDS = {
    "n": ("integer", 0, 18),
    "flag": ("boolean", 0, 18),
    "real": ("float", 0, 18),
    "price": ("decimal", 2, 9),
    "wide": ("decimal", 10, 38),
    "day": ("date", 0, 18),
    "ts": ("timestamp", 0, 18),
    "local": ("timestamp_ntz", 0, 18),
    "nanos": ("timestamp_ns", 0, 18),
    "order": ("string", 0, 18),
    "it's `raw`": ("binary", 0, 18),
}
COLUMNS: dict[tuple[str, ...], ColumnType] = {
    (name,): ColumnType(field_id=number, kind=kind, scale=scale, precision=precision)
    for number, (name, (kind, scale, precision)) in enumerate(KINDS.items())
}
MICROS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
CODES: dict[str, SearchStrategy[Any]] = {
    "integer": st.integers(-3, 3) | st.integers(LOWEST, HIGHEST),
    "boolean": st.integers(0, 1),
    "float": st.floats().map(float_code),
    "decimal": st.integers(-(10**9) + 1, 10**9 - 1),
    "date": st.integers(-719_162, 2_932_896),
    "timestamp": MICROS | MICROS.map(lambda code: code // 10**6 * 10**6),
    "timestamp_ntz": MICROS | MICROS.map(lambda code: code // 10**6 * 10**6),
    "timestamp_ns": st.integers(LOWEST, HIGHEST),
    "string": st.text("aZü%_'\\\n\0\u202e€", max_size=3).map(str.encode),
    "binary": st.binary(max_size=3),
}


def again(text: str, columns: Mapping[tuple[str, ...], ColumnType]) -> RowFilter:
    """Read SQL text in a session that is not in UTC."""
    return rows_where(bind(parse_sql(text), columns, timezone="Asia/Tokyo", strict=True))


@pytest.mark.parametrize("name", KINDS)
@given(st.data())
def test_printed_ranges_are_the_same_ranges(name: str, data: st.DataObject) -> None:
    """Points, bounds, both, the complement of each, and nulls, of every type of column."""
    column = COLUMNS[name,]
    codes = st.lists(CODES[column.kind], min_size=1, max_size=6)
    points = Ranges.points(data.draw(codes))
    low, high = sorted(data.draw(st.lists(CODES[column.kind], min_size=2, max_size=2)))
    bounds = data.draw(st.sampled_from([(low, high), (low, None), (None, high)]))
    drawn = points.union(Ranges.of([bounds])) if data.draw(st.booleans()) else points
    if data.draw(st.booleans()):
        drawn = drawn.complement(nulls=False)
    drawn = Ranges(intervals=drawn.intervals, nulls=data.draw(st.booleans()))
    assume(not drawn.is_empty and not drawn.is_full)
    leaf = ColumnRanges(field_id=column.field_id, ranges=drawn)

    text = to_sql(leaf, COLUMNS, shorten=False)

    assert again(text, COLUMNS) == leaf, text
    assert text.isprintable()


@given(expressions(), st.lists(rows, min_size=1, max_size=10))
def test_printed_filters_mean_the_same_rows(expr: Any, drawn: list[Any]) -> None:
    """Of several columns, too; more rows only where a string is no UTF-8, which SQL cannot say."""
    row_filter = rows_where(bind(expr, DRAWN, strict=False))

    text = to_sql(row_filter, DRAWN, shorten=False)

    read = again(text, DRAWN)
    for row in drawn:
        assert holds(read, row) >= holds(row_filter, row), text
        if " AS STRING)" not in text:
            assert holds(read, row) == holds(row_filter, row), text


@pytest.mark.parametrize(
    "text",
    [
        "n = 5",
        "n <> 5",
        "n IN (1, 3, 5)",
        "n NOT IN (1, 3)",
        "n >= 5",
        "n < 5",
        "n BETWEEN 5 AND 9",
        "n IS NULL",
        "n IS NOT NULL",
        "n = 5 OR n IS NULL",
        "n IN (1, 3) OR n >= 9",
        "flag = TRUE",
        "real > 1.5",
        "real <= 5.0",
        "real = CAST('nan' AS DOUBLE)",
        "price BETWEEN 1.50 AND 2.00",
        "day = DATE '2026-01-31'",
        "day BETWEEN DATE '2026-01-01' AND DATE '2026-01-31'",
        "ts >= TIMESTAMP '2026-01-01 00:00:00Z' AND ts < TIMESTAMP '2026-01-02 00:00:00Z'",
        "ts > TIMESTAMP '2026-01-01 00:00:00.5Z'",
        "local <= TIMESTAMP_NTZ '2026-01-01 00:00:00'",
        "nanos = TIMESTAMP '2026-01-01 00:00:00.000000001Z'",
        "`order` = 'polars'",
        r"`order` = 'it\'s'",
        "`order` LIKE 'pol%'",
        "startswith(`order`, 'a_b')",
        "`order` >= 'a' AND `order` < 'polars'",
        "`order` = CAST(X'610a' AS STRING)",
        "`it's ``raw``` = X'00ff'",
        "(n = 5 OR n IS NULL) AND `order` = 'a'",
        "day = DATE '2026-01-31' AND (n = 5 OR `order` = 'a')",
        "n = 5 OR `order` = 'a'",
        "TRUE",
        "FALSE",
    ],
)
def test_what_is_printed_is_what_people_write(text: str) -> None:
    """A usual condition comes back as it was written."""
    assert to_sql(again(text, COLUMNS), COLUMNS) == text


def test_values_that_no_literal_has() -> None:
    """Days and moments beyond the year 9999 are written by their count, which Spark reads."""
    far = Ranges.points([10**17 * 9])
    parts = [ColumnRanges(field_id=COLUMNS[name,].field_id, ranges=far) for name in ("ts", "day")]

    text = to_sql(AllOf(args=tuple(parts)), COLUMNS)

    assert text == (
        "ts = TIMESTAMP_MICROS(900000000000000000) AND "
        "day = DATE_FROM_UNIX_DATE(900000000000000000)"
    )


def test_long_lists_are_cut() -> None:
    """The first values are shown and the others counted, unless all are wanted."""
    listed = again(f"n IN ({', '.join(map(str, range(0, 40, 2)))})", COLUMNS)

    assert to_sql(listed, COLUMNS) == "n IN (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, ... 10 more)"
    assert "38" in to_sql(listed, COLUMNS, shorten=False)


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("n", 5, "5"),
        ("price", -150, "-1.50"),
        ("day", 20_484, "2026-01-31"),
        ("ts", 1_767_225_600_000_000, "2026-01-01 00:00:00"),
        ("order", "Zü".encode()[:-1], "Z"),
        ("it's `raw`", b"\x00\xff", "X'00ff'"),
    ],
)
def test_values_on_an_axis(name: str, code: int | bytes, text: str) -> None:
    """Without the name of the type; a string may be cut within a character."""
    assert value_text(code, COLUMNS[name,]) == text
