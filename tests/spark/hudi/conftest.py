"""A Spark session for Hudi tables, which only the older version reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.settings import SETTINGS, with_quick_files

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session whose warehouse has a blank, a percent sign and an accent in its path."""
    session = ls.local_session(
        tmp_path_factory.mktemp("hudi") / "wäre house 100%25",
        formats=["hudi"],
        conf=SETTINGS,
    )
    yield with_quick_files(session)
    session.stop()
