"""Conditions of SQL text on the elements of lists and on the entries of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import expressions as sql

from lakesieve.predicate.expression import (
    ELEMENT,
    And,
    Compare,
    Constant,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    NullSafeEqual,
    OnElements,
    OnExpression,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.protocol import ELEMENTS, ENTRIES, parts_tree
from lakesieve.predicate.sql_operands import column_of, literal_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot.expressions import Expression


def part_condition(
    node: Expression, leaf: Callable[[Expression], Expr | None], text: str
) -> Expr | None:
    """Return a condition on some element or key, or on the value of a key, of a list or map.

    Args:
        node: A condition without AND, OR and NOT.
        leaf: Reads such a condition on columns.
        text: The condition, for people.

    Returns:
        The condition, or ``None`` if the node is none or is not understood.
    """
    match node:
        case sql.ArrayContains():
            return _some(ELEMENTS, node.this, _equal(node.expression), text)
        case sql.MapContainsKey():
            return _some(ENTRIES, node.this, _equal(node.args["key"]), text)
        case sql.Anonymous() if node.name.lower() == "arrays_overlap":
            return _overlap(node.expressions, text)
    for name in ("this", "expression"):
        operand = node.args.get(name)
        if isinstance(operand, sql.Bracket):
            return _on_entry(node, name, operand, leaf, text)
    return None


def _some(parts: str, node: Expression, condition: Expr | None, text: str) -> Expr | None:
    column = column_of(node)
    if column is None or condition is None:
        return None
    return OnElements(tree=parts_tree(parts, column), text=text, condition=condition)


def _equal(node: Expression) -> Expr | None:
    value = literal_of(node)
    return None if value is None else Compare(column=ELEMENT, op="=", value=value)


def _overlap(args: list[Expression], text: str) -> Expr | None:
    lists = [arg for arg in args if isinstance(arg, sql.Array)]
    others = [arg for arg in args if not isinstance(arg, sql.Array)]
    if len(lists) != 1 or len(others) != 1:
        return None
    values = [literal_of(item) for item in lists[0].expressions]
    literals = tuple(value for value in values if value is not None)
    if not literals or len(literals) < len(values):
        return None
    return _some(ELEMENTS, others[0], In(column=ELEMENT, values=literals), text)


def _on_entry(
    node: Expression,
    name: str,
    value: sql.Bracket,
    leaf: Callable[[Expression], Expr | None],
    text: str,
) -> Expr | None:
    """Read a condition on the value that a map has for a constant key."""
    column, keys = column_of(value.this), [literal_of(key) for key in value.expressions]
    key = keys[0] if len(keys) == 1 else None
    # keys of other kinds depend on the session
    if column is None or key is None or key.kind not in {"text", "number"}:
        return None
    plain = node.copy()
    plain.set(name, sql.column(ELEMENT[0]))
    # a condition that compares the value with anything but constants is not read
    condition = leaf(plain)
    return (
        None if condition is None else of_entry(condition, parts_tree(ENTRIES, column), key, text)
    )


def of_entry(condition: Expr, tree: str, key: Literal, text: str) -> Expr:
    """Return a condition on a column as one on the value of an entry."""
    match condition:
        case Not():
            return Not(arg=of_entry(condition.arg, tree, key, text))
        case And():
            return And(args=tuple(of_entry(arg, tree, key, text) for arg in condition.args))
        case Compare() | In() | IsNull() | NullSafeEqual() | StartsWith():
            return OnExpression(tree=tree, text=text, condition=condition, entry=key)
        case Constant():
            return condition
    return Unknown(text=text)
