"""SQL statements about indexes over Thrift and Connect, on every version of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.extension.clients import Driver, connect_session, thrift_session
from tests.spark.extension.kit import settings_of
from tests.spark.extension.statements import check_statements

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def driver(
    spark: SparkSession, jar: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    """A driver without Python, with both servers."""
    running = Driver(settings_of(spark, jar), tmp_path_factory.mktemp("driver"))
    yield running
    running.end()


@pytest.mark.soak
def test_thrift(spark: SparkSession, driver: Driver) -> None:
    """A client of Thrift runs the script of statements."""
    with thrift_session(spark._jvm, driver.thrift) as session:
        check_statements(session, "statements_over_thrift")


@pytest.mark.soak
def test_connect(driver: Driver) -> None:
    """A client of Connect runs the script of statements."""
    session = connect_session(driver.connect)
    try:
        check_statements(session, "statements_over_connect")
    finally:
        session.stop()
