"""Clients of a driver that has only lakesieve's jar skip files, too."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import pytest
from pyspark.errors import AnalysisException
from tests.depth import depth
from tests.kit.alike import check_queries, views_of
from tests.kit.generated import predicate
from tests.spark.extension.clients import JOINED, Driver, connect_session, thrift_session
from tests.spark.extension.kit import COLUMNS, settings_of
from tests.spark.extension.statements import check_statements, rows_of

import lakesieve as ls
from lakesieve.errors import UnsupportedError
from lakesieve.index import ReasonCode
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

QUERIES = depth("QUERIES", test=1, soak=20)
PREDICATES = 6
IDLE = 30
"""Seconds after which the process that runs statements ends."""
KILLED = depth("KILLED", test=30, soak=100)
CANCELLED = depth("CANCELLED", test=2, soak=50)


@pytest.fixture(scope="module")
def driver(spark: SparkSession, jar: Path) -> Iterator[Driver]:
    """A driver with the jar."""
    idle = {"spark.lakesieve.statements.idleSeconds": str(IDLE)}
    running = Driver(settings_of(spark, jar) | idle, jar.parent)
    yield running
    running.end()


@pytest.fixture(params=["connect", "thrift"])
def client(
    spark: SparkSession, driver: Driver, request: pytest.FixtureRequest
) -> Iterator[tuple[str, Any]]:
    """A session of a client, by its kind."""
    if request.param == "connect":
        connect = connect_session(driver.connect)
        yield "connect", connect
        connect.stop()
    else:
        with thrift_session(spark._jvm, driver.thrift) as thrift:
            yield "thrift", thrift


# each client once, not their cross with the formats
@pytest.mark.in_time("connect-iceberg", "thrift-delta")
@pytest.mark.parametrize("form", ["iceberg", "delta", "parquet"])
def test_same_answers(client: tuple[str, Any], relations: dict[str, str], form: str) -> None:
    """Generated conditions find the right rows in fewer files."""
    kind, session = client
    drawn = random.Random(f"{kind} {form}")
    total = read = 0
    with views_of(session, [relations[form]]) as views:
        for _ in range(QUERIES):
            queries = [(views[0], predicate(drawn, COLUMNS)) for _ in range(PREDICATES)]
            before, after = check_queries(session, queries, summed=True)
            total, read = total + before, read + after
    assert read < total
    ls.enable(session)
    found = session.sql(f"SELECT id FROM {relations[form]} WHERE l = 4726").collect()
    (pruned,) = ls.last_pruning(session)
    assert {row[0] for row in found} == {1}
    assert pruned.indexes == ("l",)
    assert pruned.files_read <= 2
    assert ReasonCode.INDEX_USED in {reason.code for reason in pruned.reasons}


def test_statements(client: tuple[str, Any]) -> None:
    """Statements about indexes return the same rows and errors as in a Python driver."""
    kind, session = client
    check_statements(session, f"statements_{kind}")


def test_a_cancelled_statement(driver: Driver) -> None:
    """A build ends when its client interrupts it, at any moment, and leaves no index behind."""
    drawn = random.Random(CANCELLED)
    session: Any = connect_session(driver.connect)
    table = "lake.t.cancelled"
    session.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(99)").collect()
    build = f"CREATE INDEX %s ON {table} USING lakesieve (id)"
    try:
        # the process that runs statements is there
        assert rows_of(session, f"SHOW INDEXES ON {table}") == []
        begun = time.monotonic()
        (first,) = session.sql(build % "first").collect()
        took = time.monotonic() - begun
        # the first process stops before it gets the statement, so no job runs at that time
        moments = [None, *(drawn.uniform(0, took) for _ in range(CANCELLED))]
        for number, moment in enumerate(moments):
            folder = Path(urlparse(first["location"]).path).with_name(f"late_{number}")
            cancelled = _cancelled(driver, session, build % folder.name, moment, folder)
            names = [row["name"] for row in rows_of(session, f"SHOW INDEXES ON {table}")]
            assert cancelled or moment is not None
            assert not (cancelled and folder.name in names), moment
    finally:
        session.sql(f"DROP TABLE {table}").collect()
        session.stop()


def _cancelled(
    driver: Driver, session: Any, build: str, moment: float | None, folder: Path
) -> bool:
    """Run a build, and cancel it while the process that runs it stands still.

    Returns:
        Whether the build was cancelled before it had written all files of the index.
    """
    (process,) = driver.children(JOINED)
    with ThreadPoolExecutor(1) as pool:
        if moment is None:
            os.kill(process, signal.SIGSTOP)
        building = pool.submit(lambda: session.sql(build).collect())
        if moment is not None:
            time.sleep(moment)
            os.kill(process, signal.SIGSTOP)
        try:
            is_written = (folder / "files").exists()
            interrupted: list[str] = []
            while not interrupted and not building.done():
                interrupted = session.interruptAll()
        finally:
            os.kill(process, signal.SIGCONT)
        if not interrupted:
            building.result()
            return False
        with pytest.raises(Exception, match=r"(?i)cancel"):
            building.result()
    return not is_written


@pytest.mark.soak
def test_an_idle_process(driver: Driver, relations: dict[str, str]) -> None:
    """The process that runs statements ends after a while, and the next statement starts it."""
    session: Any = connect_session(driver.connect)
    try:
        statement = f"SHOW INDEXES ON {relations['iceberg']}"
        rows = rows_of(session, statement)
        (process,) = driver.children(JOINED)
        until = time.monotonic() + 3 * IDLE
        while _runs(process):
            assert time.monotonic() < until
            time.sleep(0.2)
        assert rows_of(session, statement) == rows
    finally:
        session.stop()


def test_a_client_without_the_extension(spark: SparkSession) -> None:
    """One line says what a Connect session lacks."""
    lacking: Any = _Lacking(spark)
    for of_extension in (lambda: ls.enable(lacking), lambda: ls.last_pruning(lacking)):
        with pytest.raises(UnsupportedError, match="does not have lakesieve's extension") as raised:
            of_extension()
        assert "lakesieve spark-jar" in str(raised.value.hint)
    calls: tuple[Callable[[], object], ...] = (
        lambda: ls.create_index("lake.t.x", ["a"], spark=lacking),
        lambda: ls.list_indexes("lake.t.x", spark=lacking),
        lambda: ls.open_index("lake.t.x", "a", spark=lacking),
        lambda: ls.find_files("lake.t.x", "a = 1", spark=lacking),
        lambda: ls.status("lake.t.x", spark=lacking),
        lambda: ls.clone_table("lake.t.x", "lake.t.y", spark=lacking),
        lambda: ls.upsert(lacking, "lake.t.x", on=["a"], spark=lacking),
        lambda: ls.refresh_indexes("lake.t.x", spark=lacking),
    )
    for call in calls:
        with pytest.raises(UnsupportedError, match="Spark Connect session") as raised:
            call()
        assert "classic session" in str(raised.value.hint)


class _Lacking:
    """A session without a JVM, whose server has no extension."""

    def __init__(self, spark: SparkSession) -> None:
        self.sql = spark.sql
        self.conf = spark.conf
        self.version = spark.version


def test_beside_a_python_driver(spark: SparkSession) -> None:
    """What a Python session says is obeyed, and a build's reads replace the extension's rule."""
    fresh = spark.newSession()
    session: Any = fresh._jsparkSession
    extension = own_class(spark, "extension.SessionRule")(session, "0")
    extension.apply(session.range(1).queryExecution().analyzed())
    of_extension = own_class(spark, "extension.SessionRule").of(session)

    def rules() -> list[bool]:
        """Of each pruning rule, whether it is the extension's."""
        found = session.experimental().extraOptimizations()
        every = [found.apply(at) for at in range(found.size())]
        pruning = [one for one in every if one.getClass().getName() == "lakesieve.rule.PruningRule"]
        return [bool(one.equals(of_extension)) for one in pruning]

    assert rules() == [True]
    with installed_rule(fresh).raw_reads():
        assert rules() == [False]
    assert rules() == [True]
    ls.enable(fresh)
    assert rules() == [False]
    ls.disable(fresh)
    assert rules() == []


def test_a_killed_companion(spark: SparkSession, driver: Driver, relations: dict[str, str]) -> None:
    """Running queries give right rows, and the next ones skip files again."""
    ls.disable(spark)
    table = relations["iceberg"]
    keys = [(number * 104729) % 100003 for number in range(10, 10 + KILLED)]
    expected = {
        row[0]: row[1]
        for row in spark.sql(
            f"SELECT l, count(*) FROM {table} WHERE l IN ({', '.join(map(str, keys))}) GROUP BY l"
        ).collect()
    }
    session: Any = connect_session(driver.connect)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = [
                pool.submit(_count, session, f"SELECT count(*) FROM {table} WHERE l = {key}")
                for key in keys
            ]
            while sum(one.done() for one in found) < 10:
                time.sleep(0.02)
            (companion,) = driver.companions()
            os.kill(companion, signal.SIGKILL)
            killed = time.monotonic()
            assert [one.result() for one in found] == [expected.get(key, 0) for key in keys]
        while True:
            _count(session, f"SELECT count(*) FROM {table} WHERE l = 4726")
            (pruned,) = ls.last_pruning(session)
            if pruned.indexes:
                break
            assert {reason.code for reason in pruned.reasons} <= {
                ReasonCode.COMPANION_FAILED,
                ReasonCode.PLANNING_TIMEOUT,
            }
            assert time.monotonic() - killed < 5
        (again,) = driver.companions()
        assert again != companion
    finally:
        session.stop()


def _count(session: Any, query: str) -> int:
    return int(session.sql(query).collect()[0][0])


def test_a_killed_driver(driver: Driver, relations: dict[str, str]) -> None:
    """The children of a killed driver end by themselves."""
    session: Any = connect_session(driver.connect)
    _count(session, f"SELECT count(*) FROM {relations['iceberg']} WHERE l = 4726")
    with pytest.raises(AnalysisException, match="table-not-found"):
        rows_of(session, "SHOW INDEXES ON lake.t.nothing")
    companions, joined = driver.companions(), driver.children(JOINED)
    assert companions, driver.state()
    assert joined, driver.state()
    driver.process.kill()
    until = time.monotonic() + 5
    while any(map(_runs, [*companions, *joined])):
        assert time.monotonic() < until
        time.sleep(0.1)


def _runs(process: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")
