"""Iceberg's own reader reads the row groups that can hold a match, beside the same queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.deletes.kit import EqualityDeletes, load
from tests.spark.rows.compared import compared
from tests.spark.rows.file_kinds import row_group_starts
from tests.spark.rows.iceberg_files import described_file

import lakesieve as ls
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 2_000
GROUP = 100
PROPERTIES = {
    "format-version": "2",
    "write.distribution-mode": "none",
    "write.parquet.row-group-size-bytes": "1",
    "write.parquet.row-group-check-min-record-count": str(GROUP),
    "write.parquet.row-group-check-max-record-count": str(GROUP),
    # else Iceberg leaves out row groups by their dictionaries
    "write.parquet.dict-size-bytes": "1",
}
WHY = {
    "delete": "they have equality deletes",
    "widen": "n has another type in them than in the table",
}


@pytest.fixture(params=WHY)
def numbers(spark: SparkSession, table: str, request: pytest.FixtureRequest) -> tuple[str, str]:
    """A table of one file with 20 row groups that Iceberg must read, and why it must."""
    _create(spark, table)
    # a block of the second index has only the last row of the first row group
    for column, block in (("id", 30), ("k", 11)):
        ls.create_index(table, column, spark=spark, rows_per_block=block)
    if request.param == "delete":
        EqualityDeletes(spark, table).delete(["id"], [[31], [205]])
        spark.sql(f"REFRESH TABLE {table}")
    else:
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE BIGINT")
    return table, WHY[request.param]


def _create(spark: SparkSession, table: str) -> None:
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in PROPERTIES.items())
    spark.sql(
        f"CREATE TABLE {table} USING iceberg TBLPROPERTIES ({listed}) "
        f"AS SELECT id, id * 7919 % {ROWS} AS k, CAST(id % 7 AS INT) AS n "
        f"FROM range(0, {ROWS}, 1, 1)"
    )


def _decoded(query: DataFrame) -> int:
    """Return the number of rows that a scan gives to the filter above it."""
    query.collect()
    plan: Any = query._jdf.queryExecution().executedPlan()
    return int(plan.collectLeaves().apply(0).metrics().apply("numOutputRows").value())


def test_row_groups_are_left_out(spark: SparkSession, numbers: tuple[str, str]) -> None:
    """Row groups without a wanted row are not read, and the report says why groups are read."""
    table, why = numbers
    for row, groups in ((31, 1), (98, 1), (99, 2), (100, 2), (205, 2), (ROWS - 1, 1)):
        query = f"SELECT n, id, _pos FROM {table} WHERE k = {row * 7919 % ROWS}"
        (scan,) = compared(spark, query)
        assert (scan.rows_read, scan.rows_total) == (groups * GROUP, ROWS), row
        details = [r.detail for r in scan.reasons if r.code == "row-groups"]
        assert details == [f"1 data file: {why}"]
        # rows that are deleted are not given
        assert groups * GROUP - 2 <= _decoded(spark.sql(query)) <= groups * GROUP
    (scan,) = compared(spark, f"SELECT n FROM {table} WHERE k = {ROWS}")
    assert scan.files_read == 0
    compared(spark, f"SELECT * FROM {table} WHERE id IN (3, 700, 1999) OR id BETWEEN 990 AND 1010")
    compared(spark, f"SELECT count(*) FROM {table} WHERE id > 1900")


def test_small_splits(spark: SparkSession, numbers: tuple[str, str]) -> None:
    """A file that is read in many parts, by several tasks, loses no row."""
    table, _ = numbers
    for size in (1, 2_000, 1 << 27):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('read.split.target-size' = '{size}')")
        for condition in ("id IN (5, 205, 999, 1000, 1999)", "id BETWEEN 95 AND 305"):
            compared(spark, f"SELECT n, id, _pos FROM {table} WHERE {condition}")


def test_joined_scans(spark: SparkSession, numbers: tuple[str, str]) -> None:
    """Scans of other row groups are not mistaken for one another."""
    table, _ = numbers

    def part(low: int) -> str:
        return f"(SELECT n, count(*) AS c FROM {table} WHERE id IN ({low}, {low + 7}) GROUP BY n)"

    both = f"{part(0)} a JOIN {part(0)} b USING (n) JOIN {part(700)} c USING (n)"
    compared(spark, f"SELECT * FROM {both}")


def test_a_file_that_is_listed_twice(spark: SparkSession, table: str) -> None:
    """The deletes of one of the two are not applied to the other."""
    _create(spark, table)
    (path,) = [row.file_path for row in spark.sql(f"SELECT file_path FROM {table}.files").collect()]
    ls.create_index(table, "id", spark=spark, rows_per_block=30)
    EqualityDeletes(spark, table).delete(["id"], [[31], [205]])
    opened = load(spark, table)
    starts = row_group_starts(local_path(path))
    opened.newAppend().appendFile(described_file(spark, opened, path, ROWS, starts)).commit()
    spark.sql(f"REFRESH TABLE {table}")

    counts = {31: 1, 205: 1, 700: 2}
    for row, count in counts.items():
        query = f"SELECT n, id FROM {table} WHERE id = {row}"
        compared(spark, query)
        assert spark.sql(query).count() == count


def test_other_split_offsets(spark: SparkSession, table: str) -> None:
    """If the table's metadata and the footer disagree on row groups, the file is read whole."""
    _create(spark, table)
    (path,) = [row.file_path for row in spark.sql(f"SELECT file_path FROM {table}.files").collect()]
    # the file stays for the earlier version
    spark.sql(f"DELETE FROM {table}")
    opened = load(spark, table)
    described = described_file(spark, opened, path, ROWS, [4, 100])
    opened.newAppend().appendFile(described).commit()
    spark.sql(f"REFRESH TABLE {table}")
    ls.create_index(table, "id", spark=spark, rows_per_block=30)
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE BIGINT")

    (scan,) = compared(spark, f"SELECT n FROM {table} WHERE id = 700")

    assert scan.rows_read is None
    assert "whole-files" in {str(reason.code) for reason in scan.reasons}
