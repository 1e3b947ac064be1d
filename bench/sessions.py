"""Clients of a driver without Python, with the jar: queries with skipping off and on."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyspark
from pyspark.sql.connect.session import SparkSession as ConnectSession
from tests.ports import free_port, wait_until_it_listens

from bench import many_files
from bench.measure import Measured, in_turn
from lakesieve.spark.extension.jar import write_jar
from lakesieve.spark.extension.result import EXTENSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    Query = Callable[[str], object]

__all__ = ["run"]

SPEED_UP, PRICE_MILLISECONDS = 10.0, 5.0
PLAIN = "lake.bench.without_index"
# medians of 25 differ by as much as the price may be
ROUNDS = 200
_THRIFT_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
_KEPT = ("spark.master", "spark.driver.host", "spark.driver.bindAddress", "spark.driver.memory")


def run(spark: SparkSession, root: Path) -> Iterator[Measured]:
    """Write the tables, start the driver, and time the queries of its clients in turn."""
    jar = write_jar(root / "lakesieve-spark.jar")
    many_files.make_table(spark)
    spark.range(0, 1000, 1, 20).writeTo(PLAIN).using("iceberg").createOrReplace()
    try:
        with _driver(spark, Path(jar.path), root) as ports:
            for name, sessions in _clients(spark, *ports):
                yield from _measured(name, sessions)
    finally:
        for table in (many_files.TABLE, PLAIN):
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


def _clients(
    spark: SparkSession, connect: int, thrift: int
) -> Iterator[tuple[str, Mapping[str, Query]]]:
    with _connect(connect) as off, _connect(connect) as on:
        yield "Connect", {"off": off, "on": on}
    with _thrift(spark, thrift) as off, _thrift(spark, thrift) as on:
        yield "Thrift", {"off": off, "on": on}


@contextmanager
def _connect(port: int) -> Iterator[Query]:
    session = ConnectSession(f"sc://127.0.0.1:{port}")
    yield lambda text: [tuple(row) for row in session.sql(text).collect()]
    session.stop()


@contextmanager
def _thrift(spark: SparkSession, port: int) -> Iterator[Query]:
    jvm: Any = spark._jvm
    jvm.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")
    address = f"jdbc:hive2://127.0.0.1:{port}/default"
    connection = jvm.java.sql.DriverManager.getConnection(address, "anyone", "")

    def query(text: str) -> object:
        statement = connection.createStatement()
        try:
            if not statement.execute(text):
                return []
            result, rows = statement.getResultSet(), []
            columns = range(1, result.getMetaData().getColumnCount() + 1)
            while result.next():
                rows.append(tuple(result.getObject(column) for column in columns))
            return rows
        finally:
            statement.close()

    yield query
    connection.close()


@contextmanager
def _driver(spark: SparkSession, jar: Path, folder: Path) -> Iterator[tuple[int, int]]:
    """A driver in Java alone, with a Connect server and a Thrift server: their ports."""
    own = dict(spark.sparkContext.getConf().getAll())
    ports = [free_port(), free_port()]
    formats = [unquote(urlparse(one).path) for one in own["spark.jars"].split(",")]
    settings = {k: v for k, v in own.items() if k in _KEPT or k.startswith("spark.sql.")} | {
        "spark.ui.enabled": "false",
        "spark.jars": str(jar),
        # sessions of a Thrift server do not see the catalogs of jars that are added later
        "spark.driver.extraClassPath": os.pathsep.join(formats),
        "spark.sql.extensions": f"{own['spark.sql.extensions']},{EXTENSION}",
        "spark.lakesieve.python": sys.executable,
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(ports[0]),
        "spark.hadoop.hive.server2.thrift.port": str(ports[1]),
    }
    conf = [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    log = folder / "driver.log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [submit, *conf, "--class", _THRIFT_SERVER, "spark-internal"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
        )
    try:
        for port in ports:
            wait_until_it_listens(process, port, log=log)
        yield ports[0], ports[1]
    finally:
        process.terminate()
        process.wait()
