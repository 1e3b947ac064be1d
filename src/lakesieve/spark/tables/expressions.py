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
from lakesieve.predicate import condition_of, source_of_many
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.messages import without_traces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from lakesieve.predicate import Expr
    from lakesieve.tables import Column as KeyColumn

_ALLOWED = (
    "docs/expressions.md lists the functions that can be used. An expression may depend only on "
    "the columns of its row."
)

_SOURCES = {
    "elements": "elements() takes a column, or a field of a struct, that is a list. An index must "
    "support the type of the elements. docs/elements.md names the lists that are not supported.",
    "entries": "entries() takes a column, or a field of a struct, that is a map. An index must "
    "support the types of the keys and of the values. docs/entries.md names the maps that are not "
    "supported.",
    "words": "words() takes a column, or a field of a struct, that is a text. An index must "
    "support the type of the text. docs/words.md says more.",
}


def described_keys(
    rows: DataFrame, sql: str, columns: Mapping[tuple[str, ...], KeyColumn]
) -> tuple[KeyColumn, ...]:
    """Return an expression over the columns of a table as the key columns of an index.

    Args:
        rows: Rows with the columns of the table, which are not read.
        sql: The expression.
        columns: The columns of the table.

    Raises:
        InvalidInputError: The text is no expression over these columns.
        UnsupportedError: The expression, or a column that it reads, cannot be indexed.
    """
    many = source_of_many(sql)
    described = _described(rows, sql, many)
    allowed = _ALLOWED if many is None else _SOURCES[many[0]]
    if "refused" in described:
        raise UnsupportedError(
            f"{sql} cannot be the key of an index: {described['refused']} is not allowed.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint=allowed,
        )
    try:
        tree, sources = stored_tree(described["tree"], columns)
    except UnknownColumnError as unknown:
        column = unknown.column
        why = f"its column {unknown} " + (
            "is none of the table" if column is None else f"of type {column.type} cannot be indexed"
        )
        hint = "An expression may read columns that can be indexed themselves."
        hint = hint if many is None else allowed
        raise UnsupportedError(
            f"{sql} cannot be the key of an index: {why}.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint=(column.refusal if column is not None else "") or hint,
        ) from None
    return key_expression(sql, tree, sources, described["columns"])


def expression_values(rows: DataFrame, key: KeyColumn) -> Column:
    """Return the values of a key column in some rows, after a check that they are what they were.

    Elements, and the keys and values of entries, are whole lists, which workers take apart.

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
    described = described_keys(rows, expression.sql, columns)
    tree = described[0].expression
    assert tree is not None
    if tree.tree != expression.tree:
        difference = differing_session(expression.tree, tree.tree)
        what = f"It was built with {difference}" if difference else "Its values may be others now"
        raise UnsupportedError(
            f"This session cannot compute {expression.sql} for its index. {what}.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="Use a session with the settings of the build, or create the index again.",
        )
    # not by the stored name of the key column, which nobody has checked
    (text,) = (one.path[0] for one in described if one.field_id == key.field_id)
    many = source_of_many(text)
    return F.expr(text if many is None else many[1])


def _described(rows: DataFrame, sql: str, many: tuple[str, str] | None) -> dict[str, Any]:
    """Describe an expression, or elements, entries or words."""
    from pyspark.errors import PySparkException

    own = own_class(rows.sparkSession, "predicate.KeyExpressions")
    try:
        with without_traces():
            text = (
                own.describe(rows._jdf, sql) if many is None else own.describeMany(rows._jdf, *many)
            )
            described: dict[str, Any] = json.loads(text)
    except PySparkException as error:
        first = str(error).strip().partition("\n")[0]
        raise InvalidInputError(
            f"{sql} is neither a column nor an expression over columns: {first}",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Name a column, or write an expression of Spark SQL, such as lower(email), or "
            "elements(tags), entries(attributes) or words(message).",
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
