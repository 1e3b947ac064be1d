"""Indexes whose keys are elements, entries or words, without an engine and without storage."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lakesieve.format import IndexDefinition, KeyColumn
from lakesieve.index.expression_conditions import Expressions
from lakesieve.index.expressions import key_expression, stored_tree
from lakesieve.index.key_filters import UsableIndex
from lakesieve.index.scan_decision import column_types
from lakesieve.predicate import bind, rows_where
from lakesieve.tables import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.predicate import Expr, RowFilter

COLUMNS: dict[tuple[str, ...], Column] = {
    ("a",): Column(path=("a",), field_id=1, type="int", kind="integer"),
    ("m",): Column(path=("m",), field_id=4, type="map", kind="other", entries="integer"),
    ("l",): Column(path=("l",), field_id=5, type="list", kind="other", elements="integer"),
    ("s",): Column(path=("s",), field_id=6, type="string", kind="string"),
    # their parts have no key codes
    ("odd map",): Column(path=("odd map",), field_id=7, type="map", kind="other"),
    ("odd list",): Column(path=("odd list",), field_id=8, type="list", kind="other"),
    ("odd text",): Column(path=("odd text",), field_id=9, type="string", kind="other"),
}
"""The columns of the table."""

TYPES = {"elements": "array<int>", "entries": "map<string,int>", "words": "string"}
"""Spark's types of the columns, by the kinds of keys."""

SOURCES = {"elements": "l", "entries": "m", "words": "s"}
"""The columns that have an index, by the kinds of keys."""

_STRING = {"type": "string", "kind": "string", "scale": 0}
_INTEGER = {"type": "int", "kind": "integer", "scale": 0}
_PARTS = {"elements": [_INTEGER], "entries": [_STRING, _INTEGER], "words": [_STRING]}


def tree_of(kind: str, path: str = "", column_type: str = "") -> list[Any]:
    """Return the tree of keys as an engine writes it."""
    return [kind, {"col": [path or SOURCES[kind]], "type": column_type or TYPES[kind]}]


def definition_of(kind: str) -> IndexDefinition:
    """Return the definition of an index with keys of a kind."""
    stored, sources = stored_tree(tree_of(kind), COLUMNS)
    columns = key_expression(f"{kind}({SOURCES[kind]})", stored, sources, _PARTS[kind])
    expression = columns[0].expression
    assert expression is not None
    return IndexDefinition(
        name="n",
        index_uuid="i",
        table_format="iceberg",
        table_uuid="t",
        table_location="/t",
        columns=tuple(
            KeyColumn(field_id=c.field_id, name=c.path[0], type=c.type, key_kind=c.kind)
            for c in columns
        ),
        created_at="",
        expressions=(expression,),
    )


def usable_index(definition: IndexDefinition) -> UsableIndex:
    """Return an index that can be used, of which only the definition is known."""
    opened: Any = SimpleNamespace(definition=definition)
    return UsableIndex(index=opened, columns=definition.columns)


def filter_of(condition: Expr, indexes: Sequence[UsableIndex]) -> tuple[RowFilter, Expressions]:
    """Return the rows for which a condition is true, and its expressions."""
    found = Expressions.of(condition, indexes, COLUMNS)
    types = column_types(COLUMNS)
    bound = bind(condition, types, strict=False, expressions=found.types, words=found.words)
    return rows_where(bound), found


def text_value(text: str) -> str:
    """Return a text as the protocol has it."""
    return base64.b64encode(text.encode()).decode()


def any_of_keys(kind: str, arg: Any, **of_tree: str) -> dict[str, Any]:
    """Return the condition that some element, or some key of a map, meets another condition."""
    tree = tree_of(kind, **of_tree)
    return {"op": "any", "expr": {"tree": tree, "text": "the condition"}, "arg": arg}
