"""One large table of many types, and small ones to join it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.generated import COLUMNS, FILES, ROWS
from tests.spark.mixed_indexes import mixed_indexes

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

BIG = "lake.joins.big"
TYPED = ("i", "l", "s", "d", "t", "n", "m", "b", "x", "f", "y", "w")


@pytest.fixture(scope="session")
def big(spark: SparkSession) -> Iterator[str]:
    """An indexed Iceberg table with a tag, ``old``; views of few rows with keys of its own."""
    ls.disable(spark)
    columns = [f"{expression} AS {c}" for c, expression in COLUMNS.items()]
    spark.sql(f"DROP TABLE IF EXISTS {BIG} PURGE")
    spark.sql(
        f"CREATE TABLE {BIG} USING iceberg TBLPROPERTIES ('write.distribution-mode'='none', "
        f"'write.delete.mode'='merge-on-read') AS SELECT id, {', '.join(columns)} FROM range(0)"
    )
    rows = spark.range(0, ROWS, 1, FILES).selectExpr("id", *columns)
    rows.writeTo(BIG).append()
    singles = [[column] for column in (*TYPED, "st.k")]
    mixed_indexes(spark, BIG, [*singles, ["i", "s"]])
    spark.sql(f"ALTER TABLE {BIG} CREATE TAG old")
    some = ", ".join(TYPED)
    spark.sql(f"INSERT INTO {BIG} SELECT id + 100000, {some}, st FROM {BIG} WHERE id % 40 = 4")
    spark.sql(f"DELETE FROM {BIG} WHERE i BETWEEN 20 AND 60")
    # few keys, some of them twice, some null, some that occur nowhere
    picked = (
        f"SELECT id, {some}, CAST(i AS BIGINT) AS wide, CAST(i AS STRING) AS text FROM "
        f"{BIG} VERSION AS OF 'old' WHERE id IN (5, 7, 97, 100, 500, 901, 1300, 59, 2100, 2300)"
    )
    few = spark.sql(f"{picked} UNION ALL {picked} AND id < 100").coalesce(1)
    few.writeTo("lake.joins.few").using("iceberg").createOrReplace()
    kept = spark.table("lake.joins.few")
    # Spark knows neither the size of an RDD nor whether it says the same twice
    spark.createDataFrame(kept.rdd, kept.schema).createOrReplaceTempView("few_rdd")
    spark.sql(f"SELECT id, {some}, wide, text FROM few_rdd").createOrReplaceTempView("few_view")
    yield BIG
    ls.disable(spark)
    spark.catalog.dropTempView("few_rdd")
    spark.catalog.dropTempView("few_view")
    spark.sql("DROP TABLE lake.joins.few PURGE")
    spark.sql(f"DROP TABLE {BIG} PURGE")
