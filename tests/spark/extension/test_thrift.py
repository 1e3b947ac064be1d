"""SQL statements about indexes over Thrift, which every version of Spark brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.extension.clients import Driver, thrift_session
from tests.spark.extension.kit import settings_of
from tests.spark.extension.statements import check_statements

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.soak
def test_statements(spark: SparkSession, jar: Path, tmp_path: Path) -> None:
    """A driver without Python and without Connect runs the script of statements."""
    driver = Driver(settings_of(spark, jar), tmp_path, connects=False)
    try:
        with thrift_session(spark._jvm, driver.thrift) as session:
            check_statements(session, "statements_over_thrift")
    finally:
        driver.end()
