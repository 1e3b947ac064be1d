"""Text and dates without quotes: an error with a suggestion for a person, unknown to an engine."""

from __future__ import annotations

import pytest

from lakesieve.errors import LakesieveError
from lakesieve.predicate import bind
from lakesieve.predicate.bind import ColumnType
from lakesieve.predicate.expression import Unknown
from lakesieve.predicate.parse import parse_sql

COLUMNS: dict[tuple[str, ...], ColumnType] = {
    ("name",): ColumnType(field_id=1, kind="string"),
    ("label",): ColumnType(field_id=2, kind="string"),
    ("day",): ColumnType(field_id=3, kind="date"),
}
FORGOTTEN = [
    ("name = polars", "'polars'"),
    ("polars = name", "'polars'"),
    ("name <> polars", "'polars'"),
    ("name <=> polars", "'polars'"),
    ("name IN (numpy, 'b')", "'numpy'"),
    ("name LIKE pol", "'pol'"),
    ("name = 'a' OR name = polars", "'polars'"),
    ("NOT (name = polars.io)", "'polars.io'"),
    ("day >= 2026-01-31", "'2026-01-31'"),
    ("day BETWEEN 2026-01-01 AND '2026-01-31'", "'2026-01-01'"),
]


@pytest.mark.parametrize(("text", "meant"), FORGOTTEN, ids=[text for text, _ in FORGOTTEN])
def test_forgotten_quotes_are_suggested(text: str, meant: str) -> None:
    """A person reads what was probably meant."""
    with pytest.raises(LakesieveError) as raised:
        bind(parse_sql(text), COLUMNS, strict=True)

    assert f"Did you mean {meant}?" in raised.value.hint


@pytest.mark.parametrize("text", [text for text, _ in FORGOTTEN])
def test_engines_read_more_files(text: str) -> None:
    """A query that was planned by its engine is never refused here."""
    assert bind(parse_sql(text), COLUMNS, strict=False) is not None


def test_a_mistyped_column_is_no_text() -> None:
    """A name much like that of a column gets the columns suggested."""
    with pytest.raises(LakesieveError, match="There is no column labels"):
        bind(parse_sql("name = labels"), COLUMNS, strict=True)


@pytest.mark.parametrize(
    "text", ["name = label", "NAME = `label`", "day = 2026 - 1 - 31", "exists(name, x -> x = y)"]
)
def test_comparisons_of_columns_stay(text: str) -> None:
    """No index answers them, and nothing is wrong with them."""
    assert isinstance(bind(parse_sql(text), COLUMNS, strict=True), Unknown)
