"""Other commits, or a kill, between the plan of a conversion and its own commit."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.deletes.kit import EqualityDeletes, load, stock_rows

import lakesieve as ls
from lakesieve.errors import CommitConflictError, ErrorKind
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from lakesieve.deletes import ConversionProgress

COMPACT = (
    "CALL lake.system.rewrite_data_files(table => '{t}', options => map('rewrite-all','true'))"
)
# format version, what happens in between, the conflicts that it makes
CHANGES = [
    pytest.param(2, "INSERT INTO {t} SELECT id, id % 2, -id FROM range(8)", 0, id="append"),
    pytest.param(2, "DELETE FROM {t} WHERE v IN (5, 26)", 0, id="position delete"),
    pytest.param(3, "DELETE FROM {t} WHERE v IN (5, 26)", 1, id="deletion vector"),
    pytest.param(3, "DELETE FROM {t} WHERE p = 0", 1, id="delete of files"),
    pytest.param(2, "INSERT OVERWRITE {t} SELECT id, 1, id FROM range(12)", 1, id="overwrite"),
    pytest.param(2, COMPACT, 1, id="compaction"),
    pytest.param(3, COMPACT, 1, id="compaction of vectors"),
    pytest.param(2, "CALL lake.system.rollback_to_snapshot('{t}', {first})", 1, id="rollback"),
    pytest.param(2, "ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3')", 1, id="upgrade"),
    pytest.param(3, "ALTER TABLE {t} RENAME COLUMN k TO kk", 0, id="rename"),
]
GUIDED = {"append", "deletion vector", "compaction", "rollback"}


def build(spark: SparkSession, table: str, version: int) -> EqualityDeletes:
    """Two partitions of two data files each; keys deleted in all of them."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, p BIGINT, v BIGINT) USING iceberg PARTITIONED BY (p) "
        f"TBLPROPERTIES ('format-version'='{version}', 'write.delete.mode'='merge-on-read')"
    )
    for start in (0, 20):
        spark.sql(
            f"INSERT INTO {table} SELECT /*+ REPARTITION(1) */ id % 20, id % 2, id "
            f"FROM range({start}, {start + 20})"
        )
    deletes = EqualityDeletes(spark, table)
    for partition in deletes.partitions():
        deletes.delete(["k"], [[1], [2], [3], [4]], partition=partition)
    return deletes


def stray_files(spark: SparkSession, table: str) -> set[str]:
    """Return files that conversions wrote and no snapshot names."""
    data = local_path(str(load(spark, table).location())) / "data"
    written = {path.name for path in data.glob("lakesieve-*/*") if not path.name.startswith(".")}
    named = spark.sql(f"SELECT file_path FROM {table}.all_delete_files").collect()
    return written - {Path(row.file_path).name for row in named}


def once(action: Callable[[], object]) -> Callable[[ConversionProgress], None]:
    """Run something just before the first commit."""
    waiting = [action]

    def hear(report: ConversionProgress) -> None:
        if report.phase == "commit" and waiting:
            waiting.pop()()

    return hear


def convert_while(spark: SparkSession, table: str, change: str) -> int:
    """Convert with another commit in between, and return the number of conflicts."""
    first = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").first()
    left: list[list[str]] = []

    def act() -> None:
        spark.sql(change.format(t=table, first=first[0] if first else 0))
        left.append(stock_rows(spark, table))

    done = ls.deletes.convert(table, spark=spark, progress=once(act))

    assert stock_rows(spark, table) == left[0]
    assert ls.deletes.status(table, spark=spark, count_keys=False).equality_files == 0
    assert stray_files(spark, table) == set()
    return done.conflicts


# one that makes no conflict, and one that does
@pytest.mark.in_time("append", "compaction")
@pytest.mark.parametrize(("version", "change", "conflicts"), CHANGES)
def test_commits_in_between(
    spark: SparkSession, table: str, version: int, change: str, conflicts: int
) -> None:
    """Whatever others commit, the rows stay the same."""
    build(spark, table, version)

    assert convert_while(spark, table, change) == conflicts


# a file that the index does not cover; the others are checked without an index
# test_transparent has an index that guides
@pytest.mark.soak
@pytest.mark.parametrize(("version", "change", "conflicts"), [p for p in CHANGES if p.id in GUIDED])
def test_commits_in_between_with_an_index(
    spark: SparkSession, table: str, version: int, change: str, conflicts: int
) -> None:
    """The rows also stay the same if an index guides the search and does not cover new files."""
    build(spark, table, version)
    ls.create_index(table, ["k"], spark=spark)

    assert convert_while(spark, table, change) == conflicts


# rarer than the two commits above
@pytest.mark.soak
@pytest.mark.parametrize("version", [2, 3], ids=["v2", "v3"])
def test_more_commits_in_between(spark: SparkSession, table: str, version: int) -> None:
    """Older compactions, other deletes and other conversions lose no row."""
    deletes = build(spark, table, version)
    expected = stock_rows(spark, table)
    done = ls.deletes.convert(table, spark=spark, progress=once(deletes.replace_by_copies))

    assert (stock_rows(spark, table), done.conflicts) == (expected, 1)

    deletes.delete(["v"], [[5], [25]], partition=deletes.partitions()[1])
    later = once(lambda: deletes.delete(["v"], [[7]], partition=deletes.partitions()[1]))
    done = ls.deletes.convert(table, spark=spark, progress=later)

    assert done.conflicts == 0
    assert ls.deletes.status(table, spark=spark).equality_records == 1

    expected = stock_rows(spark, table)
    other = once(lambda: assert_converted(spark, table))
    done = ls.deletes.convert(table, spark=spark, progress=other)

    assert (stock_rows(spark, table), done.conflicts, done.commits) == (expected, 1, 0)
    assert stray_files(spark, table) == set()


def assert_converted(spark: SparkSession, table: str) -> None:
    """Convert like another process."""
    assert ls.deletes.convert(table, spark=spark).commits == 1


# the commits above conflict once, here as often as is tried
@pytest.mark.soak
def test_giving_up(spark: SparkSession, table: str) -> None:
    """After the last attempt, an error names the reason, and the table is unchanged."""
    deletes = build(spark, table, 2)
    expected = stock_rows(spark, table)

    def interfere(report: ConversionProgress) -> None:
        if report.phase == "commit":
            deletes.replace_by_copies()

    with pytest.raises(CommitConflictError, match="missing data files") as raised:
        ls.deletes.convert(table, spark=spark, attempts=2, progress=interfere)

    assert raised.value.kind is ErrorKind.CONFLICT
    assert stock_rows(spark, table) == expected
    assert stray_files(spark, table) == set()


CONVERSION = """
import os, random, signal, sys, threading, time
import lakesieve as ls

warehouse, table, moment = sys.argv[1:]
spark = ls.local_session(warehouse, conf={"spark.master": "local[1]"})
java = spark._jvm.java.lang.ProcessHandle.current().pid()
seen = []

def kill():
    time.sleep(random.random() * 0.4)
    os.kill(java, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)

def hear(report):
    seen.append(report.phase)
    if report.phase == moment and seen.count(moment) == 2:
        threading.Thread(target=kill).start()

ls.deletes.convert(table, spark=spark, partial_progress=True, progress=hear)
time.sleep(60)
"""


# test_killed and test_maintained kill processes in every build
@pytest.mark.soak
@pytest.mark.parametrize("moment", [pytest.param("write", marks=pytest.mark.soak), "commit"])
def test_killed(spark: SparkSession, table: str, moment: str) -> None:
    """A conversion that is killed in its second part keeps the rows; the next one continues."""
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))
    build(spark, table, 3)
    expected = stock_rows(spark, table)
    killed = subprocess.run(
        [sys.executable, "-c", CONVERSION, warehouse, table, moment],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    spark.catalog.refreshTable(table)

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert stock_rows(spark, table) == expected
    left = ls.deletes.status(table, spark=spark, count_keys=False).equality_files
    assert left in ({1} if moment == "write" else {0, 1})

    done = ls.deletes.convert(table, spark=spark, partial_progress=True)

    assert (done.commits, done.removed_files) == (left, left)
    assert stock_rows(spark, table) == expected
