"""Upsert and delete by key agree with a model, run once, and keep the indexes fresh."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.spark.mixed_indexes import mixed_indexes

import lakesieve as ls
from lakesieve.errors import InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.index import ReasonCode
from lakesieve.spark.rule.installed import installed_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

KINDS = {
    "iceberg_merge_on_read": "USING iceberg TBLPROPERTIES ('format-version'='3', "
    "'write.merge.mode'='merge-on-read')",
    "iceberg_copy_on_write": "USING iceberg TBLPROPERTIES ('format-version'='2')",
    "delta_vectors": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true')",
    "delta": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='false')",
}
ROUNDS = 2
JOIN_ROWS = "spark.lakesieve.join.rows"


@pytest.fixture(params=KINDS)
def people(spark: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A table of 200 people in 8 files, by ``id`` and by ``region, s``, with an index on each."""
    kind, catalog = request.param, "lake"
    location = ""
    if "delta" in kind:
        catalog, location = "spark_catalog", f"LOCATION '{tmp_path / 'ta ble'}'"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {catalog}.people")
    name = f"{catalog}.people.{kind}"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    columns = "id BIGINT, region INT, s STRING, v INT"
    spark.sql(f"CREATE TABLE {name} ({columns}) {KINDS[kind]} {location}")
    rows = "SELECT id, CAST(id % 3 AS INT), concat('ü', id), 0 FROM range(0, 200, 1, 8)"
    spark.sql(f"INSERT INTO {name} {rows}")
    mixed_indexes(spark, name, [["id"], ["region", "s"]])
    yield name
    spark.conf.unset(JOIN_ROWS)
    spark.sql(f"DROP TABLE {name}")


def frame(spark: SparkSession, rows: list[tuple[int, int, str, int]]) -> DataFrame:
    return spark.createDataFrame(rows, "id long, region int, s string, v int").repartition(2)


def contents(spark: SparkSession, table: str) -> dict[int, tuple[int, str, int]]:
    found = spark.table(table).collect()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: (row["region"], row["s"], row["v"]) for row in found}


@pytest.mark.in_time("iceberg_merge_on_read")
@pytest.mark.usefixtures("by_default")
def test_random_changes_equal_a_model(spark: SparkSession, people: str) -> None:
    """Upserts and deletes by one or two columns give the same rows as a dictionary."""
    drawn = random.Random(people)
    model = {at: (at % 3, f"ü{at}", 0) for at in range(200)}
    for turn in range(1, 2 * ROUNDS + 1):
        # the rule looks up few keys of a join; the command itself looks up more
        spark.conf.set(JOIN_ROWS, "100000" if turn <= ROUNDS else "5")
        keys = drawn.sample(range(300), drawn.choice((1, 7, 40)))
        rows = [(key, key % 3, f"ü{key}", turn) for key in keys]
        if turn % 2:
            on = drawn.choice((["id"], ["s", "region"]))
            change = ls.upsert(frame(spark, rows), people, on=on, spark=spark)
            inserted = len(set(keys) - set(model))
            assert (change.inserted, change.updated) == (inserted, len(keys) - inserted)
            model |= {key: (region, s, v) for key, region, s, v in rows}
        else:
            on = drawn.choice((["id"], ["region", "s"]))
            given = frame(spark, rows + rows[:3])
            change = ls.delete(given, people, on=on, spark=spark)
            assert change.deleted == len(set(keys) & set(model))
            model = {key: row for key, row in model.items() if key not in keys}
        assert contents(spark, people) == model
        assert (change.keys, change.reasons, change.known) == (len(keys), (), False)
    assert change.version is not None
    assert [one.index for one in change.refreshed] == ["id", "region_s"]
    for name in ("id", "region_s"):
        index = ls.open_index(people, name, spark=spark)
        assert index.locate(frame(spark, rows).select(*name_columns(name))).uncovered == ()
        assert index.verify_rows(files=None).wrong == ()


def name_columns(name: str) -> list[str]:
    return name.split("_")


def test_only_blocks_of_many_keys_are_read(spark: SparkSession, table: str) -> None:
    """A change with more keys than the rule looks up reads only the blocks of these keys."""
    spark.sql(
        f"CREATE TABLE {table} USING iceberg TBLPROPERTIES ('format-version'='2', "
        "'write.merge.mode'='merge-on-read') AS SELECT id, 0 AS v FROM range(0, 1000, 1, 1)"
    )
    ls.create_index(table, "id", spark=spark, rows_per_block=10)
    spark.conf.set(JOIN_ROWS, "5")
    try:
        rows = spark.range(495, 515).selectExpr("id", "1 AS v")
        change = ls.upsert(rows, table, on="id", spark=spark)
        reads = [scan for scan in installed_rule(spark).report() if scan.get("files_total")]
        gone = ls.delete(spark.range(995, 1003), table, on="id", spark=spark, refresh=None)
    finally:
        spark.conf.unset(JOIN_ROWS)

    assert (change.updated, change.files_read, change.reasons) in [(20, 1, ()), (None, 1, ())]
    assert {(scan["files_read"], scan["rows_read"]) for scan in reads} == {(1, 30)}
    assert gone.deleted in {5, None}
    found = {row.id: row.v for row in spark.table(table).collect()}
    assert found == {at: int(495 <= at < 515) for at in range(995)}


# the model has rows that stay as they are
@pytest.mark.soak
def test_the_same_again_changes_no_row(spark: SparkSession, people: str) -> None:
    """A retry leaves the same rows, and with a transaction it does nothing."""
    rows = frame(spark, [(7, 1, "neu", 9), (1000, 2, "auch", 9)])
    first = ls.upsert(rows, people, on=["id"], spark=spark, txn=("app", 3), refresh=None)
    after = contents(spark, people)
    again = ls.upsert(rows, people, on=["id"], spark=spark, refresh="never")
    assert contents(spark, people) == after
    assert (again.inserted, again.updated, again.refreshed) == (0, 2, ())
    other = frame(spark, [(7, 1, "falsch", 0)])
    for number, known in ((3, True), (2, True), (4, False)):
        txn = ("app", number)
        late = ls.delete(other, people, on=["id"], spark=spark, txn=txn, refresh=None)
        assert late.known == known
        assert (late.version is None) == known
    assert set(after) - set(contents(spark, people)) == {7}
    assert first.version != again.version
    gone = ls.delete(other, people, on=["id"], spark=spark, refresh=None)
    assert gone.deleted == 0


@pytest.mark.in_time("delta_vectors")
def test_a_dry_run_tells_and_does_nothing(spark: SparkSession, people: str) -> None:
    """A dry run reports the rows and files of the later change, and changes nothing."""
    before = contents(spark, people)
    rows = frame(spark, [(7, 1, "x", 9), (8, 1, "x", 9), (199, 1, "x", 9), (1000, 2, "y", 9)])
    change = ls.upsert(rows, people, on=["id"], spark=spark, dry_run=True)
    assert (change.updated, change.inserted, change.deleted, change.files_read) == (3, 1, 0, 2)
    change = ls.delete(rows, people, on=["id"], spark=spark, dry_run=True)
    assert (change.updated, change.inserted, change.deleted, change.files_read) == (0, 0, 3, 2)
    assert (change.version, change.refreshed) == (None, ())
    assert contents(spark, people) == before


# random changes equal the model with skipping off and on
@pytest.mark.soak
def test_skipping_is_as_it_was_before(spark: SparkSession, people: str) -> None:
    """The call turns skipping on only for itself."""
    rows = frame(spark, [(7, 1, "x", 9)])
    ls.disable(spark)
    ls.delete(rows, people, on=["id"], spark=spark, refresh=None)
    assert not installed_rule(spark).active
    ls.enable(spark)
    ls.upsert(rows, people, on=["id"], spark=spark)
    assert installed_rule(spark).active
    with pytest.raises(InvalidInputError, match="2 times"):
        ls.upsert(rows.union(rows), people, on=["id"], spark=spark)
    spark.table(people).where("id = 9").collect()
    assert ls.last_pruning(spark)[0].indexes == ("id",)
    ls.disable(spark)


@pytest.mark.in_time("iceberg_merge_on_read")
def test_a_failed_refresh_does_not_hide_the_commit(
    spark: SparkSession, people: str, index_folder: Callable[[ls.Index], Path]
) -> None:
    """If a refresh fails, the rows are committed, and the result names the index."""
    index = ls.open_index(people, "id", spark=spark)
    folder = index_folder(index)
    for entry in (folder / "log").iterdir():
        entry.write_bytes(b"{}")
    change = ls.upsert(frame(spark, [(7, 1, "x", 9)]), people, on=["id"], spark=spark)
    assert contents(spark, people)[7] == (1, "x", 9)
    assert change.version is not None
    assert {reason.code for reason in change.reasons} == {ReasonCode.REFRESH_FAILED}


_ROW = "SELECT 1L AS id, 1 AS region, 's' AS s, 1 AS v"
_REFUSED = {
    "twice": (f"{_ROW} UNION ALL {_ROW}", "id", InvalidInputError, "key id=1 is given 2 times"),
    "null": (_ROW.replace("1L", "CAST(NULL AS BIGINT)"), "id", InvalidInputError, "1 of 1 given"),
    "missing": (_ROW.removesuffix(", 1 AS v"), "id", NotFoundError, "no column v"),
    "unknown": (f"{_ROW}, 1 AS w", "id", InvalidInputError, "has no column w"),
    "key_type": (_ROW.replace("1L", "'1'"), "id", InvalidInputError, "id has type string"),
    "type": (
        _ROW.replace("1 AS region", "5000000000 AS region"),
        "id",
        InvalidInputError,
        "bigint",
    ),
    "on": (_ROW, "no", NotFoundError, "no column no"),
    "none": (_ROW, "", InvalidInputError, "is not a list"),
}


@pytest.mark.parametrize("case", list(_REFUSED))
def test_what_cannot_be_upserted_is_refused(spark: SparkSession, table: str, case: str) -> None:
    """The error names a column or a key and the next step, and nothing is written."""
    rows, on, error, result = _REFUSED[case]
    spark.sql(f"CREATE TABLE {table} (id BIGINT, region INT, s STRING, v INT) USING iceberg")
    with pytest.raises(error, match=result) as raised:
        ls.upsert(spark.sql(rows), table, on=on.split(), spark=spark)
    assert raised.value.hint
    assert spark.table(f"{table}.snapshots").count() == 0


def test_tables_without_commits_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A directory, an Iceberg path and a missing table each get their own error."""
    rows = spark.range(3)
    rows.write.parquet(str(tmp_path / "rows"))
    with pytest.raises(UnsupportedError, match="directory"):
        ls.upsert(rows, f"parquet:{tmp_path / 'rows'}", on=["id"], spark=spark)
    with pytest.raises(NotFoundError, match="no table"):
        ls.delete(rows, "lake.t.nowhere", on=["id"], spark=spark)
    with pytest.raises(InvalidInputError, match="refresh"):
        ls.delete(rows, "lake.t.nowhere", on=["id"], spark=spark, refresh="later")


def test_rows_are_evaluated_once(spark: SparkSession, table: str) -> None:
    """The random keys that pass the checks are the keys that are written."""
    spark.sql(f"CREATE TABLE {table} (id BIGINT, v DOUBLE) USING iceberg")
    rows = spark.range(500).selectExpr("id", "rand() AS v")
    change = ls.upsert(rows.where("v < 0.5"), table, on=["id"], spark=spark)
    written = spark.table(table)
    assert change.inserted == written.count() == written.where("v < 0.5").count()
    assert change.keys == change.inserted


def test_files_hold_rows_and_keys(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """CSV is read with the table's types, Parquet with its own, and bad values are errors."""
    spark.sql(f"CREATE TABLE {table} (id BIGINT, day DATE, s STRING) USING iceberg")
    rows, keys, bad = tmp_path / "rows.csv", tmp_path / "keys.parquet", tmp_path / "bad.csv"
    rows.write_text("s,id,day\nü,1,2026-01-31\nx,2,\n", encoding="utf-8")
    change = ls.upsert(str(rows), table, on=["id"], spark=spark)
    assert change.inserted == 2
    found = [(row.id, str(row.day), row.s) for row in spark.table(table).collect()]
    assert sorted(found) == [(1, "2026-01-31", "ü"), (2, "None", "x")]
    spark.range(2, 3).write.parquet(str(keys))
    assert ls.delete(str(keys), table, on=["id"], spark=spark).deleted == 1
    bad.write_text("id\n1\nzwei\n", encoding="utf-8")
    with pytest.raises(Exception, match=r"MALFORMED|Malformed"):
        ls.delete(str(bad), table, on=["id"], spark=spark)
    with pytest.raises(NotFoundError, match="cannot be read"):
        ls.delete(str(tmp_path / "nowhere.parquet"), table, on=["id"], spark=spark)
    assert spark.table(table).count() == 1
