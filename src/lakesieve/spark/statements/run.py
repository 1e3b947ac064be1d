"""Run a parsed SQL statement about indexes: a statement goes in, rows come out."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.index.freshness import index_states
from lakesieve.spark.create import create_index
from lakesieve.spark.index import open_index
from lakesieve.spark.refresh import refresh_indexes
from lakesieve.spark.session.access import access_by
from lakesieve.spark.statements.statement import IndexStatement
from lakesieve.spark.tables.jobs import own_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.spark.index import SparkIndex

_LOGGER = logging.getLogger(__name__)


def run_statement(spark: SparkSession, text: str) -> str:
    """Run a statement in a session.

    Args:
        spark: The session.
        text: The statement as JSON.

    Returns:
        JSON: an object with ``rows``, a list of objects, or with ``error``. An error has the
        ``code``, the ``message`` and the ``hint`` of the error that a function of the package
        would raise.
    """
    try:
        statement = IndexStatement.parse(text)
        what = f"lakesieve: {statement.action} {statement.index} on {statement.table}"
        with own_jobs(spark, " ".join(what.split())):
            rows = _ACTIONS[statement.action](spark, statement)
    except LakesieveError as error:
        return _error(error.kind, error.message, error.hint)
    except Exception as error:
        _LOGGER.warning("a statement failed", exc_info=error)
        first = str(error).strip().partition("\n")[0]
        return _error(ErrorKind.BUILD_FAILED, f"{type(error).__name__}: {first}", "")
    return json.dumps({"rows": rows})


def _error(kind: ErrorKind, message: str, hint: str) -> str:
    return json.dumps({"error": {"code": str(kind), "message": message, "hint": hint}})


def _create(spark: SparkSession, statement: IndexStatement) -> list[dict[str, Any]]:
    try:
        create_index(
            statement.table,
            statement.keys,
            spark=spark,
            name=statement.index,
            location=statement.location,
            **statement.options,
        )
    except LakesieveError as error:
        if error.kind is not ErrorKind.INDEX_EXISTS or not statement.lenient:
            raise
    return _states(spark, statement)


def _states(spark: SparkSession, statement: IndexStatement) -> list[dict[str, Any]]:
    """Return a row for each index of the table, or for the index that the statement names."""
    states = index_states(
        access_by(spark), statement.table, statement.location, name=statement.index or None
    )
    return [asdict(state) for state in states]


def _describe(spark: SparkSession, statement: IndexStatement) -> list[dict[str, Any]]:
    (state,) = _states(spark, statement)
    return [{"property": name, "value": _shown(value)} for name, value in state.items()]


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _refresh(spark: SparkSession, statement: IndexStatement) -> list[dict[str, Any]]:
    done = refresh_indexes(
        statement.table,
        [statement.index] if statement.index else None,
        spark=spark,
        location=statement.location,
        **statement.options,
    )
    return [asdict(one) for one in done]


def _compact(spark: SparkSession, statement: IndexStatement) -> list[dict[str, Any]]:
    return [asdict(_opened(spark, statement).compact(**statement.options))]


def _drop(spark: SparkSession, statement: IndexStatement) -> list[dict[str, Any]]:
    dropped = True
    try:
        _opened(spark, statement).drop(**statement.options)
    except LakesieveError as error:
        if error.kind is not ErrorKind.INDEX_NOT_FOUND or not statement.lenient:
            raise
        dropped = False
    return [{"index": statement.index, "table": statement.table, "dropped": dropped}]


def _opened(spark: SparkSession, statement: IndexStatement) -> SparkIndex:
    return open_index(statement.table, statement.index, spark=spark, location=statement.location)


_ACTIONS = {
    "create": _create,
    "show": _states,
    "describe": _describe,
    "refresh": _refresh,
    "compact": _compact,
    "drop": _drop,
}
