"""Skipping on gives the same rows as skipping off, for generated tables and predicates."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.kit.alike import check_queries, views_of
from tests.kit.generated import COLUMNS, FILES, predicate, rows_of
from tests.spark.layouts import LAYOUTS, Layout, written
from tests.spark.mixed_indexes import mixed_indexes
from tests.spark.settings import MANY_FILES, NEWEST

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# what differs between the lines takes fewer to find
QUERIES = depth("QUERIES", test=2, soak=60 if NEWEST else 25)
PREDICATES = 9
# the default of the line of Spark first
ANSI = [str(NEWEST).lower(), pytest.param(str(not NEWEST).lower(), marks=pytest.mark.soak)]
WRITTEN = 20


# tables with deleted rows are drawn in other tests of every build, too
IN_TIME = "identity_partitioned"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(one, id=one.name, marks=[pytest.mark.soak] * (one.name != IN_TIME))
        for one in LAYOUTS
    ],
)
def layout(request: pytest.FixtureRequest) -> Layout:
    """How the table is laid out."""
    layout: Layout = request.param
    return layout


@pytest.fixture(scope="module")
def versions(spark: SparkSession, layout: Layout) -> Iterator[list[str]]:
    """FROM clauses of one table: several snapshots, a branch, a tag and the head."""
    name = f"lake.diff.{layout.name}"
    ls.disable(spark)
    spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
    partitions = 2 if layout.partitioning else FILES
    rows = rows_of(spark, files=partitions)
    rows.createOrReplaceTempView("rows")
    spark.sql(
        f"CREATE TABLE {name} USING iceberg {layout.partitioning} TBLPROPERTIES "
        f"({layout.properties}, 'write.distribution-mode'='none', "
        f"'write.spark.fanout.enabled'='true') AS SELECT * FROM rows LIMIT 0"
    )
    rows.writeTo(name).append()
    if layout.deletes:
        spark.sql(f"DELETE FROM {name} WHERE id % 10 = 3")
    mixed_indexes(spark, name, [[column] for column in layout.indexed])
    snapshots = [f"{name} VERSION AS OF {_head(spark, name)}"]
    spark.sql(f"ALTER TABLE {name} CREATE TAG old")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH side")
    extra = "id + 100000 AS id, " + ", ".join(c for c in COLUMNS)
    spark.sql(f"INSERT INTO {name} SELECT {extra} FROM {name} WHERE id % 40 < 4")
    spark.sql(f"INSERT INTO {name}.branch_side SELECT {extra} FROM {name} WHERE id % 50 = 7")
    spark.sql(f"DELETE FROM {name} WHERE i BETWEEN 20 AND 60")
    snapshots.append(f"{name} VERSION AS OF {_head(spark, name)}")
    spark.sql(f"UPDATE {name} SET i = i + 1, s = concat(s, '!') WHERE l % 7 = 1")
    yield [name, *snapshots, f"{name} VERSION AS OF 'old'", f"{name} VERSION AS OF 'side'"]
    spark.sql(f"DROP TABLE {name} PURGE")


def _head(spark: SparkSession, name: str) -> int:
    history = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at DESC")
    return int(history.head(1)[0][0])


def test_same_answers_with_and_without_skipping(
    spark: SparkSession, versions: list[str], layout: Layout
) -> None:
    """Hundreds of generated predicates give the same rows, and many of them skip files."""
    random_ = random.Random(versions[0])
    total = read = 0
    without_in = () if NEWEST else layout.null
    with views_of(spark, versions) as views:
        for _ in range(QUERIES):
            queries = [
                (random_.choice(views), predicate(random_, without_in=without_in))
                for _ in range(PREDICATES)
            ]
            # the least number of files of which some manifests alone are read
            spark.conf.set(MANY_FILES, random_.choice(["0", "5000"]))
            before, after = check_queries(spark, queries, summed=True)
            spark.conf.unset(MANY_FILES)
            total, read = total + before, read + after

    assert read < 0.95 * total


@pytest.mark.in_time(f"{IN_TIME}-{str(NEWEST).lower()}")
@pytest.mark.parametrize("ansi", ANSI)
def test_text_finds_the_files_of_all_rows_that_spark_finds(
    spark: SparkSession, versions: list[str], ansi: str
) -> None:
    """However a value is written, the found files contain every row that Spark finds."""
    # the head of some tables was rewritten since its indexes were built
    name, version = versions[1].split(" VERSION AS OF ")
    ls.disable(spark)
    random_ = random.Random(name + ansi)
    texts = sorted({written(random_) for _ in range(WRITTEN)})
    queries = (
        f"SELECT {at} AS q, _file FROM {versions[1]} WHERE {t}" for at, t in enumerate(texts)
    )
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        rows = spark.sql(f"SELECT DISTINCT * FROM ({' UNION ALL '.join(queries)})").collect()
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    skipped = 0
    for at, text in enumerate(texts):
        found = ls.find_files(name, text, spark=spark, version=version)
        assert {row[1] for row in rows if row[0] == at} <= set(found.paths), text
        skipped += found.total - len(found.paths)

    assert skipped > 0
