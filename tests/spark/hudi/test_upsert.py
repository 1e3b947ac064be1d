"""Upsert and delete by record key, through Hudi's own writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.hudi.driver import DRIVERS

import lakesieve as ls
from lakesieve.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.hudi.driver import HudiDriver


@pytest.mark.in_time("merge_on_read")
@pytest.mark.parametrize("kind", list(DRIVERS))
def test_changes_equal_a_model(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """The rows agree with a dictionary, by path and by name, after one run or two."""
    driver = DRIVERS[kind](spark, tmp_path / "t", f"upsert_{kind}")
    driver.append(spark.range(0, 120, 1, 4).selectExpr("id", "concat('ü', id) AS s", "0 AS v"))
    ls.create_index(driver.name, ["id"], spark=spark)
    model = {at: (f"ü{at}", 0) for at in range(120)}
    changed = {7: ("x", 1), 8: ("x", 1), 500: ("y", 1)}
    rows = spark.createDataFrame([(k, *v) for k, v in changed.items()], "id long, s string, v int")

    change = ls.upsert(rows, driver.name, on=["id"], spark=spark)
    model |= changed
    assert contents(driver) == model
    assert (change.inserted, change.updated, change.version) == (1, 2, driver.version())
    assert change.reasons == ()

    erased = spark.createDataFrame([(7,), (9,), (9,), (1000,)], "id long")
    change = ls.delete(erased, driver.entry, on=["id"], spark=spark)
    model = {key: row for key, row in model.items() if key not in {7, 9, 1000}}
    assert contents(driver) == model
    assert change.deleted == 2
    again = ls.delete(erased, driver.entry, on=["id"], spark=spark)
    assert (again.deleted, again.version) == (0, None)
    assert contents(driver) == model
    driver.drop()


@pytest.mark.in_time("merge_on_read")
@pytest.mark.parametrize("kind", list(DRIVERS))
def test_only_new_rows_are_inserted(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Rows of existing keys stay, and deleted keys count as new."""
    driver = DRIVERS[kind](spark, tmp_path / "t", f"insert_{kind}")
    driver.append(spark.range(0, 120, 1, 4).selectExpr("id", "concat('ü', id) AS s", "0 AS v"))
    index = ls.create_index(driver.name, ["id"], spark=spark)
    ls.delete(spark.createDataFrame([(9,)], "id long"), driver.name, on=["id"], spark=spark)
    given = [(7, "x", 1), (9, "x", 1), (500, "y", 1), (500, "z", 2)]
    rows = spark.createDataFrame(given, "id long, s string, v int").coalesce(1)
    model = {at: (f"ü{at}", 0) for at in range(120)} | {9: ("x", 1), 500: ("z", 2)}
    keys = rows.select("id")
    there = index.contains(keys, confirm=True).keys

    assert {row["id"] for row in there.where("absent").collect()} == {9, 500}

    done = ls.insert_new(rows, driver.name, on=["id"], spark=spark, duplicates="last")
    assert (done.keys, done.inserted, done.version) == (3, 2, driver.version())
    assert contents(driver) == model
    again = ls.insert_new(rows, driver.name, on=["id"], spark=spark, duplicates="first")
    assert (again.inserted, again.version) == (0, None)
    assert contents(driver) == model
    found = index.contains([7, 9, 500, 501], confirm=True)
    assert found.absent.to_pylist() == [False, False, False, True]
    driver.drop()


@pytest.mark.soak
@pytest.mark.parametrize("kind", list(DRIVERS))
def test_keys_in_several_rows(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Keys in several rows, and keys in no row, are found through log files and deletes."""
    driver = DRIVERS[kind](spark, tmp_path / "t", f"keys_{kind}")
    text = "concat('ü', IF(id = 77, 3, id))"
    driver.append(spark.range(0, 120, 1, 4).selectExpr("id", f"{text} AS s", "0 AS v"))
    ls.create_index(driver.name, ["s"], spark=spark)
    rows = spark.createDataFrame([(200, "ü5", 1), (9, "x", 1)], "id long, s string, v int")
    ls.upsert(rows, driver.name, on=["id"], spark=spark, refresh=None)
    child = spark.createDataFrame([("ü3",), ("ü9",), ("x",), (None,), ("gone",)], "name string")

    def found() -> dict[str, int]:
        answer = ls.duplicates(driver.name, ["s"], spark=spark)
        return {row["s"]: row["rows"] for row in answer.keys.collect()}

    assert found() == {"ü3": 2, "ü5": 2}
    orphans = ls.check_references(child, ["name"], driver.name, ["s"], spark=spark)
    assert set(orphans.examples) == {("ü9",), ("gone",)}
    ls.delete(spark.createDataFrame([(77,)], "id long"), driver.name, on=["id"], spark=spark)
    assert found() == {"ü5": 2}
    unique = ls.check_unique(driver.name, ["s"], spark=spark)
    assert (unique.holds, unique.violations) == (False, 1)
    driver.drop()


@pytest.mark.soak
@pytest.mark.parametrize("kind", list(DRIVERS))
def test_indexes_are_refreshed_after_writes(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Each commit of the session is indexed in the background, by path and by name."""
    driver = DRIVERS[kind](spark, tmp_path / "t", f"after_{kind}")
    made = "id", "concat('ü', id) AS s", "0 AS v"
    driver.append(spark.range(0, 120, 1, 4).selectExpr(*made))
    index = ls.create_index(driver.name, ["s"], spark=spark)
    index.refresh()
    changes: list[Callable[[], object]] = [
        lambda: driver.append(spark.range(500, 520, 1, 1).selectExpr(*made)),
        lambda: spark.sql(
            f"INSERT INTO {driver.entry} SELECT {', '.join(made)} FROM range(600, 610)"
        ),
        lambda: driver.update("v = 1", "id = 7"),
        lambda: driver.delete("id = 8"),
    ]
    for change in changes:
        ls.enable(spark, refresh="after-write")
        change()
        ls.disable(spark)
        (planned,) = ls.refresh_indexes(driver.name, spark=spark, dry_run=True)
        assert planned.files == 0
    if kind == "copy_on_write":
        info = ls.open_index(driver.name, "s", spark=spark).info()
        assert info.table_version == driver.version()
    driver.drop()


def contents(driver: HudiDriver) -> dict[int, tuple[str, int]]:
    rows = driver.frame().select("id", "s", "v").collect()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: (row["s"], row["v"]) for row in rows}


def test_other_keys_and_transactions_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Other columns than the record key, and transactions, are refused."""
    driver = DRIVERS["copy_on_write"](spark, tmp_path / "refused", "upsert_refused")
    driver.append(spark.range(10).selectExpr("id", "id AS k"))
    with pytest.raises(UnsupportedError, match="record key"):
        ls.delete(spark.range(3).selectExpr("id AS k"), driver.name, on=["k"], spark=spark)
    with pytest.raises(InvalidInputError, match="does not store transactions"):
        ls.delete(spark.range(3), driver.name, on=["id"], spark=spark, txn=("app", 1))
