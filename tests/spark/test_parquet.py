"""Plain Parquet directories: files rewritten in place, and schemas given by hand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StructField, StructType

import lakesieve as ls
from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError, UnsupportedError
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.contract import RawRead
from lakesieve.spark.tables.parquet.table import ParquetTable
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession


def _make(folder: Path, *, files: int = 6) -> None:
    folder.mkdir(parents=True)
    for number in range(files):
        _write(folder / f"{number}.parquet", number)


def _write(path: Path, number: int, *, shift: int = 0) -> None:
    keys = [(row * 7919) % 1009 + shift for row in range(number * 100, number * 100 + 100)]
    table = pa.table({"k": pa.array(keys, pa.int64()), "v": [number] * 100})
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)


def test_a_file_rewritten_in_place_is_read(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """New content under an old name is always read, even if its size is the same."""
    folder = tmp_path / "d"
    _make(folder)
    ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    before = (folder / "3.parquet").stat().st_size
    _write(folder / "3.parquet", 3, shift=5000)
    assert (folder / "3.parquet").stat().st_size == before

    _, read = both(f"SELECT * FROM parquet.`{folder}` WHERE k = 5936")
    assert read == 1
    assert spark.sql(f"SELECT * FROM parquet.`{folder}` WHERE k > 5000").count() >= 99
    assert both(f"SELECT * FROM parquet.`{folder}` WHERE k = 397")[1] <= 2


def test_removed_and_added_files(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """A directory may lose and gain files in any folder."""
    folder = tmp_path / "d"
    _make(folder / "p=1")
    _make(folder / "p=2")
    ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    (folder / "p=1" / "0.parquet").unlink()
    _write(folder / "p=2" / "9.parquet", 0)
    _make(folder / "p=3", files=1)

    total, read = both(f"SELECT * FROM parquet.`{folder}` WHERE k = 397")

    # one indexed file in p=2, and the two that came
    assert (total, read) == (13, 3)


def test_reads_that_are_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    """Reads of several paths, or with column ids, keep all their files."""
    folder = tmp_path / "d"
    _make(folder)
    ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    ls.enable(spark)
    # Delta sets this session to bind columns by ids, of which these files have none
    spark.conf.set("spark.sql.parquet.fieldId.read.ignoreMissing", "true")
    several = spark.read.parquet(str(folder / "0.parquet"), str(folder / "1.parquet"))
    rebased = spark.read.option("datetimeRebaseMode", "LEGACY").parquet(str(folder))
    schema = StructType([StructField("k", LongType(), True, {"parquet.field.id": 1})])
    for frame in (several, rebased, spark.read.schema(schema).parquet(str(folder))):
        frame.where("k = 397").collect()
        (pruned,) = ls.last_pruning(spark)
        assert pruned.files_read == pruned.files_total
        assert [str(reason.code) for reason in pruned.reasons] == ["scan-unsupported"]
        # nor do the keys of a join take files out
        frame.join(spark.range(397, 398).toDF("k"), "k").where("k >= 0").collect()
        (pruned,) = ls.last_pruning(spark)
        assert pruned.files_read == pruned.files_total
        assert "join-keys" not in {str(reason.code) for reason in pruned.reasons}
    spark.conf.unset("spark.sql.parquet.fieldId.read.ignoreMissing")
    assert spark.read.schema("k LONG").parquet(str(folder)).where("k = 397").count() == 1
    assert [p.files_read for p in ls.last_pruning(spark)] == [1]
    ls.disable(spark)


def test_a_time_of_a_folder_cannot_be_indexed(spark: SparkSession, tmp_path: Path) -> None:
    """A time in a folder's name has no zone, so it cannot be indexed."""
    _make(tmp_path / "d" / "at=2026-01-01 00%3A00%3A00")
    with pytest.raises(LakesieveError) as caught:
        ls.create_index(f"parquet:{tmp_path / 'd'}", ["at"], spark=spark)

    assert caught.value.kind is ErrorKind.UNSUPPORTED_TYPE


def test_there_are_no_versions(spark: SparkSession, tmp_path: Path) -> None:
    """A directory has only its current version."""
    _make(tmp_path / "d", files=1)
    with pytest.raises(NotFoundError) as caught:
        ls.find_files(f"parquet:{tmp_path / 'd'}", "k = 1", spark=spark, version=3)

    assert caught.value.kind is ErrorKind.VERSION_NOT_FOUND


def test_two_reads_of_one_frame_keep_their_own_files(spark: SparkSession, tmp_path: Path) -> None:
    """A leaf that several queries share is not changed for one of them."""
    folder = tmp_path / "d"
    _make(folder)
    ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    ls.enable(spark)
    frame = spark.read.parquet(str(folder))
    for key in (397, 92, 397):
        assert frame.where(f"k = {key}").count() == 1
        assert [p.files_read for p in ls.last_pruning(spark)] == [1]
    union = frame.where("k = 397").union(frame.where("k = 92"))
    assert union.count() == 2
    assert frame.count() == 600
    ls.disable(spark)


def test_a_file_rewritten_after_it_was_listed_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """A listing from before a rewrite does not miss the new rows."""
    folder = tmp_path / "d"
    _make(folder)
    index = ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    spark.sql(f"CREATE TABLE spark_catalog.default.listed USING parquet LOCATION '{folder}'")
    frame, entry = spark.read.parquet(str(folder)), spark.table("spark_catalog.default.listed")
    ls.enable(spark)
    for listed in (frame, entry):
        assert listed.where("k > 5000").count() == 0
    _write(folder / "3.parquet", 3, shift=5000)
    for _ in range(2):
        for listed in (frame, entry):
            assert listed.where("k = 5936").count() == 1
            assert [p.files_read for p in ls.last_pruning(spark)] == [1]
        index.refresh()
    ls.disable(spark)
    spark.sql("DROP TABLE spark_catalog.default.listed")


# the upkeep of an index is tested on Iceberg
@pytest.mark.soak
def test_upkeep_follows_the_folder(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """A refresh indexes only new and rewritten files, and compaction drops removed files."""
    folder = tmp_path / "d"
    _make(folder)
    index = ls.create_index(f"parquet:{folder}", ["k", "v"], spark=spark)
    _write(folder / "3.parquet", 3, shift=5000)
    _write(folder / "9.parquet", 9)
    (folder / "0.parquet").unlink()
    assert index.refresh(dry_run=True).files == 2
    refreshed = index.refresh()

    assert (refreshed.files, refreshed.rows, refreshed.covered) == (2, 200, 4)
    assert both(f"SELECT * FROM parquet.`{folder}` WHERE k = 5936 AND v = 3") == (6, 1)
    assert index.info().files == 8
    assert index.compact(dry_run=True).files == 6
    assert index.compact().files == 6
    checked = index.verify_rows(files=None)
    assert (checked.files, checked.rows, checked.wrong) == (6, 600, ())
    assert index.refresh().files == 0
    with pytest.raises(UnsupportedError) as caught:
        ls.clone_table(f"parquet:{folder}", "spark_catalog.default.copy", spark=spark)
    assert caught.value.kind is ErrorKind.UNSUPPORTED_TABLE


def test_an_old_time_of_change_is_another_file(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """A file with another modification time is read."""
    folder = tmp_path / "d"
    _make(folder)
    ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    os.utime(folder / "5.parquet", (1_000_000_000, 1_000_000_000))

    assert both(f"SELECT * FROM parquet.`{folder}` WHERE k = 397")[1] == 2


# a matter of numbers
@pytest.mark.soak
def test_more_files_than_go_in_one_part(spark: SparkSession, tmp_path: Path) -> None:
    """Listings and selections of many files are split into parts without loss."""
    folder = tmp_path / "d"
    _make(folder, files=1)
    names = [f"{number:05d}.parquet" for number in range(10_001)]
    for name in names:
        os.link(folder / "0.parquet", folder / name)
    table = ParquetTable(spark, str(folder), is_path=True)

    version = table.reader.version()
    files = table.reader.live_files(version)

    listed = [path.rpartition("/")[2] for path in files.column("location").to_pylist()]
    assert sorted(listed) == sorted([*names, "0.parquet"])
    assert version.id == open_table(f"parquet:{folder}").version().id
    paths = files.column("path").slice(0, 10_001)
    with installed_rule(spark).raw_reads(paths) as selection:
        every = RawRead(columns=(), split_bytes=1 << 30, selection=selection, stride=1_000)
        raw = table.raw_rows(version, every)
        read = {row.file for row in raw.distinct().collect()}
    spellings = [names.to_pylist()[::1_000] for names in table.names_in_rows(paths)]
    assert read in [set(names) for names in spellings]
