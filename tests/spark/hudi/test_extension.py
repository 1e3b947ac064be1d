"""Hudi tables in sessions without Python, by lakesieve's jar for Spark 3.5."""

from __future__ import annotations

import random
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.alike import check_queries
from tests.kit.generated import predicate, rows_of
from tests.spark.extension.clients import Driver, connect_session, thrift_session
from tests.spark.extension.kit import COLUMNS, check_program, settings_of
from tests.spark.hudi.driver import DRIVERS

import lakesieve as ls
from lakesieve.spark.extension.jar import write_jar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROWS = 600
PREDICATES = 6


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar, made in a JVM of its own, which has the formats that this session lacks."""
    made = write_jar(tmp_path_factory.mktemp("jar") / "lakesieve-spark.jar")
    assert (made.spark, made.formats) == ("3.5", ("delta", "hudi", "iceberg", "parquet"))
    return Path(made.path)


@pytest.fixture(scope="module")
def views(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What makes a view of each table, without Hudi's own skipping, which loses rows.

    It did so for conditions on doubles, NaN among them, and does for some with LIKE.
    """
    folder = tmp_path_factory.mktemp("tables")
    made = []
    for kind, driver in DRIVERS.items():
        table = driver(spark, folder / kind, f"extension_{kind}")
        table.create(rows_of(spark, 0))
        table.append(rows_of(spark, ROWS))
        ls.create_indexes(table.name, [[column] for column in COLUMNS], spark=spark)
        made.append(
            f"CREATE TEMPORARY VIEW {kind} USING hudi "
            f"OPTIONS (path '{folder / kind}', 'hoodie.enable.data.skipping' 'false')"
        )
    return made


@pytest.mark.soak
@pytest.mark.parametrize("program", ["spark-sql", "spark-shell"])
def test_programs(
    spark: SparkSession, jar: Path, views: list[str], tmp_path: Path, program: str
) -> None:
    """Generated conditions give the same rows with skipping off and on, from fewer files."""
    check_program(program, settings_of(spark, jar), list(DRIVERS), tmp_path, before=views)


@pytest.mark.soak
@pytest.mark.parametrize("client", ["thrift", "connect"])
def test_clients(
    spark: SparkSession, jar: Path, views: list[str], tmp_path: Path, client: str
) -> None:
    """The same holds for clients of a Thrift server and of a Connect server."""
    driver = Driver(settings_of(spark, jar), tmp_path, connects=client == "connect")
    try:
        with _session(client, driver, spark) as session:
            for view in views:
                session.sql(view).collect()
            for kind in DRIVERS:
                drawn = random.Random(kind)
                queries = [(kind, predicate(drawn, COLUMNS)) for _ in range(PREDICATES)]
                before, after = check_queries(session, queries, summed=True)
                assert after < before
                ls.enable(session)
                session.sql(f"SELECT id FROM {kind} WHERE l = 4726").collect()
                scans = ls.last_pruning(session)
                assert {scan.indexes for scan in scans} == {("l",)}, scans
                # reading the report leaves it as it is
                assert ls.last_pruning(session) == scans
    finally:
        driver.end()


@contextmanager
def _session(client: str, driver: Driver, spark: SparkSession) -> Iterator[Any]:
    if client == "thrift":
        with thrift_session(spark._jvm, driver.thrift) as thrift:
            yield thrift
        return
    session = connect_session(driver.connect)
    yield session
    session.stop()
