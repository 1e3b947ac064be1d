"""Reach tables and the folders of their indexes through a Spark session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakesieve.index.access import TableAccess
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.expressions import condition_in
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.versions.spark_versions import check_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.predicate import Expr
    from lakesieve.tables import TableReader, TableVersion


def session_timezone(spark: SparkSession) -> str:
    """Return the time zone of timestamps that are written without one."""
    return str(spark.conf.get("spark.sql.session.timeZone"))


def access_by(spark: SparkSession) -> TableAccess:
    """Return access to tables with the session's catalogs and storage settings."""
    check_session(spark)
    return TableAccess(
        open_table=lambda name: open_table(spark, name).reader,
        options=partial(storage_options, spark),
        timezone=partial(session_timezone, spark),
        engine_condition=partial(_condition, spark),
    )


def _condition(
    spark: SparkSession, table: TableReader, version: TableVersion, sql: str
) -> Expr | None:
    """Return SQL text as the condition that a scan of the session has above it."""
    is_path = "/" in table.name
    opened = open_table(spark, f"{table.format}:{table.name}" if is_path else table.name)
    if opened.reader.uuid != table.uuid:
        # the name leads to another table now
        return None
    return condition_in(opened.rows(version), sql)
