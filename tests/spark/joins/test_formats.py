"""Keys of joins on Delta tables and Parquet directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.drivers import DRIVERS
from tests.spark.mixed_indexes import mixed_indexes

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("by_default")

QUERIES = (
    "SELECT b.id FROM {b} b JOIN (VALUES (3), (70), (NULL)) AS d(k) ON b.k = d.k",
    "SELECT b.id FROM {b} b WHERE s IN (SELECT concat('s', id * 5) FROM range(3)) AND b.id >= 0",
    "SELECT d.k, b.id FROM (VALUES (3), (9999)) AS d(k) LEFT JOIN {b} b ON b.k = d.k",
    "SELECT d.k FROM (VALUES (3), (9999)) AS d(k) LEFT ANTI JOIN {b} b ON b.k = d.k",
    # equal but for their keys: an exchange of the one is none of the other
    (
        "SELECT x.id, y.id FROM (SELECT b.* FROM {b} b JOIN (VALUES (3)) AS d(k) ON b.k = d.k) x "
        "FULL JOIN (SELECT b.* FROM {b} b JOIN (VALUES (70)) AS d(k) ON b.k = d.k) y ON x.k = y.k"
    ),
    "WITH c AS (SELECT * FROM {b}) SELECT c.id, e.id FROM c JOIN c e ON c.k = e.k WHERE e.s = 's9'",
)


# joins on Delta tables are in test_skipping
@pytest.mark.in_time("parquet")
@pytest.mark.parametrize("table_format", ["delta", "parquet"])
def test_keys_skip_files(
    spark: SparkSession,
    tmp_path: Path,
    both: Callable[[str], tuple[int, int]],
    table_format: str,
) -> None:
    """Joins of several kinds give the same rows, and each reads fewer files."""
    driver = DRIVERS[table_format](spark, tmp_path / "ta ble", f"joins_{table_format}")
    rows = spark.range(0, 600, 1, 12).selectExpr(
        "id", "(id * 7) % 601 AS k", "concat('s', id) AS s"
    )
    driver.create(rows)
    driver.append(rows)
    mixed_indexes(spark, driver.name, [["k"], ["s"]])
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        for query in QUERIES:
            total, read = both(query.format(b=driver.relation()))
            codes = {str(r.code) for p in ls.last_pruning(spark) for r in p.reasons}

            assert "join-keys" in codes, query
            assert read < total, query
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
        ls.disable(spark)
