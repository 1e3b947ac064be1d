"""Rows with new keys are inserted once, as in a model, whatever others commit meanwhile."""

from __future__ import annotations

import random
import threading
from functools import partialmethod
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.spark.commands.test_upsert import contents, frame, people

import lakesieve as ls
from lakesieve.errors import CommitConflictError, InvalidInputError
from lakesieve.planner.requests import read_request
from lakesieve.spark.commands import insert_new as module
from lakesieve.spark.commands.held_keys import HeldKeys
from lakesieve.spark.tables.delta.changes import DeltaChanges
from lakesieve.spark.tables.iceberg.changes import IcebergChanges

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["people"]

ROUNDS = depth("INSERTIONS", test=2, soak=40)
AT_ONCE = depth("INSERTIONS_AT_ONCE", test=2, soak=12)


def given(spark: SparkSession, keys: list[int], mark: int) -> DataFrame:
    """Rows with some keys."""
    return frame(spark, [(key, key % 3, f"ü{key}", mark) for key in keys])


@pytest.mark.in_time("iceberg_merge_on_read")
def test_insertions_equal_a_model(spark: SparkSession, people: str) -> None:
    """New keys are appended, rows of existing keys stay, and deleted keys count as new."""
    drawn = random.Random(f"insert {people}")
    model = {at: (at % 3, f"ü{at}", 0) for at in range(200)}
    for turn in range(1, ROUNDS + 1):
        keys = drawn.sample(range(400), drawn.choice((1, 7, 60)))
        on = drawn.choice((["id"], ["s", "region"], ["id", "s"]))
        new = {key: (key % 3, f"ü{key}", turn) for key in keys if key not in model}

        done = ls.insert_new(given(spark, keys, turn), people, on=on, spark=spark)

        model |= new
        assert contents(spark, people) == model
        assert (done.keys, done.inserted, done.known) == (len(keys), len(new), False)
        assert (done.version is None) == (not new)
        assert done.reasons == ()
        gone = drawn.sample(sorted(model), min(20, len(model) - 1))
        spark.sql(f"DELETE FROM {people} WHERE id IN ({', '.join(map(str, gone))})")
        model = {key: row for key, row in model.items() if key not in gone}
    assert [one.index for one in done.refreshed] == ["id", "region_s"]


@pytest.mark.in_time("iceberg_merge_on_read")
def test_only_files_that_can_hold_the_keys_are_read(spark: SparkSession, people: str) -> None:
    """Only one of eight files is read, that with the keys; a dry run changes nothing."""
    before = contents(spark, people)
    rows = given(spark, [7, 8, 1000], 9)

    tried = ls.insert_new(rows, people, on=["id"], spark=spark, dry_run=True)
    assert (tried.keys, tried.inserted, tried.files_read, tried.version) == (3, 1, 1, None)
    assert contents(spark, people) == before

    done = ls.insert_new(rows, people, on=["id"], spark=spark, refresh=None)
    assert (done.inserted, done.files_read, done.refreshed) == (1, 1, ())
    # the file that was just written is read as well: no index has seen it
    again = ls.insert_new(rows, people, on=["id"], spark=spark)
    assert (again.inserted, again.files_read, again.version) == (0, 2, None)
    assert contents(spark, people) == before | {1000: (1, "ü1000", 9)}


@pytest.mark.in_time("iceberg_merge_on_read-first-1")
@pytest.mark.parametrize(("rule", "kept"), [("first", 1), ("last", 3)])
def test_keys_that_are_given_twice(spark: SparkSession, people: str, rule: str, kept: int) -> None:
    """If a key is given twice, the rule selects one of its rows; without a rule it is an error."""
    rows = frame(spark, [(500, 0, "a", 1), (500, 1, "b", 2), (500, 2, "c", 3), (7, 0, "x", 9)])
    rows = rows.coalesce(1).sortWithinPartitions("v")
    with pytest.raises(InvalidInputError, match="id=500 is given 3 times"):
        ls.insert_new(rows, people, on=["id"], spark=spark)

    done = ls.insert_new(rows, people, on=["id"], spark=spark, duplicates=rule)

    assert (done.keys, done.inserted) == (2, 1)
    assert contents(spark, people)[500][2] == kept


@pytest.mark.in_time("iceberg_merge_on_read")
def test_a_transaction_is_done_once(spark: SparkSession, people: str) -> None:
    """A transaction that found nothing to insert inserts nothing later, after a key was deleted."""
    rows = given(spark, [7, 8], 9)

    first = ls.insert_new(rows, people, on=["id"], spark=spark, txn=("app", 1))
    spark.sql(f"DELETE FROM {people} WHERE id = 7")
    again = ls.insert_new(rows, people, on=["id"], spark=spark, txn=("app", 1))

    assert (first.inserted, first.known, again.known) == (0, False, True)
    assert 7 not in contents(spark, people)
    later = ls.insert_new(rows, people, on=["id"], spark=spark, txn=("app", 2))
    assert (later.inserted, later.known) == (1, False)


def in_between(monkeypatch: pytest.MonkeyPatch, commits: list[Callable[[], object]]) -> None:
    """Let others commit after an insertion has found its new rows and before it writes them."""
    inserting: list[object] = []

    def wait() -> None:
        # while others insert, nobody else does
        if commits and len(inserting) == 1:
            inserting.append("others")
            # in a thread of its own, as Delta keeps the transaction of each
            other = threading.Thread(target=commits.pop(0))
            other.start()
            other.join()
            inserting.remove("others")

    def insert(self: Any, *arguments: Any, kind: type[Any], original: Callable[..., Any]) -> Any:
        inserting.append(self)
        try:
            if kind is IcebergChanges:
                wait()
            return original(self, *arguments)
        finally:
            inserting.remove(self)

    for kind in (IcebergChanges, DeltaChanges):
        wrapped = partialmethod(insert, kind=kind, original=kind.insert)
        monkeypatch.setattr(kind, "insert", wrapped)

    def plan(request: str) -> Any:
        # Delta reads the table in the transaction of its MERGE
        wait()
        return read_request(request)

    # a session that skips files already holds the method of its planner: replace what that calls
    monkeypatch.setattr("lakesieve.planner.planner.read_request", plan)


# Iceberg has plain appends in between, below
@pytest.mark.in_time("delta_vectors")
def test_others_insert_the_same_key_meanwhile(
    spark: SparkSession, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second writer finds the key, even if the index does not cover its file."""
    before = contents(spark, people)
    # Delta keeps the settings of a MERGE by session
    another = spark.newSession() if "delta" in people else spark

    def other(*keys: int) -> Callable[[], object]:
        rows = given(another, list(keys), 1)
        return lambda: ls.insert_new(rows, people, on=["id"], spark=another, refresh=None)

    commits = [other(300, 301), other(302)]
    in_between(monkeypatch, commits)
    done = ls.insert_new(given(spark, [300, 302, 303, 7], 2), people, on=["id"], spark=spark)

    assert done.inserted == 1
    after = contents(spark, people)
    marks = {key: after[key][2] for key in after.keys() - before.keys()}
    assert marks == {300: 1, 301: 1, 302: 1, 303: 2}
    assert {key: row for key, row in after.items() if key in before} == before


# another moment of the same race
@pytest.mark.soak
def test_others_insert_right_after_the_look_up(
    spark: SparkSession, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit between the look-up and the write is found by the write, or by another look-up."""
    another = spark.newSession() if "delta" in people else spark
    commits = [[300, 301]]
    without = HeldKeys.without

    def late(self: HeldKeys, *arguments: Any, **rest: Any) -> Any:
        new = without(self, *arguments, **rest)
        if commits:
            rows = given(another, commits.pop(), 1)
            ls.insert_new(rows, people, on=["id"], spark=another, refresh=None)
        return new

    monkeypatch.setattr(HeldKeys, "without", late)
    done = ls.insert_new(given(spark, [300, 303], 2), people, on=["id"], spark=spark)

    assert (done.inserted, commits) == (1, [])
    after = contents(spark, people)
    assert (after[300][2], after[301][2], after[303][2]) == (1, 1, 2)


@pytest.mark.in_time("iceberg_merge_on_read")
def test_plain_appends_meanwhile(
    spark: SparkSession, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iceberg finds the keys of plain appends; Delta does if the table is serializable."""
    if "delta" in people:
        spark.sql(f"ALTER TABLE {people} SET TBLPROPERTIES ('delta.isolationLevel'='Serializable')")
    commits: list[Callable[[], object]] = [
        lambda: spark.sql(f"INSERT INTO {people} VALUES (300, 0, 'other', 1), (900, 0, 'o', 1)")
    ]
    in_between(monkeypatch, commits)

    done = ls.insert_new(given(spark, [300, 303], 2), people, on=["id"], spark=spark)

    assert (done.inserted, commits) == (1, [])
    after = contents(spark, people)
    assert (after[300][2], after[303][2], after[900][2]) == (1, 2, 1)


# the order of commits is fixed in the tests above, so that each is sure to happen
@pytest.mark.soak
def test_writers_at_once(spark: SparkSession, people: str) -> None:
    """If several writers insert overlapping keys at once, each key is inserted exactly once."""
    starts = range(300, 300 + 10 * AT_ONCE, 10)
    errors: list[BaseException] = []

    def work(mark: int) -> None:
        try:
            for start in starts:
                keys = list(range(start + mark * 3, start + mark * 3 + 12))
                rows = given(spark, keys, mark)
                ls.insert_new(rows, people, on=["id"], spark=spark, refresh=None)
        except BaseException as error:  # noqa: BLE001 - shown below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert set(contents(spark, people)) == {*range(200), *range(300, starts[-1] + 18)}


# others insert once in every build, without end here
@pytest.mark.soak
def test_commits_without_end(
    spark: SparkSession, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After many attempts it is an error, and nothing is inserted."""
    monkeypatch.setattr(module, "ATTEMPTS", 2)
    numbers = iter(range(600, 700))
    # Delta keeps the settings of a MERGE by session
    another = spark.newSession() if "delta" in people else spark

    def other() -> object:
        rows = given(another, [next(numbers)], 1)
        return ls.insert_new(rows, people, on=["id"], spark=another, refresh=None)

    in_between(monkeypatch, [other, other])
    with pytest.raises(CommitConflictError, match="during each of 2 attempts"):
        ls.insert_new(given(spark, [300], 2), people, on=["id"], spark=spark)
    assert set(contents(spark, people)) == {*range(200), 600, 601}


# that a transaction is done once is tested without a stream
@pytest.mark.soak
def test_a_stream_is_inserted_once(
    spark: SparkSession, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that was committed before its stream failed is not inserted again."""
    source = tmp_path / "arrivals"
    rows = "id long, region int, s string, v int"
    failing = [True]

    def insert(batch: DataFrame, number: int) -> None:
        ls.insert_new(
            batch,
            people,
            on=["id"],
            # that of the stream, or any other
            spark=batch.sparkSession if number else spark,
            duplicates="last",
            txn=("arrivals", number),
        )
        if failing:
            failing.clear()
            raise RuntimeError("the driver is gone")

    def run() -> None:
        stream = spark.readStream.schema(rows).parquet(str(source)).writeStream
        query = stream.foreachBatch(insert).option("checkpointLocation", str(tmp_path / "state"))
        query.trigger(availableNow=True).start().awaitTermination()

    given(spark, [300, 301, 7], 1).write.parquet(str(source))
    with pytest.raises(Exception, match="the driver is gone"):
        run()
    spark.sql(f"DELETE FROM {people} WHERE id = 301")
    run()
    given(spark, [301, 302], 2).write.mode("append").parquet(str(source))
    run()

    # the catalog of each session keeps what it read
    spark.catalog.refreshTable(people)
    after = contents(spark, people)
    assert {key: after[key][2] for key in after if key >= 300} == {300: 1, 301: 2, 302: 2}


@pytest.mark.in_time("iceberg_merge_on_read")
def test_other_rules_are_refused(spark: SparkSession, people: str) -> None:
    """An unknown rule is refused, with the known ones."""
    with pytest.raises(InvalidInputError, match="duplicates='any' is not a known value"):
        ls.insert_new(given(spark, [1], 1), people, on=["id"], spark=spark, duplicates="any")
    with pytest.raises(InvalidInputError, match="have a null in their key"):
        ls.insert_new(
            spark.sql("SELECT CAST(NULL AS BIGINT) AS id, 0 AS region, 'x' AS s, 0 AS v"),
            people,
            on=["id"],
            spark=spark,
        )
