"""A session that is stopped and started again in one process, as in every notebook."""

from __future__ import annotations

import pyspark
import pytest
from tests.spark.restarts import SESSIONS, Session, restarted

from lakesieve.spark.tables import FORMATS as KNOWN
from lakesieve.spark.versions.spark_versions import spark_version_of

_VERSION = spark_version_of(pyspark.__version__).name
FORMATS = tuple(name for name in ("iceberg", "parquet") if KNOWN[name].runs_on(_VERSION))
MIB = 1024


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[Session]:
    """What the sessions of one process tell, one after another."""
    return restarted(tmp_path_factory.mktemp("restarts"), *FORMATS)


def test_each_session_skips_files(sessions: list[Session]) -> None:
    """Every session of the process reads one data file of four."""
    read = [session["read"] for session in sessions]

    assert read == [dict.fromkeys(FORMATS, "1/4")] * (SESSIONS + 1)


# takes more sessions than there are otherwise
@pytest.mark.soak
def test_restarts_leak_no_classes(sessions: list[Session]) -> None:
    """The JVM has as many classes of lakesieve after ten restarts as after two."""
    # the first sessions load what is needed for the first time, the last ones have other settings
    after_two, *_, after_ten = sessions[2:-2]

    assert after_ten["classes"] == after_two["classes"] > 0
    assert after_ten["metaspace"] < after_two["metaspace"] + MIB
