"""Several keys in one index, some of which are expressions, elements or entries."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.spark.drawn_conditions import check_conditions, check_files, drawn_condition
from tests.spark.drivers import DRIVERS, OpenDriver
from tests.spark.rows.compared import read_by

import lakesieve as ls
from lakesieve.errors import LakesieveError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_FORMATS = ["iceberg", "delta", "parquet"]
_FILES = 8
_TEXTS = ("a", "A", "b", "B", "ß", "İ", "a\\0", "", "ab b", "b-ab A", "bab aba")
_KEYS = (
    ["g", "lower(s)"],
    ["lower(s)", "g"],
    ["g", "elements(tags)"],
    ["elements(tags)", "g", "s"],
    ["lower(s)", "elements(tags)", "g"],
    ["g", "entries(m)"],
    ["lower(s)", "g", "entries(inner.m)"],
    ["g", "words(s)"],
    ["words(s)", "g"],
    ["g", "words(s)", "lower(s)"],
)


def _rows(spark: SparkSession, drawn: random.Random, first: int) -> DataFrame:
    """Rows for several files, with few different values."""

    def text() -> str:
        return drawn.choice(["NULL", *(f"'{each}'" for each in _TEXTS)])

    def number() -> str:
        return drawn.choice(["NULL", "0", "1", "-1", "7"])

    def tags() -> str:
        chosen = [text() for _ in range(drawn.choice([0, 1, 1, 2, 3]))]
        return drawn.choice(["NULL", *[f"array({', '.join(chosen)})"] * 5])

    def entries() -> str:
        keys = drawn.sample(_TEXTS, drawn.choice([0, 1, 1, 2, 3]))
        pairs = ", ".join(f"'{key}', {number()}" for key in keys)
        return drawn.choice(["NULL", *[f"map({pairs})"] * 5])

    rows = [
        f"({k}, CAST({number()} AS INT), CAST({text()} AS STRING), "
        f"CAST({tags()} AS ARRAY<STRING>), CAST({entries()} AS MAP<STRING, INT>), "
        f"named_struct('m', CAST({entries()} AS MAP<STRING, INT>)))"
        for k in range(first, first + 18)
    ]
    values = f"SELECT * FROM VALUES {', '.join(rows)} AS t(k, g, s, tags, m, inner)"
    return spark.sql(values).repartitionByRange(6, "k")


def _leaf(drawn: random.Random) -> str:
    """Draw a condition on each of some columns, of which the keys are made."""
    a, b = (f"'{drawn.choice(_TEXTS)}'" for _ in range(2))
    n, other = (drawn.choice(["0", "1", "-1", "7", "9"]) for _ in range(2))
    forms = {
        "g": [
            *(f"g {operator} {n}" for operator in ("=", "=", "<=>", "<", ">=", "<>")),
            f"g IN ({n}, {other})",
            "g IS NULL",
            "g IS NOT NULL",
            "g <=> NULL",
        ],
        "s": [
            *(f"lower(s) {operator} lower({a})" for operator in ("=", "=", "<", ">=")),
            f"lower(s) IN ('a', 'b', lower({a}))",
            "lower(s) LIKE 'a%'",
            "lower(s) IS NULL",
            f"s = {a}",
            *(f"s LIKE '{pattern}'" for pattern in ("%a%", "%b", "a%", "%ab %", "% a%", "%ba%")),
            "s ILIKE '%AB%'",
            f"contains(s, {a})",
            f"startswith(s, {a})",
            f"endswith(s, {a})",
            "s RLIKE 'b.a'",
        ],
        "tags": [
            f"array_contains(tags, {a})",
            f"arrays_overlap(tags, array({a}, {b}))",
            f"array_contains(tags, {a}) AND array_contains(tags, {b})",
            f"exists(tags, x -> x >= {a})",
            f"exists(tags, x -> x <=> {a} OR x IS NULL)",
            "exists(tags, x -> x IS NOT NULL)",
        ],
        "m": [
            *(f"m[{a}] {operator} {n}" for operator in ("=", "=", "<", ">=", "<=>")),
            f"inner.m[{a}] = {n}",
            f"inner.m[{a}] IN ({n}, {other})",
            f"map_contains_key(inner.m, {a})",
            f"map_contains_key(m, {a})",
            f"m[{a}] = {n} AND m[{b}] = {other}",
            f"m[{a}] IS NULL",
        ],
    }
    chosen = drawn.sample(list(forms), drawn.choice([1, 2, 2, 3, 3, 4]))
    return f"({' AND '.join(drawn.choice(forms[name]) for name in chosen)})"


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("name", _FORMATS)
def test_drawn_conditions(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Queries have the rows that they have without indexes, whatever their conditions ask."""
    drawn = random.Random(f"several {name} 1")
    driver = DRIVERS[name](spark, tmp_path / "t", f"several_{name}")
    driver.create(_rows(spark, drawn, 0))
    driver.append(_rows(spark, drawn, 100))
    names = [f"i{at}" for at in range(len(_KEYS))]
    built = ls.create_indexes(
        driver.name, _KEYS, spark=spark, names=names, rows_per_block=drawn.choice([None, 2])
    )
    driver.append(_rows(spark, drawn, 200))
    for index in built:
        index.refresh()
        index.compact()
        assert index.verify_rows(files=None).wrong == ()
    # some files are not covered
    driver.append(_rows(spark, drawn, 300))
    count = depth("MANY_KEYS", test=4, soak=600)
    conditions = [drawn_condition(drawn, lambda: _leaf(drawn), 2) for _ in range(count)]
    conditions += [_leaf(drawn) for _ in range(3 * count)]
    assert check_conditions(spark, driver.relation(), conditions)


_INDEXES = {
    "low": ["g", "lower(s)"],
    "tags": ["g", "elements(tags)"],
    "n": ["elements(n)", "g"],
    "m": ["g", "entries(m)"],
    "text": ["g", "words(text)"],
}
_SKIPS = {
    "an expression": ("g = 1 AND lower(s) = 's5'", 1),
    "another group": ("g = 0 AND lower(s) = 's5'", 0),
    "several groups": ("g IN (0, 1) AND lower(s) = 's5'", 1),
    "a prefix": ("g = 0 AND lower(s) LIKE 's2%'", 4),
    "elements": ("g = 1 AND array_contains(tags, 't5')", 1),
    "elements of another group": ("g = 0 AND array_contains(tags, 't5')", 0),
    "two elements": ("array_contains(tags, 't5') AND array_contains(tags, 'u5') AND g = 1", 1),
    "elements first": ("array_contains(n, 5)", 1),
    "elements first, another group": ("array_contains(n, 5) AND g = 0", 0),
    "a value": ("g = 1 AND m['a'] = 5", 1),
    # a key that is nowhere may be in the block of a neighbour
    "a value of another group": ("g = 0 AND m['a'] = 5", 1),
    "a key": ("map_contains_key(m, 'b5') AND g = 1", 1),
    "a word": ("g = 1 AND text LIKE '%, w5, %'", 1),
    "a part of a word": ("g = 1 AND text LIKE '%nder5x%'", 1),
    "a part in another group": ("g = 0 AND text LIKE '%nder5x%'", 0),
    "a part in several groups": ("g IN (0, 1) AND contains(text, 'nder5x')", 1),
    "the end of a text": ("g = 1 AND endswith(text, 'under5x')", 1),
    "the end of a word": ("g = 1 AND text LIKE '%w5, %'", 1),
    "any case": ("g = 1 AND text ILIKE '%UNDER5X%'", 1),
    "an OR below": ("g = 1 AND (m['a'] = 5 OR array_contains(tags, 't13'))", 2),
    # without a condition on the first key, or on the elements
    "an expression alone": ("lower(s) = 's5'", 8),
    "a word alone": ("text LIKE '%, w5, %'", 8),
    "a part of a word alone": ("text LIKE '%nder5x%'", 8),
    "elements alone": ("array_contains(tags, 't5')", 8),
    "an OR": ("g = 1 OR array_contains(tags, 't5')", 8),
    "a negation": ("g = 1 AND NOT array_contains(tags, 't5')", 8),
}
_EXPLODED = {
    "elements": ("LATERAL VIEW explode(tags) e AS tag WHERE tag = 't5' AND g = 1", 1),
    "elements of another group": (
        "LATERAL VIEW explode(tags) e AS tag WHERE tag = 't5' AND g = 0",
        0,
    ),
    "entries": ("LATERAL VIEW explode(m) e AS k, v WHERE k = 'a' AND v = 5 AND g = 1", 1),
}


@pytest.fixture(scope="module", params=_FORMATS)
def driver(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenDriver]:
    """A table of eight files with indexes, and skipping on."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("several_keys") / request.param
    made = DRIVERS[request.param](spark, folder, f"several_keys_{request.param}")
    rows = spark.range(0, 4 * _FILES, 1, _FILES).selectExpr(
        "CAST(id AS INT) AS id",
        "CAST(id % 2 AS INT) AS g",
        "concat('S', id) AS s",
        "array(concat('t', id), concat('u', id)) AS tags",
        "array(CAST(id AS INT)) AS n",
        "map('a', CAST(id AS INT), concat('b', id), 1) AS m",
        "concat('at, w', id, ', under', id, 'x') AS text",
    )
    made.create(rows)
    made.append(rows)
    keys, names = list(_INDEXES.values()), list(_INDEXES)
    ls.create_indexes(made.name, keys, spark=spark, names=names, rows_per_block=2)
    ls.enable(spark)
    yield made
    ls.disable(spark)


def test_files_are_skipped(spark: SparkSession, driver: OpenDriver) -> None:
    """Conditions on all keys open only the files of their rows."""
    check_files(spark, driver, _SKIPS)
    check_files(spark, driver, _EXPLODED, clause="")


def test_the_keys_are_shown(spark: SparkSession, driver: OpenDriver) -> None:
    """The keys have the names and types that their user gave, and their look-ups are exact."""
    index = ls.open_index(driver.name, "m", spark=spark)
    assert index.info().columns == ("g", "entries(m)")
    assert index.info().types[1] == "map<string,int>"
    for wanted in (5, 10, 24):
        start = wanted % 4 // 2 * 2
        found = index.files(f"g = {wanted % 2} AND m['a'] = {wanted}")
        assert found.row_ranges == (((start, start + 2),),)
    # without a session
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse", "warehouse"))
    condition = "g = 0 AND array_contains(tags, 't5')"
    plain = ls.find_files(driver.plain_name(), condition, warehouse=warehouse)
    assert (len(plain.paths), plain.total) == (0, 8)


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """An Iceberg table of two files."""
    name = "lake.several_keys.t"
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.several_keys")
    spark.sql(
        f"CREATE TABLE {name} USING iceberg AS SELECT /*+ REPARTITION(2, id) */ id, id % 2 AS g, "
        "concat('S', id) AS s, array(concat('t', id)) AS tags, map('a', id) AS m FROM range(20)"
    )
    ls.enable(spark)
    yield name
    ls.disable(spark)
    spark.sql(f"DROP TABLE {name}")


def test_statements(spark: SparkSession, table: str) -> None:
    """SQL makes such an index, and shows its keys."""
    spark.sql(f"CREATE INDEX several ON {table} USING lakesieve (g, elements(tags))")
    (shown,) = spark.sql(f"SHOW INDEXES FROM {table}").collect()

    assert list(shown["columns"]) == ["g", "elements(tags)"]
    query = f"SELECT id FROM {table} WHERE g = 1 AND array_contains(tags, 't5')"
    assert read_by(spark, query) == (1, 1, {"index-used"})


def test_changed_columns(spark: SparkSession, table: str) -> None:
    """Keys before a dropped column are still used, unless a row has many of one behind them."""
    ls.create_index(table, ["g", "lower(s)"], spark=spark)
    ls.create_index(table, ["id", "elements(tags)"], spark=spark)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN g TO part")
    query = f"SELECT id FROM {table} WHERE part = 1 AND lower(s) = 's5'"
    assert read_by(spark, query) == (1, 1, {"index-used"})
    spark.sql(f"ALTER TABLE {table} DROP COLUMN s")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN tags")
    assert read_by(spark, f"SELECT id FROM {table} WHERE part = 7")[:2] == (0, 0)
    codes = read_by(spark, f"SELECT id FROM {table} WHERE id = 5")[2]
    assert "index-used" not in codes


@pytest.mark.parametrize("many", ["elements(tags)", "entries(m)", "words(s)"])
def test_rows_without_a_key(spark: SparkSession, table: str, many: str) -> None:
    """Commands by key and joins find rows that have no elements, entries or words."""
    spark.sql(f"INSERT INTO {table} VALUES (50, 9, '', array(), map())")
    ls.create_index(table, ["g", many], spark=spark, name="many")
    given = spark.sql("SELECT 60L AS id, 9L AS g, 'x' AS s, array('y') AS tags, map('a', 1L) AS m")
    given.createOrReplaceTempView("given")

    joined = spark.sql(f"SELECT t.id FROM given JOIN {table} t ON t.g = given.g").collect()
    assert [row.id for row in joined] == [50]
    assert ls.insert_new(given, table, on=["g"], spark=spark).inserted == 0
    assert ls.duplicates(table, ["g"], spark=spark).count == 2
    assert not ls.check_references(given, "g", table, "g", spark=spark).examples
    spark.sql(f"DELETE FROM {table} WHERE g = 9")
    assert spark.table(table).count() == 20


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["words(s)", "elements(tags)"], "cannot be keys of one index"),
        (["entries(m)", "g"], "entries.m. can only be the last key"),
        (["elements(tags)", "entries(m)"], "cannot be keys of one index"),
        (["lower(s)", "LOWER(s)"], "named twice"),
        (["g", "rand()"], "rand is not allowed"),
    ],
)
def test_refused_keys(spark: SparkSession, table: str, keys: list[str], message: str) -> None:
    """Keys that cannot be together are refused by name."""
    with pytest.raises(LakesieveError, match=message):
        ls.create_index(table, keys, spark=spark)


def test_refused_uses(spark: SparkSession, table: str) -> None:
    """What needs columns as keys is refused by name."""
    index = ls.create_index(table, ["g", "lower(s)"], spark=spark, name="low")
    many = ls.create_index(table, ["g", "elements(tags)"], spark=spark, name="many")
    keys = spark.sql("SELECT 1L AS g, 's1' AS `lower(s)`")
    for call in (lambda: index.contains([(1, "s1")]), lambda: index.locate(keys)):
        with pytest.raises(UnsupportedError, match="takes an index on columns"):
            call()
    for refused in (many.min, many.distinct):
        with pytest.raises(UnsupportedError, match="a row may have many"):
            refused()
