"""Key constraints, unique keys and references, agree with SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lakesieve as ls
from lakesieve.errors import InvalidInputError
from lakesieve.spark.commands import held_keys as module
from lakesieve.spark.commands.key_lookup import FEW
from lakesieve.spark.rule.installed import installed_rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# answers do not depend on the format; that files are left out is tested of Delta alone
@pytest.fixture(params=["iceberg", "delta"])
def parent(spark: SparkSession, request: pytest.FixtureRequest) -> str:
    """100 people in 10 files with an index on two columns, every seventh deleted, some new."""
    database = "lake.checks" if request.param == "iceberg" else "checks"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
    name = f"{database}.parent"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    rows = "SELECT id, concat('ü', id % 5) AS region, id - 1 AS boss FROM range({}, {}, 1, {})"
    spark.sql(
        f"CREATE TABLE {name} USING {request.param} TBLPROPERTIES ('write.delete.mode'="
        f"'merge-on-read', 'delta.enableDeletionVectors'='true') AS {rows.format(0, 100, 10)}"
    )
    ls.create_indexes(name, [["id"], ["region", "id"]], spark=spark)
    spark.sql(f"DELETE FROM {name} WHERE id % 7 = 1")
    spark.sql(f"INSERT INTO {name} {rows.format(200, 205, 1)}")
    return name


@pytest.mark.in_time("iceberg")
def test_references_are_those_of_an_anti_join(spark: SparkSession, parent: str) -> None:
    """References agree with an anti join, by one column and by two; nulls refer to nothing."""
    child = spark.sql(
        "SELECT IF(id % 11 = 0, NULL, id) AS person, concat('ü', id % 4) AS place "
        "FROM range(0, 210, 1, 3)"
    )
    for columns, wanted in ((["person"], ["id"]), (["place", "person"], ["region", "id"])):
        checked = ls.check_references(child, columns, parent, wanted, spark=spark, limit=1000)

        same = " AND ".join(f"c.{a} = p.{b}" for a, b in zip(columns, wanted, strict=True))
        child.createOrReplaceTempView("child")
        orphans = spark.sql(
            f"SELECT DISTINCT {', '.join(columns)} FROM child c "
            f"LEFT ANTI JOIN {parent} p ON {same} WHERE person IS NOT NULL"
        ).collect()
        assert orphans
        assert set(checked.examples) == {tuple(map(str, row)) for row in orphans}
        assert (checked.violations, checked.holds) == (len(orphans), False)
        assert (checked.on, checked.parent_columns) == (tuple(columns), tuple(wanted))
        assert checked.index == "_".join(wanted)
        few = ls.check_references(child, columns, parent, wanted, spark=spark, limit=3)
        assert (few.violations, len(few.examples)) == (len(orphans), 3)


@pytest.mark.in_time("iceberg")
def test_a_table_may_refer_to_itself(spark: SparkSession, parent: str) -> None:
    """If a table refers to itself, its keys are read completely before files are skipped."""
    checked = ls.check_references(parent, ["boss"], parent, ["id"], spark=spark, limit=1000)

    gone = {at for at in range(100) if at % 7 == 1} | {199, -1}
    bosses = {at - 1 for at in (*range(100), *range(200, 205)) if at >= 200 or at % 7 != 1}
    assert {int(row[0]) for row in checked.examples} == bosses & gone


def test_nan_is_a_key(spark: SparkSession, table: str) -> None:
    """NaN refers only to NaN, and null refers to nothing."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT CAST(id AS DOUBLE) AS x FROM range(9)")
    child = spark.sql("SELECT * FROM VALUES (1D), (double('NaN')), (NULL) AS c(x)")

    missing = ls.check_references(child, "x", table, "x", spark=spark)
    spark.sql(f"INSERT INTO {table} VALUES (double('NaN'))")
    there = ls.check_references(child, "x", table, "x", spark=spark)

    assert (missing.examples, there.violations) == ((("nan",),), 0)


@pytest.mark.in_time("iceberg")
def test_few_keys_open_few_files(spark: SparkSession, parent: str) -> None:
    """Two keys of one file open this file and the file that is not indexed."""
    child = spark.createDataFrame([(2,), (3,)], "id long")

    checked = ls.check_references(child, ["id"], parent, ["id"], spark=spark)

    assert (checked.holds, checked.violations, checked.examples) == (True, 0, ())
    assert (checked.files_read, checked.files, checked.index) == (2, 11, "id")


@pytest.mark.in_time("iceberg")
def test_unique_keys(spark: SparkSession, parent: str) -> None:
    """A key in several rows is a violation, and the number of listed ones is limited."""
    assert ls.check_unique(parent, ["id"], spark=spark).holds
    spark.sql(f"INSERT INTO {parent} SELECT id, 'x', 0 FROM {parent} WHERE id IN (3, 5, 9)")

    checked = ls.check_unique(parent, ["id"], spark=spark, limit=2)

    assert (checked.holds, checked.violations, checked.parent) == (False, 3, None)
    assert len(checked.examples) == 2
    assert set(checked.examples) < {("3",), ("5",), ("9",)}
    by_both = ls.check_unique(parent, ["id", "region"], spark=spark)
    assert (by_both.holds, by_both.index) == (True, "region_id")


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("few", [FEW, 0], ids=["few", "many"])
def test_only_blocks_of_the_keys_are_read(
    spark: SparkSession, table: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are looked up in blocks of the parent, also if the executors look them up."""
    monkeypatch.setattr(module, "FEW", few)
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 1000, 1, 1)")
    ls.create_index(table, "id", spark=spark, rows_per_block=10)
    child = spark.sql("SELECT id FROM range(500, 520) UNION ALL SELECT 2000")

    checked = ls.check_references(child, "id", table, "id", spark=spark)

    assert (checked.violations, checked.examples) == (1, (("2000",),))
    reads = [scan for scan in installed_rule(spark).report() if scan.get("files_total")]
    assert {(scan["files_read"], scan["rows_read"]) for scan in reads} == {(1, 20)}


def test_columns_that_do_not_fit_are_refused(spark: SparkSession, parent: str) -> None:
    """Another number of columns, or other types, are refused."""
    with pytest.raises(InvalidInputError, match="differ in their number of columns"):
        ls.check_references(parent, ["boss"], parent, ["id", "region"], spark=spark)
    with pytest.raises(InvalidInputError, match="type string, but id of"):
        ls.check_references(parent, ["region"], parent, ["id"], spark=spark)
