"""How much of a table carries row-level deletes, and that the suggested commands help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lakesieve as ls

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize("version", ["2", "3"])
def test_iceberg_tells_marked_files(spark: SparkSession, table: str, version: str) -> None:
    """Files with position deletes or vectors are counted, and the suggestion removes them."""
    spark.sql(
        f"CREATE TABLE {table} USING iceberg TBLPROPERTIES ('format-version'='{version}', "
        "'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none') "
        "AS SELECT id FROM range(0, 100, 1, 4)"
    )
    clean = ls.status(table, spark=spark)
    assert (clean.files, clean.marked_files, clean.suggestions) == (4, 0, ())
    spark.sql(f"DELETE FROM {table} WHERE id IN (3, 99)")
    status = ls.status(table, spark=spark)
    assert (status.files, status.marked_files, status.share) == (4, 2, 0.5)
    assert (status.delete_files > 0) == (version == "2")
    assert ls.status(table, spark=spark, threshold=0.5).suggestions == ()
    assert ls.status(table, spark=spark, version=clean.version).marked_files == 0
    for command in status.suggestions:
        spark.sql(command).collect()
    assert ls.status(table, spark=spark).marked_files == 0


# Iceberg tells the same of its own
@pytest.mark.soak
def test_delta_tells_files_with_vectors(spark: SparkSession, tmp_path: Path) -> None:
    """The same for Delta, by its path."""
    path = tmp_path / "ta ble"
    rows = spark.range(0, 100, 1, 4)
    rows.write.format("delta").option("delta.enableDeletionVectors", "true").save(str(path))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    status = ls.status(f"delta:{path}", spark=spark)
    assert (status.files, status.marked_files, status.version) == (4, 1, "1")
    for command in status.suggestions:
        spark.sql(command).collect()
    assert ls.status(f"delta:{path}", spark=spark).marked_files == 0


def test_directories_have_nothing_to_tell(spark: SparkSession, tmp_path: Path) -> None:
    """Files of a directory have no row-level deletes."""
    spark.range(0, 10, 1, 2).write.parquet(str(tmp_path / "rows"))
    status = ls.status(f"parquet:{tmp_path / 'rows'}", spark=spark)
    assert (status.files, status.marked_files, status.suggestions) == (2, 0, ())
