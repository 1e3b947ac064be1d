"""Queries for the first rows of an order read only files that can hold one of these rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
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


def _equality(drawn: random.Random, name: str) -> str:
    """Draw a condition that a column has one value."""
    kind, values = COLUMNS[name]
    value = drawn.choice(values)
    if value == "NULL":
        return drawn.choice([f"{name} IS NULL", f"{name} <=> NULL"])
    value = f"CAST({value} AS {kind})"
    return drawn.choice([f"{name} = {value}", f"{name} <=> {value}", f"{name} IN ({value})"])


def _conditions(drawn: random.Random) -> tuple[str, str]:
    """Draw the column of an order, and conditions. Most of them an index can count with."""
    if drawn.random() < 0.3:
        name = drawn.choice(list(COLUMNS))
        return name, drawn.choice(["", f" WHERE {name} IS NOT NULL", " WHERE id % 3 <> 0"])
    columns = drawn.choice(COMPOSITE)
    before = drawn.randrange(len(columns))
    name = columns[before]
    parts = [_equality(drawn, one) for one in columns[:before]]
    if drawn.random() < 0.3 and name != "id":
        kind, values = COLUMNS[name]
        value = f"CAST({drawn.choice(values[1:])} AS {kind})"
        parts.append(f"{name} {drawn.choice(['<', '<=', '>', '>=', '<>'])} {value}")
    if drawn.random() < 0.1:
        parts.append(drawn.choice(["id % 5 <> 1", f"{FOLDED_WORD} >= 'A'"]))
    return name, f" WHERE {' AND '.join(parts)}" if parts else ""


def _query(drawn: random.Random, relation: str) -> str:
    """Draw a query that has only one right answer."""
    name, where = _conditions(drawn)
    if drawn.random() < 0.3:
        other = drawn.choice([name, *COLUMNS])
        text = drawn.choice(
            [f"max({name})", f"min({name})", f"max({name}), min({other})", f"max({name}) AS m"]
        )
        return f"SELECT {text} FROM {relation}{where}"
    order = f"{name}{drawn.choice(['', ' DESC', ' ASC', ' DESC NULLS FIRST', ' NULLS LAST'])}"
    limit = f"LIMIT {drawn.choice([1, 2, 5, 30])}{drawn.choice(['', '', ' OFFSET 2'])}"
    if name == "word" and drawn.random() < 0.2:
        order = f"{FOLDED_WORD}{drawn.choice(['', ' DESC'])}"
    if name != "real" and FOLDED_WORD not in order and drawn.random() < 0.3:
        # ties at the limit: any of their rows may come, with the same value
        return f"SELECT {name} AS value FROM {relation}{where} ORDER BY {order} {limit}"
    # rows with the same value may come in any order, so the ids decide
    rows = f"SELECT id, {name} AS value FROM {relation}{where} ORDER BY {order}, id {limit}"
    return drawn.choice([rows, f"SELECT count(*), max(value) FROM ({rows})"])


@pytest.mark.in_time("iceberg-0")
@pytest.mark.parametrize("seed", range(depth("SEEDS", test=1, soak=12)))
@pytest.mark.parametrize("name", FORMATS)
def test_drawn_orders(spark: SparkSession, tmp_path: Path, name: str, seed: int) -> None:
    """Skipping changes no row: of no version, with deletes, ties, nulls and uncovered files."""
    drawn = random.Random(f"{name} {seed}")
    driver = DRIVERS[name](spark, tmp_path / "t", f"ordered_{name}_{seed}")
    rows = drawn_rows(spark, drawn, 0, 6)
    driver.create(rows)
    driver.append(rows)
    blocks = drawn.choice([None, 1, 4])
    keys = [["id"], *([name] for name in COLUMNS), *COMPOSITE]
    ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=blocks)
    check_drawn_queries(
        spark,
        driver,
        drawn,
        lambda relation: _query(drawn, relation),
        count=depth("QUERIES", test=2, soak=8),
        # the files follow one another in the order of the ids
        surely_used="SELECT id FROM {t} ORDER BY id DESC LIMIT 1",
        is_used=lambda scan: scan.files_read < scan.files_total,
        in_order=True,
    )


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("name", FORMATS)
def test_listed_files_have_the_first_rows(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """``find_files`` lists, for a condition and an order, each file with one of the first rows."""
    drawn = random.Random(f"listed {name}")
    driver = DRIVERS[name](spark, tmp_path / "t", f"listed_{name}")
    rows = drawn_rows(spark, drawn, 0, 8)
    driver.create(rows)
    driver.append(rows)
    keys = [["id"], *([name] for name in COLUMNS), *COMPOSITE]
    ls.create_indexes(driver.name, keys, spark=spark)
    driver.append(drawn_rows(spark, drawn, 10_000, 1))
    ls.disable(spark)
    fewer = 0
    for _ in range(depth("LISTED", test=12, soak=200)):
        column, where = _conditions(drawn)
        order = f"{column} {drawn.choice(['ASC', 'DESC'])} NULLS {drawn.choice(['FIRST', 'LAST'])}"
        limit = drawn.choice([1, 2, 5, 30])
        # without Spark, INNER is a keyword
        text = where.removeprefix(" WHERE ").replace("inner.", "`inner`.") or None

        found = ls.find_files(driver.name, text, order_by=order, limit=limit, spark=spark)

        kept = {path.rpartition("/")[2] for path in found.paths}
        ordered = spark.sql(
            f"SELECT {column}, input_file_name() FROM {driver.relation()}{where} ORDER BY {order}"
        ).collect()
        first = {str(row[0]) for row in ordered[:limit]}
        needed = {row[1].rpartition("/")[2] for row in ordered if str(row[0]) in first}
        assert needed <= kept, (text, order, limit)
        fewer += found.reasons[0].code is ReasonCode.FIRST_ROWS
    assert fewer


_USED = {
    "a prefix": "SELECT k FROM {t} WHERE g = 3 ORDER BY k DESC LIMIT 3",
    "a prefix by IN": "SELECT id FROM {t} WHERE g IN (3) ORDER BY k NULLS LAST LIMIT 3",
    "a prefix and a range": "SELECT k FROM {t} WHERE g = 3 AND k < 4000 ORDER BY k DESC LIMIT 3",
    "a range": "SELECT k FROM {t} WHERE k < 4000 ORDER BY k DESC LIMIT 3",
    "max of a prefix": "SELECT max(k) FROM {t} WHERE g <=> 3",
    "ORDER BY k LIMIT 3": "SELECT k FROM {t} ORDER BY k NULLS LAST LIMIT 3",
    "nulls first": "SELECT k, id FROM {t} ORDER BY k NULLS FIRST, id LIMIT 5",
    "two keys": "SELECT k, id FROM {t} ORDER BY k DESC, id LIMIT 3",
    "other columns": "SELECT id FROM {t} ORDER BY k DESC LIMIT 3",
    "a view": "SELECT q FROM (SELECT k AS q, id FROM {t}) ORDER BY q DESC LIMIT 3",
    "an offset": "SELECT k FROM {t} ORDER BY k DESC LIMIT 2 OFFSET 1",
    "without nulls": "SELECT k FROM {t} WHERE k IS NOT NULL ORDER BY k LIMIT 3",
    "max and min": "SELECT max(k) + 1, min(k) FROM {t}",
}
_NOT_USED = {
    "an unknown condition": ("SELECT k FROM {t} WHERE g + 1 = 4 ORDER BY k DESC LIMIT 3", True),
    "two prefixes": ("SELECT k FROM {t} WHERE g IN (1, 3) ORDER BY k DESC LIMIT 3", True),
    "another column": ("SELECT k FROM {t} WHERE g = 3 ORDER BY id DESC LIMIT 3", True),
    "a condition": ("SELECT k FROM {t} WHERE id > 5 ORDER BY k DESC LIMIT 3", True),
    "an expression": ("SELECT k FROM {t} ORDER BY k + 1 LIMIT 3", False),
    "no limit": ("SELECT k FROM {t} ORDER BY k", False),
    "groups": ("SELECT id % 2, max(k) FROM {t} GROUP BY 1", False),
    "another aggregate": ("SELECT max(k), count(*) FROM {t}", False),
    "a filtered aggregate": ("SELECT max(k) FILTER (WHERE id < 9) FROM {t}", False),
    "a filter above": ("SELECT * FROM (SELECT k FROM {t} ORDER BY k LIMIT 9) WHERE k > 5", True),
    "distinct": ("SELECT DISTINCT k FROM {t} ORDER BY k LIMIT 3", False),
}


@pytest.fixture(scope="module", params=FORMATS)
def ordered(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> OpenDriver:
    """A table of ten files, in all of which the keys go from low to high."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("ordered") / request.param
    driver = DRIVERS[request.param](spark, folder, f"in_order_{request.param}")
    # minimum and maximum of the format leave out no file: each begins low and ends high
    rows = spark.sql(
        "SELECT id, IF(id IN (7, 27, 47), NULL, (id * 7919) % 5003) AS k, id % 4 AS g "
        "FROM range(0, 200, 1, 10)"
    )
    driver.create(rows)
    driver.append(rows)
    ls.create_indexes(driver.name, ["k", ["g", "k", "id"]], spark=spark)
    return driver


@pytest.mark.in_time("delta")
def test_files_are_skipped(spark: SparkSession, ordered: OpenDriver) -> None:
    """Each form reads few files and gives the same rows. Other forms read all files."""
    read = {}
    for form, text in _USED.items():
        query = text.format(t=ordered.relation())
        ls.disable(spark)
        expected = spark.sql(query).collect()
        ls.enable(spark)
        assert spark.sql(query).collect() == expected, form
        scans = ls.last_pruning(spark)
        read[form] = min((scan.files_read for scan in scans), default=0)
        codes = {reason.code for scan in scans for reason in scan.reasons}
        assert not scans or codes & {ReasonCode.FIRST_ROWS, ReasonCode.FROM_INDEX}, (form, codes)
    assert max(read.values()) <= 5, read
    for form, (text, is_told) in _NOT_USED.items():
        spark.sql(text.format(t=ordered.relation())).collect()
        for scan in ls.last_pruning(spark):
            codes = {reason.code for reason in scan.reasons}
            assert ReasonCode.FIRST_ROWS not in codes or form == "a filter above", form
            assert not is_told or codes & {ReasonCode.ORDER_NOT_USED, ReasonCode.FIRST_ROWS}, form
    ls.disable(spark)


@pytest.mark.parametrize("name", FORMATS)
def test_the_index_has_the_answer(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """If the index knows every row, ``max`` and ``min`` read no data file."""
    driver = DRIVERS[name](spark, tmp_path / "t", f"answered_{name}")
    # longer than what formats keep of a text in their statistics
    texts = "SELECT id, concat(repeat('é', 100), id * 7919 % 5003) AS word FROM range({})"
    rows = spark.sql(texts.format("0, 1000, 1, 5"))
    driver.create(rows)
    driver.append(rows)
    ls.create_index(driver.name, "word", spark=spark)

    def is_from_index() -> bool:
        text = f"SELECT length(max(word)) + 1, max(word), min(word) FROM {driver.relation()}"
        ls.disable(spark)
        expected = spark.sql(text).first()
        ls.enable(spark)
        assert spark.sql(text).first() == expected
        (scan,) = ls.last_pruning(spark)
        codes = {reason.code for reason in scan.reasons}
        assert (ReasonCode.FROM_INDEX in codes) == (scan.files_read == 0)
        assert ReasonCode.INTERNAL_ERROR not in codes
        return ReasonCode.FROM_INDEX in codes

    assert is_from_index()
    driver.append(spark.sql(texts.format("1000, 1010, 1, 1")))
    assert not is_from_index()
    ls.refresh_indexes(driver.name, spark=spark)
    assert is_from_index()
    if driver.versions():
        driver.delete("id % 100 = 7")
        assert not is_from_index()
    ls.disable(spark)


def test_other_orders_of_one_table_stay_apart(spark: SparkSession) -> None:
    """Both ends of a table in one query are two scans, although Spark runs equal scans once."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.ends")
    spark.range(0, 100, 1, 10).selectExpr("id", "id * 37 % 101 AS k").writeTo("lake.ends.t").using(
        "iceberg"
    ).createOrReplace()
    ls.create_index("lake.ends.t", "k", spark=spark)
    ends = [f"(SELECT k FROM lake.ends.t ORDER BY k {way} LIMIT 2)" for way in ("ASC", "DESC")]
    text = f"SELECT * FROM {ends[0]} UNION ALL SELECT * FROM {ends[1]}"
    ls.disable(spark)
    expected = sorted(spark.sql(text).collect())
    ls.enable(spark)
    found = sorted(spark.sql(text).collect())
    read = [scan.files_read for scan in ls.last_pruning(spark)]
    ls.disable(spark)
    spark.sql("DROP TABLE lake.ends.t PURGE")
    assert found == expected
    assert len(read) == 2
    assert max(read) <= 2
