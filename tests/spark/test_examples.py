"""The examples in docstrings of public names do what they say, in a session of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.docstrings import FILES, PUBLIC, ROWS, TABLE, needs_spark, run

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

NAMES = sorted(name for name in PUBLIC if needs_spark(name))
COPY = "lake.shop.copy"
COLUMNS = ("id", "id * 7919 % 10007 AS customer", "CAST(id % 3 AS INT) AS tenant")


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[str]:
    """The table of the examples, with two indexes."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
    for name in (COPY, TABLE):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    writer = spark.range(0, ROWS, 1, FILES).selectExpr(*COLUMNS).writeTo(TABLE).using("iceberg")
    writer.tableProperty("write.distribution-mode", "none").create()
    ls.create_indexes(TABLE, ["customer", "id"], spark=spark)
    yield TABLE
    spark.sql(f"DROP TABLE {TABLE} PURGE")


@pytest.fixture
def place(
    spark: SparkSession, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A folder with the files that the examples name; what they make is removed afterwards."""
    (tmp_path / "dashboards.sql").write_text(f"SELECT * FROM {table} WHERE customer = 7;\n")
    (tmp_path / "lakesieve.toml").write_text(f'[tables."{table}"]\nindexes = [["customer"]]\n')
    monkeypatch.chdir(tmp_path)
    # the tests have one session, whose executors are this machine
    monkeypatch.setattr(ls, "local_session", lambda _: spark)
    monkeypatch.setattr(ls, "ship", lambda _: None)
    yield tmp_path
    ls.disable(spark)
    spark.sql(f"DROP TABLE IF EXISTS {COPY}")
    for info in ls.list_indexes(table, spark=spark):
        if info.name not in {"customer", "id"}:
            ls.open_index(table, info.name, spark=spark).drop(force=True)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("name", NAMES)
def test_examples(spark: SparkSession, name: str) -> None:
    """The examples of a public name that take a session print what they say."""
    assert run(name, {"ls": ls, "spark": spark}) == ""
