"""Reading under equality deletes keeps pruning, filters, branches and indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.deletes.kit import EqualityDeletes, rows_of, stock_rows

import lakesieve as ls
from lakesieve.errors import NotFoundError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILTERS = ("k = 3", "p = 1 AND k > 4", "s IS NULL", "k IN (1, 7) OR v < 5", "v % 3 = 1", "p = 9")


@pytest.fixture
def made(spark: SparkSession, table: str) -> EqualityDeletes:
    """Six data files in three partitions, rows deleted by key, by position, and with nulls."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, s STRING, p INT, v BIGINT) USING iceberg "
        "PARTITIONED BY (p) TBLPROPERTIES ('format-version'='3', "
        "'write.delete.mode'='merge-on-read')"
    )
    for start in (0, 30):
        spark.sql(
            f"INSERT INTO {table} SELECT id % 20, IF(id % 4 = 0, NULL, concat('s', id % 5)), "
            f"CAST(id % 3 AS INT), id FROM range({start}, {start + 30})"
        )
    deletes = EqualityDeletes(spark, table)
    deletes.delete(["s", "k"], [[None, 4], ["s2", 7], ["s3", 3]], partition=deletes.partitions()[1])
    deletes.delete(["k"], [[5], [6]], partition=deletes.partitions()[0])
    spark.sql(f"DELETE FROM {table} WHERE v IN (1, 10, 33)")
    return deletes


def test_filters_and_columns_are_pushed(
    spark: SparkSession, table: str, made: EqualityDeletes
) -> None:
    """Filters give the same rows as Iceberg's reader, and reach the scans like the columns do."""
    for condition in FILTERS:
        expected = rows_of(spark.table(table).where(condition))

        assert rows_of(ls.deletes.read(table, spark=spark).where(condition)) == expected

    frame = ls.deletes.read(table, spark=spark).where("p = 0 AND v > 3").select("v")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    touched = next(line for line in plan.splitlines() if "(touched," in line)
    untouched = next(line for line in plan.splitlines() if "(untouched," in line)

    assert "p = 0, v > 3" in touched
    assert "p = 0, v > 3" in untouched
    assert "s#" not in untouched


# test_transparent skips files of tables with such deletes
@pytest.mark.soak
def test_with_skipping_on(spark: SparkSession, table: str, made: EqualityDeletes) -> None:
    """An index skips data files below the joins, and no row is lost."""
    ls.create_index(table, ["v"], spark=spark)
    expected = rows_of(spark.table(table).where("v IN (7, 31)"))
    ls.enable(spark)
    try:
        found = rows_of(ls.deletes.read(table, spark=spark).where("v IN (7, 31)"))
        scans = ls.last_pruning(spark)
    finally:
        ls.disable(spark)

    assert found == expected
    assert sum(scan.files_read for scan in scans) < sum(scan.files_total for scan in scans)


def test_branches(spark: SparkSession, table: str, made: EqualityDeletes) -> None:
    """A branch is read with the table's columns, and converted without a change to main."""
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH b")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN s TO renamed")
    made.delete(["k"], [[0], [9]], partition=made.partitions(branch="b")[0], branch="b")
    spark.sql(f"INSERT INTO {table} VALUES (0, 'main', 0, 1000)")
    main, branch = stock_rows(spark, table), stock_rows(spark, table, "b")

    assert rows_of(ls.deletes.read(table, spark=spark, version="b")) == branch

    done = ls.deletes.convert(table, spark=spark, branch="b")

    assert done.removed_files == 3
    assert (stock_rows(spark, table), stock_rows(spark, table, "b")) == (main, branch)
    assert ls.deletes.status(table, spark=spark).equality_files == 2
    assert ls.deletes.status(table, spark=spark, version="b").equality_files == 0


def test_legacy_position_deletes(spark: SparkSession, table: str) -> None:
    """A deletion vector includes the rows that position delete files of version 2 deleted."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT) USING iceberg TBLPROPERTIES ('format-version'='2', "
        "'write.delete.mode'='merge-on-read', 'write.delete.granularity'='partition')"
    )
    for start in (0, 10):
        spark.range(start, start + 10, 1, 1).toDF("k").writeTo(table).append()
    spark.sql(f"DELETE FROM {table} WHERE k % 5 = 1")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
    EqualityDeletes(spark, table).delete(["k"], [[3], [4]])
    done = ls.deletes.convert(table, spark=spark)

    assert (done.positions, done.marked_files) == (2, 1)
    assert rows_of(spark.table(table).where("k < 10")) == [
        f"Row(k={k})" for k in (0, 2, 5, 7, 8, 9)
    ]
    assert spark.table(table).count() == 14


def test_tables_without_deletes(spark: SparkSession, table: str) -> None:
    """An empty table, one without deletes, and one that is not there are distinguished."""
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING iceberg")

    assert ls.deletes.read(table, spark=spark).count() == 0
    assert ls.deletes.status(table, spark=spark).verdict == "The table has no equality deletes."
    assert ls.deletes.convert(table, spark=spark).commits == 0

    spark.sql(f"INSERT INTO {table} VALUES (1)")

    assert rows_of(ls.deletes.read(table, spark=spark)) == ["Row(k=1)"]
    with pytest.raises(NotFoundError):
        ls.deletes.read(table, spark=spark, version="nowhere")
    with pytest.raises(NotFoundError):
        ls.deletes.read("lake.t.nowhere", spark=spark)
    with pytest.raises(UnsupportedError, match="metadata table"):
        ls.deletes.read(f"{table}.files", spark=spark)


def test_status_and_dry_run(spark: SparkSession, table: str, made: EqualityDeletes) -> None:
    """Status counts files, records, keys and pairs; a dry run plans the same and does nothing."""
    made.delete(["k"], [[5], [8]], partition=made.partitions()[0])
    before = stock_rows(spark, table)
    status = ls.deletes.status(table, spark=spark)
    planned = ls.deletes.convert(table, spark=spark, dry_run=True, partial_progress=True)

    assert (status.equality_files, status.equality_records, status.keys) == (3, 7, 6)
    assert (status.data_files, status.reached_files, status.pairs) == (6, 4, 6)
    assert (status.vectors, status.version) != (0, None)
    # three records of a text and a number take more than four of a number
    assert (status.task_records, status.task_bytes) == (4, 3 * (170 + 24 + 80))
    assert [found.columns for found in status.field_sets] == [("k",), ("k", "s")]
    assert (planned.removed_files, planned.removed_records, planned.commits) == (3, 7, 2)
    assert (planned.scanned_files, planned.positions, planned.dry_run) == (4, 0, True)
    assert stock_rows(spark, table) == before
