"""Conversions that read only the data files in which an index finds a deleted key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.deletes.kit import EqualityDeletes, stock_rows

import lakesieve as ls
from lakesieve.index import ReasonCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = 8


@pytest.fixture
def made(spark: SparkSession, table: str) -> EqualityDeletes:
    """Make eight data files with overlapping keys, so that statistics skip nothing."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, s STRING, v BIGINT) USING iceberg "
        "TBLPROPERTIES ('format-version'='2', 'write.distribution-mode'='none')"
    )
    rows = spark.range(0, 800, 1, FILES).selectExpr(
        "IF(id = 799, NULL, id % 100 * 8 + id DIV 100) AS k", "concat('s', id % 3) AS s", "id AS v"
    )
    rows.writeTo(table).append()
    return EqualityDeletes(spark, table)


# the index, the equality columns, the deleted rows, the data files that hold one
GUIDED = [
    pytest.param(["k"], ["k"], [[3 * 8 + 2], [99 * 8 + 2]], 1, id="one file"),
    pytest.param(["k"], ["k"], [[None]], 1, id="null"),
    pytest.param(["k"], ["k"], [[100_000]], 0, id="absent"),
    pytest.param(["k"], ["s", "k"], [["s0", 8]], 1, id="one of two columns"),
    pytest.param(["k", "s"], ["s", "k"], [["s1", 8], ["s2", 8]], 1, id="composite"),
    pytest.param(["k", "s"], ["k"], [[8]], FILES, id="more columns than compared"),
    pytest.param(["v"], ["k"], [[8]], FILES, id="another column"),
]


# the others are mixtures of these
@pytest.mark.in_time("one file", "composite", "null", "another column")
@pytest.mark.parametrize(("index", "columns", "rows", "files"), GUIDED)
def test_files_that_are_read(
    spark: SparkSession,
    table: str,
    made: EqualityDeletes,
    *,
    index: list[str],
    columns: list[str],
    rows: list[list[object]],
    files: int,
) -> None:
    """Only the data files that hold a deleted key are searched, and no row comes back."""
    ls.create_index(table, index, spark=spark)
    made.delete(columns, rows)
    expected = stock_rows(spark, table)
    done = ls.deletes.convert(table, spark=spark)

    assert stock_rows(spark, table) == expected
    assert done.scanned_files == files
    assert ls.deletes.status(table, spark=spark, count_keys=False).equality_files == 0


def test_unknown_files_are_read(
    spark: SparkSession,
    table: str,
    made: EqualityDeletes,
    index_folder: Callable[[ls.Index], Path],
) -> None:
    """Data files newer than the index are searched; if the index is damaged, all files are."""
    index = ls.create_index(table, ["k"], spark=spark)
    spark.sql(f"INSERT INTO {table} VALUES (10, 'new', 1000), (26, 'new', 1001)")
    made.delete(["k"], [[26]])
    expected = stock_rows(spark, table)
    done = ls.deletes.convert(table, spark=spark)

    assert (done.scanned_files, done.positions) == (2, 2)
    assert stock_rows(spark, table) == expected

    made.delete(["k"], [[34]])
    expected = stock_rows(spark, table)
    for segment in (index_folder(index) / "segments").iterdir():
        segment.write_bytes(b"broken")
    done = ls.deletes.convert(table, spark=spark)

    assert done.scanned_files == FILES
    assert [reason.code for reason in done.reasons] != [ReasonCode.INDEX_USED]
    assert stock_rows(spark, table) == expected


# rare, and no file is left out
@pytest.mark.soak
def test_a_name_mapping_leaves_the_search_to_all_files(
    spark: SparkSession, table: str, made: EqualityDeletes
) -> None:
    """If files may be read by column names, an index by field id does not narrow the search."""
    ls.create_index(table, ["k"], spark=spark)
    mapping = '[{"field-id": 1, "names": ["k"]}]'
    spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default' = '{mapping}')"
    )
    made.delete(["k"], [[26]])
    expected = stock_rows(spark, table)
    done = ls.deletes.convert(table, spark=spark)

    assert done.scanned_files == FILES
    assert [reason.code for reason in done.reasons] == [ReasonCode.SCAN_UNSUPPORTED]
    assert stock_rows(spark, table) == expected
