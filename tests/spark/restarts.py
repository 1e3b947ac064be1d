"""A process that starts a Spark session, stops it, and starts the next one, as notebooks do.

Run as ``python -m tests.spark.restarts FOLDER FORMAT...``. Prints a JSON list with one entry for
each session, the last of which has a second session beside it. An entry tells how many data files
of how many a query read, by format, and what the classes of the JVM take by then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, TypedDict

from tests.depth import depth
from tests.spark.own_jars import helper_class
from tests.spark.settings import SETTINGS

import lakesieve as ls

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["SESSIONS", "Session", "files_of_a_point", "query", "restarted", "write"]

SESSIONS = depth("SESSIONS", test=3, soak=11)
"""How many sessions: two restarts, and ten in a soak."""


class Session(TypedDict):
    """What one session read, and what the JVM has loaded by then.

    Args:
        read: ``read/total`` data files, by format.
        classes: Number of lakesieve's Java classes.
        metaspace: KiB that the metadata of all classes take.
    """

    read: dict[str, str]
    classes: int
    metaspace: int


def restarted(folder: Path, *formats: str) -> list[Session]:
    """Run this script in a process of its own, and return what each of its sessions tells."""
    command = [sys.executable, "-m", "tests.spark.restarts", str(folder), *formats]
    # no test tells this process how deep it goes
    variables = os.environ | {"LAKESIEVE_SESSIONS": str(SESSIONS)}
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise AssertionError(ran.stderr)
    sessions: list[Session] = json.loads(ran.stdout.splitlines()[-1])
    return sessions


def table_of(format_name: str, folder: str) -> str:
    """Return the name of the table of one format."""
    if format_name == "iceberg":
        return "lake.db.t"
    return f"{format_name}:{folder}/{format_name}"


def write(spark: SparkSession, format_name: str, folder: str) -> None:
    """Write four data files, each with keys from the whole range, and index them."""
    rows = spark.range(0, 400, 1, 4).selectExpr("id * 319 % 400 AS id")
    table = table_of(format_name, folder)
    if format_name == "iceberg":
        rows.writeTo(table).create()
    elif format_name == "hudi":
        writer = rows.write.format("hudi").option("hoodie.table.name", "t")
        bulk = writer.option("hoodie.datasource.write.operation", "bulk_insert")
        bulk.option("hoodie.bulkinsert.shuffle.parallelism", "4").save(f"{folder}/hudi")
    else:
        rows.write.format(format_name).save(f"{folder}/{format_name}")
    ls.create_index(table, ["id"], spark=spark)


def files_of_a_point(spark: SparkSession, format_name: str, folder: str) -> str:
    """Query one key, and return ``read/total`` data files."""
    query(spark, format_name, folder)
    (scan,) = ls.last_pruning(spark)
    return f"{scan.files_read}/{scan.files_total}"


def query(spark: SparkSession, format_name: str, folder: str) -> None:
    """Query one key."""
    table = table_of(format_name, folder)
    if format_name == "iceberg":
        frame = spark.table(table)
    else:
        frame = spark.read.format(format_name).load(f"{folder}/{format_name}")
    ids = [row["id"] for row in frame.where("id = 250").select("id").collect()]
    if ids != [250]:
        raise SystemExit(f"{table}: {ids}")


def main(folder: str, *formats: str) -> None:
    """Query in each session; the last has other settings, and a second session beside it."""
    sessions: list[Session] = []
    for number in range(SESSIONS):
        last = number == SESSIONS - 1
        partitions = "3" if last else "2"
        conf = SETTINGS | {"spark.sql.shuffle.partitions": partitions}
        spark = ls.local_session(f"{folder}/warehouse", formats=formats, conf=conf)
        if spark.conf.get("spark.sql.shuffle.partitions") != partitions:
            raise SystemExit(f"session {number} has the settings of the one before")
        for format_name in formats if number == 0 else ():
            write(spark, format_name, folder)
        for each in (spark, spark.newSession()) if last else (spark,):
            # its listener calls back into Python, too
            ls.enable(each, refresh="after-write")
            read = {name: files_of_a_point(each, name, folder) for name in formats}
            loaded = helper_class(each, "LoadedClasses")
            classes, metaspace = int(loaded.own()), int(loaded.metaspace())
            sessions.append({"read": read, "classes": classes, "metaspace": metaspace})
        spark.stop()
    sys.stdout.write(f"{json.dumps(sessions)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
