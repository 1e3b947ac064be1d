"""Scans of Parquet files that read only some rows, beside the same scans of all rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from tests.depth import depth
from tests.spark.rows.file_kinds import PAGED, ROWS, UNPAGED, row_groups, write_kinds
from tests.spark.rows.reader_settings import VECTORIZED
from tests.spark.rows.restriction import END, install, restricted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from tests.spark.rows.restriction import Ranges

READERS = {
    "vectorized": {},
    "nested rows": {"spark.sql.parquet.enableNestedColumnVectorizedReader": "false"},
    "rows": {VECTORIZED: "false"},
}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session that plans row ranges."""
    session = spark.newSession()
    # Spark 3.5 refuses old times of files that it has not written
    for kind in ("datetime", "int96"):
        session.conf.set(f"spark.sql.parquet.{kind}RebaseModeInRead", "CORRECTED")
    install(session)
    return session


@pytest.fixture(scope="module")
def folder(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("rows") / "kinds of files"
    folder.mkdir()
    write_kinds(session, folder)
    return folder


@pytest.fixture(params=READERS)
def reader(session: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Each of Spark's readers, with compiled queries."""
    settings = READERS[request.param] | {"spark.sql.codegen.wholeStage": "true"}
    for key, value in settings.items():
        session.conf.set(key, value)
    yield request.param
    for key in settings:
        session.conf.unset(key)


def frame(session: SparkSession, folder: Path) -> DataFrame:
    return session.read.parquet(str(folder))


def placed(rows: DataFrame) -> dict[tuple[str, int], Any]:
    """Return the rows by the name of their file and their number in it."""
    place = ("_metadata.file_name", "_metadata.row_index")
    found = rows.select("*", *place).collect()
    by_place = {(row.file_name, row.row_index): row for row in found}
    assert len(by_place) == len(found)
    return by_place


def draw(drawn: random.Random, file: Path) -> list[tuple[int, int]]:
    """Draw ranges, many of which begin or end at an edge of a row group."""
    groups = row_groups(file)
    rows = groups[-1][1]
    edges = {at + more for group in groups for at in group for more in (-1, 0, 1)}
    numbers = [at for at in edges if 0 <= at <= rows] + [
        drawn.randrange(rows + 1) for _ in range(9)
    ]
    some = sorted(set(drawn.sample(numbers, min(len(numbers), 2 * drawn.randrange(1, 5)))))
    ranges = list(zip(some[::2], some[1::2], strict=False))
    if ranges and drawn.random() < 0.3:
        ranges[-1] = (ranges[-1][0], END)
    return ranges


def expected(
    folder: Path, wanted: Mapping[str, Ranges], *, by_page: bool = True
) -> set[tuple[str, int]]:
    """Return the places of the rows that are read."""
    places = set()
    for kind in (*PAGED, *UNPAGED):
        name = f"{kind}.parquet"
        groups = row_groups(folder / name)
        ranges: Sequence[tuple[int, int]] = wanted.get(name, [(0, END)])
        if kind in UNPAGED or not by_page:
            ranges = [
                group
                for group in groups
                if any(start < group[1] and end > group[0] for start, end in ranges)
            ]
        for row in range(groups[-1][1]):
            if any(start <= row < end for start, end in ranges):
                places.add((name, row))
    return places


@pytest.mark.parametrize("seed", range(depth("RANGES", test=1, soak=4)))
def test_drawn_ranges(session: SparkSession, folder: Path, reader: str, seed: int) -> None:
    """Each wanted row is read as without ranges, and no other row where pages can be skipped."""
    drawn = random.Random(seed)
    rows = frame(session, folder)
    wanted = {
        f"{kind}.parquet": draw(drawn, folder / f"{kind}.parquet")
        for kind in (*PAGED, *UNPAGED)
        # one file has no ranges
        if kind != drawn.choice(PAGED)
    }

    read = placed(restricted(rows, wanted))

    whole = placed(rows)
    # Parquet's row-wise reader gets whole row groups
    assert set(read) == expected(folder, wanted, by_page=reader == "vectorized")
    assert all(whole[place] == row for place, row in read.items())


def test_spark_has_several_pages_and_row_groups(folder: Path) -> None:
    """The files are of the kinds that the tests are about."""
    assert len(row_groups(folder / "spark.parquet")) > 1
    assert len(row_groups(folder / "pages.parquet")) == 4
    assert row_groups(folder / "one.parquet") == [(0, 1)]
    assert row_groups(folder / "large.parquet") == [(0, ROWS)]


def test_columns_and_filters(session: SparkSession, folder: Path, reader: str) -> None:
    """Counts, single columns, conditions and aggregates see the wanted rows."""
    wanted = {f"{kind}.parquet": [(590, 610), (1999, END)] for kind in PAGED}
    rows = restricted(frame(session, folder), wanted).where(
        ~F.col("_metadata.file_name").isin("plain.parquet", "large.parquet")
    )
    # Parquet's row-wise reader gets whole row groups; nested columns are not read here
    places = expected(folder, wanted, by_page=reader != "rows")
    ids = [row + 7 * (file == "one.parquet") for file, row in places if file in wanted]

    assert rows.count() == len(ids)
    assert sorted(row.id for row in rows.select("id").collect()) == sorted(ids)
    for number in (600, 7, 1999):
        assert rows.where(f"id = {number}").count() == ids.count(number)
    assert [tuple(row) for row in rows.where("word is not null").agg(F.max("id")).collect()] == [
        (1999,)
    ]
    assert rows.where("id < 592").select("parts.a").count() == sum(number < 592 for number in ids)


def test_a_file_that_changed_is_read_whole(session: SparkSession, folder: Path) -> None:
    """Ranges are of a file with the same length and modification time."""
    rows = frame(session, folder).select("id", "_metadata.file_name")
    base = restricted(frame(session, folder), {"pages.parquet": [(0, 1)]})
    longer = restricted(frame(session, folder), {"pages.parquet": [(0, 1)]}, longer=1)
    newer = restricted(frame(session, folder), {"pages.parquet": [(0, 1)]}, newer=1)

    assert base.count() == rows.count() - ROWS + 1
    assert longer.count() == rows.count()
    assert newer.count() == rows.count()


def test_a_file_that_is_replaced_after_it_was_listed(session: SparkSession, tmp_path: Path) -> None:
    """An executor that opens another file under the name reads all of its rows."""
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(ROWS)}), file, write_page_index=True)
    rows = restricted(session.read.parquet(str(file)), {file.name: [(0, 10)]})
    assert rows.count() == 10

    pq.write_table(pa.table({"id": range(700)}), file, write_page_index=True)

    assert sorted(row.id for row in rows.collect()) == list(range(700))


def test_interleaved_readers(session: SparkSession, folder: Path, reader: str) -> None:
    """Two scans that one task reads in turn keep their own ranges."""
    file = session.read.parquet(str(folder / "pages.parquet")).select("id")
    # as many rows on both sides, and as many row groups
    wanted = [[(100, 300), (1500, 1800)], [(5, 105), (700, 1100)]]
    sides = [restricted(file, {"pages.parquet": ranges}) for ranges in wanted]

    pairs = sides[0]._jdf.toJavaRDD().zip(sides[1]._jdf.toJavaRDD()).collect()

    ids = [[pair._1().getLong(0) for pair in pairs], [pair._2().getLong(0) for pair in pairs]]
    for ranges, found in zip(wanted, ids, strict=True):
        places = expected(folder, {"pages.parquet": ranges}, by_page=reader == "vectorized")
        assert found == sorted(row for file, row in places if file == "pages.parquet")


def test_equal_scans_run_once_and_others_do_not(session: SparkSession, folder: Path) -> None:
    """Scans of other rows are not mistaken for one another, with adaptive execution too."""
    session.conf.set("spark.sql.adaptive.enabled", "true")
    file = session.read.parquet(str(folder / "pages.parquet"))

    def grouped(*ranges: tuple[int, int]) -> DataFrame:
        rows = restricted(file, {"pages.parquet": ranges})
        return rows.groupBy((F.col("id") % 2).alias("odd")).count()

    one, same, other = grouped((0, 10)), grouped((0, 10)), grouped((0, 30))
    both = one.join(same.withColumnRenamed("count", "again"), "odd")
    both = both.join(other.withColumnRenamed("count", "others"), "odd")

    assert sorted(map(tuple, both.collect())) == [(0, 5, 5, 15), (1, 5, 5, 15)]
    session.conf.unset("spark.sql.adaptive.enabled")


def test_files_with_few_wanted_rows_are_not_split(session: SparkSession, folder: Path) -> None:
    """A file's footer is read once where few of its rows are."""
    session.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    file = session.read.parquet(str(folder / "pages.parquet"))

    assert file.rdd.getNumPartitions() > 2
    few = restricted(file, {"pages.parquet": [(0, 10), (1990, END)]})
    assert few.rdd.getNumPartitions() == 1 or few.count() == 20
    few = restricted(file, {"pages.parquet": [(0, 10), (1990, ROWS)]})
    assert few.rdd.getNumPartitions() == 1
    assert few.count() == 20
    session.conf.unset("spark.sql.files.maxPartitionBytes")
