"""Conditions as Spark prints them are parsed."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.advisor.condition import read_condition, read_iceberg_filters
from lakesieve.advisor.printed_expressions import split_list
from lakesieve.predicate import ColumnType, bind, rows_where, to_sql
from lakesieve.predicate.expression import (
    And,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.parse import parse_sql

KINDS = {
    ("k",): "integer",
    ("s",): "string",
    ("day",): "date",
    ("ts",): "timestamp",
    ("dec",): "decimal",
    ("real",): "float",
    ("flag",): "boolean",
    ("st", "a"): "integer",
}
TYPES = {
    path: ColumnType(field_id=number, kind=kind, scale=2 if kind == "decimal" else 0)
    for number, (path, kind) in enumerate(KINDS.items())
}


def rows(condition: Expr) -> str:
    """Return what a condition means, as text."""
    bound = bind(condition, TYPES, timezone="UTC", strict=False)
    return to_sql(rows_where(bound), TYPES)


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("(isnotnull(k#421L) AND (k#421L = 5))", "k = 5"),
        ("(5 < k#1)", "k > 5"),
        ("k#455L IN (1,2,3)", "k IN (1, 2, 3)"),
        ("k#547L INSET 0, 5, 10", "k IN (0, 5, 10)"),
        ("((st#476.a = 3) AND (dec#477 > 3.50))", "st.a = 3 AND dec > 3.5"),
        ("(s#441 = it's (a) test, b)", r"s = 'it\'s (a) test, b'"),
        ("(s#441 = )", "s = ''"),
        ("StartsWith(s#458, abc)", "s LIKE 'abc%'"),
        ("(day#1 >= 2024-01-02)", "day >= DATE '2024-01-02'"),
        (
            "(ts#492 < 2024-02-01 00:00:00.5)",
            "ts < TIMESTAMP '2024-02-01 00:00:00.5'",
        ),
        ("NOT (k#1L = 5)", "NOT k = 5"),
        ("((k#1L = 5) OR isnull(s#2))", "k = 5 OR s IS NULL"),
        ("(k#1L <=> null)", "k IS NULL"),
        ("(k#1L <=> 7)", "k = 7"),
        ("(K#1L = 5)", "k = 5"),
    ],
)
def test_what_spark_prints(printed: str, meant: str) -> None:
    """A printed condition means the same as in SQL."""
    assert rows(read_condition(printed, KINDS)) == rows(parse_sql(meant))


@pytest.mark.parametrize(
    "printed",
    [
        *("(k#1L = j#2L)", "(s#1 = t#2)", "(upper(s#1) = A)", "(other#3 = 5)", "(k#1L = five)"),
        *("k#1L INSET 1, 2, ... 15 more fields", "(k#1L = 5", "", "((", "NOT ", "(day#1 = today)"),
        *("exists#5", "(cast(k#1L as string) = 5)", "((k#1L + 1) = 5)", "(" * 5000),
        "x" * 2_000_000,
    ],
)
def test_what_is_not_understood(printed: str) -> None:
    """A condition that is not understood is unknown, so any row may match."""
    found = read_condition(printed, KINDS)
    while isinstance(found, Not):
        found = found.arg
    assert isinstance(found, Unknown)


def test_part_that_is_not_understood() -> None:
    """If one part is not understood, the other part still counts."""
    found = read_condition("((upper(s#567) = A) AND (k#1L = 5))", KINDS)
    assert rows(found) == rows(Compare(column=("k",), op="=", value=_number(5)))


def test_filters_of_iceberg() -> None:
    """Iceberg's filters are SQL, except that dates and times are numbers; quotes hold commas."""
    text = "k IS NOT NULL, day = 19724, ts >= 1704103200000000, s = 'a, b', (k IN (1, 2) OR k > 9)"
    found = rows(read_iceberg_filters(text, KINDS))
    assert "day" in found
    meant = (
        "day = DATE '2024-01-02' AND ts >= TIMESTAMP '2024-01-01 10:00:00' AND s = 'a, b' "
        "AND k IS NOT NULL AND (k IN (1, 2) OR k > 9)"
    )
    parts = set(found.split(" AND "))
    assert parts == set(rows(parse_sql(meant)).split(" AND "))


def test_filter_that_is_no_sql() -> None:
    """A filter that is not SQL is unknown, and the others count."""
    found = read_iceberg_filters("s = 'it's', k = 5", KINDS)
    assert isinstance(found, And)
    assert any(isinstance(one, Unknown) for one in found.args)


def test_lists() -> None:
    """Commas in brackets and in quotes do not separate."""
    assert split_list("a, (b, c), 'd, e', f(g, h)") == ["a", "(b, c)", "'d, e'", "f(g, h)"]
    assert split_list("") == []


def _number(value: int) -> Literal:
    return Literal(kind="number", value=Decimal(value))


ints = st.integers(-(2**63), 2**63 - 1)
leaves = st.one_of(
    st.builds(
        lambda op, v: (f"(k#1L {op} {v})", Compare(column=("k",), op=op, value=_number(v))),
        st.sampled_from(["=", "<", "<=", ">", ">="]),
        ints,
    ),
    st.builds(
        lambda vs: (
            f"k#1L IN ({','.join(map(str, vs))})",
            In(column=("k",), values=tuple(map(_number, vs))),
        ),
        st.lists(ints, min_size=1, max_size=5),
    ),
    st.just(("isnull(s#2)", IsNull(column=("s",)))),
    st.just(("isnotnull(k#1L)", Not(arg=IsNull(column=("k",))))),
    st.builds(
        lambda v: (
            f"(s#2 = {v})",
            Compare(column=("s",), op="=", value=Literal(kind="text", value=v)),
        ),
        st.text(st.characters(codec="utf-8", exclude_characters="()#"), max_size=8),
    ),
    st.builds(
        lambda v: (f"StartsWith(s#2, {v})", StartsWith(column=("s",), prefix=v.encode())),
        st.text(st.characters(codec="utf-8", exclude_characters="()#"), min_size=1, max_size=8),
    ),
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda a: (f"NOT {a[0]}", Not(arg=a[1])), inner),
        st.builds(lambda a, b: (f"({a[0]} AND {b[0]})", And(args=(a[1], b[1]))), inner, inner),
        st.builds(lambda a, b: (f"({a[0]} OR {b[0]})", Or(args=(a[1], b[1]))), inner, inner),
    ),
    max_leaves=12,
)


@given(conditions)
def test_drawn_conditions(drawn: tuple[str, Expr]) -> None:
    """However conditions are nested, they keep their meaning."""
    printed, meant = drawn
    assert rows(read_condition(printed, KINDS)) == rows(meant)
