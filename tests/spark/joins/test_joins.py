"""What the keys of joins skip, and what they do not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    Both = Callable[[str], tuple[int, int]]

pytestmark = pytest.mark.usefixtures("by_default")


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Set settings for one test."""
    names: list[str] = []

    def put(name: str, value: str) -> None:
        names.append(name)
        spark.conf.set(name, value)

    yield put
    for name in names:
        spark.conf.unset(name)


def _codes(spark: SparkSession, table: str) -> list[str]:
    return [str(r.code) for p in ls.last_pruning(spark) if p.table == table for r in p.reasons]


def _pruned(spark: SparkSession, table: str) -> list[ls.TablePruning]:
    return [p for p in ls.last_pruning(spark) if p.table == table]


def test_keys_are_located(spark: SparkSession, big: str, both: Both) -> None:
    """The predicate names the keys of the join, beside the conditions of the scan."""
    both(f"SELECT b.id FROM {big} b JOIN VALUES (1, 'k31'), (2, 'k62') AS v(n, k) ON b.s = v.k")
    (pruned,) = _pruned(spark, big)

    assert pruned.predicate == "s IS NOT NULL AND s IN (2 keys of a join)"
    assert pruned.files_read < pruned.files_total
    assert {"join-keys", "index-used"} <= set(_codes(spark, big))


def test_blocks_of_a_single_file(spark: SparkSession, table: str, both: Both) -> None:
    """Keys of a join leave out row blocks, even if the table has a single data file."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 1000, 1, 1)")
    ls.create_index(table, "id", spark=spark, rows_per_block=10)
    few = "(SELECT explode(array(5L, 700L, 5000L)) AS id)"

    assert both(f"SELECT b.id FROM {table} b JOIN {few} s ON b.id = s.id") == (1, 1)

    (scan,) = ls.last_pruning(spark)
    assert (scan.rows_read, scan.rows_total) == (20, 1000)


def test_an_empty_side_reads_nothing(spark: SparkSession, big: str, both: Both) -> None:
    """Without any key, only files that are not indexed are read."""
    query = f"SELECT count(b.id) FROM {big} b JOIN lake.joins.few d ON b.l = d.l AND d.id < 0"
    both(query)
    (pruned,) = _pruned(spark, big)

    assert pruned.files_read == pruned.uncovered


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT * FROM {b} b LEFT JOIN lake.joins.few d ON b.i = d.i", "join-unsupported"),
        ("SELECT * FROM {b} b FULL JOIN lake.joins.few d ON b.i = d.i", "join-unsupported"),
        ("SELECT * FROM {b} b JOIN lake.joins.few d ON b.i <=> d.i", "join-unsupported"),
        ("SELECT * FROM {b} b JOIN lake.joins.few d ON b.w = d.w", "join-unsupported"),
        ("SELECT * FROM {b} b JOIN lake.joins.few d ON b.m = d.w", "join-unsupported"),
        ("SELECT * FROM {b} b JOIN {b} c ON b.i = c.i", "join-too-large"),
    ],
    ids=["left", "full", "null-safe", "long decimals", "scales", "large"],
)
def test_reasons(
    spark: SparkSession, big: str, conf: Callable[..., None], query: str, code: str
) -> None:
    """Each reason why a join does not prune a scan has a code."""
    ls.enable(spark)
    conf("spark.lakesieve.join.bytes", "4k")
    spark.sql(query.format(b=big).replace("*", "b.id")).count()
    ls.disable(spark)

    assert code in _codes(spark, big)
    assert "join-keys" not in _codes(spark, big)


def test_limits(spark: SparkSession, big: str, both: Both, conf: Callable[..., None]) -> None:
    """A side with more rows than allowed is not run, whether Spark knows their number or not."""
    conf("spark.lakesieve.join.rows", "3")
    for few in ("lake.joins.few", "few_rdd", "(SELECT l FROM few_view WHERE id > -id)"):
        both(f"SELECT count(b.id) FROM {big} b JOIN {few} d ON b.l = d.l")

        assert "join-too-large" in _codes(spark, big)
    conf("spark.lakesieve.join.rows", "1000")
    conf("spark.lakesieve.join.bytes", "off")
    both(f"SELECT count(b.id) FROM {big} b JOIN lake.joins.few d ON b.l = d.l")

    assert not {"join-too-large", "join-keys"} & set(_codes(spark, big))


def test_time_is_limited(
    spark: SparkSession, big: str, both: Both, conf: Callable[..., None]
) -> None:
    """A side that takes too long is cancelled, and the query goes on without its keys."""
    conf("spark.lakesieve.join.seconds", "0.05")
    slow = "(SELECT l FROM few_view WHERE java_method('java.lang.Thread', 'sleep', 10L) IS NULL)"
    both(f"SELECT count(b.id) FROM {big} b JOIN {slow} d ON b.l = d.l")

    assert "join-too-large" in _codes(spark, big)


def test_a_side_that_changes_runs_once(spark: SparkSession, big: str) -> None:
    """The joined rows are those whose keys were looked up, even if every run differs."""
    keys = [row[0] for row in spark.sql(f"SELECT l FROM {big} WHERE id > 10 AND l > 0").collect()]
    drawn = spark.sparkContext.parallelize(range(4), 2).map(
        lambda _: (random.SystemRandom().choice(keys),)
    )
    spark.createDataFrame(drawn, "l long").createOrReplaceTempView("drawn")
    ls.enable(spark)
    for _ in range(3):
        rows = spark.sql(f"SELECT d.l, b.id FROM drawn d LEFT JOIN {big} b ON b.l = d.l").collect()

        assert "join-keys" in _codes(spark, big)
        assert all(row.id is not None for row in rows)
    ls.disable(spark)


# adaptive execution shares more scans
@pytest.mark.in_time("true")
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_scans_with_other_keys_are_not_shared(
    spark: SparkSession, big: str, both: Both, conf: Callable[..., None], adaptive: str
) -> None:
    """Scans that are pruned by other keys are not shared, although Spark runs equal scans once."""
    conf("spark.sql.adaptive.enabled", adaptive)
    conf("spark.sql.autoBroadcastJoinThreshold", "-1")
    part = (
        "SELECT b.id, b.l FROM {b} b JOIN (SELECT l FROM lake.joins.few WHERE id = {n}) d USING (l)"
    )
    one, two = (part.format(b=big, n=n) for n in (97, 2300))
    total, read = both(f"SELECT x.id, y.id FROM ({one}) x FULL JOIN ({two}) y ON x.l = y.l")
    first, second = _pruned(spark, big)

    assert read < total
    assert first.files_read < first.files_total
    assert second.files_read < second.files_total
    # a table joined twice with the same keys may be read once
    both(f"SELECT x.id, y.id FROM ({one}) x FULL JOIN ({one}) y ON x.l = y.l")


def test_partition_pruning_stays(
    spark: SparkSession, table: str, both: Both, conf: Callable[..., None]
) -> None:
    """Spark's own partition pruning uses the rows in the plan."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, p BIGINT) USING iceberg PARTITIONED BY (p) "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    rows = spark.range(0, 400, 1, 1).selectExpr("(id * 7) % 401 AS k", "id % 8 AS p")
    rows.sortWithinPartitions("p").writeTo(table).append()
    ls.create_index(table, ["k"], spark=spark)
    conf("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "true")
    few = "(SELECT k, p FROM few_p WHERE k > 5)"
    made = spark.range(3).selectExpr("id * 7 AS k", "id % 2 AS p")
    made.write.mode("overwrite").format("parquet").saveAsTable("few_p")
    query = f"SELECT t.k, t.p FROM {table} t JOIN {few} d ON t.k = d.k AND t.p = d.p"
    both(query)
    plan = spark.sql(query)._jdf.queryExecution().executedPlan().toString()
    spark.sql("DROP TABLE few_p")

    assert "LocalTableScan" in plan or "join-keys" not in _codes(spark, table)


@pytest.mark.in_time("left", "anti", "inner")
@pytest.mark.parametrize(
    ("join", "filters"),
    [
        ("v LEFT JOIN b ON b.s = v.s", True),
        ("v LEFT ANTI JOIN b ON b.l = v.l", True),
        ("b RIGHT JOIN v ON b.m = v.m", True),
        ("b JOIN v ON b.s = v.s", False),
        ("v LEFT JOIN b ON b.x = v.x", False),
        ("b LEFT JOIN v ON b.s = v.s", False),
    ],
    ids=["left", "anti", "right", "inner", "double", "preserved"],
)
def test_rows_are_filtered(
    spark: SparkSession, big: str, both: Both, join: str, *, filters: bool
) -> None:
    """A small side that cannot be broadcast filters the rows of the other side."""
    spark.table(big).createOrReplaceTempView("b")
    spark.table("lake.joins.few").where("id < 600").createOrReplaceTempView("v")
    query = f"SELECT count(*) AS id FROM {join}"
    both(query)
    ls.enable(spark)
    plan = str(spark.sql(query)._jdf.queryExecution().optimizedPlan())
    ls.disable(spark)
    for view in ("b", "v"):
        spark.catalog.dropTempView(view)

    assert (" INSET " in plan) == filters, plan
