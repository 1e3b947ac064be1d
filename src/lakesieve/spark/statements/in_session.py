"""Let sessions understand SQL statements about indexes, and run them in this process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lakesieve.spark.statements.run import run_statement
from lakesieve.spark.versions.callbacks import SessionCallback, hear_callbacks
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGER = logging.getLogger(__name__)


def run_in_session(session: Any, text: str) -> str:
    """Run a statement in a session of Java, whose application this process belongs to."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    assert context is not None
    return run_statement(SparkSession(context, session), text)


# py4j keeps only a weak reference
STATEMENTS = SessionCallback(run_in_session)
"""The function that Java calls to run statements in this process."""


def understand_statements(spark: SparkSession) -> None:
    """Let a session of this process understand statements about indexes."""
    from py4j.protocol import Py4JJavaError

    try:
        installed = own_class(spark, "statements.StatementParser").install(spark._jsparkSession)
    except Py4JJavaError as error:
        installed = False
        _LOGGER.warning("The session's parser stays: %s", error.java_exception.getMessage())
    if installed:
        hear_callbacks(spark)
        own_class(spark, "statements.StatementRunner").runInDriver(STATEMENTS)
    else:
        _LOGGER.info("SQL statements about indexes cannot be used in this version of Spark.")
