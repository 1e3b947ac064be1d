"""Hudi scans that read some rows of base files, beside the same queries without lakesieve."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.spark.hudi.driver import DRIVERS, HudiDriver
from tests.spark.rows.compared import compared
from tests.spark.rows.reader_settings import VECTORIZED

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS = 2_000
COLUMNS = {
    "part": "CAST(id % 3 AS STRING)",
    "whole": "CAST(pmod(hash(id), 50) AS INT)",
    "double": "IF(id % 9 = 0, DOUBLE('NaN'), id / -3.0D)",
    "day": "date_add(DATE '1950-01-01', CAST(id * 7 AS INT))",
    "moment": "timestamp_seconds(id * 765432)",
    "word": "IF(id % 11 = 0, NULL, concat('word ', pmod(hash(id, 3), 30)))",
    "small": "CAST(id / 8 AS DECIMAL(9, 3))",
    "pair": "IF(id % 6 = 0, NULL, named_struct('a', id, 'b', string(id)))",
    "list": "IF(id % 10 = 0, NULL, transform(sequence(0, id % 4), i -> id + i))",
}
READERS = {"vectorized": "true", "rows": "false"}


@pytest.fixture(params=DRIVERS)
def table(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[HudiDriver]:
    """A table of each kind, in partitions, whose base files have small pages and row groups."""
    made = DRIVERS[request.param](spark, tmp_path / "ä+", f"blocks_{request.param}")
    pages = {"parquet.page.row.count.limit": "37", "hoodie.parquet.block.size": "20000"}
    made.settings = made.settings | pages
    made.create(spark.range(0), "part")
    made.append(rows(spark, 0, ROWS))
    yield made
    ls.disable(spark)
    made.drop()


def rows(spark: SparkSession, start: int, end: int) -> DataFrame:
    """Return new rows with a column of each type."""
    columns = [f"{made} AS {name}" for name, made in COLUMNS.items()]
    return spark.range(start, end, 1, 2).selectExpr("id", *columns)


# a slice without log files is read in the same way in both kinds of tables
@pytest.mark.in_time("merge_on_read-0")
@pytest.mark.parametrize("seed", range(depth("SEEDS", test=1, soak=40)))
def test_drawn_queries(spark: SparkSession, table: HudiDriver, seed: int) -> None:
    """Drawn conditions give the same rows, also where log files or new files were added."""
    drawn = random.Random(f"{table.table} {seed}")
    relation = table.entry
    other = drawn.choice(["whole", "word", "small", "day"])
    for column, sizes in (("id", [1, 13, 64]), (other, [1, 13, 64, 400])):
        ls.create_index(table.name, column, spark=spark, rows_per_block=drawn.choice(sizes))
    before = table.version()
    table.update("whole = 7", f"id % {drawn.randint(50, 300)} = 1 AND part = '1'")
    if drawn.random() < 0.5:
        table.append(rows(spark, ROWS, ROWS + 50))
    old = table.relation(before)
    restricted = 0
    try:
        for number in range(8):
            vectorized = drawn.choice(list(READERS.values()))
            spark.conf.set(VECTORIZED, vectorized)
            wanted = ", ".join(drawn.sample(["id", *COLUMNS], drawn.randint(1, len(COLUMNS))))
            first = _condition(drawn) if number else f"id = {drawn.randrange(0, ROWS, 3)}"
            second = _condition(drawn)
            both = [f"{first} AND {second}", f"{first} OR {second}"]
            joined = drawn.choice([*both, first]) if number else first
            source = drawn.choice([relation, relation, old])
            pruned = compared(spark, f"SELECT {wanted} FROM {source} WHERE {joined}")
            restricted += any(scan.rows_read != scan.rows_total for scan in pruned)
    finally:
        spark.conf.unset(VECTORIZED)
    assert restricted


def _condition(drawn: random.Random) -> str:
    return drawn.choice(
        [
            f"id = {drawn.randrange(ROWS)}",
            f"id IN ({', '.join(str(drawn.randrange(ROWS)) for _ in range(9))})",
            f"whole = {drawn.randrange(50)}",
            f"word = 'word {drawn.randrange(30)}'",
            "word IS NULL",
            f"small = {drawn.randrange(ROWS)}.125",
            f"day < DATE '{1950 + drawn.randrange(20)}-03-01'",
            f"part = '{drawn.randrange(3)}' AND id > {drawn.randrange(ROWS)}",
        ]
    )


@pytest.mark.in_time("copy_on_write-vectorized", "merge_on_read-rows")
@pytest.mark.parametrize("reader", READERS)
def test_rows_that_are_read(spark: SparkSession, table: HudiDriver, reader: str) -> None:
    """The vectorized reader decodes the wanted pages only; the other one whole row groups."""
    ls.create_index(table.name, "id", spark=spark, rows_per_block=50)
    ls.enable(spark)
    spark.conf.set(VECTORIZED, READERS[reader])
    try:
        query = spark.sql(f"SELECT * FROM {table.entry} WHERE id = 777")
        assert [row.id for row in query.collect()] == [777]
    finally:
        spark.conf.unset(VECTORIZED)

    (scan,) = ls.last_pruning(spark)
    assert scan.rows_read == 50
    # the rows that Spark's scan returns, before its filter
    decoded = _scan(query).metrics().apply("numOutputRows").value()
    assert 1 <= decoded < (200 if reader == "vectorized" else ROWS / 4)


def _scan(query: DataFrame) -> Any:
    plan = query._jdf.queryExecution().executedPlan()
    if "Adaptive" in plan.getClass().getName():
        plan = plan.executedPlan()
    return plan.collectLeaves().apply(0)


def test_a_slice_with_log_files_is_read_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of log files take the place of rows that an index knows."""
    table = DRIVERS["merge_on_read"](spark, tmp_path / "t", "blocks_with_logs")
    table.append(rows(spark, 0, ROWS))
    ls.create_index(table.name, "whole", spark=spark, rows_per_block=10)
    query = f"SELECT id, whole FROM {table.entry} WHERE whole = 1000"
    try:
        assert compared(spark, query)[0].files_read == 0
        table.update("whole = 1000", "id = 1")
        changed = [tuple(row) for row in spark.sql(query).collect()]
        (scan,) = compared(spark, query)
        assert changed == [(1, 1000)]
        assert (scan.files_read, scan.rows_read) == (1, None)
    finally:
        ls.disable(spark)
        table.drop()
