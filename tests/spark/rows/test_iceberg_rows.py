"""Iceberg scans that read some rows of data files, beside the same queries without lakesieve."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.spark.rows.compared import compared
from tests.spark.session_settings import session_settings

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lakesieve.index.result import TablePruning

PROPERTIES = {
    "write.distribution-mode": "none",
    "write.parquet.row-group-size-bytes": "16000",
    "write.parquet.row-group-check-min-record-count": "50",
    "write.parquet.row-group-check-max-record-count": "50",
    "write.parquet.page-row-limit": "37",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
}
# one column of each type that is read in row blocks; some values are null
COLUMNS = {
    "id": "id",
    "part": "CAST(id % 3 AS INT)",
    "flag": "id % 5 = 0",
    "whole": "CAST(pmod(hash(id), 50) AS INT)",
    "long": "IF(id % 4 = 0, NULL, xxhash64(id))",
    "single": "CAST(id / 7 AS FLOAT)",
    "double": "IF(id % 9 = 0, DOUBLE('NaN'), id / -3.0D)",
    "day": "date_add(DATE '1500-01-01', CAST(id * 97 AS INT))",
    "moment": "timestamp_seconds(-14000000000 + id * 7654321)",
    "local": "CAST(timestamp_seconds(-14000000000 + id * 7654321) AS TIMESTAMP_NTZ)",
    "word": "IF(id % 11 = 0, NULL, concat('word ', pmod(hash(id, 3), 30)))",
    "bytes": "CAST(concat('b', id) AS BINARY)",
    "small": "CAST(id / 8 AS DECIMAL(9, 3))",
    "middle": "CAST(id / 8 AS DECIMAL(18, 3))",
    "large": "CAST(id * 1000003 AS DECIMAL(38, 5))",
    "pair": "IF(id % 6 = 0, NULL, named_struct('a', id, 'b', IF(id % 4 = 1, NULL, string(id))))",
    "list": "IF(id % 10 = 0, NULL, transform(sequence(0, id % 4), i -> IF(i = 1, NULL, id + i)))",
    "map": "IF(id % 13 = 0, NULL, map('k', id, string(id), NULL))",
    "deep": "array(named_struct('x', map(id, named_struct('y', DATE '1500-01-01', 'z', id))))",
}
# columns that are not in the files
METADATA = ("_file", "_pos", "_spec_id", "_partition")
LINEAGE = ("_row_id", "_last_updated_sequence_number")
ROWS = 1_500


@pytest.fixture
def compare(spark: SparkSession) -> Callable[[str], list[TablePruning]]:
    """Run a query without and with skipping, check equal rows, and return what was read."""
    return partial(compared, spark)


@pytest.fixture(autouse=True)
def off_again(spark: SparkSession) -> Iterator[None]:
    """Leave a session without skipping."""
    yield
    ls.disable(spark)


def create(
    spark: SparkSession, table: str, *, partition: str = "", files: int = 2, version: str = "2"
) -> None:
    """Create a table with a column of each type in some files."""
    columns = ", ".join(f"{made} AS {name}" for name, made in COLUMNS.items())
    properties = ", ".join(
        f"'{key}' = '{value}'" for key, value in (PROPERTIES | {"format-version": version}).items()
    )
    spark.sql(
        f"CREATE TABLE {table} USING iceberg {partition} TBLPROPERTIES ({properties}) "
        f"AS SELECT {columns} FROM range(0, {ROWS}, 1, {files})"
    )


def whole(pruned: list[TablePruning]) -> str:
    """Return why files or row groups are read whole."""
    codes = {"whole-files", "row-groups"}
    return "; ".join(r.detail for p in pruned for r in p.reasons if r.code in codes)


def test_rows_of_two_indexes(
    spark: SparkSession, table: str, compare: Callable[[str], list[TablePruning]]
) -> None:
    """Conditions on one and two indexes with other blocks read the wanted blocks, of all types."""
    create(spark, table)
    ls.create_index(table, "id", spark=spark, rows_per_block=50)
    ls.create_index(table, "whole", spark=spark, rows_per_block=7)

    (point,) = compare(f"SELECT * FROM {table} WHERE id = 777")
    assert (point.rows_read, point.rows_total) == (50, 750)
    assert not whole([point])
    (both,) = compare(f"SELECT * FROM {table} WHERE id IN (3, 700, 1400) AND whole < 3")
    assert both.rows_read is not None
    assert both.rows_read < 150
    compare(f"SELECT id, word FROM {table} WHERE id = 1499 OR whole = 7")
    compare(f"SELECT count(*) FROM {table} WHERE whole = 7")
    compare(f"SELECT input_file_name(), large FROM {table} WHERE id = 777")


@pytest.mark.parametrize("seed", range(depth("SEEDS", test=1, soak=150)))
def test_drawn_tables(
    spark: SparkSession, table: str, compare: Callable[[str], list[TablePruning]], seed: int
) -> None:
    """Drawn conditions on drawn tables, with files that no index has seen, give the same rows."""
    drawn = random.Random(seed)
    partition = ["", "PARTITIONED BY (part)", "PARTITIONED BY (bucket(2, id))"][seed % 3]
    version = str(drawn.choice([2, 3]))
    create(spark, table, partition=partition, files=drawn.choice([1, 3]), version=version)
    # each file has several blocks of the first column
    indexed = ["id", drawn.choice(["whole", "word", "small", "day"])]
    for column, sizes in zip(indexed, ([1, 13, 64], [1, 13, 64, 400]), strict=True):
        ls.create_index(table, column, spark=spark, rows_per_block=drawn.choice(sizes))
    if drawn.random() < 0.7:
        spark.sql(f"INSERT INTO {table} SELECT * FROM {table} WHERE id % 17 = 3")
    for _ in range(drawn.randrange(3)):
        spark.sql(f"DELETE FROM {table} WHERE id % {drawn.randint(2, 90)} = 1")
    vectorized = drawn.choice(["true", "false"])
    setting = f"'read.parquet.vectorization.enabled' = '{vectorized}'"
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({setting})")
    columns = [*COLUMNS, *METADATA, *(LINEAGE if version == "3" else ())]
    restricted = 0
    for number in range(6):
        wanted = ", ".join(drawn.sample(columns, drawn.randint(1, len(columns))))
        conditions = {
            "id": f"id IN ({', '.join(str(drawn.randrange(ROWS)) for _ in range(9))})",
            "whole": f"whole = {drawn.randrange(50)}",
            "word": drawn.choice([f"word = 'word {drawn.randrange(30)}'", "word IS NULL"]),
            "small": f"small = {drawn.randrange(ROWS)}.125",
            "day": f"day < DATE '{1500 + drawn.randrange(20)}-03-01'",
            "part": f"part = {drawn.randrange(3)} AND id > {drawn.randrange(ROWS)}",
        }
        first, second = conditions[drawn.choice(indexed)], drawn.choice([*conditions.values()])
        joined = drawn.choice([f"{first} AND {second}", f"{first} OR {second}", first])
        if number == 0:
            joined = f"id = {drawn.randrange(ROWS)}"
        pruned = compare(f"SELECT {wanted} FROM {table} WHERE {joined}")
        assert not whole(pruned)
        restricted += any(scan.rows_read != scan.rows_total for scan in pruned)
    assert restricted


def test_one_task_reads_few_rows_of_a_file(
    spark: SparkSession, table: str, compare: Callable[[str], list[TablePruning]]
) -> None:
    """A file that Iceberg splits has one task if few of its rows are wanted."""
    create(spark, table)
    ls.create_index(table, "id", spark=spark, rows_per_block=50)
    for size in (1, 2_000, 1 << 27):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('read.split.target-size' = '{size}')")
        for ids, files in (((777,), 1), ((49, 50, 749), 1), ((3, 760, 1499), 2)):
            query = f"SELECT id, word FROM {table} WHERE id IN ({', '.join(map(str, ids))})"
            compare(query)
            ls.enable(spark)
            plan: Any = spark.sql(query)._jdf.queryExecution().executedPlan()
            assert plan.collectLeaves().apply(0).inputPartitions().size() == files


def test_joins_of_partitions(
    spark: SparkSession, table: str, compare: Callable[[str], list[TablePruning]]
) -> None:
    """Spark joins partition by partition, also where splits of a file are not read."""
    create(spark, table, partition="PARTITIONED BY (part)")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('read.split.target-size' = '1')")
    ls.create_index(table, "id", spark=spark, rows_per_block=50)
    by_partition = {
        "spark.sql.sources.v2.bucketing.enabled": "true",
        "spark.sql.iceberg.planning.preserve-data-grouping": "true",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
    }
    with session_settings(spark, by_partition):
        for ids in ("777", "3, 760, 1499", "1, 2, 4, 700"):
            some = f"(SELECT part, id, word FROM {table} WHERE id IN ({ids}))"
            compare(f"SELECT a.id, b.id FROM {some} a JOIN {table} b USING (part) WHERE b.id < 9")
            compare(f"SELECT a.id, b.id FROM {some} a JOIN {some} b USING (part)")


def test_files_that_iceberg_must_read(
    spark: SparkSession, table: str, compare: Callable[[str], list[TablePruning]]
) -> None:
    """Files with changed columns are read whole, and the report says why."""
    create(spark, table, files=1)
    ls.create_index(table, "id", spark=spark, rows_per_block=10)
    query = f"SELECT id, word FROM {table} WHERE id = 30"

    assert compare(query)[0].rows_read == 10
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN word TO text")
    query = query.replace("word", "text")
    assert compare(query)[0].rows_read == 10
    spark.sql(f"ALTER TABLE {table} DROP COLUMN double")
    for added in ("double DOUBLE", "late STRUCT<a: INT>"):
        spark.sql(f"ALTER TABLE {table} ADD COLUMN {added}")
        query_of_added = query.replace("text", added.split()[0])
        assert compare(query_of_added)[0].rows_read == 10
    assert "metadata column _deleted" in whole(compare(query.replace("text", "_deleted")))
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN whole TYPE BIGINT")
    assert "whole has another type" in whole(compare(query.replace("text", "whole")))
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN pair.b TO c")
    assert compare(query.replace("text", "pair"))[0].rows_read == 10
    assert compare(query.replace("text", "pair.a"))[0].rows_read == 10
    spark.sql(f"ALTER TABLE {table} ADD COLUMN pair.d INT")
    assert "pair has another type" in whole(compare(query.replace("text", "pair")))
    assert compare(query.replace("text", "pair.c"))[0].rows_read == 10
    spark.sql(f"ALTER TABLE {table} ADD PARTITION FIELD part")
    spark.sql(f"INSERT INTO {table} SELECT * FROM {table} WHERE id = 30")
    for column in ("late", "part", "pair", "whole"):
        compare(query.replace("text", column))


# version 2 has the same readers, and drawn tables
# commands and drawn tables leave deleted rows behind
@pytest.mark.soak
@pytest.mark.parametrize("version", ["2", "3"])
def test_rows_without_deleted_ones(
    spark: SparkSession,
    table: str,
    compare: Callable[[str], list[TablePruning]],
    version: str,
) -> None:
    """Deleted rows of a block are left out, and Iceberg's metric counts them."""
    create(spark, table, version=version, partition="PARTITIONED BY (part)")
    ls.create_index(table, "id", spark=spark, rows_per_block=50)
    spark.sql(f"DELETE FROM {table} WHERE id BETWEEN 10 AND 40 OR id = 303")

    metadata = ", ".join(METADATA + (LINEAGE if version == "3" else ()))
    for wanted in ("*", "id, pair.b, list", f"{metadata}, deep"):
        for key in (3, 30, 33, 303, 306):
            (point,) = compare(f"SELECT {wanted} FROM {table} WHERE id = {key}")
            assert (point.rows_read, whole([point])) == (50, "")
    ls.enable(spark)
    read = spark.sql(f"SELECT word FROM {table} WHERE id = 3")
    read.collect()
    scan = read._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    assert scan.metrics().apply("numDeletes").value() == 10


# and version 2 no row lineage
@pytest.mark.in_time("3")
@pytest.mark.parametrize("version", ["2", "3"])
def test_commands_and_deletes(
    spark: SparkSession, table: str, compare: Callable[[str], list[TablePruning]], version: str
) -> None:
    """Commands change the same rows, whether they rewrite files or mark deleted rows."""
    create(spark, table, version=version)
    ls.create_index(table, "id", spark=spark, rows_per_block=10)
    ls.enable(spark)
    for command in (
        f"DELETE FROM {table} WHERE id = 100",
        f"UPDATE {table} SET word = 'new' WHERE id = 101",
    ):
        spark.sql(command)
        assert ls.last_pruning(spark)[0].rows_read == 10
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')")
    spark.sql(f"DELETE FROM {table} WHERE id = 1100")
    source = f"(SELECT id, 'merged' AS word FROM {table} WHERE id IN (5, 900)) AS s"
    spark.sql(
        f"MERGE INTO {table} AS t USING {source} ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET word = s.word"
    )

    ls.disable(spark)
    rows = {row.id: row.word for row in spark.table(table).collect()}
    assert set(rows) == set(range(ROWS)) - {100, 1100}
    assert (rows[101], rows[5], rows[900]) == ("new", "merged", "merged")
    for key in (5, 100, 101, 102, 900, 1100, 1101):
        compare(f"SELECT * FROM {table} WHERE id = {key}")
        if version == "3":
            compare(f"SELECT {', '.join(LINEAGE)}, word FROM {table} WHERE id = {key}")


def test_files_of_another_file_io(
    spark: SparkSession, tmp_path: Path, compare: Callable[[str], list[TablePruning]]
) -> None:
    """The file IO of a table opens its files and its deletes, also where it is not Hadoop's."""
    catalog = "spark.sql.catalog.resolving"
    spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"{catalog}.type", "hadoop")
    spark.conf.set(f"{catalog}.warehouse", str(tmp_path / "a folder%20"))
    spark.conf.set(f"{catalog}.io-impl", "org.apache.iceberg.io.ResolvingFileIO")
    table = "resolving.other.t"
    create(spark, table, partition="PARTITIONED BY (word)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN whole TYPE BIGINT")
    spark.sql(f"DELETE FROM {table} WHERE id % 5 = 1")
    ls.create_index(table, "id", spark=spark, rows_per_block=5)

    for key in (33, 36, 1400):
        (point,) = compare(f"SELECT id, word, pair, _pos FROM {table} WHERE id = {key}")
        assert 0 < (point.rows_read or 0) <= 5
        assert "whole has another type" in whole(compare(f"SELECT * FROM {table} WHERE id = {key}"))


def test_equal_scans_run_once_and_joins_are_right(
    spark: SparkSession,
    table: str,
    compare: Callable[[str], list[TablePruning]],
    by_default: None,
) -> None:
    """Scans of other rows are not mistaken for one another, with adaptive execution too."""
    create(spark, table)
    ls.create_index(table, "id", spark=spark, rows_per_block=10)

    def part(low: int) -> str:
        ids = f"{low}, {low + 1}, {low + 2}"
        return f"(SELECT part, count(*) AS n FROM {table} WHERE id IN ({ids}) GROUP BY part)"

    both = f"SELECT * FROM {part(0)} a JOIN {part(0)} b USING (part) JOIN {part(50)} c USING (part)"
    compare(both)
    plan = spark.sql(both)._jdf.queryExecution().toString()
    assert "ReusedExchange" in plan or "BroadcastExchange" in plan
    compare(f"SELECT a.id, b.word FROM {table} a JOIN {table} b ON a.id = b.id WHERE a.id = 44")
    compare(f"SELECT * FROM {table} WHERE id = (SELECT max(id) FROM {table} WHERE id IN (5, 6))")
