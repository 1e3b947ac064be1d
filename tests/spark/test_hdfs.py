"""Tables and their indexes in HDFS: the executors write them, queries read them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.storage.hdfs_server import hdfs_root

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

CATALOG = "spark.sql.catalog.hdfs"


@pytest.fixture
def make_table(spark: SparkSession) -> Callable[[str], tuple[str, str]]:
    """Makes a table of a format in HDFS; its name here and in SQL."""
    folder = f"{hdfs_root()}/wäre house/{random.randrange(10**9)}"
    conf = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": folder}
    for name, value in conf.items():
        spark.conf.set(CATALOG + name, value)
    rows = spark.range(0, 800, 1, 8).selectExpr("id", "id * 37 % 800 AS k")

    def make(name: str) -> tuple[str, str]:
        if name == "iceberg":
            rows.writeTo("hdfs.t.x").using("iceberg").create()
            return "hdfs.t.x", "hdfs.t.x"
        rows.write.format(name).save(f"{folder}/{name}")
        return f"{name}:{folder}/{name}", f"{name}.`{folder}/{name}`"

    return make


@pytest.mark.soak
@pytest.mark.parametrize("table_format", ["iceberg", "delta", "parquet"])
def test_a_table_and_its_index_in_hdfs(
    spark: SparkSession, make_table: Callable[[str], tuple[str, str]], table_format: str
) -> None:
    """Built beside its table, queried, refreshed, checked against the rows, dropped."""
    table, named = make_table(table_format)
    index = ls.create_index(table, ["k"], spark=spark)
    assert index.info().location.startswith(f"{hdfs_root()}/")
    # a key below all others, so that the new file's bounds do not rule it out
    more = spark.range(800, 900, 1, 1).selectExpr("id", "IF(id = 800, -1, id) AS k")
    if table_format == "iceberg":
        more.writeTo(table).append()
    else:
        folder = table.removeprefix(f"{table_format}:")
        more.write.format(table_format).mode("append").save(folder)
        spark.catalog.refreshByPath(folder)

    ls.enable(spark)
    wanted = {3: 0, 5: 0, 850: 1}
    for refreshed in (False, True):
        for key, number in wanted.items():
            assert spark.sql(f"SELECT id FROM {named} WHERE k = {key}").count() == 1
            (scan,) = ls.last_pruning(spark)
            assert scan.indexes == ("k",)
            # the new file is not covered at first
            assert scan.files_read == (1 if refreshed else 2 - number)
        if not refreshed:
            assert index.refresh().files == 1
    ls.disable(spark)
    assert index.verify().is_sound
    assert index.verify_rows(files=None).wrong == ()
    found = ls.find_files(table, "k = 3", spark=spark)
    assert (len(found.paths), found.uncovered) == (1, 0)
    index.drop()
    assert ls.list_indexes(table, spark=spark) == []
