"""Split SQL text into statements, and find the rows that a statement changes."""

from __future__ import annotations

from dataclasses import dataclass

import sqlglot
from sqlglot import expressions as sql
from sqlglot.errors import SqlglotError

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.predicate.expression import Constant, Expr
from lakesieve.predicate.parse import parse_sql


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChangedRows:
    """The rows that a DELETE, UPDATE or MERGE changes, and the columns that it compares."""

    table: tuple[str, ...]
    condition: Expr  # condition on the changed rows; always true for a MERGE
    compared: tuple[tuple[str, ...], ...]  # columns with which a MERGE finds its rows
    text: str  # the SQL text of the condition


def split_statements(text: str) -> list[str]:
    """Split a text into its statements, which end in semicolons."""
    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError as error:
        raise InvalidInputError(
            f"The SQL statements cannot be parsed: {str(error).partition(chr(10))[0]}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Write SQL statements that end in semicolons.",
        ) from error
    statements, start = [], 0
    ends = [token.start for token in tokens if token.token_type.name == "SEMICOLON"]
    for end in (*ends, len(text)):
        if any(start <= token.start < end for token in tokens):
            statements.append(text[start:end].strip())
        start = end + 1
    return statements


def changed_rows(statement: str) -> ChangedRows | None:
    """Return the rows that a DELETE, UPDATE or MERGE changes, or ``None`` for other statements."""
    try:
        tree = sqlglot.parse_one(statement, dialect="spark")
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, sql.Delete | sql.Update | sql.Merge):
        return None
    target = tree.this
    if not isinstance(target, sql.Table):
        return None
    name = tuple(part.name for part in target.parts)
    called = {target.alias_or_name.lower(), target.name.lower()}
    if isinstance(tree, sql.Merge):
        condition = tree.args.get("on")
        compared = () if condition is None else _compared(condition, called)
        text = "" if condition is None else condition.sql(dialect="spark")
        any_row = Constant(value=True)
        return ChangedRows(table=name, condition=any_row, compared=compared, text=text)
    where = tree.args.get("where")
    if where is None:
        return ChangedRows(table=name, condition=Constant(value=True), compared=(), text="")
    for column in where.find_all(sql.Column):
        if column.table.lower() in called:
            column.set("table", None)
    text = where.this.sql(dialect="spark")
    return ChangedRows(table=name, condition=parse_sql(text), compared=(), text=text)


def _compared(condition: sql.Expression, called: set[str]) -> tuple[tuple[str, ...], ...]:
    """Return the target's columns in the equalities of a condition."""
    sides = [side for equal in condition.find_all(sql.EQ) for side in (equal.left, equal.right)]
    return tuple(
        (side.name,)
        for side in sides
        if isinstance(side, sql.Column) and side.table.lower() in called
    )
