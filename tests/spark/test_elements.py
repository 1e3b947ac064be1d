"""Indexes on the elements of lists: answers, skipped files, upkeep, and what is refused."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.spark.drawn_conditions import check_conditions, check_files, drawn_condition
from tests.spark.drivers import DRIVERS, OpenDriver
from tests.spark.rows.compared import read_by

import lakesieve as ls
from lakesieve.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_FORMATS = ["iceberg", "delta", "parquet"]
_TEXTS = ("'a'", "'A'", "''", "'ß'", "'ss'", "'İ'", "'日本'", "'\U0001d4b3x'", "'a b'", "'absent'")
_NUMBERS = ("0", "1", "-1", "7", "2147483647")
_DOUBLES = ("0D", "-0D", "1.5D", "double('NaN')", "double('-Infinity')", "7D")
_DAYS = ("DATE'1970-01-01'", "DATE'2020-02-29'", "DATE'9999-12-31'")
_LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "texts": ("STRING", _TEXTS),
    "small": ("SMALLINT", ("0S", "1S", "-1S", "7S", "32767S")),
    "n": ("INT", _NUMBERS),
    "large": ("BIGINT", ("0L", "1L", "-1L", "7L", "9223372036854775807L")),
    "real": ("DOUBLE", _DOUBLES),
    "single": ("FLOAT", tuple(f"CAST({value} AS FLOAT)" for value in _DOUBLES)),
    "day": ("DATE", _DAYS),
    "at": ("TIMESTAMP", tuple(f"CAST({value} AS TIMESTAMP)" for value in _DAYS)),
    "money": ("DECIMAL(10, 2)", ("0.00BD", "1.50BD", "-7.25BD")),
    "wide": ("DECIMAL(38, 2)", ("0.00BD", "123456789012345678901234567890.12BD", "-1BD")),
    "data": ("BINARY", ("X''", "X'00'", "X'FF'", "X'6161'")),
    "flag": ("BOOLEAN", ("true", "false")),
    "inner.texts": ("STRING", _TEXTS),
}
"""The lists of the drawn tables: type of the elements, and elements."""


def _list_sql(drawn: random.Random, name: str) -> str:
    """A list as SQL: often null, empty, with nulls and with one element twice."""
    kind, values = _LISTS[name]
    length = drawn.choice([-1, 0, 1, 1, 2, 3])
    chosen = [drawn.choice([*values, "NULL"]) for _ in range(length)]
    text = "NULL" if length < 0 else f"array({', '.join(chosen)})"
    return f"CAST({text} AS ARRAY<{kind}>)"


def _drawn_rows(
    spark: SparkSession, drawn: random.Random, names: list[str], first: int
) -> DataFrame:
    """Rows whose files have few different lists each, so that files can be skipped."""
    plain = [name for name in names if "." not in name]
    rows = []
    for number in range(first, first + 18):
        lists = [_list_sql(drawn, name) for name in plain]
        inner = f"named_struct('texts', {_list_sql(drawn, 'inner.texts')})"
        inner = drawn.choice([inner, inner, f"if(true, NULL, {inner})"])
        rows.append(f"({', '.join([str(number), *lists, inner])})")
    columns = ", ".join(["k", *plain, "inner"])
    rows_sql = f"SELECT * FROM VALUES {', '.join(rows)} AS t({columns})"
    return spark.sql(rows_sql).repartitionByRange(6, "k")


def _leaf(drawn: random.Random, names: list[str]) -> str:
    name = drawn.choice(names)
    kind, values = _LISTS[name]
    a, b, c = (drawn.choice(values) for _ in range(3))
    wider = {"n": "7L", "small": "7", "single": "1.5D"}.get(name, a)
    lists = f"CAST(array({a}, {b}, NULL) AS ARRAY<{kind}>)"
    forms = [
        *(f"array_contains({name}, {value})" for value in (a, b, wider, f"CAST({a} AS {kind})")),
        f"arrays_overlap({name}, {lists})",
        f"arrays_overlap(CAST(array({a}) AS ARRAY<{kind}>), {name})",
        *(f"exists({name}, x -> x {op} {a})" for op in ("=", "<=>", "<>", "<", ">=")),
        f"exists({name}, x -> x IN ({a}, {b}, {c}))",
        f"exists({name}, x -> {a} = x OR (x > {b} AND NOT x = {c}))",
        f"exists({name}, x -> x IS NULL OR x = {a})",
        f"exists({name}, x -> x IS NOT NULL)",
        f"exists({name}, x -> x = {a} OR k = 3)",
        f"get({name}, 0) = {a}",
        f"size({name}) = 1",
        f"{name} IS NULL",
        f"array_contains({name}, {a}) IS NULL",
    ]
    if kind == "STRING":
        forms += [f"exists({name}, x -> x LIKE '{a[1:-1]}%' AND lower(x) = 'a')"]
        forms += [f"exists({name}, x -> startswith(x, {a}))"]
    return f"({drawn.choice(forms)})"


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("name", _FORMATS)
def test_drawn_conditions(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Queries have the rows that they have without indexes, whatever they ask of lists."""
    drawn = random.Random(f"elements {name} 1")
    driver = DRIVERS[name](spark, tmp_path / "t", f"elements_{name}")
    names = drawn.sample(list(_LISTS), depth("INDEXED", test=3, soak=len(_LISTS)))
    driver.create(_drawn_rows(spark, drawn, names, 0))
    driver.append(_drawn_rows(spark, drawn, names, 100))
    keys = [f"elements({column})" for column in names]
    blocks = drawn.choice([None, 2])
    built = ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=blocks)
    assert built[0].verify_rows(files=None).wrong == ()
    # without a refresh: some files are not covered
    driver.append(_drawn_rows(spark, drawn, names, 200))
    count = depth("ELEMENTS", test=5, soak=600)
    conditions = [drawn_condition(drawn, lambda: _leaf(drawn, names)) for _ in range(count)]
    conditions += [_leaf(drawn, names) for _ in range(count)]
    assert check_conditions(spark, driver.relation(), conditions)


_SKIPS = {
    "contains": ("array_contains(tags, 't5')", 1),
    "overlap": ("arrays_overlap(tags, array('t5', 't12', NULL))", 2),
    "overlap, other order": ("arrays_overlap(array('t5'), tags)", 1),
    "exists": ("exists(tags, x -> x = 't5')", 1),
    "exists in": ("exists(tags, x -> x IN ('t5', 't12'))", 2),
    "exists of a range": ("exists(n, x -> x BETWEEN 30 AND 31)", 1),
    "exists of a prefix": ("exists(tags, x -> x LIKE 't5%')", 1),
    "exists or": ("exists(n, x -> x = 10 OR x = 24)", 2),
    # two elements of one row
    "and": ("array_contains(tags, 't5') AND array_contains(tags, 'u5')", 1),
    "and of two files": ("array_contains(tags, 't5') AND array_contains(tags, 't12')", 0),
    "or": ("array_contains(tags, 't5') OR array_contains(n, 24)", 2),
    "wider": ("array_contains(n, 24L)", 1),
    "field of a struct": ("array_contains(inner.d, 10)", 1),
    "not a number": ("exists(inner.d, x -> x = double('NaN'))", 1),
    "column as well": ("array_contains(tags, 't5') AND k = 5", 1),
    "absent": ("array_contains(tags, 'nothing')", 0),
}
_FILES = 8


@pytest.fixture(scope="module", params=_FORMATS)
def driver(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenDriver]:
    """A table of eight files with indexes on the elements of lists, and skipping on."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("elements") / request.param
    made = DRIVERS[request.param](spark, folder, f"elements_skipped_{request.param}")
    rows = spark.range(0, 32, 1, _FILES).selectExpr(
        "CAST(id AS INT) AS k",
        "if(id % 5 = 4, NULL, array(concat('t', id), concat('u', id), NULL)) AS tags",
        "if(id % 5 = 3, CAST(array() AS ARRAY<INT>), array(CAST(id AS INT))) AS n",
        "named_struct('d', array(double(id), if(id = 3, double('NaN'), NULL))) AS inner",
    )
    made.create(rows)
    made.append(rows)
    keys = ["elements(tags)", "elements(n)", "Elements( inner.D )"]
    ls.create_indexes(made.name, keys, spark=spark, names=["tags", "n", "d"], rows_per_block=2)
    ls.enable(spark)
    yield made
    ls.disable(spark)


def test_files_are_skipped(spark: SparkSession, driver: OpenDriver) -> None:
    """Each form of condition on the elements opens only the files of its rows."""
    check_files(spark, driver, _SKIPS)


@pytest.mark.in_time("iceberg")
def test_conditions_that_no_element_answers(spark: SparkSession, driver: OpenDriver) -> None:
    """A negation, a null element, a place in the list and another column read every file."""
    for condition in (
        "NOT array_contains(tags, 't5')",
        "exists(tags, x -> x IS NULL)",
        "exists(n, x -> x = k)",
        "exists(tags, x -> lower(x) = 't5')",
        "NOT exists(n, x -> x = 24) OR array_contains(n, 24)",
    ):
        spark.sql(f"SELECT * FROM {driver.relation()} WHERE {condition}").collect()
        (scan,) = ls.last_pruning(spark)
        assert scan.files_read == _FILES, condition
        assert [str(reason.code) for reason in scan.reasons] == ["no-usable-predicate"]


@pytest.mark.in_time("parquet")
def test_the_report_names_the_elements(spark: SparkSession, driver: OpenDriver) -> None:
    """Reports, explain, show and verify say which elements are looked up; blocks are exact."""
    condition = "array_contains(tags, 't5') AND exists(n, x -> x = 5)"
    spark.sql(f"SELECT * FROM {driver.relation()} WHERE {condition}").collect()
    (scan,) = ls.last_pruning(spark)
    assert "exists(tags, x -> x = 't5')" in scan.predicate
    assert "exists(n, x -> x = 5)" in scan.predicate
    index = ls.open_index(driver.name, "tags", spark=spark)
    assert "read 1 of 8 data files" in index.explain("array_contains(tags, 't5')")
    assert index.info().columns == ("elements(tags)",)
    blocks = ls.open_index(driver.name, "n", spark=spark)
    for wanted in (5, 10, 24):
        matches = blocks.files(f"array_contains(n, {wanted})")
        start = wanted % 4 // 2 * 2
        assert matches.row_ranges == (((start, start + 2),),)
    assert index.verify_rows(files=None).wrong == ()


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """An Iceberg table of two files."""
    name = "lake.elements.t"
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.elements")
    spark.sql(f"CREATE TABLE {name} (n INT, tags ARRAY<STRING>, ids ARRAY<INT>) USING iceberg")
    rows = spark.range(0, 20, 1, 2).selectExpr(
        "CAST(id AS INT) AS n", "array(concat('t', id)) AS tags", "array(CAST(id AS INT)) AS ids"
    )
    rows.writeTo(name).append()
    ls.enable(spark)
    yield name
    ls.disable(spark)
    spark.sql(f"DROP TABLE {name}")


def test_upkeep(spark: SparkSession, table: str) -> None:
    """Refresh, compaction, budgets and deletes of rows work for elements as for columns."""
    index = ls.create_index(table, "elements(tags)", spark=spark)
    ls.create_index(table, "elements(ids)", spark=spark, budget="8 bits")
    spark.sql(f"INSERT INTO {table} VALUES (99, array('t3', 'new'), NULL)")
    where = f"SELECT * FROM {table} WHERE array_contains"
    assert read_by(spark, f"{where}(tags, 'new')")[:2] == (1, 1)
    assert index.refresh().files == 1
    index.compact()
    assert read_by(spark, f"{where}(tags, 't3')") == (2, 2, {"index-used"})
    assert read_by(spark, f"{where}(tags, 'new')") == (1, 1, {"index-used"})
    assert read_by(spark, f"{where}(ids, 3)")[0] == 1
    assert index.verify_rows(files=None).wrong == ()
    spark.sql(f"DELETE FROM {table} WHERE array_contains(tags, 't3')")
    assert read_by(spark, f"{where}(tags, 't3')")[0] == 0
    assert spark.table(table).count() == 19


def test_changed_lists(spark: SparkSession, table: str) -> None:
    """A renamed list keeps its index in queries; other elements make it unusable."""
    ls.create_index(table, "elements(tags)", spark=spark)
    ls.create_index(table, "elements(ids)", spark=spark)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN tags TO labels")
    query = f"SELECT n FROM {table} WHERE array_contains"
    assert read_by(spark, f"{query}(labels, 't3')") == (1, 1, {"index-used"})
    with pytest.raises(InvalidInputError, match="renamed"):
        ls.open_index(table, "elements_tags", spark=spark).verify_rows()
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN ids.element TYPE BIGINT")
    assert read_by(spark, f"{query}(ids, 3)")[:2] == (1, 2)
    spark.sql(f"ALTER TABLE {table} DROP COLUMN labels")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN labels ARRAY<STRING>")
    assert read_by(spark, f"{query}(labels, 't3')")[:2] == (0, 2)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("elements(n)", "a column of type int is not allowed"),
        ("elements(split(s, ','))", "anything but a column"),
        ("elements(m)", "a column of type map<string,string>"),
        ("elements(map_keys(m))", "anything but a column"),
        ("elements(nested)", "a column of type array<array<int>>"),
        ("elements(items)", "a column of type array<struct<a:int>>"),
        ("elements(items.a)", "anything but a column"),
        ("tags", "of type list cannot be indexed"),
    ],
)
def test_refused_lists(spark: SparkSession, key: str, told: str) -> None:
    """Whatever is no list of keys is refused, and the reason named."""
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.elements")
    spark.sql(
        "CREATE TABLE IF NOT EXISTS lake.elements.odd (n INT, s STRING, m MAP<STRING, STRING>, "
        "nested ARRAY<ARRAY<INT>>, items ARRAY<STRUCT<a: INT>>, tags ARRAY<STRING>) USING iceberg"
    )
    with pytest.raises(UnsupportedError, match=told):
        ls.create_index("lake.elements.odd", key, spark=spark)


def test_refused_uses(spark: SparkSession, table: str) -> None:
    """What needs one key for each row is refused by name."""
    for columns in (["elements(tags)", "n"], ["n", "elements(tags)"]):
        with pytest.raises(UnsupportedError, match="cannot be one of several keys"):
            ls.create_index(table, columns, spark=spark)
    for text in ("elements(nope)", "elements(tags) || elements(ids)", "elements()"):
        with pytest.raises(InvalidInputError, match="neither a column nor an expression"):
            ls.create_index(table, text, spark=spark)
    index = ls.create_index(table, "elements(tags)", spark=spark)
    for call in (index.min, index.max, index.distinct, index.distinct_count):
        with pytest.raises(UnsupportedError, match="a row may have many"):
            call()
    keys = spark.sql("SELECT 't3' AS `elements(tags)`")
    with pytest.raises(UnsupportedError, match="contains takes an index on columns"):
        index.contains(["t3"])
    with pytest.raises(UnsupportedError, match="locate takes an index on columns"):
        index.locate(keys)
    with pytest.raises(UnsupportedError, match="is an expression"):
        ls.duplicates(table, ["elements(tags)"], spark=spark)
    with pytest.raises(UnsupportedError, match="is an expression"):
        ls.upsert(keys, table, on=["elements(tags)"], spark=spark)


def test_tables_with_a_name_mapping(spark: SparkSession, table: str) -> None:
    """The elements of imported Iceberg tables are refused, and an older index is not used."""
    ls.create_index(table, "elements(tags)", spark=spark)
    mapping = '[{"field-id": 1, "names": ["n"]}]'
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default'='{mapping}')")
    where = f"SELECT * FROM {table} WHERE array_contains(tags, 't3')"
    assert read_by(spark, where)[:2] == (1, 2)
    with pytest.raises(UnsupportedError, match="cannot be the key of an index"):
        ls.create_index(table, "elements(ids)", spark=spark)


def test_without_spark(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Without Spark, a condition on elements reads every file."""
    folder = f"{tmp_path}/folder"
    spark.table(table).write.parquet(folder)
    ls.create_index(f"parquet:{folder}", "elements(tags)", spark=spark)
    for condition in ("array_contains(tags, 't3')", "exists(tags, x -> x = 't3')"):
        matches = ls.find_files(f"parquet:{folder}", condition)
        assert len(matches.paths) == matches.total
        assert [str(reason.code) for reason in matches.reasons] == ["no-usable-predicate"]
