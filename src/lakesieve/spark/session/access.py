"""Reach tables and the folders of their indexes through a Spark session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakesieve.index.access import TableAccess
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.versions.spark_versions import check_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    )
