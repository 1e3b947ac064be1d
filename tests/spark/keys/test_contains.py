"""Which of many keys a version has: Spark's answer agrees with a join."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from tests.spark.keys.test_locate import COLUMNS
from tests.spark.mixed_indexes import mixed_indexes

import lakesieve as ls
from lakesieve.errors import InvalidInputError, NotFoundError
from lakesieve.spark.commands import contains as module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

INDEXED = (["i"], ["s", "w"], ["x"], ["i", "s", "x"])
MADE = "SELECT id, {row} FROM range({{}}, {{}}, 1, {{}})".format(
    row=", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
)


@contextmanager
def made(
    spark: SparkSession, form: str, folder: Path, *, name: str, sql: str
) -> Iterator[tuple[str, str]]:
    """A table whose index has not seen all files, and how SQL names it; some rows are deleted."""
    if form == "parquet":
        spark.sql(sql.format(0, 1600, 8)).write.parquet(str(folder))
        mixed_indexes(spark, f"parquet:{folder}", INDEXED)
        spark.sql(sql.format(1600, 1700, 2)).write.mode("append").parquet(str(folder))
        yield f"parquet:{folder}", f"parquet.`{folder}`"
        return
    if form == "iceberg":
        table, properties = f"lake.contains.{name}", "'write.delete.mode'='merge-on-read'"
    else:
        table, properties = f"contains.{name}", "'delta.enableDeletionVectors'='true'"
        spark.sql("CREATE DATABASE IF NOT EXISTS contains")
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    location = f"LOCATION '{folder}'" if form == "delta" else ""
    spark.sql(
        f"CREATE TABLE {table} USING {form} {location} TBLPROPERTIES ({properties}) AS "
        + sql.format(0, 1600, 8)
    )
    mixed_indexes(spark, table, INDEXED)
    spark.sql(f"DELETE FROM {table} WHERE id % 5 = 1")
    spark.sql(f"INSERT INTO {table} {sql.format(1600, 1700, 2)}")
    yield table, table
    spark.sql(f"DROP TABLE {table}")


@pytest.fixture(scope="module", params=["iceberg", "delta", "parquet"])
def events(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """A table of events, and how SQL names it."""
    folder = tmp_path_factory.mktemp("contains") / "t a"
    with made(spark, request.param, folder, name="events", sql=MADE) as names:
        yield names


def keys_of(spark: SparkSession, columns: list[str]) -> DataFrame:
    """Keys of rows that are there, that were deleted, that were never there; some of them twice."""
    made = spark.sql(MADE.format(0, 3000, 3)).where("id % 7 = 0 OR id % 37 = 0").select(*columns)
    odd = spark.sql(MADE.format(1, 1600, 2)).where("id % 5 = 1").limit(60).select(*columns)
    return made.union(odd).union(made.limit(30)).repartition(3)


def there(keys: DataFrame, rows: DataFrame, columns: list[str]) -> set[str]:
    """Keys that rows have, nulls compared as values."""
    same = [F.col(f"k.{name}").eqNullSafe(F.col(f"t.{name}")) for name in columns]
    found = keys.distinct().alias("k").join(rows.alias("t"), same, "left_semi")
    return {plain(row) for row in found.collect()}


def without_session(spark: SparkSession, table: str) -> str:
    """The name of a table by its folder."""
    if table.startswith("parquet:"):
        return table
    form = "iceberg" if table.startswith("lake.") else "delta"
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").where("col_name = 'Location'").collect()
    return f"{form}:{rows[0]['data_type']}"


def plain(row: object) -> str:
    """A row as text, both zeros alike."""
    return repr(row).replace("x=-0.0", "x=0.0")


# Parquet directories are asked in test_duplicates
# other formats answer in test_duplicates
@pytest.mark.in_time("iceberg--i-s")
@pytest.mark.parametrize(
    ("name", "columns"),
    [("i", ["i"]), ("s_w", ["s", "w"]), ("x", ["x"]), ("i_s_x", ["i", "s"])],
    ids=lambda one: "-".join(one) if isinstance(one, list) else "",
)
def test_a_key_of_a_row_is_never_absent(
    spark: SparkSession,
    events: tuple[str, str],
    name: str,
    columns: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A key of a row is never absent; if confirmed, exactly the keys of rows are present."""
    table, relation = events
    index = ls.open_index(table, name, spark=spark)
    keys = keys_of(spark, columns)
    real = there(keys, spark.sql(f"SELECT * FROM {relation}"), columns)
    everything = {plain(row) for row in keys.distinct().collect()}
    assert real
    assert everything - real

    possible = index.contains(keys)
    sure = index.contains(keys, confirm=True)
    # as if these were more keys than one process looks up
    monkeypatch.setattr(module, "LOCAL", 0)
    many = index.contains(keys, confirm=True)

    assert len(possible.uncovered) == 2
    assert sorted(map(plain, many.keys.collect())) == sorted(map(plain, sure.keys.collect()))
    assert possible.keys.where("absent").isEmpty()
    answer = sure.keys.collect()
    assert sure.keys.columns == [*columns, "absent", "files"]
    assert {plain(row) for row in sure.keys.where("NOT absent").select(*columns).collect()} == real
    assert len(answer) == len({plain(row) for row in sure.keys.select(*columns).collect()})
    assert {plain(row) for row in sure.keys.select(*columns).collect()} == everything
    assert all(row["files"] == [] for row in answer if row["absent"])

    index.refresh()
    refreshed = index.contains(keys)
    absent = {plain(r) for r in refreshed.keys.where("absent").select(*columns).collect()}
    assert refreshed.uncovered == ()
    assert absent
    assert absent.isdisjoint(real)


@pytest.mark.in_time("iceberg")
def test_keys_in_memory_have_the_same_answers(spark: SparkSession, events: tuple[str, str]) -> None:
    """An Arrow table gives the same result as a frame, and as without a session."""
    table, relation = events
    index = ls.open_index(table, "i", spark=spark)
    values = [None, *range(-510, 510, 3), 2**31 - 1]
    keys = pa.table({"i": pa.array(values, pa.int32())})
    real = {row[0] for row in spark.sql(f"SELECT DISTINCT i FROM {relation}").collect()}
    absent = [value not in real for value in values]

    assert index.contains(keys, confirm=True).absent.to_pylist() == absent
    frame = spark.createDataFrame([(value,) for value in values], "i int")
    answer = {r["i"]: r["absent"] for r in index.contains(frame, confirm=True).keys.collect()}
    assert [answer[value] for value in values] == absent
    alone = ls.open_index(without_session(spark, table), "i")
    assert alone.contains(keys, confirm=True).absent.to_pylist() == absent


@pytest.mark.parametrize("given", ["memory", "frame", "many"])
def test_only_blocks_of_possible_keys_are_read(
    spark: SparkSession, table: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With row blocks, confirming reads only the blocks that the index names."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 1000, 2, 1)")
    index = ls.create_index(table, "id", spark=spark, rows_per_block=10)
    keys = [8, 9, 500, None]
    frame = spark.createDataFrame([(key,) for key in keys], "id bigint")

    if given == "many":
        # as if these were more keys than one process looks up
        monkeypatch.setattr(module, "LOCAL", 0)
    if given == "memory":
        assert index.contains(keys, confirm=True).absent.to_pylist() == [False, True, False, True]
    else:
        rows = index.contains(frame, confirm=True).keys.collect()
        assert {row.id: row.absent for row in rows} == {8: False, 9: True, 500: False, None: True}

    (scan,) = ls.last_pruning(spark)
    assert (scan.rows_read, scan.rows_total) == (20, 500)


def test_only_files_of_possible_keys_are_read(spark: SparkSession, table: str) -> None:
    """Confirming opens only the files that the index names, in the wanted version."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 100, 1, 10)")
    index = ls.create_index(table, ["id"], spark=spark)
    before = index.info().table_version
    spark.sql(f"DELETE FROM {table} WHERE id = 7")
    keys = spark.range(5, 9)

    sure = index.contains(keys, confirm=True)

    (scan,) = ls.last_pruning(spark)
    assert (scan.files_read, scan.files_total) == (1, 10)
    assert {row["id"] for row in sure.keys.where("absent").collect()} == {7}
    earlier = index.contains(keys, version=before, confirm=True)
    assert earlier.keys.where("absent").isEmpty()
    # what is read for others meanwhile and afterwards is whole
    assert spark.table(table).count() == 99


def test_absent_keys_open_no_file_in_sql(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """EXISTS, IN lists and join keys open no data file if no key is there."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id * 1000 id FROM range(0, 99, 1, 9)")
    ls.create_index(table, ["id"], spark=spark, absent_hits=2**-20)
    for keys, files in (("70001, 50003", 0), ("70001, 50000", 1)):
        exists = f"SELECT EXISTS (SELECT 1 FROM {table} WHERE id IN ({keys})) AS found"
        listed = f"SELECT v FROM (SELECT explode(array({keys})) AS v) s WHERE EXISTS "
        assert both(exists)[1] == files
        assert both(listed + f"(SELECT 1 FROM {table} t WHERE t.id = s.v)")[1] == files


@pytest.mark.soak
def test_branches(spark: SparkSession, table: str) -> None:
    """Keys are looked up in the given branch, whose files are not indexed."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 100, 1, 10)")
    index = ls.create_index(table, ["id"], spark=spark)
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH trial")
    spark.sql(f"INSERT INTO {table}.branch_trial SELECT id FROM range(500, 510, 1, 1)")
    spark.sql(f"INSERT INTO {table}.branch_trial VALUES (7), (501)")
    spark.sql(f"DELETE FROM {table}.branch_trial WHERE id = 8")
    keys = [7, 8, 9, 501, 600]
    frame = spark.createDataFrame([(key,) for key in keys], "id long")
    wanted = {None: {501, 600}, "trial": {8, 600}}

    for refreshed in (False, True):
        for version, absent in wanted.items():
            sure = index.contains(frame, version=version, confirm=True)
            assert {row["id"] for row in sure.keys.where("absent").collect()} == absent
            few = index.contains(keys, version=version, confirm=True)
            assert {k for k, no in zip(keys, few.absent.to_pylist(), strict=True) if no} == absent
            twice = ls.duplicates(table, ["id"], spark=spark, version=version)
            held = {(row["id"], row["rows"]) for row in twice.keys.collect()}
            assert held == ({(7, 2), (501, 2)} if version else set())
        if not refreshed:
            index.refresh(all_refs=True)


def test_keys_of_the_table_itself(spark: SparkSession, table: str) -> None:
    """If the keys come from the table itself, they are read completely before files are skipped."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 100, 1, 10)")
    index = ls.create_index(table, ["id"], spark=spark)
    own = spark.table(table).where("id % 2 = 0")

    sure = index.contains(own, confirm=True)

    assert (sure.keys.count(), sure.keys.where("absent").count()) == (50, 0)


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ("SELECT 1 AS j", InvalidInputError, "not key columns of the index: j"),
        ("SELECT 'x' AS s", NotFoundError, "no column i"),
        ("SELECT '1' AS i", InvalidInputError, "has type string"),
    ],
)
def test_frames_that_fit_no_index_are_refused(
    spark: SparkSession, events: tuple[str, str], keys: str, error: type[Exception], words: str
) -> None:
    """The error names the column and what to do about it."""
    index = ls.open_index(events[0], "i_s_x", spark=spark)
    with pytest.raises(error, match=words):
        index.contains(spark.sql(keys))
