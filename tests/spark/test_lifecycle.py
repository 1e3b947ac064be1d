"""One index through the life of its table: refresh, compaction, branches, clones, rollback."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import lakesieve as ls
from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.storage import open_storage
from lakesieve.store import Changes, IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

TABLE = "lake.life.t"


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """A table of eight files with 4,000 rows, ids from 0 on."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.life")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    spark.sql(f"CREATE TABLE {TABLE} (id INT, name STRING) TBLPROPERTIES ('format-version'='2')")
    append(spark, 0, 4_000, files=8)
    yield TABLE
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")


def append(spark: SparkSession, start: int, count: int, *, files: int = 1, to: str = TABLE) -> None:
    rows = spark.range(start, start + count).selectExpr(
        "CAST(id AS INT) AS id", "concat('n', id % 97) AS name"
    )
    rows.repartition(files).writeTo(to).append()


def found(index: ls.Index, predicate: str, version: str | None = None) -> tuple[int, int]:
    """Files to read, and how many of those are not covered."""
    result = index.files(predicate, version)
    return len(result.paths), result.uncovered


def test_a_refresh_covers_what_is_new(spark: SparkSession, table: str) -> None:
    """Appended files are read until a refresh, and then only if they match."""
    index = ls.create_index(table, ["id"], spark=spark)
    append(spark, 10_000, 300, files=3)

    # it lies between the bounds of all of them
    assert found(index, "id = 10150") == (3, 3)
    assert found(index, "id = 5") == (1, 0)
    would = index.refresh(dry_run=True)
    done = index.refresh()
    again = index.refresh()

    assert (would.files, would.rows, would.covered, would.commit) == (3, 300, 8, 0)
    assert (done.files, done.rows, done.covered, done.commit) == (3, 300, 8, 1)
    assert (again.files, again.versions, again.commit) == (0, (), 1)
    assert found(index, "id = 10150") == (1, 0)
    assert found(index, "id = 5") == (1, 0)
    assert found(index, "id = -5") == (0, 0)
    assert index.verify_rows(files=None).wrong == ()
    assert index.verify().is_sound


def test_an_index_on_an_empty_table_grows(spark: SparkSession, table: str) -> None:
    """An index can be created on an empty table, and be filled by refreshes."""
    spark.sql(f"CREATE OR REPLACE TABLE {table} (id INT, name STRING)")
    index = ls.create_index(table, ["name"], spark=spark)
    append(spark, 0, 500, files=2)

    assert index.refresh().files == 2
    assert found(index, "name = 'absent'") == (0, 0)
    assert index.verify_rows(files=None).wrong == ()


def test_all_refs_are_covered(spark: SparkSession, table: str) -> None:
    """Files of a branch are indexed on request, and the branch then skips files."""
    index = ls.create_index(table, ["id"], spark=spark)
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH work")
    append(spark, 20_000, 10, to=f"{table}.branch_work")

    assert index.refresh().files == 0
    assert found(index, "id = 20005", "work") == (1, 1)
    assert index.refresh(all_refs=True).files == 1
    assert found(index, "id = 5", "work") == (1, 0)
    assert found(index, "id = 20005", "work") == (1, 0)


def test_deltas_are_merged_when_due(spark: SparkSession, table: str) -> None:
    """Beyond the threshold, the deltas are merged without reading the table."""
    index = ls.create_index(table, ["id"], spark=spark, compaction="2")
    merged = []
    for number in range(4):
        append(spark, 30_000 + number, 1)
        merged.append(index.refresh().compacted)

    assert merged == [False, False, True, False]
    assert [c.operation for c in index.history()].count("compact") == 1
    assert all(found(index, f"id = {30_000 + number}") == (1, 0) for number in range(4))
    assert found(index, "id = 77") == (1, 0)
    assert index.verify_rows(files=None).wrong == ()


# another setting of what the tests above merge
@pytest.mark.soak
def test_copy_on_write_merges_at_every_refresh(spark: SparkSession, table: str) -> None:
    """With ``auto``, merges follow the table's own way of changes."""
    index = ls.create_index(table, ["id"], spark=spark, compaction="auto")
    append(spark, 40_000, 5)
    assert index.refresh().compacted
    assert index.info().segments == 1

    for command in ("delete", "update", "merge"):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.{command}.mode'='merge-on-read')")
    append(spark, 50_000, 5)
    assert not index.refresh().compacted
    assert index.info().segments == 2


def test_upkeep_of_the_table_leaves_answers_right(spark: SparkSession, table: str) -> None:
    """After rewrites, expiry, orphan removal and rollback, the index gives right results."""
    index = ls.create_index(table, ["id"], spark=spark)
    first = spark.table(f"{table}.snapshots").head(1)[0]["snapshot_id"]
    append(spark, 60_000, 100, files=2)
    spark.sql(f"DELETE FROM {table} WHERE id = 7")
    index.refresh()
    name = table.removeprefix("lake.")
    for call in (
        f"rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))",
        f"rewrite_manifests(table => '{name}')",
    ):
        spark.sql(f"CALL lake.system.{call}")
    assert found(index, "id = 60050") == (1, 1)
    assert found(index, "id = 60050", str(first)) == (0, 0)
    index.refresh()
    spark.sql(f"CALL lake.system.rollback_to_snapshot('{name}', {first})")
    assert found(index, "id = 5") == (1, 0)
    assert found(index, "id = 60050") == (0, 0)
    covered = index.info().files
    spark.sql(
        f"CALL lake.system.expire_snapshots(table => '{name}', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )
    old = "TIMESTAMP '2000-01-01 00:00:00'"
    spark.sql(f"CALL lake.system.remove_orphan_files(table => '{name}', older_than => {old})")

    assert index.verify().is_sound
    would = index.compact(dry_run=True)
    done = index.compact()
    assert (would.files_before, would.files, would.segments) == (covered, done.files, None)
    assert done.files == 8
    assert found(index, "id = 5") == (1, 0)
    assert index.verify_rows(files=None).wrong == ()


# test_build changes columns, too
@pytest.mark.soak
def test_columns_may_change_between_refreshes(spark: SparkSession, table: str) -> None:
    """Renamed, promoted and moved columns keep the index by field id; a lost one is reported."""
    index = ls.create_index(table, ["id"], spark=spark)
    for change in (
        "RENAME COLUMN id TO key",
        "ALTER COLUMN key TYPE BIGINT",
        "ADD COLUMN id STRING FIRST",
    ):
        spark.sql(f"ALTER TABLE {table} {change}")
    spark.sql(f"INSERT INTO {table} SELECT 'x', {2**40}, 'n1'")
    index.refresh()

    assert found(index, f"key = {2**40}") == (1, 0)
    assert found(index, "key = 5") == (1, 0)
    assert index.verify_rows(files=None).wrong == ()
    spark.sql(f"ALTER TABLE {table} DROP COLUMN key")
    append_names(spark, table)
    with pytest.raises(UnsupportedError, match="indexed as int, was dropped") as refused:
        index.refresh()
    assert refused.value.kind is ErrorKind.UNSUPPORTED_TYPE


def append_names(spark: SparkSession, table: str) -> None:
    spark.sql(f"INSERT INTO {table} VALUES ('a', 'b')")


def test_old_states_can_be_read_and_taken_back(spark: SparkSession, table: str) -> None:
    """An earlier commit gives its old results, and a rollback uncovers later files."""
    index = ls.create_index(table, ["id"], spark=spark)
    append(spark, 70_000, 10)
    index.refresh()

    assert found(index.at(0), "id = 70005") == (1, 1)
    index.rollback(0)
    assert found(index, "id = 70005") == (1, 1)
    assert index.refresh().files == 1
    assert found(index, "id = 5") == (1, 0)
    assert [c.operation for c in index.history()] == ["create", "refresh", "rollback", "refresh"]
    gone = index.vacuum(retain_commits=1, older_than=timedelta(0), dry_run=False)
    assert gone.retained_from == 3
    with pytest.raises(NotFoundError):
        index.at(0)
    assert found(index, "id = 70005") == (1, 0)


# budgets are tested without Spark
@pytest.mark.soak
def test_a_budget_holds_for_refreshes(spark: SparkSession, table: str) -> None:
    """A budgeted index is small, never misses a file, and stays small after a refresh."""
    index = ls.create_index(table, ["id"], spark=spark, budget="1 bits")
    exact = ls.create_index(table, ["id"], spark=spark, name="exact")
    append(spark, 4_000, 4_000, files=8)
    index.refresh()
    exact.refresh()

    assert index.info().budget == "1 bits"
    assert index.info().blocks < exact.info().blocks / 2
    assert index.verify_rows(files=None).wrong == ()
    points = ls.trade_offs(table, ["id"], spark=spark)
    assert [p.bits_per_row for p in points] == sorted(p.bits_per_row for p in points)
    assert points[-1].false_files < 0.01
    with pytest.raises(InvalidInputError, match="is not a budget"):
        ls.create_index(table, ["name"], spark=spark, budget="2 apples")


def test_a_lost_key_is_noticed(spark: SparkSession, table: str) -> None:
    """``verify_rows`` names the files of keys that the index lacks."""
    index = ls.create_index(table, ["id"], spark=spark)
    append(spark, 100_000, 10)
    index.refresh()
    store = IndexStore(open_storage(index.info().location))
    state = store.snapshot()
    lost = tuple(entry.path for entry in state.segments[1:])
    store.commit(state, Changes(operation="harm", remove_segments=lost))

    (wrong,) = index.verify_rows(files=None).wrong
    assert wrong not in index.files("id = 5").paths
    assert index.verify_rows(files=0).wrong == ()


def test_a_zero_copy_table_has_the_indexes(spark: SparkSession, table: str) -> None:
    """A copy of any version shares files and segments; then both change independently."""
    copy = "lake.life_copies.u"
    spark.sql(f"DROP TABLE IF EXISTS {copy}")
    index = ls.create_index(table, ["id"], spark=spark)
    first = spark.table(f"{table}.snapshots").head(1)[0]["snapshot_id"]
    append(spark, 80_000, 10)
    index.refresh()
    (made,) = ls.clone_table(table, copy, spark=spark, version=first)

    assert (made.files, made.shared) == (8, 8)
    assert spark.table(copy).count() == 4_000
    cloned = ls.open_index(copy, "id", spark=spark)
    assert found(cloned, "id = 5") == (1, 0)
    assert found(cloned, "id = 80005") == (0, 0)
    append(spark, 90_000, 10, to=copy)
    spark.sql(f"DELETE FROM {copy} WHERE id < 100")
    assert cloned.refresh().files > 0
    cloned.compact()
    index.vacuum(retain_commits=1, older_than=timedelta(0), dry_run=False)
    assert found(cloned, "id = 90005") == (1, 0)
    assert cloned.verify_rows(files=None).wrong == index.verify_rows(files=None).wrong == ()
    assert spark.table(table).count() == 4_010
    with pytest.raises(InvalidInputError, match="objects that other indexes use"):
        index.drop()
    rows = spark.sql(f"SHOW TBLPROPERTIES {copy} ('gc.enabled')").head(1)[0]
    assert rows["value"] == "false"
    with pytest.raises(InvalidInputError, match="already"):
        ls.clone_table(table, copy, spark=spark)
    cloned.drop()
    index.drop()
    spark.sql(f"DROP TABLE {copy}")
    assert spark.table(table).where("id = 5").count() == 1


def test_a_renamed_table_is_not_mistaken(spark: SparkSession) -> None:
    """While a table's name is free or belongs to another table, its index names no files."""
    spark.conf.set("spark.sql.catalog.mem", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(
        "spark.sql.catalog.mem.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog"
    )
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    spark.conf.set("spark.sql.catalog.mem.warehouse", f"{warehouse}/renamed")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS mem.s")
    spark.sql("CREATE TABLE mem.s.t USING iceberg AS SELECT id AS k FROM range(5)")
    index = ls.create_index("mem.s.t", ["k"], spark=spark)
    before = index.info().files
    spark.sql("ALTER TABLE mem.s.t RENAME TO s.old")

    for _ in range(2):
        with pytest.raises(NotFoundError, match=r"no table mem\.s\.t") as caught:
            index.refresh()
        assert (caught.value.kind, bool(caught.value.hint)) == (ErrorKind.TABLE_NOT_FOUND, True)
    spark.sql(
        "CREATE TABLE mem.s.t USING iceberg "
        f"LOCATION '{warehouse}/elsewhere' AS SELECT id AS k FROM range(9)"
    )
    calls: list[Callable[[], object]] = [
        index.refresh,
        index.compact,
        index.verify_rows,
        lambda: index.files("k = 1"),
        lambda: index.locate(spark.range(1).selectExpr("id AS k")),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match="is now another table") as caught:
            call()
        assert caught.value.kind is ErrorKind.TABLE_REPLACED
    assert index.info().files == before
    assert ls.open_index("mem.s.old", "k", spark=spark).refresh().files == 0
    spark.sql("DROP TABLE mem.s.t PURGE")
    spark.sql("DROP TABLE mem.s.old PURGE")
