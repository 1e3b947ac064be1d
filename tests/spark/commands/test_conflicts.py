"""Commits of other writers between the planning of a command and its own commit."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from tests.depth import is_soak
from tests.spark.commands.kit import KINDS, SqlTable

import lakesieve as ls
from lakesieve.planner import planner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    Rows = set[tuple[int, int]]

# the other version of the format commits in the same way
IN_SOAK = ("iceberg_2_on_read", "iceberg_3_on_read", "iceberg_3_on_write", "delta_rewrites")
# an isolation level of Iceberg's, by kind of table
CASES = [
    *((kind, "serializable") for kind in KINDS if kind not in IN_SOAK),
    *(pytest.param((kind, "serializable"), marks=pytest.mark.soak) for kind in IN_SOAK),
    # the looser level
    pytest.param(("iceberg_3_on_read", "snapshot"), marks=pytest.mark.soak),
    pytest.param(("iceberg_2_on_write", "snapshot"), marks=pytest.mark.soak),
]
REJECTED = re.compile("ValidationException|CommitFailed|(?i:concurrent)")


@pytest.fixture(params=CASES, ids=" ".join)
def case(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[SqlTable, str]]:
    """Four files of scattered keys, with an index on them and skipping on, and the isolation."""
    kind, level = request.param
    table = SqlTable(spark, kind, f"conflicts_{kind}_{level}", tmp_path)
    levels = ", ".join(f"'write.{c}.isolation-level'='{level}'" for c in ("delete", "update"))
    table.create("k BIGINT, v BIGINT", f", {levels}" if table.kind.provider == "iceberg" else "")
    spark.range(0, 40, 1, 4).selectExpr("(id * 7) % 41 AS k", "id AS v").writeTo(
        table.name
    ).append()
    ls.create_index(table.name, ["k"], spark=spark)
    ls.enable(spark)
    yield table, level
    ls.disable(spark)
    table.drop()


def content(spark: SparkSession, table: SqlTable) -> Rows:
    """The rows."""
    return {tuple(row) for row in spark.table(table.name).collect()}


def run(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, command: str, other: str) -> bool:
    """Run a command, and another one after the first scan is planned; return if it was rejected."""
    waiting = [other]
    plan: Callable[..., object] = vars(planner)["plan"]

    def hear(*arguments: object, **named: object) -> object:
        if waiting:
            # in a thread of its own, as Delta keeps the transaction of each
            other_thread = threading.Thread(target=spark.sql, args=(waiting.pop(),))
            other_thread.start()
            other_thread.join()
        return plan(*arguments, **named)

    # the other command takes its time, for which planning would not wait
    spark.conf.set("spark.lakesieve.planning.seconds", "120")
    with monkeypatch.context() as patched:
        patched.setattr(planner, "plan", hear)
        try:
            spark.sql(command)
        except (PySparkException, Py4JJavaError) as error:
            if not REJECTED.search(str(error)):
                raise
            return True
        finally:
            spark.conf.unset("spark.lakesieve.planning.seconds")
            assert not waiting
    return False


def without(key: int) -> Callable[[Rows], Rows]:
    """Return the rows after a DELETE."""
    return lambda rows: {row for row in rows if row[0] != key}


def raised(low: int, high: int, step: int) -> Callable[[Rows], Rows]:
    """Return the rows after an UPDATE."""
    return lambda rows: {(k, v + step if low <= k <= high else v) for k, v in rows}


def test_commits_in_between(
    spark: SparkSession, case: tuple[SqlTable, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command is rejected, or both commands take effect in one of the two orders."""
    table, level = case
    name = table.name
    # the command, the other one, what they do, and whether the first one must be rejected
    steps = (
        (
            f"DELETE FROM {name} WHERE k = 7",
            f"INSERT INTO {name} VALUES (7, -1)",
            without(7),
            lambda rows: rows | {(7, -1)},
            level == "serializable",
        ),
        (
            f"UPDATE {name} SET v = v + 1000 WHERE k = 9",
            f"UPDATE {name} SET v = v + 500 WHERE k BETWEEN 8 AND 10",
            raised(9, 9, 1000),
            raised(8, 10, 500),
            True,
        ),
        (
            f"DELETE FROM {name} WHERE k = 11",
            f"DELETE FROM {name} WHERE k = 12",
            without(11),
            without(12),
            None,
        ),
        (
            f"UPDATE {name} SET v = v + 1000 WHERE k = 13",
            table.compact(),
            raised(13, 13, 1000),
            lambda rows: rows,
            True,
        ),
    )
    # a writer of new rows, and one of the same row; the others conflict like these
    for command, other, does, does_other, expected in steps if is_soak() else steps[:2]:
        before = content(spark, table)
        ls.open_index(name, "k", spark=spark).refresh()

        rejected = run(spark, monkeypatch, command, other)

        after = content(spark, table)
        if rejected:
            assert after == does_other(before), command
        else:
            assert after in (does(does_other(before)), does_other(does(before))), command
        assert expected is None or rejected == expected, command
