"""Expressions as keys, without an engine: trees, definitions, conditions and reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lakesieve.errors import (
    IndexFormatError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from lakesieve.format import IndexDefinition, KeyExpression, SourceColumn
from lakesieve.index.definition import default_name, key_columns
from lakesieve.index.expression_conditions import Expressions
from lakesieve.index.expressions import (
    UnknownColumnError,
    differing_session,
    expression_columns,
    key_expression,
    source_of_lower_case,
    stored_tree,
)
from lakesieve.index.key_filters import UsableIndex
from lakesieve.index.scan_decision import usable_indexes
from lakesieve.predicate import AlwaysTrue, ColumnRanges, bind, condition_of, rows_where, to_sql
from lakesieve.predicate.expression import OnExpression, Unknown
from lakesieve.tables import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = {
    ("a",): Column(path=("a",), field_id=1, type="int", kind="integer"),
    ("b",): Column(path=("b",), field_id=2, type="int", kind="integer"),
    ("s", "x"): Column(path=("s", "x"), field_id=3, type="string", kind="string"),
    ("l",): Column(path=("l",), field_id=4, type="list", kind="other"),
}
SPARK = {"session": {"Spark": "4.1"}}
ANSI = {"session": {"mode": "ANSI"}}
VALUE = {"type": "int", "kind": "integer", "scale": 0}


def _col(*path: str, kind: str = "int") -> dict[str, Any]:
    return {"col": list(path), "type": kind}


def _tree(*operands: Any, session: Any = ANSI, name: str = "Add") -> list[Any]:
    return [SPARK, [name, "int", *operands, session]]


class _Opened:
    """An opened index of one definition."""

    def __init__(self, definition: IndexDefinition) -> None:
        self.definition = definition


def _definition(tree: list[Any], sql: str = "a + b") -> IndexDefinition:
    stored, sources = stored_tree(tree, COLUMNS)
    (column,) = key_expression(sql, stored, sources, [VALUE])
    assert column.expression is not None
    base = {"index_uuid": "i", "table_format": "iceberg", "table_uuid": "t", "table_location": "/t"}
    key = {"field_id": column.field_id, "name": sql, "type": "int", "key_kind": "integer"}
    document = base | {
        "name": "n",
        "kind": "sieve-expression",
        "columns": [key | {"scale": 0}],
        "created_at": "",
        "budget": "",
        "absent_hits": 0.1,
        "compaction": "auto",
        "borrowed_roots": [],
        "rows_per_block": 0,
        "expression": {
            "sql": sql,
            "tree": stored,
            "columns": [
                {"field_id": c.field_id, "name": c.path[-1], "type": c.type} for c in sources
            ],
        },
    }
    return IndexDefinition.from_json(document)


def _usable(definition: IndexDefinition) -> list[UsableIndex]:
    opened: Any = _Opened(definition)
    return [UsableIndex(index=opened, columns=definition.columns)]


def _condition(tree: list[Any], **fields: Any) -> dict[str, Any]:
    whole = {"op": "=", "type": "integer", "value": "5"} | fields
    return whole | {"expr": {"tree": tree, "text": "the condition"}}


def _rows(tree: list[Any], definition: IndexDefinition) -> tuple[Any, Expressions]:
    condition = condition_of(_condition(tree))
    found = Expressions.of(condition, _usable(definition), COLUMNS)
    return rows_where(bind(condition, {}, strict=False, expressions=found.types)), found


def test_columns_become_fields() -> None:
    """A stored tree has field ids, so a rename does not change it, and another column does."""
    tree = _tree(_col("a"), _col("s", "x", kind="string"))
    stored, sources = stored_tree(tree, COLUMNS)
    assert [column.field_id for column in sources] == [1, 3]
    renamed = {("z",): replace(COLUMNS["a",], path=("z",)), ("s", "x"): COLUMNS["s", "x"]}
    assert stored_tree(_tree(_col("z"), _col("s", "x", kind="string")), renamed)[0] == stored
    assert stored_tree(_tree(_col("b"), _col("s", "x", kind="string")), COLUMNS)[0] != stored
    for path in ("l", "nothing", "A"):
        with pytest.raises(UnknownColumnError):
            stored_tree(_tree(_col(path), _col("b")), COLUMNS)


def test_operands_change_places() -> None:
    """The order of operands matters where it changes the value."""
    pair = (_col("a"), _col("b"))
    for name, same in {"Add": True, "Multiply": True, "Subtract": False, "Concat": False}.items():
        trees = {
            stored_tree(_tree(*operands, name=name), COLUMNS)[0] for operands in (pair, pair[::-1])
        }
        assert (len(trees) == 1) is same


def test_a_condition_finds_its_index() -> None:
    """A condition on the same expression becomes ranges of its values, any other is unknown."""
    definition = _definition(_tree(_col("a"), _col("b")))
    rows, found = _rows(_tree(_col("b"), _col("a")), definition)
    assert isinstance(rows, ColumnRanges)
    assert rows.field_id == definition.columns[0].field_id
    assert to_sql(rows, {}, expressions=found.by_text) == "(a + b) = 5"
    for tree in (
        _tree(_col("a"), _col("a")),
        _tree(_col("a"), _col("l")),
        _tree(_col("a"), _col("b", kind="bigint")),
        _tree(_col("a"), _col("b"), name="Subtract"),
    ):
        assert _rows(tree, definition)[0] == AlwaysTrue()


def test_sessions_that_differ() -> None:
    """A tree that differs in values of the session alone is not used, and the reason says so."""
    definition = _definition(_tree(_col("a"), _col("b")))
    legacy = _tree(_col("b"), _col("a"), session={"session": {"mode": "LEGACY"}})
    rows, found = _rows(legacy, definition)
    assert rows == AlwaysTrue()
    (reason,) = found.reasons
    assert reason.code == "session-differs"
    assert reason.detail == "n on a + b was built with mode ANSI instead of LEGACY"
    zones = [
        json.dumps([{"session": {"time zone": zone, "time zone rules": zone}}]) for zone in "AB"
    ]
    assert differing_session(*zones) == "time zone A instead of B"
    assert differing_session(zones[0], "[" * 100_000) is None


@pytest.mark.parametrize(
    "condition",
    [
        _condition([SPARK], op="keys", count=1, values=""),
        _condition([SPARK], op="and"),
        _condition([SPARK], more=1),
        _condition([SPARK], value="x"),
        _condition([SPARK]) | {"col": ["a"]},
        {"op": "isnull", "expr": {"tree": [], "text": 5}},
        {"op": "isnull", "expr": {"tree": {}, "text": ""}},
        {"op": "isnull", "expr": {"text": ""}},
        {"op": "isnull", "expr": []},
    ],
)
def test_odd_conditions_are_unknown(condition: Any) -> None:
    """A condition on an expression that is not understood matches every row."""
    assert isinstance(condition_of(condition), Unknown) or condition.get("col")
    assert rows_where(bind(condition_of(condition), {}, strict=False)) == AlwaysTrue()


def test_null_conditions() -> None:
    """IS NULL and IS NOT NULL of an expression need no type."""
    for op in ("isnull", "isnotnull"):
        condition = condition_of({"op": op, "expr": {"tree": [SPARK], "text": "t"}})
        on = condition if op == "isnull" else condition.arg  # type: ignore[union-attr]
        assert isinstance(on, OnExpression)


def test_definitions_are_stored() -> None:
    """A definition is read as it was written, and a forged one is refused."""
    definition = _definition(_tree(_col("a"), _col("b")))
    document = json.loads(json.dumps(definition.to_json()))
    assert document["kind"] == "sieve-expression"
    assert IndexDefinition.from_json(document) == definition
    forged: list[Mapping[str, Any]] = [
        document | {"columns": [document["columns"][0] | {"field_id": 1}]},
        document | {"expression": document["expression"] | {"tree": "[]"}},
        document | {"expression": document["expression"] | {"columns": []}},
        document | {"expression": None},
        document | {"kind": "sieve"},
        document | {"kind": "sieve-rows"},
    ]
    for wrong in forged:
        with pytest.raises((ValueError, TypeError)):
            IndexDefinition.from_json(dict(wrong))
    with pytest.raises(IndexFormatError):
        IndexDefinition.from_json(document | {"kind": "sieve-later"})


def test_changed_sources() -> None:
    """An index is unusable if a column of its expression is missing or has another type."""
    definition = _definition(_tree(_col("a"), _col("b")))
    opened: Any = _Opened(definition)
    types = {1: "int", 2: "int"}
    usable, reasons = usable_indexes([opened], {}, "t", types_by_id=types)
    assert [one.columns for one in usable] == [definition.columns]
    assert reasons == []
    usable, reasons = usable_indexes([opened], {}, "t", types_by_id={1: "int", 2: "long"})
    assert usable == []
    assert [str(reason.code) for reason in reasons] == ["type-changed"]
    assert "b of type int, read now as long" in reasons[0].detail
    assert usable_indexes([opened], {}, "t", types_by_id={}) == ([], [])
    # commands that know the key columns only do not use it
    assert usable_indexes([opened], {definition.columns[0].field_id: ("integer", 0)}, "t") == (
        [],
        [],
    )
    (key,) = definition.keys
    (column,) = expression_columns(key, {1: COLUMNS["a",], 2: COLUMNS["b",]}, index="n")
    assert column.path == ("a + b",)
    with pytest.raises(UnsupportedError, match="gone or replaced"):
        expression_columns(key, {1: COLUMNS["a",]}, index="n")


class _Table:
    """A table of some columns."""

    name = "t"

    def columns(self, _: object) -> Mapping[tuple[str, ...], Column]:
        """Return the columns."""
        return {**COLUMNS, ("odd(name)",): replace(COLUMNS["a",], path=("odd(name)",))}


def test_expressions_are_told_from_columns() -> None:
    """A column keeps its name, whatever is in it; commands on columns refuse expressions."""
    table: Any = _Table()
    version: Any = None
    described: list[str] = []

    def describe(sql: str) -> tuple[Column, ...]:
        described.append(sql)
        return (replace(COLUMNS["b",], path=(sql,), field_id=99),)

    for name in ("a", "odd(name)", "`odd(name)`"):
        (column,) = key_columns(table, version, name, describe=describe)
        assert column.field_id == COLUMNS["a",].field_id
    with pytest.raises(NotFoundError):
        key_columns(table, version, ["missing"], describe=describe)
    assert described == []
    keys = key_columns(table, version, [" a + b ", "a"], describe=describe)
    assert [column.path for column in keys] == [("a + b",), ("a",)]
    assert described == ["a + b"]
    with pytest.raises(InvalidInputError, match=r"named twice: a \+ b"):
        key_columns(table, version, ["a + b", "a +b"], describe=lambda _: keys[:1])
    with pytest.raises(UnsupportedError, match="is an expression"):
        key_columns(table, version, ["a", "a + b"])


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("lower(email)", "lower_email"),
        ("amount % 100", "amount_100"),
        ("date_trunc('day', ts)", "date_trunc_day_ts"),
        ("(a)", "a"),
        ("-`a`", "-a"),
    ],
)
def test_default_names(expression: str, name: str) -> None:
    """The name of an index on an expression has the words of the expression."""
    assert default_name([expression]) == name
    assert default_name([expression, "tenant"]) == f"{name}_tenant"
    assert default_name(["tenant", expression]) == f"tenant_{name}"


def test_the_identity_is_a_hash_of_the_tree() -> None:
    """The specification's way to the field id."""
    source = SourceColumn(field_id=1, name="a", type="int")
    expression = KeyExpression(sql="x", tree="[]", columns=(source,))
    assert expression.field_id == 0x4F53CDA18C2BAA0C >> 1


@pytest.mark.parametrize(
    ("letters", "field"),
    [("ICU 76.1", 3), ("Java 17 en", 3), ("Java 17 tr", None), ("Java 17 lt", None), ("", None)],
)
def test_the_text_of_a_lower_case(letters: str, field: int | None) -> None:
    """An expression is the lower case of a text, unless its language has rules of its own."""
    case = {"session": {"letter case": letters}}
    column = {"field": 3, "type": "string"}
    assert source_of_lower_case(json.dumps([SPARK, ["Lower", "string", column, case]])) == field


@pytest.mark.parametrize(
    "expression",
    [
        ["Upper", "string", {"field": 3}, {"session": {"letter case": "ICU 76.1"}}],
        ["Lower", "string", ["Trim", "string", {"field": 3}], {"session": {"letter case": "ICU"}}],
        ["Lower", "string", {"field": 3}],
    ],
)
def test_other_expressions_are_no_lower_case(expression: list[Any]) -> None:
    """Only the lower case of a column itself is one."""
    assert source_of_lower_case(json.dumps([SPARK, expression])) is None
