"""Upsert and delete by record key, through Hudi's own writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.hudi.driver import DRIVERS

import lakesieve as ls
from lakesieve.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.hudi.driver import HudiDriver


@pytest.mark.parametrize("kind", list(DRIVERS))
def test_changes_equal_a_model(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Rows are those of a dictionary treated alike, by path and by name, once or again."""
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


def contents(driver: HudiDriver) -> dict[int, tuple[str, int]]:
    rows = driver.frame().select("id", "s", "v").collect()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: (row["s"], row["v"]) for row in rows}


def test_other_keys_and_transactions_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Hudi knows its record key alone, and no transactions."""
    driver = DRIVERS["copy_on_write"](spark, tmp_path / "refused", "upsert_refused")
    driver.append(spark.range(10).selectExpr("id", "id AS k"))
    with pytest.raises(UnsupportedError, match="record key"):
        ls.delete(spark.range(3).selectExpr("id AS k"), driver.name, on=["k"], spark=spark)
    with pytest.raises(InvalidInputError, match="no transactions"):
        ls.delete(spark.range(3), driver.name, on=["id"], spark=spark, txn=("app", 1))
