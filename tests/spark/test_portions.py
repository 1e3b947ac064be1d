"""Builds of very many rows: in portions of the data files, each with a commit of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lakesieve as ls
from lakesieve.errors import CommitConflictError, ErrorKind, StorageError
from lakesieve.spark.build import indexing
from lakesieve.spark.build.source import Source
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

FILES = 8
ROWS_A_FILE = 100
CONDITIONS = ("k = 300", "k IN (0, 799)", "k IS NULL", "k > 1000", "k < 100")


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Portions of three files where there is one index, of one or two where there are two."""
    monkeypatch.setattr(indexing, "ROWS_AT_ONCE", 250)


def _append(spark: SparkSession, table: str, first: int, files: int) -> None:
    rows = spark.range(first, first + files * ROWS_A_FILE, 1, files).selectExpr(
        "IF(id % 50 = 7, NULL, id) AS k", "id % 37 AS g"
    )
    rows.writeTo(table).append()


@pytest.fixture
def filled(spark: SparkSession, table: str) -> str:
    """A table of eight files."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, g BIGINT) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    _append(spark, table, 0, FILES)
    return table


def _check(spark: SparkSession, table: str, index: ls.Index) -> None:
    """The index covers all files, and names exactly those with a match."""
    for condition in CONDITIONS:
        rows = spark.sql(f"SELECT DISTINCT _file FROM {table} WHERE {condition}").collect()
        found = index.files(condition)
        assert set(found.paths) == {row[0] for row in rows}
        assert found.uncovered == 0


@pytest.mark.usefixtures("small_portions")
def test_a_table_is_indexed_in_portions(spark: SparkSession, filled: str) -> None:
    """The whole table is indexed, with a commit for each portion and one progress."""
    heard: list[ls.BuildProgress] = []
    index = ls.create_index(filled, ["k"], spark=spark, progress=heard.append)

    assert [commit.operation for commit in index.history()] == ["create"] * 3
    _check(spark, filled, index)
    done = [progress.rows_done for progress in heard]
    assert done == sorted(done)
    assert {progress.rows_total for progress in heard if progress.phase != "plan"} == {800}
    assert (heard[-1].rows_done, heard[-1].files_done) == (800, FILES)

    _append(spark, filled, 800, 4)
    refreshed = index.refresh()
    assert (refreshed.files, refreshed.rows, refreshed.covered) == (4, 400, FILES)
    assert len(refreshed.versions) == 1
    assert [commit.operation for commit in index.history()][3:] == ["refresh"] * 2
    _check(spark, filled, index)


# several indexes are built at once in test_at_once
@pytest.mark.soak
@pytest.mark.usefixtures("small_portions")
def test_several_indexes_share_the_portions(spark: SparkSession, filled: str) -> None:
    """Each read serves all indexes."""
    indexes = ls.create_indexes(filled, [["k"], ["g"]], spark=spark)

    assert [len(index.history()) for index in indexes] == [6, 6]
    _check(spark, filled, indexes[0])
    assert set(indexes[1].files("g = 5").paths) == set(indexes[1].files("g >= 0").paths)


@pytest.mark.usefixtures("small_portions")
def test_what_was_indexed_before_a_failure_is_kept(
    spark: SparkSession, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failure, queries use the finished part, and a refresh indexes the rest."""
    plain = IndexStore.commit

    def full(self: IndexStore, *_: Any, **__: Any) -> Any:
        raise StorageError("The disk is full.", kind=ErrorKind.STORAGE_FAILED, hint="Make room.")

    monkeypatch.setattr(IndexStore, "commit", full)
    with pytest.raises(StorageError, match="The disk is full") as raised:
        ls.create_index(filled, ["k"], spark=spark)
    assert raised.value.hint.startswith("Make room. What was indexed so far is kept")

    index = ls.open_index(filled, "k", spark=spark)
    found = index.files("k = 799")
    # minimum and maximum leave out the others
    assert (found.total, len(found.paths), found.uncovered) == (FILES, 1, 1)
    monkeypatch.setattr(IndexStore, "commit", plain)
    assert index.refresh().files == FILES - 3
    _check(spark, filled, index)


# writers beside a build are in test_maintained
@pytest.mark.soak
@pytest.mark.usefixtures("small_portions")
def test_another_writer_between_two_portions(
    spark: SparkSession, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another writer has indexed the next portion, a refresh continues with the rest."""
    index = ls.create_index(filled, ["k"], spark=spark)
    _append(spark, filled, 800, FILES)
    other = ls.open_index(filled, "k", spark=spark)
    plain: Callable[..., Any] = IndexStore.commit
    lost: list[bool] = []

    def commit(self: IndexStore, *arguments: Any) -> Any:
        if not lost:
            lost.append(True)
            monkeypatch.setattr(IndexStore, "commit", plain)
            assert other.refresh().files == FILES
            raise CommitConflictError("lost", kind=ErrorKind.CONFLICT, hint="")
        return plain(self, *arguments)

    monkeypatch.setattr(IndexStore, "commit", commit)
    assert index.refresh().files == 0
    assert lost
    _check(spark, filled, index)


@pytest.mark.parametrize(
    ("records", "portions"),
    [
        ([10, 10, 10], [[10, 10, 10]]),
        ([0, 0, 30, 0, 1, 0], [[0, 0, 30], [0, 1, 0]]),
        ([30, 30, 1], [[30], [30], [1]]),
        ([29, 2, 29], [[29, 2], [29]]),
        ([95, 0, 1, 1], [[95], [0, 1, 1]]),
        ([0, 0], [[0, 0]]),
        ([], [[]]),
    ],
)
def test_files_of_a_portion(records: list[int], portions: list[list[int]]) -> None:
    """A portion is consecutive whole files with about the wanted number of rows."""
    paths = [str(number) for number in range(len(records))]
    files = pa.table({"path": paths, "records": pa.array(records, pa.int64())})
    table: Any = SimpleNamespace()
    source = Source(table=table, version=table, columns=(), files=files)

    parts = list(source.portions(30))

    assert [part.files.column("records").to_pylist() for part in parts] == portions
    assert [path for part in parts for path in part.files.column("path").to_pylist()] == paths
    assert {part.is_partial for part in parts} == {len(parts) > 1}
