"""SQL statements: where each one ends, and which rows of a table it changes."""

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
    """What a DELETE, UPDATE or MERGE asks of its table."""

    table: tuple[str, ...]
    condition: Expr  # the rows that it changes; of a MERGE, any
    compared: tuple[tuple[str, ...], ...]  # columns by which a MERGE finds them
    text: str  # the condition as it was written


def split_statements(text: str) -> list[str]:
    """Return the statements of a text, which end in semicolons."""
    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError as error:
        raise InvalidInputError(
            f"These are no SQL statements: {str(error).partition(chr(10))[0]}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Write SQL statements that end in semicolons.",
        ) from error
    found, start = [], 0
    ends = [token.start for token in tokens if token.token_type.name == "SEMICOLON"]
    for end in (*ends, len(text)):
        if any(start <= token.start < end for token in tokens):
            found.append(text[start:end].strip())
        start = end + 1
    return found


def changed_rows(statement: str) -> ChangedRows | None:
    """Return what a statement that changes rows asks of its table; ``None`` for any other."""
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
