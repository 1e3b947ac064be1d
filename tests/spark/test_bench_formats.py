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

MADE = (
    *(f"lake.formats.{name}" for name in ("main", "by_k", "by_z")),
    *(f"spark_catalog.default.parquet_main{end}" for end in ("", "_bloom")),
)


# tests/bench has the parts of benchmarks that need no session
@pytest.mark.soak
@pytest.mark.parametrize(
    ("table_format", "peers"),
    [("iceberg", ["sorted by k", "Z-order (k, s)"]), ("parquet", ["Bloom filters"])],
    ids=["iceberg", "parquet"],
)
def test_every_way_answers_alike(
    spark: SparkSession, tmp_path: Path, table_format: str, peers: list[str]
) -> None:
    """All ways give the same rows, also as of before a change, and lakesieve opens fewer files."""
    try:
        table = TABLES[table_format](spark, tmp_path)
        measured = measure(spark, table, Case(rows=600, files=6), rounds=1)
    finally:
        for name in MADE:
            spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
    variants = {variant["variant"]: variant for variant in measured["variants"]}

    assert list(variants) == ["off", "lakesieve", *peers]
    assert variants["off"]["files"]["point"] == 6
    assert variants["lakesieve"]["files"]["point"] == 1
    assert variants["lakesieve"]["files"]["second"] <= 4
    assert variants["lakesieve"].get("then", 1) == 1
    measured |= {"format": table_format, "spark": "4.1"}
    assert all(bound.holds for bound in bounds_of(measured))
    assert len(table_of(measured).splitlines()) == 2 + len(variants)
