"""A tiny run of ``bench.formats`` in the session of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bench.formats.bounds import bounds_of, table_of
from bench.formats.case import Case
from bench.formats.work import TABLES, measure

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("table_format", "peers"),
    [("delta", ["Z-order (k, s)", "Z-order (k)"]), ("parquet", ["Bloom filters"])],
    ids=["delta", "parquet"],
)
def test_every_way_answers_alike(
    spark: SparkSession, tmp_path: Path, table_format: str, peers: list[str]
) -> None:
    """All ways give the same rows, also as of before a change, and lakesieve opens fewer files."""
    try:
        table = TABLES[table_format](spark, tmp_path)
        told = measure(spark, table, Case(rows=600, files=6), rounds=1)
    finally:
        for name in ("parquet_main", "parquet_main_bloom"):
            spark.sql(f"DROP TABLE IF EXISTS spark_catalog.default.{name}")
    ways = {way["way"]: way for way in told["ways"]}

    assert list(ways) == ["off", "lakesieve", *peers]
    assert ways["off"]["files"]["point"] == 6
    assert ways["lakesieve"]["files"]["point"] == 1
    assert ways["lakesieve"]["files"]["second"] <= 4
    assert ways["lakesieve"].get("then", 1) == 1
    told["spark"] = "4.1"
    assert all(bound.holds or "over" in bound.name for bound in bounds_of(told))
    assert len(table_of(told).splitlines()) == 2 + len(ways)
