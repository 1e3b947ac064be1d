"""Statistics of table formats, read without an engine, agree with the rows that Spark finds."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from tests.depth import depth
from tests.kit.generated import KEYS, predicate, rows_of
from tests.spark.drivers import DRIVERS

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize("form", DRIVERS)
def test_no_file_with_a_match_is_left_out(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """Files left by minimum, maximum and partitions contain every row of drawn predicates."""
    table = DRIVERS[form](spark, tmp_path / "t", f"statistics_{form}")
    table.create(rows_of(spark, 0, folders=True), "p")
    table.append(rows_of(spark, files=3, folders=True))
    drawn = random.Random(form)
    columns = ("id", "p", *KEYS)
    texts = [predicate(drawn, columns) for _ in range(depth("PREDICATES", test=60, soak=600))]
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse", "warehouse"))

    left = [
        ls.find_files(table.plain_name(), text, warehouse=warehouse, timezone="America/New_York")
        for text in texts
    ]

    _check_kept(spark, table.relation(), texts, left)
    assert sum(found.left_by_format for found in left) < sum(found.total for found in left)


def _check_kept(
    spark: SparkSession, relation: str, texts: Sequence[str], left: Sequence[ls.FileMatches]
) -> None:
    """Check that every file with a matching row is among the files that are kept."""
    # as columns, predicates leave out no file
    wanted = ", ".join(f"max({text}) AS c{at}" for at, text in enumerate(texts))
    query = f"SELECT input_file_name() AS file, {wanted} FROM {relation} GROUP BY 1"
    kept = [{unquote(path).rpartition("/")[2] for path in found.paths} for found in left]
    for row in spark.sql(query).collect():
        name = unquote(row.file).rpartition("/")[2]
        lost = [text for at, text in enumerate(texts) if row[f"c{at}"] and name not in kept[at]]
        assert lost == []


@pytest.mark.parametrize("form", DRIVERS)
def test_numbers_of_single_precision(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """Logs and folders have the shortest text of a FLOAT, which is another DOUBLE."""
    table = DRIVERS[form](spark, tmp_path / "t", f"single_{form}")
    rows = spark.range(0, 10, 1, 10).selectExpr(
        "id", "CAST(id / 10 AS FLOAT) AS f", "CAST(id / 10 AS FLOAT) AS p"
    )
    table.create(rows, "p")
    table.append(rows)
    texts = [
        f"{column} {sign} {number}"
        for column in ("f", "p")
        for sign in ("<", "<=", "=", ">=", ">")
        for tenth in (1, 3, 7)
        for number in (f"0.{tenth}D", f"CAST(0.{tenth} AS FLOAT)", f"0.{tenth}")
    ]
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse", "warehouse"))

    left = [ls.find_files(table.plain_name(), text, warehouse=warehouse) for text in texts]

    _check_kept(spark, table.relation(), texts, left)
    assert sum(found.left_by_format for found in left) < sum(found.total for found in left)


START = date(1969, 12, 28)
_ROWS = (
    "IF(k % 11 = 0, NULL, k % 40) AS id",
    "element_at(array(NULL, 'a', 'b c', 'ü'), CAST(k % 4 AS INT) + 1) AS region",
    "CASE WHEN k % 9 = 0 THEN NULL WHEN k % 9 = 1 THEN '' ELSE concat('k', k % 30) END AS name",
    "CAST(timestamp_seconds(k % 200 * 3600 - 345600) AS TIMESTAMP_NTZ) AS ts",
    "element_at(array(NULL, 'NaN', '-0.0', '0.5', '7.0'), CAST(k % 5 AS INT) + 1)::DOUBLE AS x",
)


def conditions(drawn: random.Random) -> str:
    """A condition on one column or two."""
    day = START + timedelta(days=drawn.randrange(-1, 10))
    leaves = (
        f"id = {drawn.randrange(42)}",
        f"id IN ({drawn.randrange(40)}, {drawn.randrange(40)})",
        f"id {drawn.choice(('<', '>='))} {drawn.randrange(42)}",
        f"id IS {drawn.choice(('', 'NOT '))}NULL",
        f"region {drawn.choice(('=', '<>', '<'))} '{drawn.choice(('a', 'b c', 'z'))}'",
        "region IS NULL",
        f"name = 'k{drawn.randrange(31)}'",
        f"name LIKE '{drawn.choice(('k', 'k1', 'k12', 'z'))}%'",
        f"ts {drawn.choice(('<', '>=', '='))} TIMESTAMP_NTZ '{day} 00:00:00'",
        f"CAST(ts AS DATE) {drawn.choice(('=', '<=', '>', '<>'))} DATE '{day}'",
        f"x {drawn.choice(('>', '<', '='))} {drawn.choice(('0.0D', '0.5D', '8.0D'))}",
    )
    first, second = drawn.choice(leaves), drawn.choice(leaves)
    whole: str = drawn.choice((first, f"{first} AND {second}", f"({first} OR {second})"))
    return f"NOT ({whole})" if drawn.random() < 0.2 else whole


def test_partitions_of_several_specs(spark: SparkSession) -> None:
    """Buckets, days and prefixes select files alone, and two fields may share a name."""
    name = "lake.statistics.specs"
    unknown = ", ".join(
        f"'write.metadata.metrics.column.{column}'='none'" for column in ("id", "ts", "name")
    )
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, region STRING, name STRING, ts TIMESTAMP_NTZ, x DOUBLE) "
        f"USING iceberg TBLPROPERTIES ({unknown}, 'write.distribution-mode'='none', "
        "'write.spark.fanout.enabled'='true')"
    )
    changes = (
        (),
        ("ADD PARTITION FIELD bucket(4, id) AS part", "ADD PARTITION FIELD region"),
        (
            "REPLACE PARTITION FIELD part WITH bucket(4, id) AS b",
            "ADD PARTITION FIELD days(ts) AS part",
        ),
        ("DROP PARTITION FIELD part", "ADD PARTITION FIELD truncate(2, name) AS stem"),
    )
    for at, statements in enumerate(changes):
        for statement in statements:
            spark.sql(f"ALTER TABLE {name} {statement}")
        rows = spark.range(30).selectExpr(f"(id * 7919 + {at} * 31) % 997 AS k").coalesce(1)
        rows.selectExpr(*_ROWS).writeTo(name).append()
    drawn = random.Random("specs")
    texts = [conditions(drawn) for _ in range(depth("PREDICATES", test=60, soak=600))]
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse", "warehouse"))

    left = [ls.find_files(name, text, warehouse=warehouse) for text in texts]

    _check_kept(spark, name, texts, left)
    ls.enable(spark)
    try:
        for text in ("id = 7", "id IN (3, 9)", "region = 'a' AND id = 30"):
            spark.sql(f"SELECT * FROM {name} WHERE {text}").collect()
            (pruned,) = ls.last_pruning(spark)
            for found in (
                ls.find_files(name, text, warehouse=warehouse),
                ls.find_files(name, text, spark=spark),
            ):
                assert (text, found.left_by_format) == (text, pruned.files_total)
    finally:
        ls.disable(spark)
        spark.sql(f"DROP TABLE {name}")


# the formats share the planner
@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("form", DRIVERS)
def test_all_functions_tell_the_same_files(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """``find_files``, ``explain`` and ``last_pruning`` agree on each condition."""
    table = DRIVERS[form](spark, tmp_path / "t", f"agreeing_{form}")
    rows = spark.range(0, 80, 1, 8).selectExpr(
        "id AS rank",
        "id * 31 % 80 AS id",
        "concat('k', id * 31 % 80) AS name",
        "CAST(timestamp_seconds(id * 43200) AS TIMESTAMP_NTZ) AS ts",
    )
    table.create(rows)
    table.append(rows)
    ls.create_indexes(table.name, ["id", "name"], spark=spark)
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse", "warehouse"))
    texts = (
        *("id = 7", "id IN (7, 9) AND rank < 40", "name LIKE 'k7%'", "rank = 5", "rank > 70"),
        *("date(ts) = DATE '1970-01-03'", "CAST(ts AS DATE) = DATE '1970-01-03' AND id < 40"),
        *("abs(id) = 7", "id = -1 OR rank = 3"),
    )
    ls.enable(spark)
    told = {}
    try:
        for text in texts:
            spark.sql(f"SELECT * FROM {table.relation()} WHERE {text}").collect()
            (pruned,) = ls.last_pruning(spark)
            found = ls.find_files(table.name, text, spark=spark)
            alone = ls.find_files(table.plain_name(), text, warehouse=warehouse)
            told[text] = [pruned.files_read, len(found.paths), len(alone.paths)]
            assert f"read {len(found.paths)} of" in str(found)
            assert found.indexes == alone.indexes == pruned.indexes
    finally:
        ls.disable(spark)

    assert {text: counts for text, counts in told.items() if len(set(counts)) > 1} == {}
