"""Builds: what an index covers, and what is refused before anything is written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import lakesieve as ls
from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from lakesieve.spark.build import segments, stages
from lakesieve.spark.tables.iceberg.table import IcebergTable
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

MERGE_ON_READ = (
    "'write.delete.mode'='merge-on-read','write.update.mode'='merge-on-read',"
    "'write.merge.mode'='merge-on-read'"
)


def _fill(
    spark: SparkSession, table: str, properties: str = "'format-version'='2'", columns: str = ""
) -> None:
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, s STRING, v BIGINT) USING iceberg {columns} "
        f"TBLPROPERTIES ({properties}, 'write.distribution-mode'='none')"
    )
    rows = spark.range(0, 1000, 1, 8).selectExpr(
        "IF(id % 50 = 0, NULL, (id * 7919) % 1009) AS k", "concat('ü', id % 37) AS s", "id AS v"
    )
    rows.writeTo(table).append()


def _true_files(spark: SparkSession, table: str, condition: str) -> set[str]:
    rows = spark.sql(f"SELECT DISTINCT _file FROM {table} WHERE {condition}").collect()
    return {row[0] for row in rows}


@pytest.mark.parametrize("condition", ["k = 500", "k IN (1, 2, 3, 1008)", "k IS NULL", "k < 0"])
def test_answers_are_exactly_the_files(spark: SparkSession, table: str, condition: str) -> None:
    """For present keys, exactly the files with a match are found."""
    _fill(spark, table)
    index = ls.create_index(table, ["k"], spark=spark)

    found = index.files(condition)

    assert set(found.paths) == _true_files(spark, table, condition)
    assert found.total == 8
    assert found.uncovered == 0


# buckets and buffers are drawn without Spark
@pytest.mark.soak
def test_many_buckets_and_small_buffers(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys in many buckets and many runs give the same index."""
    monkeypatch.setattr(segments, "BUCKET_ROWS", 100)
    monkeypatch.setattr(stages, "BUFFER_ROWS", 10)
    _fill(spark, table)
    for columns, probes in (
        (["k"], ("k = 500", "k > 900")),
        (["s"], ("s = 'ü7'", "s LIKE 'ü3%'")),
        (["s", "k"], ("s = 'ü7' AND k > 500", "s LIKE 'ü3%'", "s = 'ü13' AND k IS NULL")),
    ):
        index = ls.create_index(table, columns, spark=spark)
        assert index.info().segments > 3
        for condition in probes:
            assert set(index.files(condition).paths) >= _true_files(spark, table, condition)


def test_deleted_rows_are_indexed_for_older_versions(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """Rows that were deleted before the build are found in older versions."""
    _fill(spark, table, f"'format-version'='3',{MERGE_ON_READ}")
    before = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").head(1)[0][0]
    spark.sql(f"DELETE FROM {table} WHERE k = 500")
    ls.create_index(table, ["k"], spark=spark)

    both(f"SELECT * FROM {table} WHERE k = 500")
    _, read = both(f"SELECT * FROM {table} VERSION AS OF {before} WHERE k = 500")

    assert read == 1
    ls.disable(spark)
    assert spark.sql(f"SELECT * FROM {table} VERSION AS OF {before} WHERE k = 500").count() == 1


def test_deletes_that_would_hide_rows_fail_the_build(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If raw reading stopped working, the build would fail instead of missing rows."""
    _fill(spark, table, f"'format-version'='2',{MERGE_ON_READ}")
    spark.sql(f"DELETE FROM {table} WHERE v % 100 = 7")
    monkeypatch.setattr("lakesieve.spark.tables.iceberg.table.RAW_READ", "no-such-option")

    with pytest.raises(LakesieveError) as caught:
        ls.create_index(table, ["k"], spark=spark)

    assert caught.value.kind is ErrorKind.BUILD_INCONSISTENT
    assert ls.list_indexes(table, spark=spark) == []


def test_columns_are_known_by_field_id(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """A rename keeps the index; a column that is dropped and added again has no index."""
    _fill(spark, table)
    ls.create_index(table, ["k"], spark=spark)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN k TO key")

    assert both(f"SELECT * FROM {table} WHERE key = 500")[1] == 1
    spark.sql(f"ALTER TABLE {table} DROP COLUMN key")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN key BIGINT")
    spark.sql(f"INSERT INTO {table} (s, v, key) VALUES ('x', -1, 500)")
    total, read = both(f"SELECT * FROM {table} WHERE key = 500 OR key IS NULL")
    assert read == total
    both(f"SELECT * FROM {table} WHERE key = 500")


def test_columns_that_changed_after_the_last_commit(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """The current column is indexed, even if the newest data has it under another name."""
    _fill(spark, table)
    for old, new in (("k", "was_k"), ("v", "k"), ("was_k", "v")):
        spark.sql(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN late INT")
    ls.create_index(table, ["k"], spark=spark)
    ls.create_index(table, ["v", "late"], spark=spark)

    # k and v hold 500 in different files
    assert both(f"SELECT * FROM {table} WHERE k = 500")[1] == 1
    assert both(f"SELECT * FROM {table} WHERE v = 500 AND late IS NULL") == (8, 1)
    assert both(f"SELECT * FROM {table} WHERE v = 500 AND late = 1") == (8, 0)


def test_a_table_that_spark_cannot_read(spark: SparkSession, table: str) -> None:
    """A column with a type that Spark does not have is named in the error."""
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING iceberg TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    loaded = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    nanos = iceberg.types.Types.TimestampNanoType.withoutZone()
    listed = iceberg.types.Types.ListType.ofOptional(99, nanos)
    loaded.updateSchema().addColumn("at", nanos).addColumn("all", listed).commit()

    with pytest.raises(UnsupportedError, match=r"at, all\.element: .*timestamp_ns") as caught:
        ls.create_index(table, ["k"], spark=spark)

    assert caught.value.kind is ErrorKind.UNSUPPORTED_TABLE
    assert len(ls.find_files(table, "k = 1", spark=spark).paths) == 1


def test_an_index_follows_the_time_zone_of_the_session(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """Times with a zone are read in the session's zone, and others without any."""
    spark.sql(f"CREATE TABLE {table} (t TIMESTAMP, n TIMESTAMP_NTZ) USING iceberg")
    rows = spark.range(0, 96, 1, 8).selectExpr(
        "timestamp_seconds(id * 3600) AS t", "TIMESTAMP_NTZ'1970-01-01' + make_dt_interval(0, id) n"
    )
    rows.writeTo(table).append()
    index, plain = ls.create_indexes(table, [["t"], ["n"]], spark=spark)
    condition = "t = TIMESTAMP'1970-01-03 05:00:00'"
    zone = "spark.sql.session.timeZone"
    before = str(spark.conf.get(zone))
    try:
        answers = []
        for name in ("UTC", "+13:00", "America/New_York", "-08:00"):
            spark.conf.set(zone, name)
            ls.disable(spark)
            found = set(index.files(condition).paths)
            assert found == _true_files(spark, table, condition)
            answers.append((found, set(plain.files("n < '1970-01-02 03:00:00'").paths)))
            assert both(f"SELECT * FROM {table} WHERE {condition}")[1] == 1
            assert both(f"SELECT * FROM {table} WHERE n = TIMESTAMP_NTZ'1970-01-03'")[1] == 1
            both(f"SELECT * FROM {table} WHERE n = TIMESTAMP'1970-01-03 05:00:00'")
        assert answers[0][0] != answers[1][0]
        assert [len(wall) for _, wall in answers] == [3, 3, 3, 3]
        spark.conf.set(zone, "PST")
        with pytest.raises(InvalidInputError, match="time zone 'PST'"):
            index.files(condition)
    finally:
        spark.conf.set(zone, before)


def test_promotion_keeps_the_index(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """After int became bigint and a decimal grew, the index still serves old files."""
    spark.sql(
        f"CREATE TABLE {table} (k INT, m DECIMAL(6,2)) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    rows = spark.range(0, 100, 1, 5).selectExpr(
        "CAST(id AS INT) AS k", "CAST((id * 31 % 100) / 4 AS DECIMAL(6,2)) AS m"
    )
    rows.writeTo(table).append()
    ls.create_indexes(table, [["k"], ["m"]], spark=spark)
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN k TYPE BIGINT")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN m TYPE DECIMAL(18,2)")
    spark.sql(f"INSERT INTO {table} VALUES (3000000000, 9999999.25)")

    assert both(f"SELECT * FROM {table} WHERE k = 57")[1] <= 2
    assert both(f"SELECT * FROM {table} WHERE m = 2.25")[1] <= 2
    both(f"SELECT * FROM {table} WHERE k > 2000000000 OR m > 9999999")


# neither is Parquet, which is all that matters
@pytest.mark.in_time("orc")
@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_other_file_formats(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]], kind: str
) -> None:
    """Data files in ORC and Avro are indexed like Parquet, ignoring deletes."""
    _fill(spark, table, f"'write.format.default'='{kind}',{MERGE_ON_READ}")
    spark.sql(f"DELETE FROM {table} WHERE v = 7")
    ls.create_index(table, ["k"], spark=spark)

    assert both(f"SELECT * FROM {table} WHERE k = 500")[1] == 1


# test_readers imports such a file
@pytest.mark.soak
def test_files_that_were_added_without_field_ids(
    spark: SparkSession, table: str, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """Files from add_files are indexed by name, but not by columns that they do not contain."""
    source = str(tmp_path / "plain")
    rows = spark.range(0, 400, 1, 4).selectExpr("(id * 7919) % 1009 AS k", "id AS v", "id % 2 AS p")
    rows.write.partitionBy("p").parquet(source)
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, v BIGINT, p BIGINT) USING iceberg PARTITIONED BY (p)"
    )
    name = table.removeprefix("lake.")
    spark.sql(f"CALL lake.system.add_files('{name}', '`parquet`.`{source}`')")
    ls.create_index(table, ["k"], spark=spark)
    with pytest.raises(UnsupportedError, match="The column p"):
        ls.create_index(table, ["p"], spark=spark)

    total, read = both(f"SELECT * FROM {table} WHERE k = {7919 % 1009}")
    assert read == 1 < total
    both(f"SELECT * FROM {table} WHERE p = 1 AND k < 50")


def test_an_empty_table(spark: SparkSession, table: str) -> None:
    """An index of an empty table covers nothing, and later files are read."""
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING iceberg")
    index = ls.create_index(table, ["k"], spark=spark)
    assert index.files("k = 1").paths == []
    spark.sql(f"INSERT INTO {table} VALUES (1)")

    found = index.files("k = 1")

    assert (len(found.paths), found.uncovered, found.total) == (1, 1, 1)


def test_versions_branches_and_tags(spark: SparkSession, table: str) -> None:
    """One index serves every version, by id, time, branch and tag."""
    _fill(spark, table)
    index = ls.create_index(table, ["k"], spark=spark)
    first = spark.sql(f"SELECT snapshot_id, committed_at FROM {table}.snapshots").head(1)[0]
    spark.sql(f"ALTER TABLE {table} CREATE TAG gold")
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH work")
    spark.sql(f"INSERT INTO {table}.branch_work VALUES (500, 'x', 0)")
    spark.sql(f"INSERT INTO {table} VALUES (501, 'x', 0)")

    assert index.files("k = 500", first[0]).total == 8
    assert index.files("k = 500", str(first[0])).total == 8
    assert index.files("k = 500", "gold").total == 8
    assert index.files("k = 500", "work").uncovered == 1
    assert index.files("k = 500").total == 9
    assert index.files("k = 500", "2999-01-01T00:00:00").total == 9
    with pytest.raises(NotFoundError, match="no version") as caught:
        index.files("k = 500", "nonsense")
    assert caught.value.kind is ErrorKind.VERSION_NOT_FOUND


def test_another_location(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """An index in another place is found if the place is named, and the table is unchanged."""
    _fill(spark, table)
    location = str(tmp_path / "indexes")
    index = ls.create_index(table, ["k"], spark=spark, location=location)

    assert index.info().location.startswith(location)
    assert ls.list_indexes(table, spark=spark) == []
    assert [i.name for i in ls.list_indexes(table, spark=spark, location=location)] == ["k"]
    assert ls.open_index(table, "k", spark=spark, location=location).info() == index.info()
    ls.enable(spark, locations=[location])
    assert spark.sql(f"SELECT * FROM {table} WHERE k = 500").count() == 1
    assert [p.files_read for p in ls.last_pruning(spark)] == [1]


def test_a_table_by_its_path(spark: SparkSession, table: str) -> None:
    """A table is found by iceberg:PATH as well as by its name, with the same indexes."""
    _fill(spark, table)
    ls.create_index(table, ["k"], spark=spark)
    (info,) = ls.list_indexes(table, spark=spark)
    path = info.location.removesuffix("/_lakesieve/k")

    found = ls.find_files(f"iceberg:{path}", "k = 500", spark=spark)

    assert len(found.paths) == 1
    assert found.indexes == ("k",)


def test_two_indexes_work_together(spark: SparkSession, table: str) -> None:
    """File sets of several indexes intersect under AND and unite under OR."""
    _fill(spark, table)
    ls.create_indexes(table, [["k"], ["v"]], spark=spark)
    one = set(ls.find_files(table, "k = 500", spark=spark).paths)
    two = set(ls.find_files(table, "v < 200", spark=spark).paths)

    assert set(ls.find_files(table, "k = 500 AND v < 200", spark=spark).paths) == one & two
    assert set(ls.find_files(table, "k = 500 OR v < 200", spark=spark).paths) == one | two


def test_orphan_removal_leaves_the_index_alone(
    spark: SparkSession, table: str, index_folder: Callable[[ls.Index], Path]
) -> None:
    """Iceberg's removal of orphan files does not touch the index."""
    _fill(spark, table)
    index = ls.create_index(table, ["k"], spark=spark)
    folder = index_folder(index)
    stray = folder.parent.parent / "data" / "stray.parquet"
    stray.write_bytes(b"x")
    files = [path for path in (*folder.rglob("*"), stray) if path.is_file()]
    for path in files:
        os.utime(path, (1, 1))
    name = table.removeprefix("lake.")
    spark.sql(f"CALL lake.system.remove_orphan_files(table => '{name}')")

    assert [path for path in files if not path.exists()] == [stray]


def test_progress_is_reported(spark: SparkSession, table: str) -> None:
    """The callback gets the build's progress and, at the end, that all rows are done."""
    _fill(spark, table)
    heard: list[ls.BuildProgress] = []
    ls.create_index(table, ["k"], spark=spark, progress=heard.append)

    assert heard[-1].phase == "done"
    assert (heard[-1].rows_done, heard[-1].rows_total) == (1000, 1000)
    assert (heard[-1].files_done, heard[-1].files_total) == (8, 8)


def test_bad_input_is_refused(spark: SparkSession, table: str) -> None:
    """Wrong names and types get one clear error each, and nothing is written."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, m MAP<STRING, INT>, w DECIMAL(38,2), a ARRAY<INT>, "
        "st STRUCT<x: INT>) USING iceberg"
    )
    cases = [
        (NotFoundError, "lake.t.nothing_here", ["k"], "no table"),
        (NotFoundError, "lake.nowhere.at_all", ["k"], "no table"),
        (NotFoundError, "iceberg:/no/such/path", ["k"], "no table"),
        (LakesieveError, "no_such_catalog.t.x", ["k"], "no_such_catalog"),
        (LakesieveError, "1 = 1", ["k"], "1 = 1"),
        (LakesieveError, " ", ["k"], "empty"),
        (LakesieveError, "hudi:/x", ["k"], "hudi"),  # no runtime, or none for this line
        (NotFoundError, "delta:/x", ["k"], "No Delta table"),
        (NotFoundError, "parquet:/x", ["k"], "/x"),
        (NotFoundError, table, ["kk"], "no column kk"),
        (UnsupportedError, table, ["m"], "map"),
        (UnsupportedError, table, ["st"], "struct"),
        (UnsupportedError, table, ["a"], "list"),
        (InvalidInputError, table, ["k", "w", "K"], "twice"),
    ]
    for kind, name, columns, text in cases:
        with pytest.raises(kind, match=text) as caught:
            ls.create_index(name, columns, spark=spark)
        assert isinstance(caught.value, LakesieveError), name
        assert "\n" not in str(caught.value), name
    with pytest.raises(InvalidInputError):
        ls.create_index(table, ["k"], spark=spark, name="../x")
    assert ls.list_indexes(table, spark=spark) == []


def test_an_index_is_made_once(spark: SparkSession, table: str) -> None:
    """A second index with the same name is refused, until the first one is dropped."""
    _fill(spark, table)
    index = ls.create_index(table, ["k"], spark=spark)
    with pytest.raises(InvalidInputError, match="already has an index") as caught:
        ls.create_index(table, ["k"], spark=spark)
    assert caught.value.kind is ErrorKind.INDEX_EXISTS
    index.drop()
    with pytest.raises(NotFoundError, match="no index k"):
        ls.open_index(table, "k", spark=spark)

    ls.create_index(table, ["k"], spark=spark)


def test_a_place_that_cannot_be_written(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """A read-only place is refused before anything is read."""
    _fill(spark, table)
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StorageError) as caught:
        ls.create_index(table, ["k"], spark=spark, location=str(tmp_path / "file"))
    assert caught.value.kind is ErrorKind.READ_ONLY


def test_partitions_that_iceberg_cannot_tell_apart(spark: SparkSession, table: str) -> None:
    """A table whose raw rows Iceberg cannot read is refused with one line."""
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, a STRING, b STRING) USING iceberg PARTITIONED BY (a) "
        "TBLPROPERTIES ('format-version' = '1')"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a', 'b')")
    index = ls.create_index(table, ["id"], spark=spark)
    jvm: Any = spark._jvm
    java: Any = IcebergTable(spark, table).java
    specs = jvm.org.apache.iceberg.PartitionSpec
    before = java.operations().current()
    # as writers of old did, which began to count again with each set of partition fields
    after = before.updatePartitionSpec(specs.builderFor(java.schema()).identity("b").build())
    java.operations().commit(before, after)
    spark.sql(f"REFRESH TABLE {table}")

    with pytest.raises(UnsupportedError, match="cannot tell the partitions of") as caught:
        ls.create_index(table, ["a"], spark=spark)

    assert "CREATE TABLE" in caught.value.hint
    # what reads no rows needs no partitions
    assert index.refresh().files == 0
    assert len(index.files("id = 1").paths) == 1
    assert not ls.find_files(table, "id = 2", spark=spark).paths


# indexes that lag behind are drawn in commands/test_model
@pytest.mark.soak
def test_indexes_that_cover_different_files(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """A file that one index does not cover is judged by the other alone, in AND and OR."""
    spark.sql(f"CREATE TABLE {table} (a BIGINT, b BIGINT) USING iceberg")
    for start in (0, 40):
        rows = spark.range(0, 40, 1, 2).selectExpr(f"{start} + id * 31 % 40 AS a", "id % 8 AS b")
        rows.writeTo(table).append()
        # the first index has the first two files, the second all four
        ls.create_index(table, ["a" if start == 0 else "b"], spark=spark)
    spark.range(0, 40, 1, 2).selectExpr("id * 31 % 40 AS a", "id % 8 AS b").writeTo(table).append()

    read = {
        condition: both(f"SELECT * FROM {table} WHERE {condition}")[1]
        for condition in (
            "a = 7 AND b = 1",
            "a = 47 AND b = 1",
            "a = 47 AND b = 100",
            "a = 7 OR b = 100",
            "(a = 47 AND b = 1) OR (a = 7 AND b = 100)",
        )
    }
    assert read["a = 47 AND b = 100"] <= 2


# a lost list of manifests is refused in the same place
@pytest.mark.in_time("*-m0.avro")
@pytest.mark.parametrize("lost", ["*-m0.avro", "snap-*.avro"])
def test_manifests_that_cannot_be_read(spark: SparkSession, table: str, lost: str) -> None:
    """A table with a missing manifest or manifest list is refused with one line."""
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '1')"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    metadata = local_path(IcebergTable(spark, table).reader.location) / "metadata"
    for path in [*metadata.glob(lost), *metadata.glob(f".{lost}.crc")]:
        path.unlink()
    spark.sql(f"REFRESH TABLE {table}")

    for act in (
        lambda: ls.create_index(table, ["id"], spark=spark),
        lambda: ls.find_files(table, "id = 1", spark=spark),
    ):
        with pytest.raises(StorageError, match="cannot be listed") as caught:
            act()
        assert caught.value.kind is ErrorKind.STORAGE_FAILED
        assert "\n" not in caught.value.message
        assert "avro" in caught.value.message
