"""The jar, and tables for the clients of drivers that have it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from tests.kit.generated import rows_of
from tests.spark.extension.kit import COLUMNS, HAS_ICEBERG

import lakesieve as ls
from lakesieve.spark.extension.jar import write_jar
from lakesieve.spark.tables.registry import formats_of
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROWS = 600


@pytest.fixture(scope="session")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar."""
    folder = tmp_path_factory.mktemp("jar")
    written = [write_jar(folder / name) for name in ("a.jar", "b.jar")]
    assert Path(written[0].path).read_bytes() == Path(written[1].path).read_bytes()
    version = spark_version_of(pyspark.__version__)
    assert list(written[0].formats) == sorted(spec.name for spec in formats_of(version))
    return Path(written[0].path)


@pytest.fixture(scope="session")
def relations(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """A table of each format with indexes, and one file that they do not know."""
    folder = tmp_path_factory.mktemp("tables")
    tables = {"delta": f"delta.`{folder}/delta`", "parquet": f"parquet.`{folder}/parquet`"}
    if HAS_ICEBERG:
        tables = {"iceberg": "lake.t.clients", **tables}
    rows, more = rows_of(spark, ROWS), rows_of(spark, 30, files=1)
    for number, frame in enumerate((rows, more)):
        mode = "append" if number else "errorifexists"
        frame.write.format("delta").mode(mode).save(f"{folder}/delta")
        frame.write.mode(mode).parquet(f"{folder}/parquet")
        if HAS_ICEBERG:
            writer = frame.writeTo("lake.t.clients").using("iceberg")
            writer.append() if number else writer.create()
        if not number:
            for name in tables.values():
                given = name.replace(".`", ":").removesuffix("`")
                ls.create_indexes(given, [[column] for column in COLUMNS], spark=spark)
    yield tables
    if HAS_ICEBERG:
        spark.sql("DROP TABLE lake.t.clients PURGE")
