"""``last_pruning`` describes the latest query that reads tables, and no other."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

TABLE = "lake.latest.t"
QUERY = f"SELECT * FROM {TABLE} WHERE k = 7"


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An indexed table of four files and two commits, and the same rows as Delta and Parquet."""
    folder = tmp_path_factory.mktemp("latest")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    spark.sql(f"CREATE TABLE {TABLE} (k BIGINT) USING iceberg")
    for start in (0, 40):
        mixed = spark.range(0, 40, 1, 2).selectExpr(f"{start} + id * 31 % 40 AS k")
        mixed.writeTo(TABLE).append()
    rows = spark.range(0, 80, 1, 2).toDF("k")
    rows.write.format("delta").save(f"{folder}/delta")
    rows.write.parquet(f"{folder}/parquet")
    ls.create_index(TABLE, ["k"], spark=spark)
    yield folder
    spark.sql(f"DROP TABLE {TABLE} PURGE")


def _after(spark: SparkSession, frame: DataFrame | None = None) -> list[tuple[str, int]]:
    """What is reported after a query, which comes after one that skips files."""
    spark.sql(QUERY).collect()
    assert [(p.table.split(".")[-1], p.files_read) for p in ls.last_pruning(spark)] == [("t", 1)]
    if frame is not None:
        frame.collect()
    return [(p.table.split(".")[-1], p.files_read) for p in ls.last_pruning(spark)]


def test_a_query_without_a_prunable_scan_tells_nothing(
    enabled: SparkSession, folder: Path, by_default: None
) -> None:
    """A query without a prunable scan shows no rows of an older query."""
    spark, delta = enabled, f"delta.`{folder}/delta`"
    (folder / "notes.txt").write_text("a\n")
    queries = (
        f"SELECT * FROM {TABLE}.snapshots",
        f"SELECT * FROM {TABLE}.files",
        f"SELECT count(*), min(k) FROM {TABLE}",
        f"SELECT count(*) FROM {delta}",
        f"SELECT * FROM {TABLE} WHERE 1 = 0",
        f"SELECT (SELECT count(*) FROM {TABLE}.files) AS n",
        f"SELECT * FROM text.`{folder}/notes.txt`",
    )
    for query in queries:
        assert _after(spark, spark.sql(query)) == [], query
    answered = spark.sql(f"SELECT count(*) FROM {delta}")
    answered.explain()
    assert _after(spark) == [("t", 1)]


def test_incremental_reads_are_pruned(enabled: SparkSession, folder: Path) -> None:
    """A read of appended rows is reported like other scans."""
    assert folder.exists()
    rows = enabled.sql(f"SELECT snapshot_id FROM {TABLE}.snapshots ORDER BY committed_at").collect()
    appended = enabled.read.option("start-snapshot-id", rows[0][0]).table(TABLE)

    assert [row[0] for row in appended.where("k = 77").collect()] == [77]
    (scans,) = ls.last_pruning(enabled)
    assert (scans.files_total, scans.files_read, scans.indexes) == (2, 1, ("k",))
    assert appended.where("k = 7").collect() == []
    assert ls.last_pruning(enabled)[0].files_read == 0


def test_what_reads_no_table_leaves_the_report(enabled: SparkSession, folder: Path) -> None:
    """Values, command results, cached rows and lakesieve's own queries do not clear the report."""
    spark = enabled
    shown = [("t", 1)]
    assert _after(spark, spark.sql("SELECT 1 AS one")) == shown
    assert _after(spark, spark.sql("SHOW TABLES IN lake.latest")) == shown
    assert _after(spark, spark.createDataFrame([(1,)], "k long")) == shown
    cached = spark.read.parquet(f"{folder}/parquet").cache()
    cached.count()
    assert _after(spark, cached) == shown
    cached.unpersist()
    _after(spark)
    index = ls.open_index(TABLE, "k", spark=spark)
    assert (index.refresh().files, index.files("k = 7").total) == (0, 4)
    index.verify_rows()
    assert _after(spark) == shown
    frame = spark.sql(QUERY)
    frame.collect()
    spark.sql(f"SELECT * FROM {TABLE}.files").collect()
    # it is not planned again
    frame.collect()
    assert ls.last_pruning(spark) == []


def test_a_streams_batches_are_not_reported(
    enabled: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """Batches of a stream clear nothing, but queries in a batch's function are reported."""
    spark = enabled
    inner: list[int] = []

    def joined(batch: DataFrame, _number: int) -> None:
        if inner:
            batch.sparkSession.sql(QUERY).collect()
        else:
            batch.collect()

    for number in (1, 2):
        _after(spark)
        spark.sql(f"SELECT * FROM {TABLE} WHERE k IN (7, 77)").collect()
        stream = spark.readStream.schema("k long").parquet(f"{folder}/parquet").writeStream
        location = str(tmp_path / str(number))
        query = stream.foreachBatch(joined).option("checkpointLocation", location)
        query.trigger(availableNow=True).start().awaitTermination()
        assert ls.last_pruning(spark)[0].files_read == (1 if inner else 2)
        inner.append(number)


def test_own_jobs_are_described(spark: SparkSession, folder: Path) -> None:
    """Spark's UI describes lakesieve's jobs, and then the user's description returns."""
    assert folder.exists()
    context = spark.sparkContext
    context.setJobGroup("mine", "my own work")
    store = context._jsc.sc().statusStore()
    # the store keeps a thousand jobs, so that their number may stay the same
    spark.range(1).collect()
    before = store.jobsList(None).apply(0).jobId()
    index = ls.open_index(TABLE, "k", spark=spark)
    index.verify_rows()
    index.compact()
    small = spark.range(2).selectExpr("id + 7 AS k")
    ls.enable(spark)
    try:
        spark.table(TABLE).join(small, "k").collect()
    finally:
        ls.disable(spark)
    listed = store.jobsList(None)
    jobs = (listed.apply(at) for at in range(listed.size()))
    result = [job.description() for job in itertools.takewhile(lambda j: j.jobId() > before, jobs)]
    named = {one.get() if one.isDefined() else "" for one in result}

    assert "" not in named
    assert f"lakesieve: verify {TABLE}, index k" in named
    assert "lakesieve: small side of a join" in named
    assert [one for one in named if "lakesieve" not in one] == ["my own work"]
    assert context.getLocalProperty("spark.jobGroup.id") == "mine"
    assert context.getLocalProperty("spark.job.description") == "my own work"
    assert context.getLocalProperty("lakesieve.own") is None
    for name in ("spark.jobGroup.id", "spark.job.description"):
        context.setLocalProperty(name, None)  # type: ignore[arg-type]


# Parquet shows its files in the same node
@pytest.mark.in_time("delta-KeptDeltaFiles")
@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("iceberg", "lakesieve = '1 of 2 files'"),
        ("delta", "KeptDeltaFiles"),
        ("parquet", "KeptFileIndex"),
    ],
)
def test_explain_shows_it(enabled: SparkSession, folder: Path, form: str, shown: str) -> None:
    """The plan of a pruned query shows it, and planning it is reported."""
    relation = TABLE if form == "iceberg" else f"{form}.`{folder}/{form}`"
    if form != "iceberg":
        ls.create_index(f"{form}:{folder}/{form}", ["k"], spark=enabled)
        # else the minimum and maximum of a file skip it
        rows = enabled.range(0, 80, 1, 2).selectExpr("id * 31 % 80 AS k")
        rows.write.format(form).mode("append").save(f"{folder}/{form}")
        enabled.catalog.refreshByPath(f"{folder}/{form}")
        ls.refresh_indexes(f"{form}:{folder}/{form}", spark=enabled)
    query = f"EXPLAIN SELECT * FROM {relation} WHERE k = 7"
    ls.disable(enabled)
    assert shown not in enabled.sql(query).collect()[0][0]
    ls.enable(enabled)
    assert shown in enabled.sql(query).collect()[0][0]
    (scan,) = ls.last_pruning(enabled)
    assert scan.files_read < scan.files_total


def _described(spark: SparkSession, since: int) -> set[str | None]:
    """Descriptions of the jobs that were started after one."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    jobs = context._jsc.sc().statusStore().jobsList(None)
    listed = (jobs.apply(at) for at in range(jobs.size()))
    found = [job for job in listed if job.jobId() > since]
    return {job.description().get() if job.description().isDefined() else None for job in found}


def _last_job(spark: SparkSession) -> int:
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    jobs = context._jsc.sc().statusStore().jobsList(None)
    return max((jobs.apply(at).jobId() for at in range(jobs.size())), default=-1)


@pytest.mark.in_time("true")
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_jobs_say_how_many_files_they_read(
    enabled: SparkSession, folder: Path, adaptive: str
) -> None:
    """Spark's UI shows files before and after for a pruned query, and for no other query."""
    spark = enabled
    context: Any = spark.sparkContext
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    text = f"lakesieve reads 1 of 2 data files of {TABLE} (index k)"
    since = _last_job(spark)
    spark.sql(QUERY).collect()
    assert _described(spark, since) == {text}
    # it ends with its query
    assert context.getLocalProperty("spark.job.description") is None
    since = _last_job(spark)
    spark.sql(f"SELECT * FROM {TABLE}").collect()
    spark.sql(f"SELECT a.k FROM ({QUERY}) a JOIN {TABLE} b ON a.k = b.k + 1").collect()
    context.parallelize([1], 1).count()
    assert {None, text} <= _described(spark, since)

    context.setJobDescription("my own")
    since = _last_job(spark)
    spark.sql(QUERY).collect()
    assert _described(spark, since) == {"my own"}
    assert context.getLocalProperty("spark.job.description") == "my own"
    context.setLocalProperty("spark.job.description", None)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
