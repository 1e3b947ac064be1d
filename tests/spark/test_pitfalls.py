"""Queries for which other systems silently lose skipping, or which it could break."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("by_default")

T = "lake.pit.t"
FILES = 10
_CTE = (
    f"WITH x AS (SELECT * FROM {T}) SELECT (SELECT max(c) FROM x WHERE a = 10), "
    "(SELECT max(c) FROM x WHERE a = 600)"
)


@pytest.fixture(scope="module", autouse=True)
def _table(spark: SparkSession) -> Iterator[None]:
    """Two scattered key columns over ten files, both indexed, and a third that is not."""
    ls.disable(spark)
    spark.sql(f"DROP TABLE IF EXISTS {T} PURGE")
    spark.sql(
        f"CREATE TABLE {T} (a BIGINT, b BIGINT, c BIGINT, st STRUCT<k: BIGINT>) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    rows = spark.range(0, 1000, 1, FILES).selectExpr(
        "(id * 7919) % 1009 AS a",
        "(id * 104729) % 1013 AS b",
        "id AS c",
        "named_struct('k', (id * 31) % 1021) AS st",
    )
    rows.writeTo(T).append()
    ls.create_indexes(T, [["a"], ["b"], ["st.k"]], spark=spark)
    yield
    ls.disable(spark)
    spark.sql(f"DROP TABLE {T} PURGE")


@pytest.mark.parametrize(
    ("query", "most"),
    [
        (f"SELECT * FROM {T} WHERE a = 500", 1),
        (f"SELECT * FROM {T} WHERE st.k = 500", 1),
        (f"SELECT count(*) FROM {T} WHERE a = 500 AND b BETWEEN 0 AND 1012", 1),
        (f"SELECT * FROM {T} WHERE a = 500 OR b = 7", 2),
        (f"SELECT * FROM {T} WHERE a = 500 OR c = 7", FILES),
        (f"SELECT * FROM {T} WHERE NOT (a <> 500)", 1),
        (f"SELECT * FROM {T} WHERE a IN (1, 2) AND b IS NOT NULL", 2),
        (f"SELECT * FROM {T} WHERE a IS NULL", 0),
        (f"SELECT a.c FROM {T} a JOIN {T} b ON a.c = b.c WHERE a.a = 1 AND b.b = 7", 2),
        (_CTE, 2),
        (f"SELECT * FROM {T} WHERE c IN (SELECT c FROM {T} WHERE a = 3)", FILES + 1),
        (f"SELECT a AS b FROM (SELECT b AS a, a AS b FROM {T}) WHERE b = 17", 1),
        (f"SELECT a, count(*) FROM {T} WHERE a < 3 GROUP BY a HAVING count(*) > 0", 3),
        (f"SELECT * FROM {T} WHERE a = 5 UNION ALL SELECT * FROM {T} WHERE a = 6", 2),
        (f"SELECT * FROM {T} x LEFT JOIN {T} y ON x.c = y.c AND y.a = 3", FILES + 1),
        (f"SELECT EXISTS (SELECT 1 FROM {T} WHERE a = 44) AS e", 1),
    ],
)
def test_shapes_of_queries(both: Callable[[str], tuple[int, int]], query: str, most: int) -> None:
    """Each shape of query gives the same rows and opens only the needed files."""
    _, read = both(query)

    assert read <= most


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_differently_pruned_scans_are_not_exchanged(
    spark: SparkSession, both: Callable[[str], tuple[int, int]], adaptive: str
) -> None:
    """Two scans of one table that keep different files never share an exchange."""
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        _, read = both(
            f"SELECT l.n, r.n FROM (SELECT c % 5 AS g, count(*) AS n FROM {T} WHERE a < 30 "
            f"GROUP BY c % 5) l JOIN (SELECT c % 5 AS g, count(*) AS n FROM {T} "
            "WHERE a > 990 GROUP BY c % 5) r ON l.g = r.g"
        )
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")

    assert read <= 2 * FILES


def test_scalar_subqueries_that_spark_merges(both: Callable[[str], tuple[int, int]]) -> None:
    """Subqueries that the optimizer merges into one scan keep the rows of both."""
    both(
        f"SELECT (SELECT sum(c) FROM {T} WHERE a = 5), (SELECT count(c) FROM {T} WHERE a = 6), "
        f"(SELECT max(c) FROM {T} WHERE a = 5), (SELECT min(c) FROM {T} WHERE a * 2 = 12)"
    )


def test_runtime_filters_and_dynamic_pruning(
    spark: SparkSession, both: Callable[[str], tuple[int, int]]
) -> None:
    """Plans in which Spark copies one side of a join as a filter give the right rows."""
    settings = {
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "1",
        "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        both(f"SELECT x.c, y.c FROM {T} x JOIN {T} y ON x.c = y.b WHERE x.a IN (3, 4, 5)")
    finally:
        for key in settings:
            spark.conf.unset(key)


def test_a_view_and_the_dataframe_api(
    enabled: SparkSession,
) -> None:
    """Views and DataFrame code skip files as SQL does, whatever the action."""
    enabled.sql(f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT a AS key, c FROM {T}")
    frame = enabled.table("v").where("key = 77")
    for action in (
        lambda: len(frame.collect()),
        frame.count,
        lambda: len(frame.toPandas()),
        lambda: frame.toArrow().num_rows,
        lambda: len(list(frame.toLocalIterator())),
        frame.rdd.count,
    ):
        assert action() == 1
        assert [p.files_read for p in ls.last_pruning(enabled)] == [1]


def test_a_cached_frame_is_not_shared_by_other_conditions(enabled: SparkSession) -> None:
    """Caching a skipped scan does not leak its files into another query."""
    cached = enabled.sql(f"SELECT c FROM {T} WHERE a = 9").cache()
    try:
        assert cached.count() == 1
        assert enabled.sql(f"SELECT c FROM {T} WHERE a = 9").count() == 1
        assert enabled.sql(f"SELECT c FROM {T} WHERE a = 10").count() == 1
        assert enabled.table(T).count() == 1000
    finally:
        cached.unpersist()


def test_a_random_condition_leaves_the_scan_whole(enabled: SparkSession) -> None:
    """No file is skipped by a nondeterministic condition."""
    enabled.sql(f"SELECT * FROM {T} WHERE a = 9 AND rand(7) < 0.5").collect()

    (pruned,) = ls.last_pruning(enabled)
    assert pruned.files_read == pruned.files_total


def test_writes_read_only_what_they_need(
    spark: SparkSession, enabled: SparkSession, table: str
) -> None:
    """CREATE TABLE AS SELECT and INSERT skip files that they need not read."""
    enabled.sql(f"CREATE TABLE {table} USING iceberg AS SELECT * FROM {T} WHERE a = 9")
    assert [p.files_read for p in ls.last_pruning(enabled)] == [1]
    enabled.sql(f"INSERT INTO {table} SELECT * FROM {T} WHERE a IN (10, 11)")

    assert [p.files_read <= 2 for p in ls.last_pruning(enabled)] == [True]
    assert enabled.table(table).count() == 3


def test_a_frame_planned_before_a_commit(spark: SparkSession, table: str) -> None:
    """A query that is planned before a commit and run after it gives the same rows."""
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING iceberg")
    spark.range(0, 100, 1, 4).selectExpr("id AS k").writeTo(table).append()
    ls.create_index(table, ["k"], spark=spark)
    answers = []
    for switch in (ls.disable, ls.enable):
        switch(spark)
        frame = spark.sql(f"SELECT * FROM {table} WHERE k IN (5, 1000)")
        frame.explain()
        spark.sql(f"INSERT INTO {table} VALUES (1000)")
        answers.append(frame.count())
        spark.sql(f"DELETE FROM {table} WHERE k = 1000")

    assert answers[0] == answers[1]


def test_another_session_is_not_switched(spark: SparkSession, enabled: SparkSession) -> None:
    """Skipping in one session does not affect another session of the process."""
    other = spark.newSession()
    assert other._jsparkSession.experimental().extraOptimizations().size() == 0
    ls.enable(other)
    assert other.sql(f"SELECT * FROM {T} WHERE a = 9").count() == 1
    assert [p.files_read for p in ls.last_pruning(other)] == [1]
    ls.disable(other)


def test_disable_takes_the_rule_out(spark: SparkSession) -> None:
    """After disable, nothing of lakesieve is left in the optimizer."""
    ls.enable(spark)
    ls.disable(spark)

    assert spark._jsparkSession.experimental().extraOptimizations().size() == 0
