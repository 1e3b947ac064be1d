"""Conditions on expressions, elements, entries and words, as Spark prints them, are parsed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.advisor.condition import read_condition
from lakesieve.advisor.described_keys import DescribedKeys
from lakesieve.advisor.printed_expressions import PlanColumns, PrintedExpressions
from lakesieve.advisor.recent import shape_of
from lakesieve.advisor.uses import TableUse, candidates, columns_queried, keys_queried
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index.expressions import key_expression
from lakesieve.predicate.expression import (
    ELEMENT,
    And,
    Compare,
    Expr,
    In,
    Literal,
    Not,
    OnElements,
    OnExpression,
    OnText,
    Or,
    TextPattern,
    Unknown,
)
from lakesieve.tables import Column

KINDS = {
    ("email",): "string",
    ("message",): "string",
    ("k",): "integer",
    ("ts",): "timestamp",
    ("st", "city"): "string",
    ("odd name",): "string",
    ("tags",): "other",
    ("attributes",): "other",
    ("counts",): "other",
}
COLUMNS = {
    path: Column(path=path, field_id=number, type=kind, kind=kind)
    for number, (path, kind) in enumerate(KINDS.items())
}
KEYS = {
    "lower(email)": ["string"],
    "lower(st.city)": ["string"],
    "k % 100": ["integer"],
    "cast(ts as date)": ["date"],
    "date_trunc('day', ts)": ["timestamp"],
    "get_json_object(message, '$.user.id')": ["string"],
    "elements(tags)": ["string"],
    "entries(attributes)": ["string", "string"],
    "entries(counts)": ["integer", "integer"],
    "words(message)": ["string"],
}


def described(sql: str) -> tuple[Column, ...]:
    """Describe a key as Spark does."""
    if sql not in KEYS:
        raise InvalidInputError(sql, kind=ErrorKind.INVALID_ARGUMENT)
    words = set(re.findall(r"\w+", sql))
    source = next(column for path, column in COLUMNS.items() if path[-1] in words)
    parts = [{"type": kind, "kind": kind, "scale": 0} for kind in KEYS[sql]]
    begin = sql.partition("(")[0]
    return key_expression(sql, f'["{begin}",{{"field":{source.field_id}}}]', (source,), parts)


def read(printed: str) -> Expr:
    return read_condition(printed, KINDS, DescribedKeys(described))


def text(value: str) -> Literal:
    return Literal(kind="text", value=value)


def equal(path: tuple[str, ...], value: str) -> Compare:
    return Compare(column=path, op="=", value=text(value))


@pytest.mark.parametrize(
    ("printed", "sql"),
    [
        ("lower(email#1)", "lower(email)"),
        ("lower(St#1.City)", "lower(st.city)"),
        ("lower(odd name#1)", None),
        ("trim(email#1, None)", "trim(email)"),
        ("trim(email#1, Some(x))", None),
        ("(k#1L % 100)", "k % 100"),
        ("((k#1L + 1) % 100)", "(k + 1) % 100"),
        ("(k#1L / 100)", None),
        ("cast(ts#1 as date)", "cast(ts as date)"),
        ("cast(k#1 as decimal(10,2))", "cast(k as decimal(10,2))"),
        ("year(cast(ts#1 as date))", "year(cast(ts as date))"),
        ("date_trunc(day, ts#1, Some(Europe/Berlin))", "date_trunc('day', ts)"),
        ("substring(email#1, 1, 3)", "substring(email, 1, 3)"),
        ("replace(email#1, it's, \\)", r"replace(email, 'it\'s', '\\')"),
        ("get_json_object(message#1, $.a[0].b)", "get_json_object(message, '$.a[0].b')"),
        ("concat(email#1, message#2)", "concat(email, message)"),
        ("coalesce(k#1, -1)", "coalesce(k, -1)"),
        # the text may be one argument or two
        ("concat(email#1, a, b, message#2)", None),
        ("lower(other#1)", None),
        ("concat(email#1, uuid(5))", None),
        ("lower(email#1", None),
        ("lower(" * 50 + "email#1" + ")" * 50, None),
    ],
)
def test_expressions_as_sql(printed: str, sql: str | None) -> None:
    """An expression of a plan is written as the SQL that Spark would print in this way."""
    assert PrintedExpressions(PlanColumns(KINDS)).sql(printed) == sql


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("((k#1L % 100) = 7)", ("k % 100", "=", "7")),
        ("(7 < (k#1L % 100))", ("k % 100", ">", "7")),
        ("(cast(ts#1 as date) >= 2024-01-02)", ("cast(ts as date)", ">=", "2024-01-02")),
        (
            "(date_trunc(day, ts#1, Some(UTC)) = 2024-01-02 00:00:00)",
            ("date_trunc('day', ts)", "=", "2024-01-02 00:00:00"),
        ),
        (
            "(get_json_object(message#1, $.user.id) = a (b) = c)",
            ("get_json_object(message, '$.user.id')", "=", "a (b) = c"),
        ),
    ],
)
def test_comparisons_of_expressions(printed: str, meant: tuple[str, str, str]) -> None:
    """An expression is compared like a column that has its text as the name."""
    condition = read(printed)
    assert isinstance(condition, Compare)
    assert (*condition.column, condition.op, str(condition.value.value)) == meant


def test_lists_of_values() -> None:
    """IN and INSET of expressions are read."""
    for printed in ("lower(email#1) IN (a,b)", "lower(email#1) INSET a, b"):
        assert read(printed) == In(column=("lower(email)",), values=(text("a"), text("b")))
    assert isinstance(read("((k#1L % 100) IN (1,2) AND (k#1L > 5))"), And)
    assert isinstance(read("(k#1L % 100) IN (1,2)"), In)


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("array_contains(tags#1, red)", equal(ELEMENT, "red")),
        (
            "arrays_overlap(tags#1, [red,blue])",
            In(column=ELEMENT, values=(text("red"), text("blue"))),
        ),
        (
            "arrays_overlap([red,blue], tags#1)",
            In(column=ELEMENT, values=(text("red"), text("blue"))),
        ),
        (
            (
                "exists(tags#1, lambdafunction(((lambda x#9 = a) OR (lambda x#9 = b)), "
                "lambda x#9, false))"
            ),
            Or(args=(equal(ELEMENT, "a"), equal(ELEMENT, "b"))),
        ),
        ("array_contains(map_keys(attributes#1), color)", equal(ELEMENT, "color")),
    ],
)
def test_elements_and_keys(printed: str, meant: Expr) -> None:
    """Conditions on some element of a list, or some key of a map, have the condition on one."""
    condition = read(printed)
    assert isinstance(condition, OnElements)
    assert condition.condition == meant
    assert ("map_keys" in printed) == ("entries" in condition.tree)


@pytest.mark.parametrize(
    ("printed", "key", "meant"),
    [
        ("(attributes#1[color] = red)", "color", "red"),
        ("(element_at(attributes#1, color, None, true) = red)", "color", "red"),
        ("(counts#1[5] > 7)", "5", "7"),
    ],
)
def test_values_of_entries(printed: str, key: str, meant: str) -> None:
    """A comparison of the value that a map has for a constant key is read."""
    condition = read(printed)
    assert isinstance(condition, OnExpression)
    assert condition.entry is not None
    assert isinstance(condition.condition, Compare)
    assert str(condition.entry.value) == key
    assert str(condition.condition.value.value) == meant


def pattern(*parts: str, begins: bool = False, ends: bool = False, folded: bool = False) -> Any:
    encoded = tuple(part.encode() for part in parts)
    return TextPattern(parts=encoded, begins=begins, ends=ends, is_folded=folded)


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("Contains(message#1, it's (a), b)", pattern("it's (a), b")),
        ("EndsWith(message#1, a\\b)", pattern("a\\b", ends=True)),
        ("message#1 LIKE %a%b c", pattern("a", "b c", ends=True)),
        ("RLIKE(message#1, failed.*)", pattern("failed")),
        ("Contains(lower(message#1), a)", pattern("a", folded=True)),
        ("lower(message#1) LIKE a%b", pattern("a", "b", begins=True, ends=True, folded=True)),
        ("(lower(message#1) = a b)", pattern("a b", begins=True, ends=True, folded=True)),
        ("(a b = lower(email#1))", pattern("a b", begins=True, ends=True, folded=True)),
        ("(lower(email#1) = a b)", pattern("a b", begins=True, ends=True, folded=True)),
        ("StartsWith(lower(email#1), a b)", pattern("a b", begins=True, folded=True)),
    ],
)
def test_parts_of_texts(printed: str, meant: TextPattern) -> None:
    """Conditions on parts of texts have the parts, and the same condition for other indexes."""
    condition = read(printed)
    parts = condition.args if isinstance(condition, And) else (condition,)
    (of_text,) = (part for part in parts if isinstance(part, OnText))
    assert of_text.patterns == (meant,)
    assert isinstance(of_text.otherwise, Unknown) == ("email" not in printed)


@given(st.text(st.characters(codec="utf-8", exclude_characters="#()"), min_size=1, max_size=12))
def test_any_text(value: str) -> None:
    """Any text that a condition looks for is read unchanged, or not at all."""
    condition = read(f"Contains(message#1, {value})")
    is_known = isinstance(condition, OnText) and condition.patterns == (pattern(value),)
    assert is_known or (isinstance(condition, Unknown) and not value.isprintable())


@pytest.mark.parametrize(
    "printed",
    [
        *("(upper(email#1) = a)", "(lower(email#1) = lower(message#2))", "Contains(k#1, 5)"),
        *("Contains(message#1, email#2)", "(attributes#1[email#2] = red)", "(tags#1[0] = red)"),
        *("array_contains(email#1, a)", "arrays_overlap(tags#1, other#2)", "(counts#1[a] = 7)"),
        *("message#1 LIKE a!%b% ESCAPE '!'", "exists(tags#1, f#2)", "RLIKE(message#1, [0-9]+)"),
        "Contains(message#1, " + "x" * 100_000 + ")",
    ],
)
def test_what_is_not_understood(printed: str) -> None:
    """A condition that is not understood is unknown, or looks for no key."""
    use = TableUse(table=0, condition=read(printed))
    assert keys_queried(use) <= {("tags",), ("attributes",)}


def test_without_a_session() -> None:
    """Without Spark, only parts of texts are read."""
    assert isinstance(read_condition("Contains(message#1, a)", KINDS), OnText)
    assert isinstance(read_condition("(lower(email#1) = a)", KINDS), OnText)
    for printed in ("((k#1L % 100) = 7)", "array_contains(tags#1, a)", "(counts#1[5] = 7)"):
        assert isinstance(read_condition(printed, KINDS), Unknown)


def test_keys_to_try() -> None:
    """Each kind of key is tried, the most used first, and its columns count as used."""
    keys = DescribedKeys(described)
    printed = [
        *["((lower(email#1) = a) AND (k#2L = 5))"] * 4,
        *["(Contains(message#1, a) AND NOT array_contains(tags#1, b))"] * 3,
        *["array_contains(tags#1, a)"] * 2,
        "(attributes#1[color] = red)",
        "NOT Contains(email#1, a)",
    ]
    uses = [TableUse(table=0, condition=read_condition(text, KINDS, keys)) for text in printed]

    tried = candidates(uses, COLUMNS, keys)

    names = [column.expression.sql if column.expression else "" for column, *_ in tried]
    assert sorted(names[:2]) == ["", "lower(email)"]
    assert names[2:] == ["words(message)", "elements(tags)", "entries(attributes)"]
    used = columns_queried(uses, COLUMNS, keys)
    assert {path for path in COLUMNS if path not in used} == {
        *(("ts",), ("st", "city"), ("odd name",), ("counts",))
    }


def test_keys_are_described_once() -> None:
    """Spark describes each key once, and not one for each of very many queries."""
    asked: list[str] = []

    def describe(sql: str) -> tuple[Column, ...]:
        asked.append(sql)
        return described(sql)

    keys = DescribedKeys(describe)
    for number in range(1000):
        read_condition("(lower(email#1) = a)", KINDS, keys)
        read_condition(f"(substring(email#1, 1, {number}) = a)", KINDS, keys)
    assert asked.count("lower(email)") == 1
    assert len(asked) == 200


def test_negated_conditions() -> None:
    """The advisor reads NOT of an equality on an expression, and counts the expression as a key."""
    condition = read("NOT (lower(email#1) = a)")
    assert isinstance(condition, Not)
    assert keys_queried(TableUse(table=0, condition=condition)) == {("lower(email)",)}


@pytest.mark.parametrize(
    ("printed", "shape"),
    [
        ("(lower(email#1) = secret)", "lower(email) = ?"),
        ("Contains(message#1, secret)", "message LIKE ?"),
        ("Contains(lower(message#1), secret)", "message LIKE ?"),
        ("array_contains(tags#1, secret)", "exists(tags, value = ?)"),
        ("(attributes#1[secret] = secret)", "attributes[?] = ?"),
    ],
)
def test_shapes(printed: str, shape: str) -> None:
    """The shape of a condition has its key, and none of its constants."""
    assert shape_of(read(printed)) == shape
