"""A driver in Java alone, with lakesieve's jar: its process and its settings."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pyspark
from tests.serve.running import free_port

from lakesieve.spark.extension.result import EXTENSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["COLUMNS", "PROGRAMS", "Driver", "conf_of", "settings_of"]

PROGRAMS = Path(pyspark.__file__).parent / "bin"
"""The programs of Spark."""

COLUMNS = ("i", "l", "s", "d", "t", "x")
THRIFT_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
# what the driver of the tests has of its own
KEPT = ("spark.master", "spark.driver.host", "spark.driver.bindAddress", "spark.driver.memory")
KEPT_BELOW = ("spark.sql.", "spark.databricks.", "spark.lakesieve.planning.")


class Driver:
    """The process of a driver in Java alone, with a Connect server and a Thrift server."""

    def __init__(self, settings: dict[str, str], folder: Path) -> None:
        self.connect, self.thrift = free_port(), free_port()
        settings = settings | {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.port": str(self.connect),
            "spark.hadoop.hive.server2.thrift.port": str(self.thrift),
        }
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    PROGRAMS / "spark-submit",
                    *conf_of(settings),
                    "--class",
                    THRIFT_SERVER,
                    "spark-internal",
                ],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        for port in (self.connect, self.thrift):
            while not _listens(port):
                assert self.process.poll() is None, self.log.read_text()[-5000:]
                time.sleep(0.1)

    def companions(self) -> list[int]:
        """Process ids of the children that answer the rule."""
        listed = subprocess.run(
            ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        )
        rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
        of_driver = (row for row in rows if int(row[1]) == self.process.pid)
        return [int(row[0]) for row in of_driver if "lakesieve.spark.companion" in row[2]]

    def end(self) -> None:
        """End it, as its user would."""
        self.process.terminate()
        self.process.wait(timeout=60)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def settings_of(spark: SparkSession, jar: Path) -> dict[str, str]:
    """Those of a driver with the same tables, and the jar."""
    own = dict(spark.sparkContext.getConf().getAll())
    settings = {k: v for k, v in own.items() if k in KEPT or k.startswith(KEPT_BELOW)}
    jars = (unquote(urlparse(one).path) for one in own["spark.jars"].split(","))
    # of what they depend on, Spark has its own
    formats = [
        one for one in jars if Path(one).name.startswith(("io.delta_", "org.apache.iceberg_"))
    ]
    return settings | {
        "spark.ui.enabled": "false",
        # sessions of a Thrift server do not see the catalogs of jars that are added later
        "spark.driver.extraClassPath": os.pathsep.join(formats),
        "spark.jars": str(jar),
        "spark.sql.extensions": f"{own['spark.sql.extensions']},{EXTENSION}",
        "spark.lakesieve.python": sys.executable,
    }


def conf_of(settings: dict[str, str]) -> list[str]:
    """Settings as arguments of Spark's programs."""
    return [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
