"""One Spark session for the whole suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ask for the session."""
    for item in items:
        if HERE in item.path.parents and "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small session whose warehouse has an awkward name."""
    session = ls.local_session(
        tmp_path_factory.mktemp("deletes") / "wäre house 100%25",
        conf={
            "spark.master": "local[2]",
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "America/New_York",
        },
    )
    yield session
    session.stop()


@pytest.fixture
def table(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A table name of the test's own, dropped afterwards."""
    name = f"lake.d.{request.node.name.split('[')[0].lower()[:60]}"
    spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
