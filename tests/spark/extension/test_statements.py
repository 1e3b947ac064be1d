"""SQL statements about indexes in a Python driver."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.depth import is_soak
from tests.spark.extension.statements import check_statements

import lakesieve as ls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHERS = (
    "DESCRIBE index",
    "DESC TABLE index",
    "SELECT name FROM index",
    "SHOW TABLES IN lake.t LIKE 'nothing'",
    "REFRESH index",
    "SELECT 1 FROM WHERE",
    "CREATE INDEX ON",
    "CREATE INDEX i ON lake.t.nothing (id)",
    "CREATE INDEX i ON lake.t.nothing USING bloom (id)",
    "ALTER TABLE lake.t.nothing WRITE ORDERED BY id",
    "DESCRIBE HISTORY delta.`/nothing`",
)


def test_statements(spark: SparkSession) -> None:
    """After enable(), a session that runs already understands statements about indexes."""
    ls.enable(spark)
    try:
        # make test runs the whole script on the default version of Spark only, make soak on all
        is_short = not spark.version.startswith("4.1") and not is_soak()
        check_statements(spark, "statements", is_short=is_short)
    finally:
        ls.disable(spark)


def test_other_statements(spark: SparkSession) -> None:
    """Statements that are not about our indexes keep their meaning and their errors."""
    plain, enabled = spark.newSession(), spark.newSession()
    ls.enable(enabled)
    for session in (plain, enabled):
        session.sql("CREATE TEMPORARY VIEW index AS SELECT 1 AS name")
    for statement in OTHERS:
        assert _outcome(enabled, statement) == _outcome(plain, statement), statement
    ls.disable(enabled)


def _outcome(session: SparkSession, statement: str) -> object:
    try:
        return session.sql(statement).collect()
    except Exception as error:  # noqa: BLE001 - errors are compared, too
        # py4j numbers the objects of a session
        return type(error), re.sub(r"\bo\d+\.", "", str(error).partition("\n")[0])
