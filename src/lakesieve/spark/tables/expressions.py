"""Expressions of Spark SQL as keys: Spark describes them and computes their values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.index.expressions import (
    UnknownColumnError,
    differing_session,
    key_expression,
    stored_tree,
)
from lakesieve.predicate import condition_of, list_of_elements
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.messages import without_traces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from lakesieve.predicate import Expr
    from lakesieve.tables import Column as KeyColumn

_ALLOWED = (
    "docs/expressions.md lists the functions that can be used. An expression may depend on nothing "
    "but the columns of its row."
)

_LISTS = (
    "elements() takes a column, or a field of a struct, that is a list of values which can be "
    "indexed themselves. docs/elements.md says which lists are not."
)


def described_key(
    rows: DataFrame, sql: str, columns: Mapping[tuple[str, ...], KeyColumn]
) -> KeyColumn:
    """Return an expression over the columns of a table as the key of an index.

    Args:
        rows: Rows with the columns of the table, which are not read.
        sql: The expression.
        columns: The columns of the table.

    Raises:
        InvalidInputError: The text is no expression over these columns.
        UnsupportedError: The expression, or a column that it reads, cannot be indexed.
    """
    elements_of = list_of_elements(sql)
    described = _described(rows, sql, elements_of)
    if "refused" in described:
        raise UnsupportedError(
            f"{sql} cannot be the key of an index: {described['refused']} is not allowed.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint=_ALLOWED if elements_of is None else _LISTS,
        )
    try:
        tree, sources = stored_tree(described["tree"], columns)
    except UnknownColumnError as unknown:
        column = unknown.column
        why = f"its column {unknown} " + (
            "is none of the table" if column is None else f"of type {column.type} cannot be indexed"
        )
        hint = "An expression may read columns that can be indexed themselves."
        hint = hint if elements_of is None else _LISTS
        raise UnsupportedError(
            f"{sql} cannot be the key of an index: {why}.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint=(column.refusal if column is not None else "") or hint,
        ) from None
    return key_expression(sql, tree, sources, described)


def expression_values(rows: DataFrame, key: KeyColumn) -> Column:
    """Return the values of an expression in some rows, after a check that it means what it did.

    Raises:
        InvalidInputError: A column of the expression has another name now.
        UnsupportedError: The session computes other values than the session of the first build.
    """
    from pyspark.sql import functions as F

    expression = key.expression
    assert expression is not None
    now = {".".join(source.path): source for source in key.sources}
    renamed = [source.name for source in expression.columns if source.name not in now]
    if renamed:
        raise InvalidInputError(
            f"The column {renamed[0]}, which {expression.sql} reads, was renamed.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Queries use what is indexed. To index new files, create the index again with "
            "the new name.",
        )
    columns = {source.path: source for source in key.sources}
    tree = described_key(rows, expression.sql, columns).expression
    assert tree is not None
    if tree.tree != expression.tree:
        difference = differing_session(expression.tree, tree.tree)
        what = f"It was built with {difference}" if difference else "Its values may be others now"
        raise UnsupportedError(
            f"This session cannot compute {expression.sql} for its index. {what}.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="Use a session with the settings of the build, or create the index again.",
        )
    # raw rows have whole lists, which workers take apart
    return F.expr(list_of_elements(expression.sql) or expression.sql)


def _described(rows: DataFrame, sql: str, elements_of: str | None) -> dict[str, Any]:
    """Describe an expression, or the elements of a list."""
    from pyspark.errors import PySparkException

    own = own_class(rows.sparkSession, "predicate.KeyExpressions")
    try:
        with without_traces():
            text = (
                own.describe(rows._jdf, sql)
                if elements_of is None
                else own.describeElements(rows._jdf, elements_of)
            )
            described: dict[str, Any] = json.loads(text)
    except PySparkException as error:
        first = str(error).strip().partition("\n")[0]
        raise InvalidInputError(
            f"{sql} is neither a column nor an expression over columns: {first}",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Name a column, or write an expression of Spark SQL, such as lower(email), or "
            "elements(tags).",
        ) from error
    return described


def condition_in(rows: DataFrame, sql: str) -> Expr | None:
    """Return SQL text as the condition that the optimizer rule sees above a scan.

    Args:
        rows: Rows with the columns of the table, which are not read.
        sql: The condition.

    Returns:
        The condition, or ``None`` if Spark does not accept the text.
    """
    from pyspark.errors import PySparkException

    condition = own_class(rows.sparkSession, "predicate.KeyExpressions").condition
    try:
        with without_traces():
            return condition_of(json.loads(condition(rows._jdf, sql)))
    except PySparkException:
        return None
