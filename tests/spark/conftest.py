"""One Spark session for the whole suite, and tables that are hard to prune."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from py4j.java_gateway import JavaClass, JVMView
from tests.spark.settings import BY_DEFAULT, SETTINGS, with_quick_files

import lakesieve as ls
from lakesieve.spark.tables import FORMATS
from lakesieve.spark.tables.parquet.table import ParquetTable
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession


_VERSION = spark_version_of(pyspark.__version__).name
# they have a session of their own: make test-hudi runs them
collect_ignore = [] if FORMATS["hudi"].runs_on(_VERSION) else ["hudi"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything below this folder as needing Spark."""
    for item in items:
        # not by the id: that of a house rule names the file it looks at
        if Path(__file__).parent in item.path.parents:
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session whose warehouse has a blank, a percent sign and an accent in its path."""
    warehouse = tmp_path_factory.mktemp("spark") / "wäre house 100%25"
    session = ls.local_session(
        warehouse,
        formats=[n for n in ("iceberg", "delta", "parquet") if FORMATS[n].runs_on(_VERSION)],
        conf=SETTINGS
        | {
            # by default Delta's VACUUM has as many tasks as this
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
            "spark.databricks.delta.snapshotPartitions": "1",
            # else Delta lists a table twice after each commit, in any time zone but UTC
            "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
        },
    )
    yield with_quick_files(session)
    session.stop()


class _NoWait:
    """The real time without waiting: no test rewrites a file within one tick."""

    time = staticmethod(time.time)

    def sleep(self, seconds: float) -> None:
        """Return at once."""


@pytest.fixture(scope="session", autouse=True)
def no_waits() -> Iterator[None]:
    """Let builds on folders of Parquet files not wait for the clock's next tick."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ParquetTable, "clock", _NoWait())
        yield


@pytest.fixture(scope="session", autouse=True)
def names_found_once() -> Iterator[None]:
    """Let PySpark look up each Java name in the jars only once."""
    find: Any = JVMView.__getattr__

    def found(view: JVMView, name: str) -> Any:
        result = find(view, name)
        if isinstance(result, JavaClass):
            setattr(view, name, result)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JVMView, "__getattr__", found)
        yield


@pytest.fixture
def by_default(spark: SparkSession) -> Iterator[None]:
    """Compile queries and use adaptive execution, as for users."""
    for name, value in BY_DEFAULT.items():
        spark.conf.set(name, value)
    yield
    for name in BY_DEFAULT:
        spark.conf.set(name, SETTINGS[name])


@pytest.fixture
def enabled(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with skipping on and empty caches."""
    ls.enable(spark)
    yield spark
    ls.disable(spark)


@pytest.fixture
def table(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A table name of the test's own, dropped afterwards."""
    name = f"lake.t.{request.node.name.split('[')[0].lower()[:60]}"
    spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
    yield name
    ls.disable(spark)
    spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")


@pytest.fixture
def both(spark: SparkSession) -> Callable[[str], tuple[int, int]]:
    """Run a query with skipping off and on, check equal rows; return the files before and after."""

    def run(query: str) -> tuple[int, int]:
        ls.disable(spark)
        expected = sorted(map(repr, spark.sql(query).collect()))
        ls.enable(spark)
        actual = sorted(map(repr, spark.sql(query).collect()))
        pruned = ls.last_pruning(spark)
        assert actual == expected, query
        return sum(p.files_total for p in pruned), sum(p.files_read for p in pruned)

    return run


@pytest.fixture
def index_folder() -> Callable[[ls.Index], Path]:
    """Local folder of an index."""

    def folder(index: ls.Index) -> Path:
        from lakesieve.storage import local_path

        return local_path(index.info().location)

    return folder
