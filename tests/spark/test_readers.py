"""Two readers may read files differently: an index of one is not used for the other."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.kit.reports import internal_errors

import lakesieve as ls
from lakesieve.engines.table_rows import rows_of
from lakesieve.errors import ErrorKind, StorageError, UnsupportedError
from lakesieve.predicate.expression import Constant
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def entry(spark: SparkSession) -> Iterator[str]:
    """A name in the session's own catalog, dropped afterwards."""
    name = "spark_catalog.default.readers"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    yield name
    ls.disable(spark)
    spark.sql(f"DROP TABLE IF EXISTS {name}")


def _alike(spark: SparkSession, rows: Callable[[], DataFrame]) -> tuple[int, int]:
    """Insist on equal rows with skipping off and on; tells how many, and files read."""
    ls.disable(spark)
    expected = sorted(map(repr, rows().collect()))
    ls.enable(spark)
    actual = sorted(map(repr, rows().collect()))
    pruned = ls.last_pruning(spark)
    ls.disable(spark)
    assert actual == expected
    assert internal_errors(pruned) == []
    return len(actual), sum(scan.files_read for scan in pruned)


def test_a_default_is_known_to_the_catalog_alone(
    spark: SparkSession, entry: str, tmp_path: Path
) -> None:
    """Files older than a column hold its default for one reader, and nulls for another."""
    folder = tmp_path / "t"
    spark.sql(f"CREATE TABLE {entry} (a INT, s STRUCT<x: INT>) USING parquet LOCATION '{folder}'")
    spark.sql(f"INSERT INTO {entry} SELECT /*+ COALESCE(1) */ id, null FROM range(5)")
    spark.sql(f"ALTER TABLE {entry} ADD COLUMNS (b INT DEFAULT 5)")
    spark.sql(f"INSERT INTO {entry} SELECT /*+ COALESCE(1) */ id, null, 7 FROM range(5)")
    ls.create_index(entry, ["b"], spark=spark)
    by_path = spark.read.schema("a int, b int")

    assert _alike(spark, lambda: spark.table(entry).where("b = 5")) == (5, 1)
    assert _alike(spark, lambda: spark.table(entry).where("b IS NULL")) == (0, 0)
    assert _alike(spark, lambda: by_path.parquet(str(folder)).where("b IS NULL")) == (5, 2)
    spark.sql(f"ALTER TABLE {entry} ALTER COLUMN b SET DEFAULT 6")
    # what older files hold does not follow
    assert _alike(spark, lambda: spark.table(entry).where("b = 5")) == (5, 1)


def test_a_moment_by_default_is_another_one_in_another_zone(
    spark: SparkSession, entry: str, tmp_path: Path
) -> None:
    """A default without a time zone depends on the session, so it prevents an index."""
    spark.sql(f"CREATE TABLE {entry} (a INT) USING parquet LOCATION '{tmp_path / 't'}'")
    spark.sql(f"INSERT INTO {entry} VALUES (1)")
    moment = "TIMESTAMP '2020-01-01 00:00:00'"
    spark.sql(f"ALTER TABLE {entry} ADD COLUMNS (t TIMESTAMP DEFAULT {moment}, n INT DEFAULT NULL)")

    with pytest.raises(UnsupportedError, match="The column t of type timestamp") as caught:
        ls.create_index(entry, ["t"], spark=spark)
    assert "time without a zone" in caught.value.hint
    ls.create_index(entry, ["n"], spark=spark)
    # without a default other than null, the catalog knows no more than the files say
    by_path = spark.read.schema("a int, n int").parquet(str(tmp_path / "t"))
    assert _alike(spark, lambda: by_path.where("n = 5")) == (0, 0)
    assert _alike(spark, lambda: by_path.where("n IS NULL")) == (1, 1)


def test_a_partition_that_moved_keeps_its_rows(
    spark: SparkSession, entry: str, tmp_path: Path
) -> None:
    """The folder does not determine the partition that a catalog has for it."""
    spark.sql(
        f"CREATE TABLE {entry} (k BIGINT, p INT) USING parquet PARTITIONED BY (p) "
        f"LOCATION '{tmp_path / 't'}'"
    )
    spark.sql(f"INSERT INTO {entry} SELECT /*+ COALESCE(1) */ id, id % 2 FROM range(20)")
    with pytest.raises(UnsupportedError, match="The column p of type integer") as caught:
        ls.create_index(entry, ["k", "p"], spark=spark)
    assert "not in the data files" in caught.value.hint
    ls.create_index(entry, ["k"], spark=spark)

    spark.sql(f"ALTER TABLE {entry} PARTITION (p=1) SET LOCATION '{tmp_path / 't' / 'p=0'}'")

    assert _alike(spark, lambda: spark.table(entry).where("p = 1 AND k = 4"))[0] == 1
    assert _alike(spark, lambda: spark.table(entry).where("p = 1 AND k = 5"))[0] == 0
    assert ls.find_files(entry, "p = 1 AND k = 4", spark=spark).paths != []


def test_a_partition_column_inside_the_file_is_not_looked_up(
    spark: SparkSession, tmp_path: Path
) -> None:
    """One reader finds a value in the file, and another in the folder's name."""
    for value in (1, 2):
        folder = tmp_path / "t" / f"p={value}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"k": [value], "p": [9]}), folder / "0.parquet")
    inner = f"parquet:{tmp_path / 't' / 'p=1'}"
    ls.create_index(inner, ["p"], spark=spark, location=str(tmp_path / "indexes"))

    assert ls.find_files(inner, "p = 1", spark=spark, location=str(tmp_path / "indexes")).total == 1
    with pytest.raises(UnsupportedError, match="partition column"):
        ls.create_index(f"parquet:{tmp_path / 't'}", ["p"], spark=spark)


def test_an_imported_file_follows_the_names_of_its_columns(
    spark: SparkSession, table: str, tmp_path: Path
) -> None:
    """In imported files, a reused column name changes which values a column has."""
    for first in (0, 10):
        rows = pa.table({"id": [first, first + 1], "a": [first, first + 1]})
        pq.write_table(rows, tmp_path / f"{first}.parquet")
    # with its own statistics Iceberg itself would lose these rows: they stay with the field id
    without = "TBLPROPERTIES ('write.metadata.metrics.default' = 'none')"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, a BIGINT) USING iceberg {without}")
    spark.sql(f"CALL lake.system.add_files('{table}', '`parquet`.`{tmp_path}`')")
    ls.create_index(table, ["a"], spark=spark)
    assert _alike(spark, lambda: spark.table(table).where("a = 1")) == (1, 1)

    spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO r")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN a BIGINT")
    assert _alike(spark, lambda: spark.table(table).where("r IS NULL"))[0] == 4
    ls.create_index(table, ["a"], spark=spark, name="again")
    assert _alike(spark, lambda: spark.table(table).where("a = 1")) == (1, 1)
    mapping = '[{"field-id": 1, "names": ["id"]}, {"field-id": 3, "names": ["none"]}]'
    spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default' = '{mapping}')"
    )
    assert _alike(spark, lambda: spark.table(table).where("a IS NULL"))[0] == 4
    assert len(ls.find_files(table, "a IS NULL", spark=spark).paths) == 2


# a partition that moved is the plainer case
@pytest.mark.soak
def test_an_imported_file_may_come_back_in_another_partition(
    spark: SparkSession, entry: str, table: str, tmp_path: Path
) -> None:
    """A file that does not contain its partition's value is not looked up by that value."""
    folder = tmp_path / "p=1"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1, 2, 3]}), folder / "f.parquet")
    spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) USING iceberg PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES (7, 7)")
    # of a table without imported files, partition columns can be indexed
    ls.create_index(table, ["p", "id"], spark=spark, name="before")
    source = f"{entry} (id BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}'"
    spark.sql(f"CREATE TABLE {source}")
    for value in (1, 2):
        # two partitions in one folder
        add = f"ALTER TABLE {entry} ADD PARTITION (p={value}) LOCATION '{folder}'"
        spark.sql(add)
        spark.sql(f"DELETE FROM {table} WHERE p < 7")
        spark.sql(
            f"CALL lake.system.add_files(table => '{table}', source_table => '{entry}', "
            f"partition_filter => map('p', '{value}'), check_duplicate_files => false)"
        )
        if value == 1:
            with pytest.raises(UnsupportedError, match="The column p of type int") as caught:
                ls.create_index(table, ["p"], spark=spark)
            assert "Imported files" in caught.value.hint
            ls.create_index(table, ["id"], spark=spark)

    assert _alike(spark, lambda: spark.table(table).where("p = 2 AND id = 2"))[0] == 1
    assert _alike(spark, lambda: spark.table(table).where("p = 2 AND id = 5")) == (0, 0)
    assert _alike(spark, lambda: spark.table(table).where("p = 7 AND id = 7"))[0] == 1
    assert len(ls.find_files(table, "p = 2 AND id = 2", spark=spark).paths) == 1


# CHAR is a matter of the session, whatever the format
@pytest.mark.in_time("parquet")
@pytest.mark.parametrize("provider", ["delta", "parquet"])
def test_char_columns_are_not_indexed(
    spark: SparkSession, entry: str, tmp_path: Path, provider: str
) -> None:
    """Rows of a CHAR column are found with and without padding, and other columns are indexed."""
    spark.sql(
        f"CREATE TABLE {entry} (c CHAR(5), v VARCHAR(5), s STRUCT<c: CHAR(3), n: INT>, k INT) "
        f"USING {provider} LOCATION '{tmp_path / 't'}'"
    )
    rows = "'ab', 'ab', named_struct('c', 'x', 'n', id), CAST(id AS INT)"
    spark.sql(f"INSERT INTO {entry} SELECT /*+ REPARTITION(3) */ {rows} FROM range(30)")
    for column in ("c", "s.c"):
        with pytest.raises(UnsupportedError, match=f"The column {column} of type string") as caught:
            ls.create_index(entry, [column], spark=spark)
        assert caught.value.kind is ErrorKind.UNSUPPORTED_TYPE
        assert "CHAR" in caught.value.hint
    ls.create_indexes(entry, [["k"], ["v"], ["s.n"]], spark=spark)
    by_path = spark.read.format(provider).load(str(tmp_path / "t"))

    for frame in (spark.table(entry), by_path):
        assert _alike(spark, partial(frame.where, "k = 7")) == (1, 1)
        # Spark hides the fields of such a struct below its padding
        assert _alike(spark, partial(frame.where, "s.n = 7"))[0] == 1
        assert _alike(spark, partial(frame.where, "v = 'ab'"))[0] == 30
        assert _alike(spark, partial(frame.where, "v = 'absent'")) == (0, 0)
        for where in ("c = 'ab'", "c = 'ab   '", "s.c = 'x'", "s.c = 'x  '"):
            _alike(spark, partial(frame.where, where))
    assert len(ls.find_files(entry, "c = 'ab'", spark=spark).paths) == 3
    assert len(ls.find_files(entry, "c = 'ab' AND k = 7", spark=spark).paths) == 1


def test_an_index_by_path_is_not_used_where_char_is_padded(
    spark: SparkSession, entry: str, tmp_path: Path
) -> None:
    """Values that another writer left unpadded are found by the padded text."""
    folder = tmp_path / "t"
    folder.mkdir()
    for number, text in enumerate(("ab", "cd", "ef")):
        pq.write_table(pa.table({"c": [text] * 3}), folder / f"{number}.parquet")
    ls.create_index(f"parquet:{folder}", ["c"], spark=spark)
    spark.sql(f"CREATE TABLE {entry} (c CHAR(5)) USING parquet LOCATION '{folder}'")
    by_path = spark.read.parquet(str(folder))

    assert _alike(spark, lambda: by_path.where("c = 'ab'")) == (3, 1)
    for text in ("ab", "ab   "):
        assert _alike(spark, partial(spark.table(entry).where, f"c = '{text}'"))[0] == 3
    assert len(ls.find_files(entry, "c = 'ab   '", spark=spark).paths) == 3


def test_unsigned_numbers_are_other_ones_under_a_given_schema(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Numbers that a given schema reads as negative are looked up as such."""
    folder = tmp_path / "t"
    folder.mkdir()
    for number, first in enumerate((0, 2**32 - 3)):
        values = pa.array([first, first + 1, first + 2], pa.uint32())
        # Spark fails on a dictionary of them
        pq.write_table(pa.table({"k": values}), folder / f"{number}.parquet", use_dictionary=False)
    ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    inferred, given = spark.read, spark.read.schema("k int")

    assert _alike(spark, lambda: inferred.parquet(str(folder)).where("k = 4294967295")) == (1, 1)
    _alike(spark, lambda: given.parquet(str(folder)).where("k = -1"))


# Spark's own reader of Parquet reads both
@pytest.mark.in_time("parquet")
@pytest.mark.parametrize("provider", ["delta", "parquet"])
def test_a_file_that_cannot_be_read_is_not_indexed_as_empty(
    spark: SparkSession, tmp_path: Path, provider: str
) -> None:
    """A session that ignores damaged files gets no index that says they are empty."""
    folder = tmp_path / "t"
    properties = {"delta.dataSkippingNumIndexedCols": "0"} if provider == "delta" else {}
    spark.range(0, 90, 1, 3).write.format(provider).options(**properties).save(str(folder))
    # Spark takes the schema from another one
    file = max(folder.glob("*.parquet"))
    whole, changed = file.read_bytes(), file.stat().st_mtime_ns
    settings = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")

    def write(data: bytes) -> None:
        file.write_bytes(data)
        os.utime(file, ns=(changed, changed))

    for name in settings:
        spark.conf.set(name, "true")
    try:
        write(b"\0" * len(whole))
        for path in folder.glob(".*.crc"):
            path.unlink()
        with pytest.raises(StorageError, match=f"data file .*{file.name} cannot be read"):
            ls.create_index(f"{provider}:{folder}", ["id"], spark=spark)
        write(whole)
        ls.create_index(f"{provider}:{folder}", ["id"], spark=spark)
    finally:
        for name in settings:
            spark.conf.unset(name)
    table = spark.read.format(provider).load(str(folder))

    assert _alike(spark, lambda: table.where("id IN (5, 45, 85)"))[0] == 3
    assert ls.find_files(f"{provider}:{folder}", "id = 5", spark=spark).uncovered == 0


# old times are read from files of every writer in tests/tables
@pytest.mark.soak
def test_old_times_of_imported_files_are_read_without_a_session(
    spark: SparkSession, table: str, tmp_path: Path
) -> None:
    """INT96 times of imported files are read like in Spark."""
    times = [datetime(9999, 12, 31), datetime(1, 1, 1), datetime(2026, 1, 2, 3, 4, 5, 6), None]  # noqa: DTZ001
    held = pa.table({"id": [1, 2, 3, 4], "t": pa.array(times, pa.timestamp("us"))})
    (tmp_path / "in").mkdir()
    pq.write_table(held, tmp_path / "in" / "f.parquet", use_deprecated_int96_timestamps=True)
    spark.sql(f"CREATE TABLE {table} (id BIGINT, t TIMESTAMP) USING iceberg")
    spark.sql(f"CALL lake.system.add_files('{table}', '`parquet`.`{tmp_path / 'in'}`')")
    # of a file without row-level deletes, and of one with them
    for deletes in (False, True):
        if deletes:
            merge = "'write.delete.mode' = 'merge-on-read', 'format-version' = '2'"
            spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({merge})")
            spark.sql(f"DELETE FROM {table} WHERE id = 3")
        warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))
        rows = rows_of(open_table(table, warehouse=warehouse), None)
        schema, batches = rows.batches(Constant(value=True))
        found = pa.Table.from_batches(batches, schema).sort_by("id")
        kept = held.slice(0, 2) if deletes else held
        expected = [None if t is None else t.replace(tzinfo=UTC) for t in kept["t"].to_pylist()]
        assert found["t"].to_pylist()[: len(expected)] == expected
        ls.create_index(table, ["t"], spark=spark, name=f"times{deletes}".lower())
        keys = pa.array([expected[0], datetime(1816, 3, 30, tzinfo=UTC)])
        index = ls.open_index(table, f"times{deletes}".lower(), warehouse=warehouse)
        assert index.contains(keys, confirm=True).absent.to_pylist() == [False, True]
