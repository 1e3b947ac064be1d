"""Delta's files are listed once for each snapshot if an index leaves few of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FILES = 24
QUERIES = (
    "SELECT * FROM {t} WHERE k IN (397, 5000)",
    "SELECT * FROM {t} WHERE k = 397 UNION ALL SELECT * FROM {t} WHERE v < 300",
    "SELECT * FROM {t} WHERE k = 397 UNION ALL SELECT * FROM {t}",
    "SELECT * FROM {t} a JOIN {t} b ON a.v = b.v WHERE a.k = 397 AND b.k = 397",
    "SELECT * FROM {t} a JOIN {t} b ON a.k = b.v WHERE a.k = 20",
    "SELECT * FROM {t} WHERE k = (SELECT max(k) FROM {t} WHERE k = 397)",
    "SELECT * FROM {t} VERSION AS OF 1 WHERE k = 13 UNION ALL SELECT * FROM {t} WHERE k = 13",
    "SELECT count(*), max(v) FROM {t} WHERE k = 397",
    "SELECT * FROM {t} WHERE k = 11 LIMIT 1",
    # Spark reads a part of the struct, from few files and from all
    "SELECT k, s.b FROM {t} WHERE k = 397",
    "SELECT k, s.b FROM {t} WHERE k < 3000 AND s.b > 'b 1'",
    "SELECT s.b FROM {t} WHERE v BETWEEN 20 AND 900",
    "SELECT s.a, v FROM {t} WHERE k = 397 UNION ALL SELECT s.a, v FROM {t}",
)
_NUMBERS = itertools.count()


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """Keys all over the files, values that ascend, an index on the keys, and one query done."""
    name = f"spark_catalog.default.listed_{next(_NUMBERS)}"
    folder = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE {name} (k BIGINT, v BIGINT, s STRUCT<a: BIGINT, b: STRING>) USING delta "
        f"LOCATION '{folder}' TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    )
    rows = spark.range(0, 4000, 1, FILES).selectExpr(
        "id * 7919 % 4001 AS k", "id AS v", "named_struct('a', id % 9, 'b', concat('b ', id)) AS s"
    )
    rows.writeTo(name).append()
    ls.create_index(name, ["k"], spark=spark)
    ls.enable(spark)
    try:
        spark.table(name).where("k = 397").collect()
        yield name
    finally:
        ls.disable(spark)
        spark.sql(f"DROP TABLE {name}")


def _jobs_to_plan(spark: SparkSession, frame: DataFrame) -> int:
    """Return the number of jobs that Spark runs before the query itself."""
    context = spark.sparkContext
    group = f"plan-{next(_NUMBERS)}"
    context.setJobGroup(group, "planning")
    try:
        frame._jdf.queryExecution().executedPlan()
    finally:
        context._jsc.clearJobGroup()
    return len(context.statusTracker().getJobIdsForGroup(group))


def _files_read(frame: DataFrame) -> int:
    frame.collect()
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    return int(scan.metrics().apply("numFiles").value())


def _answers(spark: SparkSession, table: str) -> dict[str, list[str]]:
    return {
        query: sorted(map(repr, spark.sql(query.format(t=table)).collect())) for query in QUERIES
    }


def test_selective_queries_run_no_query_over_the_log(spark: SparkSession, table: str) -> None:
    """Once listed, a point query needs no job for planning, even in later versions."""
    spark.table(table).where("k = 11").collect()
    assert _jobs_to_plan(spark, spark.table(table).where("k = 12")) == 0

    spark.sql(f"DELETE FROM {table} WHERE k = 13")
    assert _jobs_to_plan(spark, spark.table(table).where("k = 14")) == 0
    spark.sql(f"INSERT INTO {table} (k, v) VALUES (14, -3)")
    ls.open_index(table, "k", spark=spark).refresh()
    assert _jobs_to_plan(spark, spark.table(table).where("k = 15")) == 0
    assert spark.table(table).where("k = 13").count() == 0
    assert spark.table(table).where("k = 14").count() == 2
    assert _files_read(spark.table(table).where("k = 12")) == 1


# Delta's own skipping is compared in test_format_statistics
@pytest.mark.soak
def test_other_queries_keep_the_skipping_of_delta(spark: SparkSession, table: str) -> None:
    """Conditions that the index cannot answer leave no more files than in Delta alone."""
    for condition in ("v = 1234", "v < 300", "k >= 0 AND v = 7", "k + 1 = 12 AND v < 200"):
        assert _files_read(spark.table(table).where(condition)) <= 3
    assert spark.table(table).count() == 4000
    assert spark.sql(f"SELECT max(v) FROM {table}").head(1)[0][0] == 3999


@pytest.mark.soak
def test_answers_stay_the_same(spark: SparkSession, table: str) -> None:
    """With rows deleted and added since, queries give the same rows as without an index."""
    spark.sql(f"DELETE FROM {table} WHERE k IN (13, 14)")
    spark.sql(f"INSERT INTO {table} (k, v) VALUES (13, -1), (397, -2), (12, NULL), (NULL, 5)")
    ls.disable(spark)
    expected = _answers(spark, table)
    # all queries from the one list of this version
    ls.enable(spark)
    assert _answers(spark, table) == expected


# conflicts of Delta's commands, which show the same, are in every build
@pytest.mark.soak
def test_commands_read_their_own_version(spark: SparkSession, table: str) -> None:
    """Commands are not planned from the list, because they record what they read."""
    spark.sql(f"UPDATE {table} SET v = -5 WHERE k = 397")
    spark.sql(f"INSERT INTO {table} (k, v) SELECT k, v - 1 FROM {table} WHERE k = 397")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM {table} WHERE k = 12) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = -s.v"
    )
    rows = spark.sql(f"SELECT k, v FROM {table} WHERE k IN (12, 397) ORDER BY k, v").collect()

    assert [tuple(row) for row in rows] == [(12, rows[0]["v"]), (397, -6), (397, -5)]
    assert rows[0]["v"] < 0
    ls.disable(spark)
    again = spark.sql(f"SELECT k, v FROM {table} WHERE k IN (12, 397) ORDER BY k, v").collect()
    assert again == rows
