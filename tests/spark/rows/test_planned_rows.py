"""Queries whose indexes say which rows of Parquet and Delta files can match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.rows.reader_settings import SMALL_PAGES, VECTORIZED
from tests.spark.rows.restriction import END
from tests.spark.rows.row_planner import RowPlanner

from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS = 1_000


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session of this module's own."""
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "true")
    for name, value in SMALL_PAGES.items():
        session.conf.set(name, value)
    return session


@pytest.fixture
def planner(session: SparkSession) -> Iterator[RowPlanner]:
    """The rule of the session, with chosen answers."""
    planner = RowPlanner(session)
    yield planner
    planner.remove()


def normal(session: SparkSession, path: str) -> str:
    return str(own_class(session, "files.FilePaths").normal(path))


def parquet_files(session: SparkSession, frame: DataFrame) -> list[str]:
    """Return the identities of the files of a folder, in order of their names."""
    folder: Any = own_class(session, "folders.FolderFiles")
    leaf = frame._jdf.queryExecution().analyzed().collectLeaves().apply(0)
    listed = folder.of(leaf.relation().location())
    return sorted(normal(session, folder.identity(file)) for file in listed)


def write(session: SparkSession, files: int) -> DataFrame:
    rows = session.range(ROWS * files, numPartitions=files)
    return rows.selectExpr(
        "id", f"id % {ROWS} at", "cast(id as string) word", "array(id, id) twice"
    )


def test_parquet(session: SparkSession, planner: RowPlanner, tmp_path: Path) -> None:
    """Some rows of one file, all rows of another one, and nothing of a third one are read."""
    write(session, 3).write.options(**SMALL_PAGES).parquet(str(tmp_path / "t"))
    frame = session.read.parquet(str(tmp_path / "t"))
    files = parquet_files(session, frame)
    planner.choose(files, {files[0]: [(100, 130), (990, 1000)], files[1]: None})

    found = frame.where("id >= 0").select("id", "twice").collect()

    assert {row.id for row in found} == {*range(100, 130), *range(990, 1000), *range(1000, 2000)}
    assert all(row.twice == [row.id, row.id] for row in found)
    (scan,) = planner.report()
    assert (scan["files_total"], scan["files_read"], scan["rows_read"]) == (3, 2, 40)
    planner.choose(files, {file: [(0, END)] for file in files})
    assert frame.where("id >= 0").count() == 3 * ROWS


def test_no_thread_for_each_page(
    session: SparkSession, planner: RowPlanner, tmp_path: Path
) -> None:
    """The pages of a local file are read one after the other, not each in a thread of its own."""
    one_row_group = SMALL_PAGES | {"parquet.block.size": str(1 << 24)}
    write(session, 20).coalesce(1).write.options(**one_row_group).parquet(str(tmp_path / "t"))
    frame = session.read.parquet(str(tmp_path / "t"))
    (file,) = parquet_files(session, frame)
    every_other_page = [(start, start + 50) for start in range(0, 20 * ROWS, 100)]
    planner.choose([file], {file: every_other_page})
    jvm: Any = session._jvm
    threads = jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    before = threads.getTotalStartedThreadCount()

    found = frame.where("id >= 0").select("id", "word").collect()
    assert len(found) == 10 * ROWS

    assert threads.getTotalStartedThreadCount() - before < len(every_other_page) // 4


def test_a_rewritten_file_is_read_whole(
    session: SparkSession, planner: RowPlanner, tmp_path: Path
) -> None:
    """A file that was replaced since it was listed has no known rows."""
    write(session, 1).write.options(**SMALL_PAGES).parquet(str(tmp_path / "t"))
    frame = session.read.parquet(str(tmp_path / "t"))
    files = parquet_files(session, frame)
    planner.choose(files, {files[0]: [(0, 10)]})
    assert frame.where("id >= 0").count() == 10

    (file,) = (tmp_path / "t").glob("*.parquet")
    session.range(700).selectExpr("id", "id at", "'' word", "array(id) twice").coalesce(
        1
    ).write.parquet(str(tmp_path / "new"))
    (new,) = (tmp_path / "new").glob("*.parquet")
    new.replace(file)
    # Hadoop's checksum of the file that was there
    (file.parent / f".{file.name}.crc").unlink()

    assert frame.where("id >= 0").count() == 700


def test_disabled(session: SparkSession, planner: RowPlanner, tmp_path: Path) -> None:
    """Without the rule, all rows are read, also by a plan that was made with it."""
    write(session, 1).write.options(**SMALL_PAGES).parquet(str(tmp_path / "t"))
    frame = session.read.parquet(str(tmp_path / "t"))
    files = parquet_files(session, frame)
    planner.choose(files, {files[0]: [(0, 10)]})
    query = frame.where("id >= 0")

    planner.remove()

    assert query.count() == ROWS


# the test of mapped columns checks plain columns too; test_row_ranges reads row by row
@pytest.mark.in_time("true-True")
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_delta_with_deletion_vectors(
    session: SparkSession, planner: RowPlanner, tmp_path: Path, vectorized: str, mapped: bool
) -> None:
    """Rows that a deletion vector marks stay deleted, and no other row is."""
    table = f"delta.`{tmp_path / 'täble 100%25'}`"
    properties = {"delta.enableDeletionVectors": "true"}
    if mapped:
        properties |= {"delta.columnMapping.mode": "name"}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    write(session, 2).createOrReplaceTempView("written")
    session.sql(
        f"CREATE TABLE {table} USING delta TBLPROPERTIES ({listed}) AS SELECT * FROM written"
    )
    planner.remove()
    session.sql(f"DELETE FROM {table} WHERE id % 10 = 3 AND id < 1500")
    session.conf.set(VECTORIZED, vectorized)
    places = session.sql(f"SELECT id, _metadata.file_path f, _metadata.row_index i FROM {table}")
    by_file: dict[str, dict[int, int]] = {}
    for row in places.collect():
        by_file.setdefault(row.f, {})[row.i] = row.id
    planner = RowPlanner(session)
    jvm: Any = session._jvm
    uri = jvm.java.net.URI
    paths = {normal(session, "file:" + uri(file).getPath()) for file in by_file}
    ranges = [(0, 4), (95, 105), (900, END)]
    planner.choose(list(paths), dict.fromkeys(paths, ranges))

    found = session.sql(f"SELECT id, at, twice FROM {table} WHERE id >= 0").collect()

    expected = {
        identity
        for rows in by_file.values()
        for at, identity in rows.items()
        if any(start <= at < end for start, end in ranges)
    }
    read = {row.id for row in found}
    assert len(found) == len(read)
    # Parquet's row-wise reader gets whole row groups
    live = {identity for rows in by_file.values() for identity in rows.values()}
    assert read == expected if vectorized == "true" else expected <= read <= live
    assert all(row.twice == [row.id, row.id] for row in found)
    (scan,) = planner.report()
    assert scan["rows_read"] == -1
    # Delta then counts the rows that it reads, so it must read all of them
    session.conf.set("spark.databricks.delta.deletionVectors.useMetadataRowIndex", "false")
    counted = session.sql(f"SELECT id FROM {table} WHERE id >= 0").collect()
    assert {row.id for row in counted} == {i for rows in by_file.values() for i in rows.values()}
    session.conf.unset("spark.databricks.delta.deletionVectors.useMetadataRowIndex")
    session.conf.unset(VECTORIZED)
    # a command too looks for its rows where an index says that they are
    session.sql(f"UPDATE {table} SET word = 'changed' WHERE id >= 0")
    planner.remove()
    changed = session.sql(f"SELECT id FROM {table} WHERE word = 'changed'").collect()
    assert {row.id for row in changed} == read
