"""A real process with a real session is killed while it builds, refreshes, merges or drops.

``LAKESIEVE_SPARK_KILLS=20`` kills that many, ``LAKESIEVE_SEED`` draws other moments.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth

import lakesieve as ls
from lakesieve.errors import ErrorKind, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

KILLS = depth("SPARK_KILLS", test=1, soak=20)
OPERATIONS = ("create", "refresh", "compact", "drop")
VICTIM = Path(__file__).with_name("victim.py")
# the commit that is there at least, by the last line of the process; a drop takes them back
SURE = {
    ("begin", "create"): 0,
    ("end", "create"): 0,
    ("begin", "refresh"): 0,
    ("end", "refresh"): 1,
    ("begin", "compact"): 1,
    ("end", "compact"): 2,
    ("begin", "drop"): 0,
}
# about; a kill that comes late only falls into the next operation
FIRST_SECONDS = {"create": 3.0, "refresh": 1.5, "compact": 0.5, "drop": 0.05}
WITHOUT_INDEX = {"no-index", "index-missing-file"}


class Victim:
    """The process, and those that it starts: they are all of one session of the system.

    Args:
        warehouse: Of the table's catalog.
        table: The table.
        seconds: What each operation has taken so far; what this process tells is added.
    """

    def __init__(self, warehouse: str, table: str, seconds: dict[str, float]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(VICTIM), warehouse, table],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._seconds = seconds

    def wait_for(self, operation: str) -> None:
        """Read on until an operation begins."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._take(line)
            if line == f"begin {operation}\n":
                return
        raise AssertionError(f"it ended by itself after {self.lines}")

    def kill(self, *, with_children: bool) -> None:
        """End the process, alone or with all that it has started, and wait for those to end."""
        self._process.kill()
        if with_children:
            self._end_children()
        self._process.wait()
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._take(line)
        self._process.stdout.close()
        end = time.monotonic() + 60
        while self._children() and time.monotonic() < end:
            time.sleep(0.05)
        left = self._children()
        self._end_children()
        assert left == []

    def close(self) -> None:
        """Leave nothing behind, whatever has happened."""
        self._end_children()
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _take(self, line: str) -> None:
        words = line.split()
        if words[:1] in (["begin"], ["end"]):  # Spark writes there as well
            self.lines.append(line.strip())
        if words[:1] == ["end"]:
            self._seconds[words[1]] = float(words[2])

    def _children(self) -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                # the name in parentheses may hold anything
                state, _, _, session, *_ = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            pid = int(path.parent.name)
            if int(session) == self._process.pid and state != "Z" and pid != self._process.pid:
                found.append(pid)
        return found

    def _end_children(self) -> None:
        for pid in self._children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@pytest.fixture
def victims(spark: SparkSession, table: str) -> Iterator[Callable[[dict[str, float]], Victim]]:
    """Starts processes on a table of eight files; none of them outlives the test."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, v BIGINT) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    rows = spark.range(0, 80_000, 1, 8).selectExpr("(id * 7919) % 100003 AS k", "id AS v")
    rows.writeTo(table).append()
    started: list[Victim] = []
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))

    def start(seconds: dict[str, float]) -> Victim:
        started.append(Victim(warehouse, table, seconds))
        return started[-1]

    yield start
    for victim in started:
        victim.close()


@pytest.mark.timeout(120 * max(KILLS, 4))
def test_a_killed_operation_leaves_the_index_whole(
    spark: SparkSession,
    table: str,
    victims: Callable[[dict[str, float]], Victim],
    both: Callable[[str], tuple[int, int]],
) -> None:
    """After a kill, the index is complete or does not exist, and the next run continues."""
    seed = depth("SEED", test=5, soak=random.randrange(2**32))
    moments = random.Random(seed)
    known = dict(FIRST_SECONDS)
    for number in range(KILLS):
        operation = OPERATIONS[number % len(OPERATIONS)]
        victim = victims(known)
        victim.wait_for(operation)
        seconds = moments.uniform(0, known[operation])
        time.sleep(seconds)
        # the Java process and the workers end with their driver, or at the same moment
        victim.kill(with_children=moments.random() < 0.5)
        text = f"{operation} killed after {seconds:.3f} s with seed {seed}: {victim.lines[-3:]}"
        spark.sql(f"REFRESH TABLE {table}")
        _check(spark, table, both, victim.lines, text)


def _check(
    spark: SparkSession,
    table: str,
    both: Callable[[str], tuple[int, int]],
    lines: list[str],
    story: str,
) -> None:
    last = lines[-1].split()
    total, read = both(f"SELECT * FROM {table} WHERE k IN (5, 7919, 50000) OR k = -1")
    codes = {str(r.code) for p in ls.last_pruning(spark) for r in p.reasons}
    index = _opened(spark, table)
    if index is None:
        # what was there is only gone where it was just dropped, or had been
        assert last[:2] in (["begin", "create"], ["begin", "drop"], ["end", "drop"]), story
        assert codes <= WITHOUT_INDEX, story
        assert read == total, story
        index = ls.create_index(table, ["k"], spark=spark)
    else:
        assert index.info().commit >= SURE[last[0], last[1]], story
        assert "index-used" in codes, story
        assert read < total, story
        index.refresh()
    assert index.verify().is_sound, story
    assert index.verify_rows(files=None).wrong == (), story
    assert index.files("k = 5").uncovered == 0, story
    index.compact()
    index.vacuum(retain_commits=1, older_than=timedelta(0), dry_run=False)
    assert index.verify().is_sound, story
    _, read = both(f"SELECT * FROM {table} WHERE k = 5")
    assert read < total, story


def _opened(spark: SparkSession, table: str) -> ls.SparkIndex | None:
    try:
        return ls.open_index(table, "k", spark=spark)
    except NotFoundError as error:
        if error.kind is not ErrorKind.INDEX_NOT_FOUND:
            raise
        return None
