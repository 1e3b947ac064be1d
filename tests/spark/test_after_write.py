"""Indexes are refreshed after the commits of a session, whatever made the commit."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import is_soak

import lakesieve as ls
from lakesieve.errors import InvalidInputError
from lakesieve.spark.build.refresh import refresh_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables import SparkTable

    Command = Callable[[SparkSession, str, str], object]

PATIENCE = 60.0
REFRESH = "lakesieve.spark.build.after_write.refresh_each"


@pytest.fixture
def refreshing(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that refreshes after its writes, for one test."""
    ls.enable(spark, refresh="after-write")
    yield spark
    ls.disable(spark)


def rows(spark: SparkSession, first: int = 0, count: int = 100) -> DataFrame:
    """Rows in two files."""
    return spark.range(first, first + count, 1, 2).selectExpr("id", "id * 7 AS v")


def indexed(spark: SparkSession, table: str) -> str:
    """An Iceberg table of two files with an index."""
    rows(spark).writeTo(table).using("iceberg").create()
    ls.create_index(table, ["id"], spark=spark)
    return table


def lacking(spark: SparkSession, table: str) -> int:
    """How many files the table's index does not cover."""
    (planned,) = ls.refresh_indexes(table, spark=spark, dry_run=True)
    return planned.files


def commits(spark: SparkSession, table: str) -> int:
    """How many commits the index has."""
    return len(ls.open_index(table, "id", spark=spark).history())


def waited(fact: Callable[[], bool]) -> bool:
    """Return whether something becomes true in time."""
    until = time.monotonic() + PATIENCE
    while not fact():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def sql(text: str) -> Command:
    """A command in SQL, over ``{table}``."""
    return lambda spark, table, _: spark.sql(text.format(table=table))


COMMANDS: dict[str, Command] = {
    "insert": sql("INSERT INTO {table} SELECT id + 1000, 1 FROM range(10)"),
    "overwrite": sql("INSERT OVERWRITE {table} SELECT id, 1 FROM range(200)"),
    "delete": sql("DELETE FROM {table} WHERE id % 3 = 0"),
    "update": sql("UPDATE {table} SET v = 0 WHERE id < 10"),
    "merge": sql(
        "MERGE INTO {table} t USING (SELECT id + 195 AS id, 0 AS v FROM range(10)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    ),
    "optimize": lambda spark, table, provider: (
        spark.sql(f"OPTIMIZE {table}")
        if provider == "delta"
        else rows(spark).writeTo(table).append()
    ),
    "writeTo": lambda spark, table, _: rows(spark, 1000).writeTo(table).append(),
    # Delta makes another table of it, which the index is not of
    "replace": lambda spark, table, provider: (
        rows(spark, 5000).writeTo(table).using(provider).createOrReplace()
        if provider == "iceberg"
        else rows(spark, 5000).write.insertInto(table)
    ),
    "insertInto": lambda spark, table, _: rows(spark, 2000).write.insertInto(table),
    "saveAsTable": lambda spark, table, provider: (
        rows(spark, 3000).write.format(provider).mode("append").saveAsTable(table)
    ),
}


# in a build: SQL and frames, old and new ways to write, commits that add, replace and rewrite
IN_TIME = ("insert", "delete", "merge", "replace", "saveAsTable")


@pytest.mark.parametrize("provider", ["iceberg", pytest.param("delta", marks=pytest.mark.soak)])
def test_every_kind_of_commit(
    refreshing: SparkSession, table: str, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each kind of command, every live file is covered."""
    done: list[str] = []

    def seen(spark: SparkSession, table: SparkTable, *rest: Any) -> Any:
        done.append(table.reader.name)
        return refresh_each(spark, table, *rest)

    monkeypatch.setattr(REFRESH, seen)
    name = table if provider == "iceberg" else f"spark_catalog.default.{table.rpartition('.')[2]}"
    refreshing.sql(
        f"CREATE TABLE {name} (id BIGINT, v BIGINT) USING {provider} TBLPROPERTIES "
        "('write.delete.mode'='copy-on-write', 'delta.enableDeletionVectors'='false')"
    )
    try:
        ls.create_index(name, ["id"], spark=refreshing)
        for command in COMMANDS if is_soak() else IN_TIME:
            run = COMMANDS[command]
            done.clear()
            run(refreshing, name, provider)
            assert waited(lambda: bool(done)), command
            assert waited(lambda: lacking(refreshing, name) == 0), command
    finally:
        ls.disable(refreshing)
        refreshing.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("by", ["name", pytest.param("session", marks=pytest.mark.soak)])
def test_commits_to_a_branch(refreshing: SparkSession, table: str, by: str) -> None:
    """The files of the branch that was written to are covered, not only those of main."""
    indexed(refreshing, table)
    refreshing.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    refreshing.sql(f"ALTER TABLE {table} CREATE BRANCH `au-dit`")
    branch = f"{table}.`branch_au-dit`"
    if by == "session":
        refreshing.conf.set("spark.wap.branch", "au-dit")
    try:
        for command in ("insert", "delete", "merge"):
            COMMANDS[command](refreshing, table if by == "session" else branch, "iceberg")
            assert waited(lambda: lacking(refreshing, branch) == 0), command
    finally:
        refreshing.conf.unset("spark.wap.branch")


# Delta's commits are noticed in the same place
@pytest.mark.in_time("parquet")
@pytest.mark.parametrize("provider", ["delta", "parquet"])
def test_tables_by_their_paths(refreshing: SparkSession, tmp_path: Path, provider: str) -> None:
    """Commits to tables by their paths are noticed, too."""
    name = f"{provider}:{tmp_path}/t"
    folder = name.partition(":")[2]
    rows(refreshing).write.format(provider).save(folder)
    ls.create_index(name, ["id"], spark=refreshing)
    rows(refreshing, 1000).write.format(provider).mode("append").save(folder)
    assert waited(lambda: lacking(refreshing, name) == 0)


# the tests above notice commits of the same kind
@pytest.mark.soak
def test_a_compaction(refreshing: SparkSession, table: str) -> None:
    """The commit of a compaction procedure is noticed."""
    indexed(refreshing, table)
    short = table.removeprefix("lake.")
    refreshing.sql(
        f"CALL lake.system.rewrite_data_files(table => '{short}', "
        "options => map('rewrite-all', 'true'))"
    )
    assert waited(lambda: lacking(refreshing, table) == 0)
    assert commits(refreshing, table) == 2
    ls.disable(refreshing)
    rows(refreshing, 1000).writeTo(table).append()
    refreshing.sql(f"CALL lake.system.rewrite_data_files('{short}')")
    assert lacking(refreshing, table) > 0


# a stream of the other format commits like any writer of it
@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("provider", ["iceberg", "delta"])
def test_streams(refreshing: SparkSession, table: str, tmp_path: Path, provider: str) -> None:
    """Each batch of a stream is noticed."""
    source, target = tmp_path / "source", tmp_path / "target"
    rows(refreshing).write.parquet(str(source))
    name = table
    stream = refreshing.readStream.schema("id BIGINT, v BIGINT").parquet(str(source)).writeStream
    stream = stream.format(provider).option("checkpointLocation", str(tmp_path / "checkpoint"))
    if provider == "iceberg":
        refreshing.sql(f"CREATE TABLE {table} (id BIGINT, v BIGINT) USING iceberg")
    else:
        rows(refreshing, 500).write.format("delta").save(str(target))
        name = f"delta:{target}"
    ls.create_index(name, ["id"], spark=refreshing)

    stream = stream.trigger(availableNow=True)
    query = stream.toTable(table) if provider == "iceberg" else stream.start(str(target))
    query.awaitTermination()

    assert waited(lambda: lacking(refreshing, name) == 0)
    assert ls.find_files(name, "id = 42", spark=refreshing).total > 1


# upserts refresh their indexes in commands/test_upsert
@pytest.mark.soak
def test_a_command_that_refreshes_itself(refreshing: SparkSession, table: str) -> None:
    """An upsert indexes its files in its own call, and nothing else does."""
    indexed(refreshing, table)
    change = ls.upsert(rows(refreshing, 90), table, on=["id"], spark=refreshing)
    (refreshed,) = change.refreshed
    assert refreshed.files > 0
    ls.disable(refreshing)
    assert commits(refreshing, table) == 2
    assert lacking(refreshing, table) == 0


def test_writers_never_wait(
    refreshing: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits during a refresh cause one more refresh, and disable waits for it."""
    indexed(refreshing, table)
    begun, gate = threading.Event(), threading.Event()
    seen: list[int] = []

    def slow(*of: Any) -> Any:
        begun.set()
        assert gate.wait(PATIENCE)
        done: Any = refresh_each(*of)
        seen.append(done["id"].files)
        return done

    monkeypatch.setattr(REFRESH, slow)
    rows(refreshing, 1000).writeTo(table).append()
    assert begun.wait(PATIENCE)
    for first in (2000, 3000, 4000):
        rows(refreshing, first).writeTo(table).append()
    assert not seen
    threading.Timer(0.5, gate.set).start()
    ls.disable(refreshing)
    # what was committed before the gate opened is found by the first of both
    assert sum(seen) == 8
    assert len(seen) == 2
    assert lacking(refreshing, table) == 0

    rows(refreshing, 5000).writeTo(table).append()
    ls.disable(refreshing)
    assert len(seen) == 2, "nothing is refreshed once it is off"


def test_what_fails_is_a_warning(
    refreshing: SparkSession,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failed refresh affects no commit, and the next commit causes a new refresh."""
    indexed(refreshing, table)

    def broken(*_: object) -> Any:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "lakesieve.refresh"):
        patch.setattr(REFRESH, broken)
        rows(refreshing, 1000).writeTo(table).append()
        assert waited(lambda: bool(caplog.records))
    assert table in caplog.text
    assert "the disk is full" in caplog.text
    assert refreshing.table(table).count() == 200

    rows(refreshing, 2000).writeTo(table).append()
    assert waited(lambda: lacking(refreshing, table) == 0)


def test_tables_without_indexes(
    refreshing: SparkSession, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Tables without indexes, views and dropped tables cause no warning."""
    with caplog.at_level(logging.WARNING, "lakesieve.refresh"):
        rows(refreshing).writeTo(table).using("iceberg").create()
        rows(refreshing).writeTo(table).append()
        refreshing.sql(f"DELETE FROM {table}")
        refreshing.sql(f"DROP TABLE {table}")
        ls.disable(refreshing)
    assert not caplog.records


def test_values_of_refresh(spark: SparkSession) -> None:
    """An invalid value is refused with the valid ones."""
    with pytest.raises(
        InvalidInputError, match=r"'sometimes' is not a known value\. Give 'after-write'"
    ):
        ls.enable(spark, refresh="sometimes")
