"""Which files a command's scans open, and that these are the files it replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.commands.kit import KINDS, SqlTable
from tests.spark.deletes.kit import load

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = 8
GROUP_FILTER = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"


@pytest.fixture(params=KINDS)
def table(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[SqlTable]:
    """Eight files of scattered keys, with an index on them, and skipping on."""
    made = SqlTable(spark, request.param, f"scans_{request.param}", tmp_path)
    made.create("k BIGINT, v BIGINT")
    rows = spark.range(0, 800, 1, FILES).selectExpr("(id * 7919) % 1009 AS k", "id AS v")
    rows.writeTo(made.name).append()
    ls.create_index(made.name, ["k"], spark=spark)
    ls.enable(spark)
    yield made
    ls.disable(spark)
    made.drop()


# each way to change rows once
# Delta's commands are in test_skipping and test_model
@pytest.mark.in_time("iceberg_2_on_write", "iceberg_3_on_read")
def test_one_key(spark: SparkSession, table: SqlTable) -> None:
    """A command on one key opens the one file that holds the key, and reports it."""
    (found,) = ls.find_files(table.name, "k = 397", spark=spark).paths

    spark.sql(f"UPDATE {table.name} SET v = -7 WHERE k = 397")

    first, *more = ls.last_pruning(spark)
    assert (first.files_total, first.files_read, first.uncovered) == (FILES, 1, 0)
    assert first.predicate == "k = 397"
    assert all(p.files_read == 1 for p in more)
    assert spark.sql(f"SELECT v FROM {table.name} WHERE k = 397").head(1)[0][0] == -7
    if table.kind.rewrites:
        assert found not in ls.find_files(table.name, "true", spark=spark).paths

    spark.sql(f"DELETE FROM {table.name} WHERE k = 397")

    first = ls.last_pruning(spark)[0]
    # the file that the update wrote, and the old one where it was not rewritten
    assert 1 <= first.files_read <= 2
    assert spark.table(table.name).where("k = 397 OR v = -7").count() == 0
    assert spark.table(table.name).count() == 799


# each format once
# the report is cleared before the format is asked
@pytest.mark.in_time("iceberg_2_on_write")
def test_no_scan_at_all(spark: SparkSession, table: SqlTable) -> None:
    """A command that its format answers without a scan clears the previous report."""
    spark.sql(f"DELETE FROM {table.name} WHERE k = 397")
    assert len(ls.last_pruning(spark)) > 0

    spark.sql(f"DELETE FROM {table.name}")

    assert ls.last_pruning(spark) == []
    assert spark.table(table.name).count() == 0


# the default, in one version of the format
@pytest.mark.in_time("true-iceberg_2_on_write")
@pytest.mark.parametrize("table", [k for k in KINDS if "on_write" in k], indirect=True, ids=str)
@pytest.mark.parametrize("group_filter", ["true", "false"], ids=str)
def test_replaced_files_are_those_read(
    spark: SparkSession, table: SqlTable, group_filter: str
) -> None:
    """Copy-on-write replaces only files that it scanned."""
    name = table.name
    commands = {
        f"UPDATE {name} SET v = v + 10000 WHERE k IN (397, 398)": {397, 398},
        f"DELETE FROM {name} WHERE k = 501 AND v IN (SELECT v FROM {name} WHERE k = 501)": {501},
        (
            f"MERGE INTO {name} USING (SELECT 601 AS key) ON k = key AND k = 601 "
            "WHEN MATCHED THEN UPDATE SET v = -1 WHEN NOT MATCHED THEN INSERT (k, v) VALUES (0, 0)"
        ): {601},
    }
    spark.conf.set(GROUP_FILTER, group_filter)
    try:
        for command, keys in commands.items():
            before = {row.k: row.v for row in spark.table(name).collect()}
            ls.open_index(name, "k", spark=spark).refresh()
            spark.sql(command)
            scans = ls.last_pruning(spark)
            summary = load(spark, name).currentSnapshot().summary()
            after = {row.k: row.v for row in spark.table(name).collect()}

            assert {k for k in before | after if before.get(k) != after.get(k)} == keys, command
            assert all(p.files_read <= len(keys) < p.files_total for p in scans), command
            assert int(summary["deleted-data-files"]) == scans[-1].files_read, command
    finally:
        spark.conf.unset(GROUP_FILTER)


# the whole table is read whatever its kind
@pytest.mark.in_time("iceberg_3_on_read")
def test_rows_that_no_source_has(spark: SparkSession, table: SqlTable) -> None:
    """A MERGE with NOT MATCHED BY SOURCE reads every file."""
    spark.sql(
        f"MERGE INTO {table.name} USING (SELECT 397 AS key) ON k = key AND k = 397 "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 0"
    )

    assert all(p.files_read == p.files_total for p in ls.last_pruning(spark))
    assert spark.table(table.name).where("v = 0 AND k <> 397").count() == 799
