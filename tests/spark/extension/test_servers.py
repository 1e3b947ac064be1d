"""SQL statements about indexes over Thrift and Connect, on every version of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark
import pytest
from tests.depth import is_soak
from tests.spark.extension.clients import Driver, connect_session, thrift_session
from tests.spark.extension.kit import settings_of
from tests.spark.extension.statements import check_statements

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

# on the default version, test_clients.py runs the script over both
pytestmark = [pytest.mark.soak] if pyspark.__version__.startswith("4.1") else []


@pytest.fixture(scope="module")
def driver(
    spark: SparkSession, jar: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    """A driver without Python, with both servers."""
    running = Driver(settings_of(spark, jar), tmp_path_factory.mktemp("driver"))
    yield running
    running.end()


def test_thrift(spark: SparkSession, driver: Driver) -> None:
    """A client of Thrift runs the script of statements."""
    with thrift_session(spark._jvm, driver.thrift) as session:
        check_statements(session, "statements_over_thrift", is_short=not is_soak())


def test_connect(driver: Driver) -> None:
    """A client of Connect runs the script of statements."""
    session = connect_session(driver.connect)
    try:
        check_statements(session, "statements_over_connect", is_short=not is_soak())
    finally:
        session.stop()
