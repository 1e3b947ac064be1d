"""Hudi's timeline: versions, log files, incomplete commits, rewritten file groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.hudi.driver import DRIVERS, HudiDriver, MergeOnReadDriver, OlderDriver

import lakesieve as ls
from lakesieve.errors import NotFoundError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

    Both = Callable[[Callable[[], DataFrame]], ls.TablePruning]

FILES = 6
KEY = "(id * 7919) % 1009"


@pytest.fixture
def both(spark: SparkSession) -> Iterator[Both]:
    """Run a query with skipping off and on, check equal rows; return the scan's report."""

    def run(query: Callable[[], DataFrame]) -> ls.TablePruning:
        ls.disable(spark)
        expected = sorted(map(repr, query().collect()))
        ls.enable(spark)
        actual = sorted(map(repr, query().collect()))
        (pruned,) = ls.last_pruning(spark)
        assert actual == expected
        return pruned

    yield run
    ls.disable(spark)


@pytest.fixture(params=DRIVERS)
def table(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[HudiDriver]:
    """A table of six files with an index on ``k``."""
    yield from _filled(DRIVERS[request.param], spark, tmp_path)


@pytest.fixture
def merged(spark: SparkSession, tmp_path: Path) -> Iterator[HudiDriver]:
    """The same, merge on read."""
    yield from _filled(MergeOnReadDriver, spark, tmp_path)


@pytest.fixture
def plain(spark: SparkSession, tmp_path: Path) -> Iterator[HudiDriver]:
    """The same, copy on write."""
    yield from _filled(HudiDriver, spark, tmp_path)


def _filled(driver: type[HudiDriver], spark: SparkSession, folder: Path) -> Iterator[HudiDriver]:
    table = driver(spark, folder / "t", f"timeline_{driver.kind.lower()}")
    table.append(_rows(spark, 0, 600, FILES))
    ls.create_index(table.name, ["k"], spark=spark)
    yield table
    table.drop()


def _rows(spark: SparkSession, start: int, end: int, files: int) -> DataFrame:
    return spark.range(start, end, 1, files).selectExpr("id", f"{KEY} AS k", "CAST(id AS FLOAT) x")


# merge-on-read tables have base files, too
@pytest.mark.in_time("merge_on_read")
def test_time_travel_keeps_skipping(spark: SparkSession, table: HudiDriver, both: Both) -> None:
    """A read as of an earlier instant opens the files that the index names."""
    first = table.version()
    rows = sorted(map(repr, table.frame().collect()))
    table.append(_rows(spark, 600, 700, 2))
    table.delete("k = 7919 % 1009")
    assert sorted(map(repr, table.frame(**{"as.of.instant": first}).collect())) == rows

    pruned = both(lambda: table.frame(**{"as.of.instant": first}).where("k = 856"))
    assert (pruned.files_total, pruned.files_read, pruned.uncovered) == (FILES, 1, 0)
    text = f"SELECT * FROM {table.entry} TIMESTAMP AS OF '{first}' WHERE k = 856"
    assert both(lambda: spark.sql(text)).files_read == 1
    found = ls.find_files(table.name, "k = 856", spark=spark, version=first)
    assert (len(found.paths), found.total, found.version) == (1, FILES, first)
    with pytest.raises(NotFoundError):
        ls.find_files(table.name, "k = 1", spark=spark, version="2001-01-01")


def test_log_files_are_read(spark: SparkSession, merged: HudiDriver, both: Both) -> None:
    """A file group with log files is always read until it is compacted."""
    merged.update("k = 5000", "id = 17")
    index = ls.open_index(merged.name, "k", spark=spark)
    index.refresh()

    pruned = both(lambda: merged.frame().where("k = 5000"))
    assert (pruned.files_read, pruned.uncovered) == (1, 1)
    assert "uncovered-files" in {str(reason.code) for reason in pruned.reasons}
    assert ls.find_files(merged.name, "k = 5000", spark=spark).uncovered == 1

    merged.compact()
    both(lambda: merged.frame().where("k = 5000"))
    assert index.refresh().files == 1
    pruned = both(lambda: merged.frame().where("k = 5000"))
    assert (pruned.files_read, pruned.uncovered) == (1, 0)
    assert both(lambda: merged.frame().where("k = 4999")).files_read == 0
    assert index.verify_rows(files=None).wrong == ()


@pytest.mark.soak
def test_tables_of_older_versions(spark: SparkSession, tmp_path: Path, both: Both) -> None:
    """If a log file's name does not tell its commits, its slice is read at any instant."""
    table = OlderDriver(spark, tmp_path / "t", "timeline_older")
    table.append(_rows(spark, 0, 600, FILES))
    index = ls.create_index(table.name, ["k"], spark=spark)
    first = str(ls.find_files(table.name, "k = 856", spark=spark).version)
    assert both(lambda: table.frame().where("k = 856")).files_read == 1

    table.write(_rows(spark, 17, 18, 1).selectExpr("id", "5000L AS k", "x"), "upsert")

    assert both(lambda: table.frame().where("k = 5000")).uncovered == 1
    then = {"as.of.instant": first}
    pruned = both(lambda: table.frame(**then).where(f"k = {17 * 7919 % 1009}"))
    assert (pruned.files_total, pruned.files_read, pruned.uncovered) == (FILES, 1, 1)
    index.refresh()
    assert both(lambda: table.frame().where("k = 4999")).files_read == 1
    config = (table.folder / ".hoodie" / "hoodie.properties").read_text()
    assert "hoodie.table.version=6" in config


# rare tables, of older versions or writers
@pytest.mark.soak
def test_bootstrapped_files_are_read(spark: SparkSession, tmp_path: Path, both: Both) -> None:
    """Files whose rows are in another table are always read."""
    source = tmp_path / "source"
    _rows(spark, 0, 600, FILES).write.parquet(str(source))
    table = HudiDriver(spark, tmp_path / "t", "timeline_bootstrapped")
    table.write(
        _rows(spark, 0, 0, 1),
        "bootstrap",
        **{
            "hoodie.bootstrap.base.path": str(source),
            "hoodie.metadata.index.column.stats.enable": "false",
            "hoodie.bootstrap.mode.selector": "org.apache.hudi.client.bootstrap.selector."
            "MetadataOnlyBootstrapModeSelector",
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen."
            "NonpartitionedKeyGenerator",
        },
    )
    ls.create_index(table.name, ["k"], spark=spark)

    pruned = both(lambda: table.frame().where("k = 856"))
    assert (pruned.files_total, pruned.files_read) == (FILES, FILES)
    table.append(_rows(spark, 600, 700, 2))
    ls.open_index(table.name, "k", spark=spark).refresh()
    pruned = both(lambda: table.frame().where("k = 856"))
    assert (pruned.files_total, pruned.files_read) == (FILES + 2, FILES)


@pytest.mark.soak
def test_columns_changed_under_a_table(spark: SparkSession, plain: HudiDriver, both: Both) -> None:
    """A table with stored schemas is not indexed, because its files may have other columns."""
    spark.conf.set("hoodie.schema.on.read.enable", "true")
    try:
        spark.sql(f"ALTER TABLE {plain.entry} ALTER COLUMN x TYPE DOUBLE")
        pruned = both(lambda: spark.table(plain.entry).where("k = 856"))
        with pytest.raises(UnsupportedError, match="evolution"):
            ls.create_index(plain.entry, ["id"], spark=spark)
    finally:
        spark.conf.unset("hoodie.schema.on.read.enable")

    assert pruned.files_read == pruned.files_total == FILES
    assert [str(reason.code) for reason in pruned.reasons] == ["scan-unsupported"]


# new files come from other commits, too
@pytest.mark.soak
def test_clustering_makes_new_files(spark: SparkSession, plain: HudiDriver, both: Both) -> None:
    """File groups that clustering replaced are skipped, and new ones are read until a refresh."""
    plain.compact()

    pruned = both(lambda: plain.frame().where("k = 856"))
    assert pruned.files_read == pruned.uncovered > 0
    index = ls.open_index(plain.name, "k", spark=spark)
    index.refresh()
    assert both(lambda: plain.frame().where("k = 856")).uncovered == 0
    index.compact()
    first = plain.commits()[0].name.partition("_")[0]
    assert both(lambda: plain.frame(**{"as.of.instant": first}).where("k = 856")).files_read == 1


# the timeline is that of both kinds
@pytest.mark.in_time("merge_on_read")
def test_commits_that_are_not_complete(spark: SparkSession, table: HudiDriver, both: Both) -> None:
    """Files of an incomplete commit are not part of the table."""
    table.append(_rows(spark, 600, 800, 2))
    newest = table.commits()[-1]
    aside = newest.with_name("aside")
    newest.rename(aside)
    index = ls.open_index(table.name, "k", spark=spark)

    assert index.refresh().files == 0
    assert both(lambda: table.frame().where(f"k = {700 * 7919 % 1009}")).files_total == FILES
    aside.rename(newest)
    pruned = both(lambda: table.frame().where(f"k = {700 * 7919 % 1009}"))
    assert (pruned.files_total, pruned.uncovered) == (FILES + 2, 2)


# merge-on-read tables have base files, too
# a commit that is not complete is passed over in the same way
@pytest.mark.soak
def test_commits_that_are_rolled_back(spark: SparkSession, table: HudiDriver, both: Both) -> None:
    """Indexed files of a commit that is rolled back do no harm."""
    table.append(_rows(spark, 600, 800, 2))
    ls.open_index(table.name, "k", spark=spark).refresh()
    table.call("rollback_to_instant", f"instant_time => '{table.version()}'")
    spark.catalog.refreshTable(table.entry)

    pruned = both(lambda: table.frame().where("k = 856"))
    assert (pruned.files_total, pruned.files_read, pruned.uncovered) == (FILES, 1, 0)
    table.append(_rows(spark, 700, 800, 1))
    assert both(lambda: table.frame().where(f"k = {750 * 7919 % 1009}")).uncovered == 1


# changes of columns are rare in Hudi
@pytest.mark.soak
def test_a_promoted_column_has_no_index(spark: SparkSession, plain: HudiDriver, both: Both) -> None:
    """Floats read as doubles get other values, so an index on the floats is not used."""
    ls.create_index(plain.name, ["x"], spark=spark)
    plain.append(_rows(spark, 600, 700, 1).withColumn("x", _double("id + 0.1D")))

    pruned = both(lambda: plain.frame().where("x = 17.0D"))

    assert pruned.files_read == pruned.files_total
    assert both(lambda: plain.frame().where("k = 856")).uncovered == 1


def _double(text: str) -> Column:
    from pyspark.sql import functions as F

    return F.expr(f"CAST({text} AS DOUBLE)")


# queries that no index answers
@pytest.mark.soak
def test_other_queries(spark: SparkSession, merged: HudiDriver, both: Both) -> None:
    """Read-optimized queries skip, self-joins keep scans apart, incremental queries do not skip."""
    merged.update("k = 5000", "id = 17")
    kind = "hoodie.datasource.query.type"
    pruned = both(lambda: merged.frame(**{kind: "read_optimized"}).where("k = 856"))
    assert (pruned.files_read, pruned.uncovered) == (1, 0)

    text = (
        f"WITH c AS (SELECT * FROM {merged.entry}) SELECT (SELECT max(id) FROM c WHERE k = 856), "
        "(SELECT max(id) FROM c WHERE k = 703), (SELECT max(id) FROM c WHERE k = 5000)"
    )
    expected = spark.sql(text).collect()
    ls.enable(spark)
    assert spark.sql(text).collect() == expected
    assert all(row.files_read < row.files_total for row in ls.last_pruning(spark))

    since = {kind: "incremental", "hoodie.datasource.read.begin.instanttime": "0"}
    assert [row.id for row in merged.frame(**since).where("k = 5000").collect()] == [17]


# the contract has places with signs and accents
@pytest.mark.soak
def test_places_of_any_name(spark: SparkSession, tmp_path: Path, both: Both) -> None:
    """A table in a folder with a blank, percent and plus signs and an accent is read by path."""
    table = HudiDriver(spark, tmp_path / "ä b%25+", "by_path_alone")
    table.append(_rows(spark, 0, 600, FILES))
    ls.create_index(table.name, ["k"], spark=spark)

    assert both(lambda: table.frame().where("k = 856")).files_read == 1


def test_an_empty_folder_is_no_table(spark: SparkSession, tmp_path: Path) -> None:
    """A missing folder, and one without a table, get other errors than a failure."""
    with pytest.raises(NotFoundError):
        ls.create_index(f"hudi:{tmp_path}/none", ["k"], spark=spark)
