"""Hudi tables in a session without Python, by lakesieve's jar for Spark 3.5."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.extension.kit import COLUMNS, check_program, settings_of
from tests.spark.hudi.driver import DRIVERS

import lakesieve as ls
from lakesieve.spark.extension.jar import write_jar
from lakesieve.testing.generated import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 600


def test_same_answers(spark: SparkSession, tmp_path: Path) -> None:
    """Generated conditions give the same rows with skipping off and on, from fewer files."""
    # a JVM of its own has the formats that this session lacks
    jar = write_jar(tmp_path / "lakesieve-spark.jar")
    assert (jar.spark, jar.formats) == ("3.5", ("delta", "hudi", "iceberg", "parquet"))
    views = []
    for kind, driver in DRIVERS.items():
        table = driver(spark, tmp_path / kind, f"extension_{kind}")
        table.create(rows_of(spark, 0))
        table.append(rows_of(spark, ROWS))
        ls.create_indexes(table.name, [[column] for column in COLUMNS], spark=spark)
        options = {kind: "", f"{kind}_plain": ", 'hoodie.enable.data.skipping' 'false'"}
        views += [
            f"CREATE TEMPORARY VIEW {name} USING hudi OPTIONS (path '{tmp_path / kind}'{more})"
            for name, more in options.items()
        ]
    # Hudi's own skipping loses rows, where a column has NaN or conditions are LIKE
    tables = {kind: f"{kind}_plain" for kind in DRIVERS}
    settings = settings_of(spark, Path(jar.path))
    check_program("spark-sql", settings, tables, tmp_path, before=views)
