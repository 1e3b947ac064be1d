"""A driver without Python that serves clients, and sessions of clients that Python has none for."""

from __future__ import annotations

import atexit
import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.connect.session import SparkSession as ConnectSession
from tests.ports import free_port, wait_until_it_listens
from tests.spark.extension.kit import PROGRAMS, conf_of

from lakesieve.spark.local import packages_conf
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["JOINED", "Driver", "ThriftSession", "connect_session", "thrift_session"]

JOINED = "lakesieve.spark.statements.joined"
"""The module of the process that runs statements about indexes."""

THRIFT_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
# Spark 3.5 does not bring it along, and it is not published for each of its versions
_CONNECT = "org.apache.spark:spark-connect_2.12:3.5.7"


# Python may free a session during a call of another session; closing its client then never ends
_CONNECTED: list[ConnectSession] = []


def connect_session(port: int | str) -> Any:
    """Start a session of Spark Connect, which is not freed before the process ends."""
    session = ConnectSession(f"sc://127.0.0.1:{port}")
    _CONNECTED.append(session)
    # from Spark 4.1 on, a client calls its server when Python ends, and tries again for ten minutes
    if cleanup := getattr(session.client, "_cleanup_ml_cache", None):
        atexit.unregister(cleanup)
    return session


class Driver:
    """The process of a driver in Java alone, with a Thrift server, and a Connect server if any."""

    def __init__(self, settings: dict[str, str], folder: Path, *, connects: bool = True) -> None:
        self.connect, self.thrift = free_port(), free_port()
        settings = settings | {"spark.hadoop.hive.server2.thrift.port": str(self.thrift)}
        if connects:
            settings |= _connect_server(self.connect)
        self.log = folder / "log"
        submit = [str(PROGRAMS / "spark-submit"), *conf_of(settings)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*submit, "--class", THRIFT_SERVER, "spark-internal"],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        for port in (self.thrift, self.connect)[: 1 + connects]:
            wait_until_it_listens(self.process, port, log=self.log)

    def companions(self) -> list[int]:
        """Process ids of the children that answer the rule."""
        return self.children("lakesieve.planner.companion")

    def children(self, module: str) -> list[int]:
        """Process ids of the children that run a module of Python."""
        return [pid for pid, command in self._commands().items() if module in command]

    def state(self) -> str:
        """Return the children of the driver and the end of its log, for a failure's message."""
        commands = [f"{pid} {command}" for pid, command in self._commands().items()]
        lines = self.log.read_text("utf-8", "replace").splitlines()[-40:]
        return "\n".join([f"driver {self.process.pid}, its children:", *commands, *lines])

    def _commands(self) -> dict[int, str]:
        """Return the command of each child of the driver, by its process id."""
        # -ww: the whole command, whatever COLUMNS says
        listed = subprocess.run(
            ["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        )
        rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
        own = str(self.process.pid)
        return {int(row[0]): " ".join(row[2:]) for row in rows if row[1] == own}

    def end(self) -> None:
        """End it, as its user would."""
        self.process.terminate()
        self.process.wait(timeout=60)


def _connect_server(port: int) -> dict[str, str]:
    """Return the settings of a Connect server."""
    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    if not pyspark.__version__.startswith("3."):
        return settings
    launcher = packages_conf(spark_version_of(pyspark.__version__), ())
    return settings | launcher | {"spark.jars.packages": _CONNECT}


class _Row(tuple[Any, ...]):
    """A row with the names of its columns."""

    names: tuple[str, ...] = ()

    def asDict(self, *, recursive: bool) -> dict[str, Any]:  # noqa: N802 - as Spark has it
        """The values by their names."""
        assert recursive
        return dict(zip(self.names, self, strict=True))


class _Frame:
    def __init__(self, session: ThriftSession, query: str) -> None:
        self._session = session
        self._query = query

    def collect(self) -> list[_Row]:
        """The rows."""
        return self._session.rows(self._query)

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802 - as Spark has it
        """Name the query."""
        self._session.rows(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {self._query}")


class ThriftSession:
    """One connection of Java's JDBC driver to a Thrift server.

    Args:
        jvm: A JVM that has the driver, as py4j reaches it.
        address: Of the server.
    """

    def __init__(self, jvm: Any, address: str) -> None:
        jvm.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")
        self._connection = jvm.java.sql.DriverManager.getConnection(address, "anyone", "")
        self.conf = self
        self.catalog = self

    def sql(self, query: str) -> _Frame:
        """A query, which is run when it is collected."""
        return _Frame(self, query)

    def rows(self, query: str) -> list[_Row]:
        """Run a statement."""
        statement = self._connection.createStatement()
        try:
            if not statement.execute(query):
                return []
            result = statement.getResultSet()
            described = result.getMetaData()
            numbers = range(1, described.getColumnCount() + 1)
            names = tuple(described.getColumnLabel(number) for number in numbers)
            nested = {n for n in numbers if str(described.getColumnTypeName(n)).lower() == "array"}
            kind = type("Row", (_Row,), {"names": names})
            rows = []
            while result.next():
                values = {number: result.getObject(number) for number in numbers}
                # the driver has them as text
                values |= {number: json.loads(values[number]) for number in nested}
                rows.append(kind(values.values()))
            return rows
        finally:
            statement.close()

    def set(self, name: str, value: str) -> None:
        """Set a setting."""
        self.rows(f"SET {name}={value}")

    def get(self, name: str) -> str:
        """The value of a setting."""
        return str(self.rows(f"SET {name}")[0][1])

    def dropTempView(self, name: str) -> None:  # noqa: N802 - as Spark has it
        """Drop a view."""
        self.rows(f"DROP VIEW {name}")

    def close(self) -> None:
        """End the session."""
        self._connection.close()


@contextmanager
def thrift_session(jvm: Any, port: int) -> Iterator[ThriftSession]:
    """A session that is closed in the end."""
    session = ThriftSession(jvm, f"jdbc:hive2://127.0.0.1:{port}/default")
    try:
        yield session
    finally:
        session.close()
