"""Sessions that have planned nothing when skipping is switched on or off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import ParseException

import lakesieve as ls
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

SHOW = "SHOW INDEXES ON parquet.`{}` USING lakesieve"


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed folder of four files."""
    folder = tmp_path_factory.mktemp("first-plan") / "t"
    spark.range(0, 400, 1, 4).selectExpr("id * 7 % 400 AS k").write.parquet(str(folder))
    ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    return folder


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that has planned nothing, with skipping on."""
    session = spark.newSession()
    ls.enable(session)
    assert not _has_state(session)
    yield session
    ls.disable(session)


def _has_state(session: SparkSession) -> bool:
    has: bool = own_class(session, "spark.ClassicSessions").hasState(session._jsparkSession)
    return has


def _files_read(session: SparkSession, folder: Path) -> list[int]:
    assert session.read.parquet(str(folder)).where("k = 7").count() == 1
    return [scan.files_read for scan in ls.last_pruning(session)]


def test_the_first_query_skips_files(session: SparkSession, folder: Path) -> None:
    """enable() makes no state for the session, and yet its first query skips files."""
    assert _files_read(session, folder) == [1]


def test_the_first_statement_is_understood(session: SparkSession, folder: Path) -> None:
    """The first statement of a session may be one about indexes."""
    if session.version.startswith("4.3"):
        pytest.skip("Spark 4.3 does not understand the statements")
    assert session.sql(SHOW.format(folder)).count() == 1
    assert _files_read(session, folder) == [1]


def test_the_last_decision_counts(session: SparkSession, folder: Path) -> None:
    """What was decided before the first plan is done in its order."""
    ls.disable(session)
    ls.enable(session)
    ls.disable(session)
    assert _files_read(session, folder) == []
    ls.enable(session)
    assert _files_read(session, folder) == [1]


def test_a_state_without_a_plan(session: SparkSession, folder: Path) -> None:
    """A session may get its state before its first plan."""
    session._jsparkSession.sessionState()
    assert _has_state(session)
    ls.disable(session)
    assert _files_read(session, folder) == []
    ls.enable(session)
    assert _files_read(session, folder) == [1]


def test_other_sessions_stay_as_they_are(session: SparkSession, folder: Path) -> None:
    """A session that comes from one that skips files skips none until it is told to."""
    other = session.newSession()
    assert _files_read(other, folder) == []
    with pytest.raises(ParseException):
        other.sql(SHOW.format(folder))
    assert _files_read(session, folder) == [1]


def test_an_invalid_setting(spark: SparkSession, folder: Path) -> None:
    """A setting that cannot be used is the reason why a query reads all files."""
    session = spark.newSession()
    session.conf.set("spark.lakesieve.trusted.roots", "relative/folder")
    ls.enable(session)
    assert _files_read(session, folder) == [4]
    (scan,) = ls.last_pruning(session)
    assert [reason.code for reason in scan.reasons] == ["invalid-setting"]
    ls.disable(session)
