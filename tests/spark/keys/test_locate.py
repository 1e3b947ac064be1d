"""Bulk look-ups: the files that a join with the data names, for keys of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

import lakesieve as ls
from lakesieve.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

NAME = "lake.locate.events"
# nulls, NUL bytes, NaN and both zeros, accents, and wide decimals
COLUMNS = {
    "i": "IF(id % 41 = 0, NULL, CAST((id * 7919) % 997 - 500 AS INT))",
    "s": "CASE WHEN id % 37 = 0 THEN NULL WHEN id % 31 = 0 THEN '' "
    "WHEN id % 29 = 0 THEN concat('ü', CHR(0), id % 7) ELSE concat('ключ', (id * 31) % 407) END",
    "x": "CASE WHEN id % 43 = 0 THEN NULL WHEN id < 40 THEN CAST('NaN' AS DOUBLE) "
    "WHEN id < 80 THEN CAST('-0.0' AS DOUBLE) WHEN id < 120 THEN CAST(0 AS DOUBLE) "
    "ELSE (id * 13) % 1013 / 4 END",
    "w": "IF(id % 47 = 0, NULL, CAST((id * 17) % 301 AS DECIMAL(30, 2)))",
}
INDEXED = (["i"], ["s"], ["x"], ["w"], ["i", "s", "x"], ["s", "w"])


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[str]:
    """A table of 16 files with indexes on its columns, two files added after they were built."""
    spark.sql(f"DROP TABLE IF EXISTS {NAME} PURGE")
    row = ", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
    made = f"SELECT id, {row} FROM range({{}}, {{}}, 1, {{}})"
    spark.sql(
        f"CREATE TABLE {NAME} USING iceberg TBLPROPERTIES ('write.distribution-mode'='none', "
        f"'write.delete.mode'='merge-on-read') AS {made.format(0, 3200, 16)}"
    )
    ls.create_indexes(NAME, INDEXED, spark=spark)
    spark.sql(f"INSERT INTO {NAME} {made.format(3200, 3400, 2)}")
    yield NAME
    spark.sql(f"DROP TABLE {NAME} PURGE")


def joined(
    spark: SparkSession, keys: DataFrame, columns: Sequence[str], uncovered: Sequence[str]
) -> set[str]:
    """Return the pairs in the data, comparing null keys as values."""
    rows = spark.table(NAME).select(*columns, F.col("_file").alias("file")).alias("t")
    same = [F.col(f"t.{name}").eqNullSafe(F.col(f"k.{name}")) for name in columns]
    pairs = rows.join(keys.distinct().alias("k"), same).select("k.*", "file").distinct()
    return {base_name(row) for row in pairs.collect() if row["file"] not in uncovered}


def base_name(row: Row) -> str:
    """A pair as text, both zeros alike."""
    return repr(row).replace("x=-0.0,", "x=0.0,")


# a short key, a long one, and one of all columns
@pytest.mark.in_time("i", "w", "i-s-x")
@pytest.mark.parametrize(
    "columns",
    [*INDEXED, ["i", "s"]],
    ids="-".join,
)
def test_locate_tells_what_a_join_tells(
    spark: SparkSession, events: str, columns: list[str]
) -> None:
    """Keys with nulls, duplicates and any order give the pairs in the data, and few others."""
    name = "i_s_x" if columns == ["i", "s"] else "_".join(columns)
    index = ls.open_index(events, name, spark=spark)
    subset = spark.table(events).where("id % 11 = 0 OR id % 37 = 0 OR id % 41 = 0").select(*columns)
    keys = subset.union(subset.limit(50)).repartition(3)
    located = index.locate(keys)

    found = [base_name(row) for row in located.pairs.collect()]
    expected = joined(spark, keys, columns, located.uncovered)
    assert expected
    assert located.pairs.columns == [*columns, "file"]
    assert len(found) == len(set(found))
    assert expected <= set(found)
    # exact for keys that indexed files hold; prefixes, and keys of other files alone, may have more
    present = {pair.rpartition(", file=")[0] for pair in expected}
    known = {pair for pair in found if pair.rpartition(", file=")[0] in present}
    assert name != "_".join(columns) or known == expected
    assert (located.files, len(located.uncovered)) == (18, 2)


def test_absent_keys_have_few_files(spark: SparkSession, events: str) -> None:
    """Of 2,000 absent keys, few are given a file, and none more than a few."""
    index = ls.open_index(events, "s", spark=spark)
    keys = spark.range(2000).selectExpr("concat('nirgends', id * 7919) AS s")
    assert index.locate(keys).pairs.select("s").distinct().count() < 100


def test_a_leading_column_alone_is_a_key(spark: SparkSession, events: str) -> None:
    """The first column of an index on three columns finds all files of its values."""
    index = ls.open_index(events, "i_s_x", spark=spark)
    keys = spark.sql("SELECT * FROM VALUES (CAST(-500 AS INT)), (17), (NULL) AS k(i)")
    located = index.locate(keys)
    found = {base_name(row) for row in located.pairs.collect()}
    assert joined(spark, keys, ["i"], located.uncovered) <= found


def test_only_live_files_of_the_version_are_named(spark: SparkSession, table: str) -> None:
    """Files that were rewritten are named only for the versions that have them."""
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 100, 1, 2)")
    index = ls.create_index(table, ["id"], spark=spark)
    before = index.info().table_version
    spark.sql(f"UPDATE {table} SET id = id + 1000 WHERE id < 50")
    index.refresh()
    keys = spark.range(0, 2000)
    current, earlier = index.locate(keys), index.locate(keys, version=before)
    assert current.uncovered == earlier.uncovered == ()
    assert current.pairs.where("id < 50").count() == 0
    assert (current.pairs.where("id >= 1000").count(), earlier.pairs.count()) == (50, 100)
    live = {row[0] for row in spark.sql(f"SELECT file_path FROM {table}.files").collect()}
    assert {row[0] for row in current.pairs.select("file").distinct().collect()} <= live


def test_paths_of_a_directory_are_plain(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The result has plain paths, without the size and time that identify files of a directory."""
    folder = tmp_path_factory.mktemp("locate") / "ro ws"
    spark.range(0, 1000, 1, 4).write.parquet(str(folder))
    index = ls.create_index(f"parquet:{folder}", ["id"], spark=spark)
    pairs = index.locate(spark.range(0, 1000, 10)).pairs
    rows = {row[0].removeprefix("file:") for row in pairs.select("file").distinct().collect()}
    assert rows == {str(path) for path in folder.glob("*.parquet")}
    assert pairs.count() == 100


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ("SELECT 1 AS j", InvalidInputError, "not key columns of the index: j"),
        ("SELECT 1L AS i, 'x' AS s, 2D AS x, 7 AS more", InvalidInputError, "more"),
        ("SELECT 'x' AS s", NotFoundError, "no column i"),
        ("SELECT '1' AS i", InvalidInputError, "has type string"),
        ("SELECT 1 AS i, 2 AS s", InvalidInputError, "has type int"),
        ("SELECT 1 AS i, 2 AS I", InvalidInputError, "twice"),
    ],
    ids=["unknown", "more", "gap", "type", "second_type", "twice"],
)
def test_frames_that_fit_no_index_are_refused(
    spark: SparkSession, events: str, keys: str, error: type[Exception], words: str
) -> None:
    """The error names the column and what to do about it."""
    index = ls.open_index(events, "i_s_x", spark=spark)
    with pytest.raises(error, match=words):
        index.locate(spark.sql(keys))
