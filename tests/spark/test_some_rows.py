"""LIMIT without ORDER BY, below a condition, reads only files that surely have enough rows."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth, is_soak
from tests.spark.drivers import DRIVERS, OpenDriver
from tests.spark.small_tables import (
    COLUMNS,
    COMPOSITE,
    FOLDED_WORD,
    FORMATS,
    branches,
    drawn_rows,
    steps_of,
)

import lakesieve as ls
from lakesieve.index import ReasonCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession


def _condition(drawn: random.Random) -> str:
    """Draw a condition. Most conditions are exact in an index."""
    parts = []
    columns = drawn.choice([*((name,) for name in COLUMNS), *COMPOSITE])
    for name in columns[: drawn.randint(1, len(columns))]:
        kind, values = COLUMNS.get(name, ("BIGINT", ["NULL", "5"]))
        value = f"CAST({drawn.choice(values[1:])} AS {kind})"
        compared = f"{name} {drawn.choice(['=', '=', '<=>', '<', '>=', '<>'])} {value}"
        parts.append(drawn.choice([compared, compared, f"{name} IS NULL", f"{name} IS NOT NULL"]))
    if drawn.random() < 0.2:
        others = ["id % 3 <> 0", "id > 50", "length(word) = 1", f"{FOLDED_WORD} = 'a'"]
        parts.append(drawn.choice(others))
    return " AND ".join(parts)


def _check(spark: SparkSession, drawn: random.Random, relation: str, where: str) -> bool:
    """Check a drawn query with skipping. Return whether the limit left out files.

    Which rows come is left to Spark. But they are rows of the condition, each at most once, and as
    many as without skipping.
    """
    limit = drawn.choice([1, 1, 2, 5, 30])
    offset = drawn.choice(["", "", " OFFSET 2"])
    text = f"SELECT id FROM {relation} WHERE {where} LIMIT {limit}{offset}"
    count = f"SELECT count(*) FROM ({text})"
    exists = f"SELECT EXISTS (SELECT id FROM {relation} WHERE {where})"
    ls.disable(spark)
    matching = Counter(row[0] for row in spark.sql(text.partition(" LIMIT")[0]).collect())
    expected = spark.sql(text).count()
    ls.enable(spark)
    # Spark stops by itself where rows are collected one by one
    found = Counter(spark.sql(text).toArrow().column(0).to_pylist())
    codes = {reason.code for scan in ls.last_pruning(spark) for reason in scan.reasons}
    assert found.total() == expected, text
    assert found <= matching, text
    assert spark.sql(count).collect()[0][0] == expected, text
    assert spark.sql(exists).collect()[0][0] is bool(matching), text
    if drawn.random() < 0.3:
        twice = f"WITH s AS ({text}) SELECT count(*) FROM s UNION ALL SELECT count(id) FROM s"
        assert [row[0] for row in spark.sql(twice).collect()] == [expected, expected], text
    return ReasonCode.ENOUGH_ROWS in codes


@pytest.mark.in_time("iceberg-0")
@pytest.mark.parametrize("seed", range(depth("SEEDS", test=1, soak=12)))
@pytest.mark.parametrize("name", FORMATS)
def test_drawn_limits(spark: SparkSession, tmp_path: Path, name: str, seed: int) -> None:
    """As many rows come as without skipping: of any version, with deletes and uncovered files."""
    drawn = random.Random(f"limits {name} {seed}")
    driver = DRIVERS[name](spark, tmp_path / "t", f"limits_{name}_{seed}")
    rows = drawn_rows(spark, drawn, 0, 5)
    driver.create(rows)
    driver.append(rows)
    blocks = drawn.choice([None, 1, 4])
    keys = [["id"], ["whole"], ["word"], *COMPOSITE[1:]]
    if is_soak():
        keys = [["id"], *([name] for name in COLUMNS), *COMPOSITE]
    ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=blocks)
    fewer = 0
    for step in steps_of(spark, driver, drawn):
        step()
        versions = [None, None, None, *driver.versions(), *branches(spark, driver)]
        for _ in range(depth("QUERIES", test=2, soak=8)):
            # of the first condition, each file has some rows
            where = _condition(drawn) if fewer else "id >= 0"
            fewer += _check(spark, drawn, driver.relation(drawn.choice(versions)), where)
    ls.disable(spark)
    assert fewer


_USED = {
    "a key": ("SELECT id FROM {t} WHERE k = 5 LIMIT 3", 3),
    "an offset": ("SELECT id FROM {t} WHERE k = 5 LIMIT 2 OFFSET 2", 4),
    "a list": ("SELECT id FROM {t} WHERE k IN (5, 7) LIMIT 4", 2),
    "a range": ("SELECT id FROM {t} WHERE k BETWEEN 1 AND 10 LIMIT 10", 1),
    "no nulls": ("SELECT id FROM {t} WHERE n IS NOT NULL LIMIT 3", 3),
    "nulls": ("SELECT id FROM {t} WHERE n IS NULL LIMIT 2", 2),
    "two columns": ("SELECT id FROM {t} WHERE g = 3 AND k = 7 LIMIT 2", 2),
    "a view": ("SELECT q + 1 FROM (SELECT k AS q, id FROM {t}) WHERE q = 5 LIMIT 2", 2),
    "a count above": ("SELECT count(*) FROM (SELECT id FROM {t} WHERE k = 5 LIMIT 3)", 3),
    "a condition above": ("SELECT * FROM (SELECT id FROM {t} WHERE k = 5 LIMIT 3) WHERE id > 9", 3),
    "an order above": ("SELECT * FROM (SELECT id FROM {t} WHERE k = 5 LIMIT 3) ORDER BY id", 3),
    "a sample of rows": (
        "SELECT id FROM (SELECT id FROM {t} WHERE k = 5) TABLESAMPLE (3 ROWS)",
        3,
    ),
    "whole files": ("SELECT id FROM {t} WHERE id >= 4000 LIMIT 150", 1),
    "whole files beside": ("SELECT id FROM {t} WHERE k = 5 AND id >= 4000 LIMIT 2", 2),
}
_NOT_USED = {
    "too many rows": "SELECT id FROM {t} WHERE k = 5 LIMIT 101",
    "no condition": "SELECT id FROM {t} LIMIT 3",
    "an unknown condition": "SELECT id FROM {t} WHERE k = 5 AND v % 2 = 1 LIMIT 3",
    "another column": "SELECT id FROM {t} WHERE k = 5 AND v = 3 LIMIT 3",
    "an order": "SELECT id FROM {t} WHERE k = 5 ORDER BY v LIMIT 3",
    "no limit": "SELECT id FROM {t} WHERE k = 5",
    "a limit below the condition": "SELECT id FROM (SELECT * FROM {t} LIMIT 300) WHERE k = 5",
    "groups": "SELECT count(*) FROM {t} WHERE k = 5 GROUP BY v LIMIT 3",
    "a window": "SELECT row_number() OVER (ORDER BY v) FROM {t} WHERE k = 5 LIMIT 3",
    "a join": "SELECT a.id FROM {t} a JOIN {t} b ON a.id = b.id WHERE a.k = 5 LIMIT 3",
    "elements": "SELECT explode(array(id, v)) FROM {t} WHERE k = 5 LIMIT 3",
    "a condition on random numbers": "SELECT id FROM {t} WHERE k = 5 AND rand() < 0.9 LIMIT 3",
}


@pytest.fixture(scope="module", params=FORMATS)
def repeated(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> OpenDriver:
    """A table of 50 files, each of which has the same 100 keys once."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("some_rows") / request.param
    driver = DRIVERS[request.param](spark, folder, f"some_rows_{request.param}")
    rows = spark.sql(
        "SELECT id, id % 100 AS k, id % 4 AS g, id % 7 AS v, IF(id % 100 = 7, NULL, 1) AS n "
        "FROM range(0, 10000, 1, 50)"
    )
    driver.create(rows)
    driver.append(rows)
    ls.create_indexes(driver.name, ["k", "id", "n", ["g", "k"]], spark=spark)
    return driver


@pytest.mark.in_time("delta")
def test_files_are_skipped(spark: SparkSession, repeated: OpenDriver) -> None:
    """Each form reads as many files as it has to. Other forms do not use their limit."""
    ls.enable(spark)
    for form, (text, files) in _USED.items():
        ls.disable(spark)
        expected = spark.sql(text.format(t=repeated.relation())).count()
        ls.enable(spark)
        frame = spark.sql(text.format(t=repeated.relation()))
        assert frame.toArrow().num_rows == expected or form == "a condition above", form
        (scan,) = ls.last_pruning(spark)
        assert ReasonCode.ENOUGH_ROWS in {reason.code for reason in scan.reasons}, form
        assert scan.files_read == files, form
    for form, text in _NOT_USED.items():
        spark.sql(text.format(t=repeated.relation()))._jdf.queryExecution().optimizedPlan()
        codes = {reason.code for scan in ls.last_pruning(spark) for reason in scan.reasons}
        assert ReasonCode.ENOUGH_ROWS not in codes, form
    ls.disable(spark)


@pytest.mark.in_time("iceberg")
def test_collected_limits_are_left_to_spark(spark: SparkSession, repeated: OpenDriver) -> None:
    """Where Spark stops early by itself, the files of a limit are not asked for."""
    ls.enable(spark)
    rows = spark.sql(f"SELECT id FROM {repeated.relation()} WHERE k = 5")
    actions: dict[str, tuple[Callable[[], object], bool]] = {
        "collect": (lambda: rows.limit(3).collect(), False),
        "show": (lambda: rows.show(3), False),
        "head": (rows.head, False),
        "take": (lambda: rows.take(3), False),
        "isEmpty": (rows.isEmpty, False),
        "an offset": (lambda: rows.offset(2).limit(3).collect(), False),
        "toArrow": (lambda: rows.limit(3).toArrow(), True),
        "count": (lambda: rows.limit(3).count(), True),
        "an order": (lambda: rows.limit(3).orderBy("id").collect(), True),
    }
    for form, (run, is_used) in actions.items():
        run()
        (scan,) = ls.last_pruning(spark)
        codes = {reason.code for reason in scan.reasons}
        assert (ReasonCode.ENOUGH_ROWS in codes) == is_used, form
    ls.disable(spark)


def test_limits_of_equal_scans_stay_apart(spark: SparkSession, repeated: OpenDriver) -> None:
    """A scan with a limit is another one than the same scan without it."""
    rows = f"SELECT id FROM {repeated.relation()} WHERE k = 5"
    text = f"SELECT (SELECT count(*) FROM ({rows} LIMIT 2)), (SELECT count(*) FROM ({rows}))"
    ls.enable(spark)
    assert tuple(spark.sql(text).collect()[0]) == (2, 100)
    ls.disable(spark)


def test_samples_keep_their_meaning(spark: SparkSession, repeated: OpenDriver) -> None:
    """Neither a condition nor a limit moves below a sample of the table."""
    t = repeated.relation()
    repeatable = "TABLESAMPLE (50 PERCENT) REPEATABLE (1)"
    of_table = f"SELECT id FROM {t} {repeatable} WHERE k = 5"
    for text in (of_table, f"{of_table} LIMIT 9", f"SELECT id FROM {t} {repeatable} LIMIT 99"):
        ls.disable(spark)
        expected = sorted(spark.sql(text).collect())
        ls.enable(spark)
        assert sorted(spark.sql(text).collect()) == expected, text
        for scan in ls.last_pruning(spark):
            assert scan.files_read == scan.files_total, text

    # a sample of the rows of the condition, of which the limit keeps some
    sampled = f"SELECT id FROM (SELECT * FROM {t} WHERE k = 5) {repeatable}"
    found = {row[0] for row in spark.sql(sampled).collect()}
    assert 25 < len(found) < 75
    assert {row % 100 for row in found} == {5}
    limited = {row[0] for row in spark.sql(f"{sampled} LIMIT 9").collect()}
    assert len(limited) == 9
    assert limited <= found
    (scan,) = ls.last_pruning(spark)
    assert scan.files_read == scan.files_total

    # a number of rows of the table, of which the condition keeps some
    rows = f"SELECT id FROM {t} TABLESAMPLE (500 ROWS) WHERE k = 5"
    found = {row[0] for row in spark.sql(rows).collect()}
    assert len(found) < 100
    (scan,) = ls.last_pruning(spark)
    assert scan.files_read == scan.files_total
    ls.disable(spark)
