"""Several indexes of one table in one build equal single builds, from one read of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import lakesieve as ls
from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
)
from lakesieve.spark.build import indexing, segments, stages
from lakesieve.spark.tables.iceberg.table import IcebergTable
from lakesieve.spark.tables.parquet.table import ParquetTable
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables.contract import RawRead

COLUMNS = (["k"], ["s"], ["s", "k"], ["st.x"], ["m"])


def _rows(spark: SparkSession, first: int = 0, count: int = 600, files: int = 4) -> DataFrame:
    return spark.range(first, first + count, 1, files).selectExpr(
        "IF(id % 50 = 0, NULL, (id * 7919) % 1009) AS k",
        "concat('ü', id % 37) AS s",
        "named_struct('x', CAST(IF(id < 90, NULL, id) AS INT)) AS st",
        "CAST((id % 401) / 4 AS DECIMAL(6,2)) AS m",
    )


def _fill(spark: SparkSession, table: str) -> None:
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, s STRING, st STRUCT<x: INT>, m DECIMAL(6,2)) "
        "USING iceberg TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    _rows(spark).writeTo(table).append()


def _contents(folder: Path) -> tuple[dict[str, bytes], list[Any]]:
    """Bytes of an index's segments, and the rows of its catalogues, which also hold its UUID."""
    segments = {path.name: path.read_bytes() for path in folder.glob("segments/*")}
    return segments, [pq.read_table(path).to_pylist() for path in sorted(folder.glob("files/*"))]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns of each read of Iceberg or Parquet data files by lakesieve itself."""
    seen: list[list[str]] = []

    def watch(kind: type[Any]) -> None:
        plain = kind.raw_rows

        def raw_rows(self: Any, version: Any, read: RawRead) -> Any:
            seen.append([".".join(column.path) for column in read.columns])
            return plain(self, version, read)

        monkeypatch.setattr(kind, "raw_rows", raw_rows)

    watch(IcebergTable)
    watch(ParquetTable)
    return seen


@pytest.mark.parametrize(
    ("buckets", "settings"),
    [
        (False, {}),
        pytest.param(True, {}, marks=pytest.mark.soak),
        pytest.param(True, {"budget": "6 bits"}, marks=pytest.mark.soak),
        pytest.param(False, {"budget": "1.5 files"}, marks=pytest.mark.soak),
    ],
)
def test_they_are_those_made_one_by_one(  # noqa: PLR0917 - fixtures
    spark: SparkSession,
    table: str,
    index_folder: Callable[[ls.Index], Path],
    monkeypatch: pytest.MonkeyPatch,
    buckets: bool,
    settings: dict[str, Any],
) -> None:
    """Segments are identical bit for bit, in one task or many, exact or with a budget."""
    if buckets:
        monkeypatch.setattr(segments, "BUCKET_ROWS", 100)
        monkeypatch.setattr(segments, "SMALLEST_BUCKET", 200)
        monkeypatch.setattr(stages, "BUFFER_ROWS", 70)
    _fill(spark, table)
    alone = []
    for columns in COLUMNS:
        index = ls.create_index(table, columns, spark=spark, **settings)
        alone.append(_contents(index_folder(index)))
        index.drop()

    together = ls.create_indexes(table, COLUMNS, spark=spark, **settings)

    assert [index.name for index in together] == ["k", "s", "s_k", "st.x", "m"]
    assert [_contents(index_folder(index)) for index in together] == alone
    assert all(segments for segments, _ in alone)
    for index in together:
        assert index.verify_rows(files=None).wrong == ()


@pytest.mark.parametrize("form", ["iceberg", "parquet"])
def test_the_files_are_read_once(
    spark: SparkSession, table: str, tmp_path: Path, reads: list[list[str]], form: str
) -> None:
    """One read has the columns of all indexes; rows are counted once, and only if need be."""
    _fill(spark, table)
    name = table
    counts: list[list[str]] = []
    if form == "parquet":
        _rows(spark).write.parquet(str(tmp_path / "files"))
        name, counts = f"parquet:{tmp_path / 'files'}", [[]]

    made = ls.create_indexes(name, COLUMNS, spark=spark)

    assert reads == [*counts, ["k", "s", "st.x", "m"]]
    assert len(made) == len(COLUMNS)


def test_one_that_fails_leaves_the_others(
    spark: SparkSession, table: str, tmp_path: Path, reads: list[list[str]]
) -> None:
    """If one index cannot be written during the build, it is named, and the others are right."""
    _fill(spark, table)
    location = tmp_path / "indexes"
    ls.create_index(table, ["m"], spark=spark, location=str(location))
    (home,) = {path.parent for path in location.rglob("m") if path.is_dir()}
    (home / "s").mkdir()
    (home / "s" / "segments").write_text("in the way")
    reads.clear()

    with pytest.raises(LakesieveError, match="The index s failed") as caught:
        ls.create_indexes(table, [["k"], ["s"], ["st.x"]], spark=spark, location=str(location))

    assert "The indexes k, st.x are complete." in str(caught.value)
    assert "\n" not in str(caught.value)
    names = [info.name for info in ls.list_indexes(table, spark=spark, location=str(location))]
    assert sorted(names) == ["k", "m", "st.x"]
    for name in ("k", "st.x"):
        index = ls.open_index(table, name, spark=spark, location=str(location))
        assert index.verify_rows(files=None).wrong == ()


def test_a_lost_commit_is_of_one_index(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch, reads: list[list[str]]
) -> None:
    """If another build creates an index first, only this index is not made."""
    _fill(spark, table)
    plain = IndexStore.create

    def create(self: IndexStore, definition: Any, changes: Any) -> Any:
        if definition.name == "s":
            plain(self, definition, changes)
        return plain(self, definition, changes)

    monkeypatch.setattr(IndexStore, "create", create)
    with pytest.raises(InvalidInputError, match="The index s failed") as caught:
        ls.create_indexes(table, [["k"], ["s"]], spark=spark)

    assert caught.value.kind is ErrorKind.INDEX_EXISTS
    assert "The index k is complete." in str(caught.value)
    assert reads == [["k", "s"]]


def test_files_that_are_not_as_listed_fail_all(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch, reads: list[list[str]]
) -> None:
    """An error in the data files is found once, and nothing is committed."""
    _fill(spark, table)
    read = IcebergTable.raw_rows
    monkeypatch.setattr(IcebergTable, "raw_rows", lambda *a, **k: read(*a, **k).limit(599))

    with pytest.raises(LakesieveError, match="another number of rows than their metadata says"):
        ls.create_indexes(table, [["k"], ["s"]], spark=spark)

    assert reads == [["k", "s"]]
    assert ls.list_indexes(table, spark=spark) == []


def test_wrong_calls_are_refused_before_anything_is_read(
    spark: SparkSession, table: str, reads: list[list[str]]
) -> None:
    """If one index is invalid, the call fails before any work."""
    _fill(spark, table)
    ls.create_index(table, ["m"], spark=spark)
    reads.clear()
    cases: list[tuple[type[Exception], Sequence[Any], Any, str]] = [
        (NotFoundError, [["k"], ["kk"]], None, "no column kk"),
        (InvalidInputError, [["k"], ["m"]], None, "already has an index m"),
        (InvalidInputError, [["k"], ["k"]], None, "Two indexes would have the name k"),
        (InvalidInputError, [["k"], ["s"]], ["s", None], "Two indexes would have the name s"),
        (InvalidInputError, [["k"], ["s"]], ["one"], "1 names were given for 2 indexes"),
        (InvalidInputError, [["k"], []], None, "is not a list"),
    ]
    for kind, columns, names, text in cases:
        with pytest.raises(kind, match=text):
            ls.create_indexes(table, columns, names=names, spark=spark)

    assert ls.create_indexes(table, [], spark=spark) == []
    assert [info.name for info in ls.list_indexes(table, spark=spark)] == ["m"]
    assert reads == []


def test_progress_is_reported_over_all(spark: SparkSession, table: str) -> None:
    """The callback gets once, at the end, that all rows are done for all indexes."""
    _fill(spark, table)
    heard: list[ls.BuildProgress] = []
    ls.create_indexes(table, [["k"], ["s"]], spark=spark, progress=heard.append)

    assert [item.phase for item in heard].count("done") == 1
    assert (heard[-1].rows_done, heard[-1].files_done) == (600, 4)


def test_a_refresh_reads_new_files_once(
    spark: SparkSession, table: str, reads: list[list[str]]
) -> None:
    """Indexes that lack the same files share one read; an index with other gaps has its own."""
    _fill(spark, table)
    ls.create_indexes(table, [["k"], ["s"]], spark=spark, names=["a", "b"])
    _rows(spark, 600, 60, 2).writeTo(table).append()
    ls.create_index(table, ["m"], spark=spark)
    _rows(spark, 700, 60, 3).writeTo(table).append()
    reads.clear()

    dry = ls.refresh_indexes(table, spark=spark, dry_run=True)
    assert reads == []
    done = ls.refresh_indexes(table, spark=spark)

    assert sorted(reads) == [["k", "s"], ["m"]]
    for item in (dry, done):
        assert [(one.index, one.files, one.rows, one.covered) for one in item] == [
            ("a", 5, 120, 4),
            ("b", 5, 120, 4),
            ("m", 3, 60, 6),
        ]
    assert [one.files for one in ls.refresh_indexes(table, ["b", "a"], spark=spark)] == [0, 0]
    for info in ls.list_indexes(table, spark=spark):
        index = ls.open_index(table, info.name, spark=spark)
        assert index.verify_rows(files=None).wrong == ()
    with pytest.raises(NotFoundError, match="no index nothing"):
        ls.refresh_indexes(table, ["a", "nothing"], spark=spark)


def test_a_refresh_that_fails_for_one_index(
    spark: SparkSession, table: str, index_folder: Callable[[ls.Index], Path]
) -> None:
    """An index that cannot be refreshed is named, and the others are refreshed."""
    _fill(spark, table)
    made = ls.create_indexes(table, [["k"], ["s"], ["m"]], spark=spark)
    spark.sql(f"ALTER TABLE {table} DROP COLUMN s")
    spark.sql(f"INSERT INTO {table} VALUES (1, NULL, 2)")
    for commit in index_folder(made[2]).glob("log/*"):
        commit.write_bytes(b"damaged")

    with pytest.raises(LakesieveError, match="The indexes m, s failed") as caught:
        ls.refresh_indexes(table, spark=spark)

    assert "The index k is complete." in str(caught.value)
    assert made[0].refresh().files == 0


def test_a_refresh_after_a_lost_race(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch, reads: list[list[str]]
) -> None:
    """An index that another refresh has updated first is compared again, alone."""
    _fill(spark, table)
    ls.create_indexes(table, [["k"], ["s"]], spark=spark)
    _rows(spark, 600, 60, 2).writeTo(table).append()
    plain = segments.build_segments
    raced: list[bool] = []

    def build_segments(*given: Any, **rest: Any) -> Any:
        built = plain(*given, **rest)
        if not raced:
            raced.append(True)
            ls.open_index(table, "s", spark=spark).refresh()
        return built

    monkeypatch.setattr(indexing, "build_segments", build_segments)
    reads.clear()
    done = ls.refresh_indexes(table, spark=spark)

    assert [(one.index, one.files, one.covered) for one in done] == [("k", 2, 4), ("s", 0, 6)]
    assert reads == [["k", "s"], ["s"]]


def test_only_fresh_files_are_waited_for(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build waits once for the clock's tick of the newest file, and not for old files."""

    class Clock:
        def __init__(self, current: float) -> None:
            self.current, self.slept = current, list[float]()

        def time(self) -> float:
            return self.current

        def sleep(self, seconds: float) -> None:
            self.slept.append(seconds)
            self.current += seconds

    _rows(spark).write.parquet(str(tmp_path / "files"))
    newest = max(path.stat().st_mtime for path in (tmp_path / "files").glob("*.parquet"))
    for late, waits in ((0.5, [1.5]), (3.0, [])):
        clock = Clock(newest + late)
        monkeypatch.setattr(ParquetTable, "clock", clock)
        made = ls.create_indexes(f"parquet:{tmp_path / 'files'}", [["k"], ["s"]], spark=spark)
        assert clock.slept == pytest.approx(waits, abs=0.01)
        for index in made:
            index.drop()
