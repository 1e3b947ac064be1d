"""Keys in several rows agree with grouping all rows, and come from few files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from tests.spark.keys.test_contains import MADE, made, plain

import lakesieve as ls
from lakesieve.index import ReasonCode
from lakesieve.spark.commands import duplicates as module
from lakesieve.spark.rule.installed import installed_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

# most keys of one column are in several rows, and some of two
AGAIN = MADE.replace(
    "FROM range({}, {}, 1, {})", "FROM (SELECT id * 7 % 1297 AS id FROM range({}, {}, 1, {}))"
)


@pytest.fixture(scope="module", params=["iceberg", "delta", "parquet"])
def events(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """A table of events of which some are there twice, and how SQL names it."""
    folder = tmp_path_factory.mktemp("duplicates") / "t a"
    with made(spark, request.param, folder, name="again", sql=AGAIN) as names:
        yield names


def grouped(rows: DataFrame, columns: list[str]) -> set[str]:
    """The keys in several rows, with how many, nulls left out."""
    known = " AND ".join(f"{name} IS NOT NULL" for name in columns)
    counts = rows.where(known).groupBy(*columns).agg(F.count("*").alias("rows"))
    return {plain(row) for row in counts.where("rows > 1").collect()}


def found(answer: ls.Duplicates) -> set[str]:
    """The keys of an answer, each once."""
    rows = [plain(row) for row in answer.keys.collect()]
    assert len(rows) == len(set(rows)) == answer.count
    return set(rows)


# Parquet is what the kept rows are tested with
@pytest.mark.in_time("iceberg-w-s-", "delta-i-s-")
@pytest.mark.parametrize(
    ("columns", "index"),
    [(["i"], "i"), (["w", "s"], "s_w"), (["x"], "x"), (["i", "s"], None)],
    ids=lambda one: "-".join(one) if isinstance(one, list) else "",
)
def test_they_are_those_that_grouping_gives(
    spark: SparkSession, events: tuple[str, str], columns: list[str], index: str | None
) -> None:
    """The result equals grouping all rows: with deletes, uncovered files, deltas, old versions."""
    table, relation = events
    real = grouped(spark.sql(f"SELECT * FROM {relation}"), columns)
    assert real

    first = ls.duplicates(table, columns, spark=spark)
    assert found(first) == real
    assert (first.index, first.reasons, first.on) == (index, (), tuple(columns))
    if index is not None:
        ls.open_index(table, index, spark=spark).refresh()
        again = ls.duplicates(table, columns, spark=spark)
        assert found(again) == real
        assert again.index == index
    if table.startswith("lake."):
        rows = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at")
        version = rows.collect()[0][0]
        then = spark.sql(f"SELECT * FROM {relation} VERSION AS OF {version}")
        assert found(ls.duplicates(table, columns, spark=spark, version=version)) == grouped(
            then, columns
        )


@pytest.fixture
def nearly_unique(spark: SparkSession, table: str) -> str:
    """20 files of unique keys, except one key in two files and one twice in a file."""
    spark.sql(
        f"CREATE TABLE {table} USING iceberg TBLPROPERTIES ('write.distribution-mode'='none', "
        "'write.delete.mode'='merge-on-read') AS SELECT "
        "IF(id = 777, 3, IF(id = 505, 504, id)) AS id, id % 7 AS v FROM range(0, 1000, 1, 20)"
    )
    ls.create_index(table, ["id"], spark=spark)
    return table


def test_only_files_that_can_hold_them_are_read(spark: SparkSession, nearly_unique: str) -> None:
    """Three of twenty files are read, and none after the second rows are deleted and compacted."""
    answer = ls.duplicates(nearly_unique, ["id"], spark=spark)
    assert [tuple(row) for row in answer.keys.orderBy("id").collect()] == [(3, 2), (504, 2)]
    assert (answer.files_read, answer.files, answer.index) == (3, 20, "id")

    spark.sql(f"DELETE FROM {nearly_unique} WHERE id = 3 AND v = 0")
    left = ls.duplicates(nearly_unique, ["id"], spark=spark)
    assert [tuple(row) for row in left.keys.collect()] == [(504, 2)]

    rows = spark.sql("SELECT * FROM VALUES (4L, 0L), (5000L, 0L)").toDF("id", "v").coalesce(1)
    rows.writeTo(nearly_unique).append()
    more = ls.duplicates(nearly_unique, ["id"], spark=spark)
    assert {row["id"] for row in more.keys.collect()} == {4, 504}
    # those of before, and the new one; 4 is in the file of 3
    assert (more.files_read, more.files) == (4, 21)


def test_only_blocks_that_can_hold_them_are_read(spark: SparkSession, table: str) -> None:
    """Of a key in two files, an index of row blocks names one block of each file."""
    spark.sql(
        f"CREATE TABLE {table} USING iceberg TBLPROPERTIES ('write.distribution-mode'='none') "
        "AS SELECT IF(id = 1500, 3, id) AS id FROM range(0, 2000, 1, 2)"
    )
    ls.create_index(table, "id", spark=spark, rows_per_block=10)
    ls.enable(spark)
    try:
        answer = ls.duplicates(table, "id", spark=spark)
        assert [tuple(row) for row in answer.keys.collect()] == [(3, 2)]
        reads = [scan for scan in installed_rule(spark).report() if scan.get("files_total")]
    finally:
        ls.disable(spark)
    assert [(scan["files_read"], scan["rows_read"]) for scan in reads] == [(2, 20)]


def test_blocks_of_keys_of_new_files_are_read(spark: SparkSession, table: str) -> None:
    """Keys of a file that is not indexed are looked up: one block of the old file has one."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 1000, 1, 1)")
    ls.create_index(table, "id", spark=spark, rows_per_block=10)
    spark.sql(f"INSERT INTO {table} VALUES (505), (5000)")

    answer = ls.duplicates(table, "id", spark=spark)

    assert [tuple(row) for row in answer.keys.collect()] == [(505, 2)]
    # two new files, and the old one
    assert (answer.files_read, answer.index) == (3, "id")
    reads = [scan for scan in installed_rule(spark).report() if scan.get("files_total")]
    assert reads[-1]["rows_read"] == 10


# test_contains checks that later queries read whole tables again
@pytest.mark.soak
def test_no_query_is_answered_from_what_was_kept(spark: SparkSession, tmp_path: Path) -> None:
    """The same questions in SQL see all files, including new ones, despite the cached rows."""
    folder = tmp_path / "t"
    spark.range(0, 100, 1, 5).selectExpr("IF(id = 50, 3, id) AS id").write.parquet(str(folder))
    index = ls.create_index(f"parquet:{folder}", ["id"], spark=spark)
    name = f"parquet:{folder}"
    several = (
        "SELECT id, count(*) FROM parquet.`{}` WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1"
    )
    distinct = "SELECT DISTINCT id FROM parquet.`{}` WHERE id IS NOT NULL"

    for first in (1000, 2000):
        assert ls.duplicates(name, ["id"], spark=spark).count == (1 if first == 1000 else 2)
        assert ls.check_references(spark.range(3), ["id"], name, ["id"], spark=spark).holds
        assert index.contains(spark.range(5), confirm=True).keys.where("absent").isEmpty()
        assert spark.sql(distinct.format(folder)).count() == (99 if first == 1000 else 109)
        assert len(spark.sql(several.format(folder)).collect()) == (1 if first == 1000 else 2)
        rows = spark.range(first, first + 10, 1, 1).union(spark.range(first, first + 1))
        rows.coalesce(1).write.mode("append").parquet(str(folder))
        spark.catalog.refreshByPath(str(folder))


def test_too_many_are_grouped(
    spark: SparkSession, nearly_unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If most keys are in several files, all rows are grouped."""
    monkeypatch.setattr(module, "MOST_RANGES", 0)

    answer = ls.duplicates(nearly_unique, ["id"], spark=spark)

    assert {row["id"] for row in answer.keys.collect()} == {3, 504}
    assert (answer.files_read, answer.index) == (20, None)


def test_a_damaged_index_does_not_matter(spark: SparkSession, nearly_unique: str) -> None:
    """If the index is damaged, all rows are grouped, and the result has the reason."""
    location = ls.open_index(nearly_unique, "id", spark=spark).info().location
    for path in _files(location, "segments"):
        path.write_bytes(path.read_bytes()[:-40] + b"x" * 40)

    answer = ls.duplicates(nearly_unique, ["id"], spark=spark)

    assert {row["id"] for row in answer.keys.collect()} == {3, 504}
    assert answer.index is None
    assert answer.reasons[0].code in {ReasonCode.INDEX_CORRUPT, ReasonCode.INDEX_UNREADABLE}


def _files(location: str, folder: str) -> list[Path]:
    return [path for path in Path(location, folder).rglob("*") if path.is_file()]


# rare
@pytest.mark.soak
def test_an_empty_table_has_none(spark: SparkSession, table: str) -> None:
    """There are none before the first commit, and after all rows are deleted."""
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING iceberg")
    assert ls.duplicates(table, ["id"], spark=spark).count == 0
    spark.sql(f"INSERT INTO {table} VALUES (1), (1), (NULL), (NULL)")
    ls.create_index(table, ["id"], spark=spark)
    assert ls.duplicates(table, ["id"], spark=spark).keys.collect() == [(1, 2)]
    spark.sql(f"DELETE FROM {table}")
    assert ls.duplicates(table, ["id"], spark=spark).count == 0
