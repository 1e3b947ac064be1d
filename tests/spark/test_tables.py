"""A catalog and its tables as objects of a session: the methods do what the functions do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLE = "lake.held.orders"


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> Iterator[ls.Table]:
    """A table of ten files, whose indexes lie at a location of their own."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.held")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    rows = spark.range(0, 100, 1, 10).selectExpr("id", "id * 7 % 101 AS customer")
    writer = rows.writeTo(TABLE).using("iceberg")
    writer.tableProperty("write.distribution-mode", "none").create()
    yield ls.connect(spark, location=str(tmp_path)).table("held.orders")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")


def test_what_was_said_once_is_used_by_all(
    spark: SparkSession, orders: ls.Table, tmp_path: Path
) -> None:
    """The session and the location of indexes are those of the catalog, in every method."""
    made = orders.create_index("id")
    changed = spark.table(TABLE).where("id < 3").selectExpr("id", "CAST(-1 AS BIGINT) AS customer")
    done = orders.upsert(changed, on="id")

    assert repr(orders) == f"<Table {TABLE}: iceberg, with Spark>"
    assert made.info().location.startswith(("file:" + str(tmp_path), str(tmp_path)))
    assert (done.updated, [one.index for one in done.refreshed]) == (3, ["id"])
    assert [info.name for info in orders.indexes()] == ["id"]
    assert ls.list_indexes(TABLE, spark=spark) == []
    assert orders.find_files("id = 50").indexes == ("id",)
    assert isinstance(orders["id"], ls.SparkIndex)
    assert [one.files for one in orders.refresh()] == [0]
    keys = spark.sql("SELECT 5L AS id UNION ALL SELECT -5L")
    answer = orders.contains(keys, on="id")
    assert isinstance(answer, ls.KeyPresenceRows)
    assert answer.keys.where("absent").count() == 1


def test_the_catalog_lists_its_tables(
    spark: SparkSession, orders: ls.Table, tmp_path: Path
) -> None:
    """The session's catalog is listed, also by its name, with the indexes of each table."""
    orders.create_index("id")
    spark.sql("CREATE TEMPORARY VIEW passing AS SELECT 1 AS one")

    for lake in (
        ls.connect(spark, location=str(tmp_path)),
        ls.connect(spark, catalog="lake", location=str(tmp_path)),
    ):
        tables = {table.name: table for table in lake.tables()}
        assert tables[TABLE].indexes == ("id",)
        assert "lake.passing" not in tables
        assert lake["held.orders"].name == lake[TABLE].name == TABLE
    spark.sql("DROP VIEW passing")


def test_engines_read_a_table_of_a_session(orders: ls.Table) -> None:
    """Rows come without Spark, from the files that the session's catalog knows."""
    orders.create_index("customer")

    found = orders.scan_polars().filter(pl.col("customer") == 70).collect()

    assert found.rows() == [(10, 70)]
    assert ls.last_pruning()[0].files_read == 1


def test_a_location_is_a_table_of_a_session(spark: SparkSession, tmp_path: Path) -> None:
    """A folder of Parquet files is named by its location, whatever the catalog."""
    spark.range(0, 100, 1, 10).write.parquet(str(tmp_path / "rows"))
    rows = ls.table(f"parquet:{tmp_path}/rows", spark=spark)
    rows.create_index("id")

    assert (rows.format, len(rows.find_files("id = 5").paths)) == ("parquet", 1)
    assert rows.scan_polars().filter(pl.col("id") == 5).collect().height == 1
