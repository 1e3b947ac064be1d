"""A round of maintenance does what is due, whatever other processes do."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.deletes.kit import EqualityDeletes

import lakesieve as ls
from lakesieve.index.declared import DeclaredIndex, DeclaredTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index.maintenance import TableMaintenance

INDEXES = (
    DeclaredIndex(columns=("id",), name="id"),
    DeclaredIndex(columns=("region", "id"), name="by_region", budget="4 bits"),
)


@pytest.fixture
def declared(spark: SparkSession, table: str) -> DeclaredTable:
    """A table of 6 files with one index that is not declared, and two that are missing."""
    spark.sql(
        f"CREATE TABLE {table} USING iceberg AS "
        "SELECT id, id % 5 AS region FROM range(0, 600, 1, 6)"
    )
    ls.create_index(table, ["region"], spark=spark)
    return DeclaredTable(name=table, indexes=INDEXES)


def run(spark: SparkSession, declared: DeclaredTable, **rest: Any) -> TableMaintenance:
    """One round of one table, in which nothing fails."""
    (done,) = ls.maintain([declared], spark=spark, **rest)
    assert done.holds, done
    return done


def actions(done: TableMaintenance) -> list[tuple[str, str | None]]:
    """What was to be done."""
    return [(step.action, step.index) for step in done.steps]


def names(spark: SparkSession, table: str) -> set[str]:
    """Names of the indexes that are there."""
    return {info.name for info in ls.list_indexes(table, spark=spark)}


def append(spark: SparkSession, table: str, first: int, files: int = 1) -> None:
    """Add files of ten rows."""
    rows = spark.range(first, first + 10 * files, 1, files).selectExpr("id", "id % 5 AS region")
    rows.writeTo(table).append()


def test_a_round_does_what_is_due(spark: SparkSession, declared: DeclaredTable) -> None:
    """Missing indexes are created, then stale ones are refreshed; a dry run says so before."""
    table = declared.name
    plan = run(spark, declared, dry_run=True)
    assert actions(plan) == [("undeclared", "region"), ("create", "id"), ("create", "by_region")]
    assert names(spark, table) == {"region"}

    seen: list[str] = []
    first = run(spark, declared, observe=lambda _, step: seen.append(step.action))
    assert actions(first) == actions(plan)
    assert seen == ["create", "create"]
    assert names(spark, table) == {"region", "id", "by_region"}
    assert first.bytes > 0
    assert ls.open_index(table, "by_region", spark=spark).info().budget == "4 bits"
    assert actions(run(spark, declared)) == [("undeclared", "region")]

    append(spark, table, 1000, files=3)
    plan = run(spark, declared, dry_run=True)
    assert (plan.lag_files, plan.files) == (3, 9)
    assert plan.lag_seconds > 0
    assert actions(plan)[1:] == [("refresh", "id"), ("refresh", "by_region")]
    done = run(spark, declared)
    assert [step.done for step in done.steps] == [False, True, True]
    after = run(spark, declared, dry_run=True)
    assert (after.lag_files, after.lag_seconds) == (0, 0)


def test_what_differs_is_reported_and_left(spark: SparkSession, declared: DeclaredTable) -> None:
    """An index with other columns or another budget is reported, but never changed."""
    run(spark, declared)
    changed = replace(
        declared,
        indexes=(
            replace(INDEXES[0], budget="2 bits"),
            replace(INDEXES[1], columns=("id", "region")),
        ),
    )

    done = run(spark, changed)

    assert [step.detail for step in done.steps if step.action == "drift"] == [
        "columns is region, id, declared is id, region",
        "budget is none, declared is 2 bits",
    ]
    assert ls.open_index(declared.name, "id", spark=spark).info().budget == ""


def test_old_states_and_dropped_files_go(spark: SparkSession, declared: DeclaredTable) -> None:
    """Files in no version leave an index, and objects that no kept commit needs are deleted."""
    one = replace(declared, indexes=INDEXES[:1], retain_commits=1, retain_hours=0)
    run(spark, one)
    spark.sql(
        f"CALL lake.system.rewrite_data_files('{one.name.removeprefix('lake.')}', "
        "options => map('rewrite-all', 'true'))"
    )
    spark.sql(
        f"CALL lake.system.expire_snapshots('{one.name.removeprefix('lake.')}', "
        "TIMESTAMP '2100-01-01 00:00:00', 1)"
    )

    done = run(spark, one)

    assert [step.action for step in done.steps][1:] == ["refresh", "compact", "vacuum"]
    assert ls.open_index(one.name, "id", spark=spark).info().files == done.files
    assert ls.open_index(one.name, "id", spark=spark).verify_rows(files=None).wrong == ()


def test_a_column_that_is_not_there_fails_in_a_dry_run(
    spark: SparkSession, declared: DeclaredTable
) -> None:
    """A declared column that does not exist fails, and the other indexes are still created."""
    wrong = DeclaredIndex(columns=("idd",), name="idd")
    both = replace(declared, indexes=(wrong, INDEXES[0]))
    for dry_run in (True, False):
        (done,) = ls.maintain([both], spark=spark, dry_run=dry_run)
        errors = {step.index: step.error for step in done.steps if step.action == "create"}
        assert "no column idd" in str(errors.pop("idd"))
        assert (errors, done.holds) == ({"id": None}, False)
    assert names(spark, declared.name) == {"region", "id"}


def test_one_failure_keeps_nothing_else(spark: SparkSession, declared: DeclaredTable) -> None:
    """If a table or a column is missing, the remaining work is still done."""
    run(spark, declared)
    spark.sql(f"ALTER TABLE {declared.name} DROP COLUMN region")
    rows = spark.range(2000, 2010, 1, 1)
    rows.writeTo(declared.name).append()
    nowhere = DeclaredTable(name="lake.t.nowhere", indexes=INDEXES)

    missing, done = ls.maintain([nowhere, declared], spark=spark)

    assert missing.error is not None
    assert "nowhere" in missing.error
    assert not done.holds
    outcomes = {s.index: s.error for s in done.steps if s.action == "refresh"}
    assert outcomes["id"] is None
    assert "region" in str(outcomes["by_region"])
    assert ls.open_index(declared.name, "id", spark=spark).info().files == 7


# one beside a writer is in test_maintained
@pytest.mark.soak
def test_two_at_once(spark: SparkSession, declared: DeclaredTable) -> None:
    """Two rounds at once both succeed, and every file is indexed once."""
    results: list[Sequence[TableMaintenance]] = []
    for turn in range(2):
        append(spark, declared.name, 3000 + 100 * turn, files=2)
        threads = [
            threading.Thread(target=lambda: results.append(ls.maintain([declared], spark=spark)))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(results) == 4
    failed = [step for (done,) in results for step in done.steps if step.error]
    assert failed == []
    for name in ("id", "by_region"):
        index = ls.open_index(declared.name, name, spark=spark)
        assert index.info().files == 10
        assert index.verify_rows(files=None).wrong == ()


def test_it_stops_between_two_steps(spark: SparkSession, declared: DeclaredTable) -> None:
    """A round stops between two steps, and the next round continues."""
    going = iter([True, True, False])

    done = run(spark, declared, going_on=lambda: next(going, False))

    assert actions(done)[-1] == ("create", "id")
    assert names(spark, declared.name) == {"region", "id"}
    assert actions(run(spark, declared))[-1] == ("create", "by_region")


# by the conversion that tests/spark/deletes is about
@pytest.mark.soak
def test_equality_deletes_are_converted(spark: SparkSession, declared: DeclaredTable) -> None:
    """Declared conversions run after missing indexes are created; a second round finds none."""
    deletes = EqualityDeletes(spark, declared.name)
    deletes.delete(["id"], [[7], [300], [9999]])
    assert "convert" not in dict(actions(run(spark, declared)))
    one = replace(declared, convert_deletes=True)

    done = run(spark, one)

    (step,) = (step for step in done.steps if step.action == "convert")
    assert (step.detail, step.done) == ("1 equality delete files, 2 positions", True)
    assert spark.table(declared.name).where("id IN (7, 300)").isEmpty()
    assert "convert" not in dict(actions(run(spark, one)))
