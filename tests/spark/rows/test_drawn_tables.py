"""Queries of tables of every format read some rows of data files, and give the same rows."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.spark.drivers import DRIVERS
from tests.spark.rows.compared import compared
from tests.spark.rows.drawn_tables import FEATURES, STEPS, draw_table
from tests.spark.rows.made_tables import make
from tests.spark.rows.reader_settings import VECTORIZED

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.rows.made_tables import MadeTable

FORMATS = list(DRIVERS)
TABLES = depth("TABLES", test=len(FORMATS), soak=200)
# 1,000 cases in a soak
QUERIES = 5
LOG = logging.getLogger(__name__)
# Iceberg's cache ignores equality deletes once their column has a wider type
_ICEBERG_CACHE = "spark.sql.iceberg.executor-cache.enabled"


@pytest.fixture(autouse=True)
def as_before(spark: SparkSession) -> Iterator[None]:
    """Leave the session as it was."""
    spark.conf.set(_ICEBERG_CACHE, "false")
    yield
    spark.conf.unset(_ICEBERG_CACHE)
    spark.conf.unset(VECTORIZED)
    ls.disable(spark)


def _condition(drawn: random.Random, made: MadeTable) -> str:
    """Draw a condition, on a column of an index or on another one."""
    key, k, word = made.names["id"], made.names["k"], made.names["word"]
    some = [str(drawn.randrange(made.rows + 1)) for _ in range(4)]
    low = drawn.randrange(made.rows)
    return drawn.choice(
        [
            f"{key} = {some[0]}",
            f"{key} IN ({', '.join(some)})",
            f"{key} BETWEEN {low} AND {low + drawn.choice([0, 1, 5])}",
            f"{k} = {drawn.randrange(9)}",
            f"{k} IS NULL",
            f"{word} = 'word {drawn.randrange(9)}'",
            f"{made.names['wide']} LIKE 'wide {some[0]} %'",
            f"pair.a = {drawn.randrange(11)}",
            f"NOT ({k} > 2)",
        ]
    )


def _query(drawn: random.Random, made: MadeTable) -> str:
    first, second = _condition(drawn, made), _condition(drawn, made)
    joined = drawn.choice([first, f"{first} AND {second}", f"{first} OR {second}"])
    columns = [*made.names.values(), "pair.b"]
    some = ", ".join(drawn.sample(columns, drawn.randint(1, len(columns))))
    wanted = drawn.choice([some, some, "*", "count(*)"])
    return f"SELECT {wanted} FROM {made.relation} WHERE {joined}"


@pytest.mark.parametrize("seed", range(TABLES))
def test_drawn_tables(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Drawn conditions give the rows of a query without lakesieve."""
    table = draw_table(seed, FORMATS)
    made = make(spark, table, seed, tmp_path / "ä t")
    made.index()
    drawn = random.Random(f"queries {seed}")
    spark.conf.set(VECTORIZED, str(table.vectorized).lower())
    # with --log-cli-level=INFO, pytest prints the drawn table and its queries
    LOG.info("%s %s %s", seed, table, sorted(table.features()))
    for _ in range(QUERIES):
        query = _query(drawn, made)
        scans = compared(spark, query)
        LOG.info("%s %s", query, [(scan.rows_read, scan.rows_total) for scan in scans])
    made.drop()


def test_blocks_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """A query for one key reads fewer rows than its data file has, in every format."""
    for place, form in enumerate(FORMATS):
        seeds = range(place, 1_000, len(FORMATS))
        tables = ((seed, draw_table(seed, FORMATS)) for seed in seeds)
        seed, table = next(
            (seed, table)
            for seed, table in tables
            if not {*table.before, *table.after} & {"widen", "replace"}
            and table.vectorized
            and table.files[0].rows > 2 * (table.blocks[0] or 0)
        )
        made = make(spark, table, seed, tmp_path / form)
        made.index()
        (scan,) = compared(spark, f"SELECT id, k FROM {made.relation} WHERE id = 0")
        assert scan.rows_read is not None, form
        assert scan.rows_total is not None, form
        assert scan.rows_read < scan.rows_total, form
        made.drop()


@pytest.mark.parametrize("form", STEPS)
def test_everything_is_drawn(form: str) -> None:
    """The tables of a soak have all features that are listed, in every format."""
    formats = list(STEPS)
    place = formats.index(form)
    drawn = [draw_table(seed, formats) for seed in range(place, 200, len(formats))]
    features = {feature for table in drawn for feature in table.features()}
    further = {"evolution"} if form == "parquet" else {"evolution", "deletes"}
    assert features >= FEATURES | further
    steps = {step for table in drawn for step in (*table.before, *table.after)}
    assert steps == set(STEPS[form])
