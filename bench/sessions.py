"""Clients of a driver without Python, with the jar: queries with skipping off and on, builds."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.connect.session import SparkSession as ConnectSession
from tests.spark.extension.clients import Driver, thrift_session
from tests.spark.extension.kit import settings_of

import lakesieve as ls
from bench import many_files
from bench.measure import BUILDS, Measured, in_turn
from lakesieve.spark.extension.jar import write_jar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    Query = Callable[[str], object]

__all__ = ["ROWS", "run"]

SPEED_UP, PRICE_MILLISECONDS = 10.0, 5.0
PLAIN = "lake.bench.without_index"
BUILT = "lake.bench.built"
ROWS, FILES = 20_000_000, 100
"""Rows and data files of the table that is indexed."""

# medians of 25 differ by as much as the price may be
ROUNDS = 200


def run(spark: SparkSession, root: Path, *, rows: int = ROWS) -> Iterator[Measured]:
    """Write the tables, start the driver, and time queries and builds of its clients in turn.

    Args:
        spark: The session.
        root: A folder for the jar and the driver's log.
        rows: Rows of the table that is indexed.
    """
    jar = write_jar(root / "lakesieve-spark.jar")
    many_files.make_table(spark)
    spark.range(0, 1000, 1, 20).writeTo(PLAIN).using("iceberg").createOrReplace()
    made = spark.range(0, rows, 1, FILES).selectExpr("xxhash64(id) AS k", "id")
    made.writeTo(BUILT).using("iceberg").createOrReplace()
    try:
        driver = Driver(settings_of(spark, Path(jar.path)), root)
        try:
            for name, sessions in _clients(spark, driver):
                yield from _measured(name, sessions)
            with _connect(driver.connect) as query:
                yield _built(spark, query, rows)
        finally:
            driver.end()
    finally:
        for table in (many_files.TABLE, PLAIN, BUILT):
            spark.sql(f"DROP TABLE {table} PURGE")


def _measured(name: str, sessions: Mapping[str, Query]) -> Iterator[Measured]:
    """Time the same queries in a session with skipping off and in one with skipping on."""
    for switch, query in sessions.items():
        query(f"SET spark.lakesieve.enabled={str(switch == 'on').lower()}")

    def timed(text: str) -> dict[str, Callable[[], object]]:
        return {switch: partial(query, text) for switch, query in sessions.items()}

    point = timed(f"SELECT k, payload FROM {many_files.TABLE} WHERE k = {many_files.KEY}")
    if point["off"]() != point["on"]():
        raise AssertionError("the two ways do not agree")
    files = sessions["on"]("SELECT files_total, files_read FROM lakesieve_last_pruning()")
    times = in_turn(point)
    yield Measured(
        name=f"{name}: point query, speed-up",
        value=times["off"] / times["on"],
        unit="x",
        at_least=SPEED_UP,
        details={k: f"{1e3 * v:.0f} ms" for k, v in times.items()} | {"files": files},
    )
    times = in_turn(timed(f"SELECT count(*) FROM {PLAIN} WHERE id = 5"), rounds=ROUNDS)
    yield Measured(
        name=f"{name}: what a query without an index pays",
        value=1e3 * (times["on"] - times["off"]),
        unit="ms",
        at_most=PRICE_MILLISECONDS,
        details={k: f"{1e3 * v:.1f} ms" for k, v in times.items()},
    )


def _built(spark: SparkSession, query: Query, rows: int) -> Measured:
    """Build an index from PySpark, and by a statement over Connect, in turn."""

    def classic() -> None:
        ls.create_index(BUILT, ["k"], name="built", spark=spark).drop()

    def over_connect() -> None:
        query(f"CREATE INDEX built ON {BUILT} USING lakesieve (k)")
        query(f"DROP INDEX built ON {BUILT}")

    times = in_turn({"PySpark": classic, "Connect": over_connect}, rounds=BUILDS)
    return Measured(
        name=f"an index of {rows:,} rows made over Connect, against PySpark",
        value=times["Connect"] / times["PySpark"],
        unit="x",
        at_most=1.1,
        details={k: f"{v:.1f} s" for k, v in times.items()},
    )


def _clients(spark: SparkSession, driver: Driver) -> Iterator[tuple[str, Mapping[str, Query]]]:
    with _connect(driver.connect) as off, _connect(driver.connect) as on:
        yield "Connect", {"off": off, "on": on}
    with _thrift(spark, driver.thrift) as off, _thrift(spark, driver.thrift) as on:
        yield "Thrift", {"off": off, "on": on}


@contextmanager
def _connect(port: int) -> Iterator[Query]:
    session = ConnectSession(f"sc://127.0.0.1:{port}")
    yield lambda text: [tuple(row) for row in session.sql(text).collect()]
    session.stop()


@contextmanager
def _thrift(spark: SparkSession, port: int) -> Iterator[Query]:
    with thrift_session(spark._jvm, port) as session:
        yield session.rows
