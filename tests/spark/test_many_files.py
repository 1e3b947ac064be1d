"""Iceberg tables of very many files: only manifests with a file to read are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.own_jars import helper_class
from tests.spark.settings import MANY_FILES, NEWEST

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

APPENDS = 5
GONE = r"No such file|does not exist|NotFound"


@pytest.fixture(autouse=True)
def of_all_tables(spark: SparkSession) -> Iterator[None]:
    """Tables of as few files as here are planned as those of very many."""
    spark.conf.set(MANY_FILES, "0")
    yield
    spark.conf.unset(MANY_FILES)


@pytest.fixture
def many(spark: SparkSession, table: str) -> str:
    """A table of five manifests of two files each, with indexes of two columns."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, s STRING, p INT) USING iceberg PARTITIONED BY (p) "
        "TBLPROPERTIES ('write.distribution-mode'='none', 'write.spark.fanout.enabled'='true', "
        "'commit.manifest-merge.enabled'='false', 'write.delete.mode'='merge-on-read')"
    )
    for at in range(APPENDS):
        rows = f"SELECT id * {APPENDS} + {at} AS k, concat('v', id % 7) AS s, id % 2 AS p"
        spark.sql(f"INSERT INTO {table} {rows} FROM range(0, 100, 1, 1)")
    ls.create_indexes(table, [["k"], ["s"]], spark=spark)
    return table


@pytest.fixture
def hidden(spark: SparkSession) -> Iterator[Callable[[str, int], None]]:
    """Take away a manifest of a table until the end of the test, by its number, oldest first."""
    moved: list[Path] = []

    def hide(table: str, number: int) -> None:
        rows = spark.sql(f"SELECT path FROM {table}.manifests ORDER BY added_snapshot_id").collect()
        order = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at")
        manifests = spark.sql(f"SELECT path, added_snapshot_id AS a FROM {table}.manifests")
        by_snapshot = {row.a: row.path for row in manifests.collect()}
        paths = [by_snapshot[row.snapshot_id] for row in order.collect()]
        assert len(paths) == len(rows)
        moved.append(Path(paths[number].removeprefix("file:")))
        moved[-1].rename(f"{moved[-1]}.away")

    yield hide
    for path in moved:
        Path(f"{path}.away").rename(path)


def keys_of(spark: SparkSession, table: str, condition: str) -> list[int]:
    """The keys that a condition finds, with skipping."""
    ls.enable(spark)
    rows = spark.sql(f"SELECT k FROM {table} WHERE {condition}").collect()
    return sorted(row.k for row in rows)


def test_manifests_without_a_file_to_read_are_not_read(
    spark: SparkSession, many: str, hidden: Callable[[str, int], None]
) -> None:
    """A known manifest is read again only by queries that need one of its files."""
    assert keys_of(spark, many, "k = 7") == [7]
    (scan,) = ls.last_pruning(spark)
    assert (scan.files_total, scan.files_read, scan.uncovered) == (2 * APPENDS, 1, 0)
    hidden(many, 3)

    for key in (7, 10, 21, 499):
        assert keys_of(spark, many, f"k = {key}") == [key]
    with pytest.raises(Exception, match=GONE):
        keys_of(spark, many, "k = 8")


def test_new_files_are_read_before_they_are_indexed(spark: SparkSession, many: str) -> None:
    """Manifests of uncovered files are always read."""
    assert keys_of(spark, many, "k = 7") == [7]
    spark.sql(f"INSERT INTO {many} VALUES (7, 'new', 1), (-1, 'new', 1)")

    assert keys_of(spark, many, "k = 7") == [7, 7]
    assert keys_of(spark, many, "k = -1") == [-1]
    (scan,) = ls.last_pruning(spark)
    assert (scan.files_total, scan.files_read, scan.uncovered) == (2 * APPENDS + 2, 1, 1)


def test_changes_of_manifests_and_deletes_are_seen(spark: SparkSession, many: str) -> None:
    """Row-level deletes, rewritten manifests and older versions give their own rows."""
    assert keys_of(spark, many, "k IN (7, 8)") == [7, 8]
    (row,) = spark.sql(f"SELECT snapshot_id FROM {many}.refs WHERE name = 'main'").collect()
    before = row.snapshot_id
    spark.sql(f"DELETE FROM {many} WHERE k = 8")
    assert keys_of(spark, many, "k IN (7, 8)") == [7]
    catalog, name = many.split(".", 1)
    spark.sql(f"CALL {catalog}.system.rewrite_manifests('{name}')")

    assert keys_of(spark, many, "k IN (7, 8)") == [7]
    assert keys_of(spark, f"{many} VERSION AS OF {before}", "k IN (7, 8)") == [7, 8]
    assert keys_of(spark, many, "s = 'v3' AND k < 100") == [
        k for k in range(100) if k // APPENDS % 7 == 3 and k != 8
    ]


def test_scans_of_one_table_keep_files_of_their_own(spark: SparkSession, many: str) -> None:
    """Spark merges equal scans of several aggregates, whose filters Iceberg does not know."""
    rows = "(k = {0} AND length(s) > 0) OR (k = {0} + 1000 AND length(s) > 1)"
    counts = " UNION ALL ".join(
        f"SELECT {key} AS q, count(*) AS n FROM {many} WHERE {rows.format(key)}"
        for key in range(20)
    )
    subqueries = ", ".join(
        f"(SELECT sum(k) FROM {many} WHERE {rows.format(key)})" for key in range(6)
    )
    ls.enable(spark)

    assert {(row.q, row.n) for row in spark.sql(counts).collect()} == {(q, 1) for q in range(20)}
    assert sum(scan.files_read for scan in ls.last_pruning(spark)) < 20 * 2 * APPENDS
    assert [tuple(row) for row in spark.sql(f"SELECT {subqueries}").collect()] == [tuple(range(6))]


def test_few_files_are_planned_by_iceberg(
    spark: SparkSession, many: str, hidden: Callable[[str, int], None]
) -> None:
    """Below the limit, all manifests are read, as without an index."""
    spark.conf.set(MANY_FILES, str(2 * APPENDS + 1))
    assert keys_of(spark, many, "k = 7") == [7]
    hidden(many, 3)
    with pytest.raises(Exception, match=GONE):
        keys_of(spark, many, "k = 7")


# what manifests hold beside files
@pytest.mark.soak
def test_partitions_that_change_and_row_ids(spark: SparkSession, table: str) -> None:
    """Files of several partition specs, and inherited row values, stay unchanged."""
    version = 3 if NEWEST else 2
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, p INT) USING iceberg PARTITIONED BY (p) TBLPROPERTIES "
        f"('format-version'='{version}', 'commit.manifest-merge.enabled'='false')"
    )
    spark.sql(f"INSERT INTO {table} SELECT id, id % 2 FROM range(0, 40, 1, 1)")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, k)")
    spark.sql(f"INSERT INTO {table} SELECT id, id % 2 FROM range(40, 80, 1, 1)")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION FIELD p")
    spark.sql(f"INSERT INTO {table} SELECT id, id % 2 FROM range(80, 120, 1, 1)")
    ls.create_index(table, ["k"], spark=spark)
    columns = "k, p, _partition, _file" + ", _row_id, _last_updated_sequence_number" * NEWEST
    for condition in ("k = 5", "k IN (5, 45, 85)", "k = 45 AND p = 1", "p = 0 AND k > 100"):
        query = f"SELECT {columns} FROM {table} WHERE {condition}"
        ls.disable(spark)
        expected = sorted(map(repr, spark.sql(query).collect()))
        ls.enable(spark)
        assert sorted(map(repr, spark.sql(query).collect())) == expected
        assert expected


@pytest.mark.parametrize("setting", ["fs.s3a.endpoint", "dfs.namenode.rpc-address.ns.nn1"])
def test_stores_of_hadoop_share_no_manifest(spark: SparkSession, setting: str) -> None:
    """A path in another store of Hadoop's configuration is another manifest."""
    assert list(helper_class(spark, "HadoopManifests").filesInTwoStores(setting)) == [1, 2]
