"""Queries for distinct keys read only files that together have every key."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth, is_soak
from tests.spark.drivers import DRIVERS, OpenDriver
from tests.spark.small_tables import (
    COLUMNS,
    COMPOSITE,
    FOLDED_WORD,
    FORMATS,
    check_drawn_queries,
    drawn_rows,
)

import lakesieve as ls
from lakesieve.index import ReasonCode

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def _condition(drawn: random.Random, names: list[str]) -> str:
    """Draw a condition on some columns, or none."""
    parts = []
    for name in names:
        kind, values = COLUMNS.get(name, ("BIGINT", ["NULL", "5"]))
        value = f"CAST({drawn.choice(values[1:])} AS {kind})"
        parts += drawn.choice(
            [
                [],
                [],
                [f"{name} IS NOT NULL"],
                [f"{name} IS NULL"],
                [f"{name} {drawn.choice(['<', '>=', '<>', '<=>'])} {value}"],
                [f"coalesce(CAST({name} AS STRING), 'x') > '1'"],
            ]
        )
    if drawn.random() < 0.1:
        parts.append("id % 3 <> 0")
    return f" WHERE {drawn.choice([' AND ', ' OR ']).join(parts)}" if parts else ""


def _query(drawn: random.Random, relation: str) -> str:
    """Draw a query whose rows have only one right value, in any order."""
    columns = drawn.choice([*((name,) for name in COLUMNS), *COMPOSITE])
    names = drawn.sample(columns, drawn.randint(1, len(columns)))
    where = _condition(drawn, names)
    first, every = names[0], ", ".join(names)
    forms = [
        f"SELECT DISTINCT {every} FROM {relation}{where}",
        f"SELECT {every} FROM {relation}{where} GROUP BY {every}",
        f"SELECT count(DISTINCT {first}) FROM {relation}{where}",
        f"SELECT count(DISTINCT {every}) FROM {relation}{where}",
        f"SELECT {first}, count(DISTINCT {every}) FROM {relation}{where} GROUP BY {first}",
        f"SELECT count(DISTINCT {first}), count(DISTINCT {names[-1]}) FROM {relation}{where}",
        f"SELECT count(*) FROM (SELECT DISTINCT {every} FROM {relation}{where})",
        f"SELECT DISTINCT upper(CAST({first} AS STRING)) FROM {relation}{where}",
        f"SELECT q FROM (SELECT {first} AS q, id FROM {relation}{where}) GROUP BY q HAVING q > q",
        f"SELECT DISTINCT {first} FROM {relation}{where} UNION ALL SELECT {first} FROM {relation}",
        (
            f"SELECT (SELECT count(DISTINCT {first}) FROM {relation}), "
            f"(SELECT count(DISTINCT {names[-1]}) FROM {relation}{where}), "
            f"(SELECT count({first}) FROM {relation})"
        ),
    ]
    if "word" in names:
        # the spelling of a group under the collation is any of its words
        forms += [
            f"SELECT count(DISTINCT {FOLDED_WORD}) FROM {relation}{where}",
            f"SELECT count(*) FROM (SELECT {FOLDED_WORD} AS w FROM {relation}{where} GROUP BY 1)",
        ]
    # both zeros are one value, and either may be the highest
    if first != "real":
        forms += [
            f"SELECT max({first}), count(DISTINCT {first}), min({first}) FROM {relation}{where}"
        ]
    return drawn.choice(forms)


def _rows(spark: SparkSession, text: str) -> list[str]:
    return sorted(map(str, spark.sql(text).collect()))


@pytest.mark.in_time("delta-0")
@pytest.mark.parametrize("seed", range(depth("SEEDS", test=1, soak=12)))
@pytest.mark.parametrize("name", FORMATS)
def test_drawn_queries(spark: SparkSession, tmp_path: Path, name: str, seed: int) -> None:
    """Skipping changes no row: of no version, with deletes, nulls, NaN and uncovered files."""
    drawn = random.Random(f"distinct {name} {seed}")
    driver = DRIVERS[name](spark, tmp_path / "t", f"distinct_{name}_{seed}")
    rows = drawn_rows(spark, drawn, 0, 5)
    driver.create(rows)
    for _ in range(3):
        driver.append(rows)
    keys = [["word"], *COMPOSITE[:2]]
    if is_soak():
        keys = [["id"], *([name] for name in COLUMNS), *COMPOSITE]
    blocks = drawn.choice([None, 1, 4])
    ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=blocks)
    check_drawn_queries(
        spark,
        driver,
        drawn,
        lambda relation: _query(drawn, relation),
        count=depth("QUERIES", test=2, soak=10),
        surely_used="SELECT DISTINCT word FROM {t}",
        is_used=lambda scan: ReasonCode.DISTINCT_KEYS in {reason.code for reason in scan.reasons},
    )


_USED = {
    "distinct": "SELECT DISTINCT k FROM {t}",
    "ordered and limited": "SELECT DISTINCT k FROM {t} ORDER BY k LIMIT 3",
    "count": "SELECT count(DISTINCT k) FROM {t}",
    "groups": "SELECT k FROM {t} GROUP BY k",
    "max beside": "SELECT count(DISTINCT k), max(k) + 1, min(k) FROM {t}",
    "two columns": "SELECT DISTINCT g, k FROM {t}",
    "two columns together": "SELECT count(DISTINCT k, g) FROM {t}",
    "the first of two columns": "SELECT count(DISTINCT g) FROM {t}",
    "the second of two columns": "SELECT count(DISTINCT h) FROM {t}",
    "count in groups": "SELECT g, count(DISTINCT k) FROM {t} GROUP BY g",
    "an expression": "SELECT DISTINCT k % 7 FROM {t}",
    "a view": "SELECT DISTINCT q FROM (SELECT k AS q, id FROM {t})",
    "a condition on the key": "SELECT DISTINCT k FROM {t} WHERE k % 3 = 1",
    "a condition beside": "SELECT DISTINCT k FROM {t} WHERE g = 3",
    "nulls": "SELECT DISTINCT n FROM {t}",
    "without nulls": "SELECT count(DISTINCT n) FROM {t} WHERE n IS NOT NULL",
    "a condition on groups": "SELECT k FROM {t} GROUP BY k HAVING k > 5",
    "count of groups": "SELECT count(*) FROM (SELECT DISTINCT k FROM {t})",
    "floats": "SELECT DISTINCT r FROM {t}",
}
# only counts of one column, of which an index knows the number of keys
_ANSWERED = {"count", "without nulls"}
_NOT_USED = {
    "a count beside": "SELECT k, count(*) FROM {t} GROUP BY k",
    "a condition on a count": "SELECT k FROM {t} GROUP BY k HAVING count(*) > 150",
    "a mean": "SELECT avg(k) FROM {t}",
    "a sum": "SELECT count(DISTINCT k), sum(k) FROM {t}",
    "a sum of another column": "SELECT sum(DISTINCT id) FROM {t}",
    "another column": "SELECT count(DISTINCT id) FROM {t}",
    "one of two columns": "SELECT DISTINCT k, id FROM {t}",
    "a condition on another column": "SELECT DISTINCT k FROM {t} WHERE id > 500",
    "a filtered aggregate": "SELECT count(DISTINCT k) FILTER (WHERE id < 900) FROM {t}",
    "any value": "SELECT k, first(id) FROM {t} GROUP BY k",
    "a join": "SELECT DISTINCT a.k FROM {t} a JOIN {t} b ON a.id = b.id + 1",
    "a window": "SELECT DISTINCT c FROM (SELECT count(*) OVER (PARTITION BY k) AS c FROM {t})",
    "a sample": "SELECT count(DISTINCT k) FROM {t} TABLESAMPLE (50 PERCENT) REPEATABLE (1)",
    "a limit below": "SELECT count(DISTINCT k) FROM (SELECT k FROM {t} LIMIT 10000)",
    "files": "SELECT DISTINCT input_file_name(), k FROM {t}",
    "a subquery": "SELECT DISTINCT k FROM {t} WHERE k >= (SELECT min(g) FROM {t})",
    "zeros apart": "SELECT DISTINCT CAST(r AS STRING) FROM {t}",
}


# the rows of the table in memory
_VIEW = "repeated_rows"


@pytest.fixture(scope="module", params=FORMATS)
def repeated(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> OpenDriver:
    """A table of 50 files, each of which has the same 100 keys."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("repeated") / request.param
    driver = DRIVERS[request.param](spark, folder, f"repeated_{request.param}")
    rows = spark.sql(
        "SELECT id, id % 100 AS k, id % 4 AS g, id % 2 AS h, IF(id % 10 = 7, NULL, id % 5) AS n, "
        "IF(id = 4321, -0D, CAST(id % 3 AS DOUBLE)) AS r FROM range(0, 10000, 1, 50)"
    )
    rows.coalesce(1).createOrReplaceTempView(_VIEW)
    driver.create(rows)
    driver.append(rows)
    ls.create_indexes(driver.name, ["k", "n", "r", ["g", "k"], ["k", "h"]], spark=spark)
    return driver


@pytest.mark.in_time("iceberg")
def test_files_are_skipped(spark: SparkSession, repeated: OpenDriver) -> None:
    """Each form reads one or two files and gives the same rows. Other forms read all files."""
    ls.enable(spark)
    for form, text in _USED.items():
        expected = _rows(spark, text.format(t=_VIEW))
        assert _rows(spark, text.format(t=repeated.relation())) == expected, form
        scans = ls.last_pruning(spark)
        codes = {reason.code for scan in scans for reason in scan.reasons}
        told = ReasonCode.FROM_INDEX if form in _ANSWERED else ReasonCode.DISTINCT_KEYS
        assert told in codes, (form, codes)
        assert max(scan.files_read for scan in scans) <= 2, form
    for form, text in _NOT_USED.items():
        spark.sql(text.format(t=repeated.relation()))._jdf.queryExecution().optimizedPlan()
        scans = ls.last_pruning(spark)
        codes = {reason.code for scan in scans for reason in scan.reasons}
        assert scans, form
        assert ReasonCode.DISTINCT_KEYS not in codes, form
    ls.disable(spark)


def test_frames_without_duplicates(spark: SparkSession, repeated: OpenDriver) -> None:
    """DataFrames drop duplicates as SQL does."""
    ls.enable(spark)
    table = spark.sql(f"SELECT * FROM {repeated.relation()}")
    for frame in (
        table.select("k").distinct(),
        table.select("k").dropDuplicates(["k"]),
        table.dropDuplicates(["k"]).select("k"),
        table.select("k", "g").dropDuplicates(["k"]).select("k"),
    ):
        assert sorted(row[0] for row in frame.collect()) == [*range(100)]
        (scan,) = ls.last_pruning(spark)
        assert scan.files_read <= 2
    ls.disable(spark)


def test_kept_results_are_of_their_query(spark: SparkSession, repeated: OpenDriver) -> None:
    """Distinct keys that the session keeps are not taken for the rows of the table."""
    ls.enable(spark)
    kept = spark.sql(f"SELECT DISTINCT k FROM {repeated.relation()}").cache()
    try:
        assert kept.count() == 100
        (scan,) = ls.last_pruning(spark)
        assert scan.files_read <= 2
        text = f"SELECT count(*), count(DISTINCT k) FROM {repeated.relation()}"
        assert tuple(spark.sql(text).collect()[0]) == (10_000, 100)
    finally:
        kept.unpersist()
        ls.disable(spark)


def test_lost_files_may_not_lose_keys(spark: SparkSession, repeated: OpenDriver) -> None:
    """If a read may leave out damaged files, the keys of one file have to be read from others."""
    if repeated.name.startswith("lake."):
        pytest.skip("Iceberg does not read damaged files")
    ls.enable(spark)
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        spark.sql(f"SELECT DISTINCT k FROM {repeated.relation()}").collect()
        (scan,) = ls.last_pruning(spark)
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
        ls.disable(spark)
    assert scan.files_read == scan.files_total
    assert ReasonCode.DISTINCT_NOT_USED in {reason.code for reason in scan.reasons}
