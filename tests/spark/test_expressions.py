"""Indexes whose keys are expressions: answers, skipped files, sessions, and what is refused."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.spark.drawn_conditions import (
    check_conditions,
    check_files,
    drawn_condition,
    index_some,
)
from tests.spark.drivers import DRIVERS, OpenDriver
from tests.spark.rows.compared import read_by
from tests.spark.settings import NEWEST
from tests.spark.skipping import frame_of

import lakesieve as ls
from lakesieve.errors import InvalidInputError, UnsupportedError
from lakesieve.spark.tables.expressions import described_keys
from lakesieve.tables import Column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_FORMATS = ["iceberg", "delta", "parquet"]
_SCHEMA = (
    "k INT, email STRING, at TIMESTAMP, day DATE, amount INT, real DOUBLE, payload STRING, "
    "money DECIMAL(10, 2), inner STRUCT<City: STRING>"
)
_TEXTS = ("'anna'", "''", "'i̇'", "'ß'", "'zoë'", "'a'", "'ss'", "'日本'")
_DAYS = ("'2020-02-29'", "'1600-01-01'", "'9999-12-31'", "'1970-01-01'")
_VALUES: dict[str, tuple[str, ...]] = {
    "lower(email)": _TEXTS,
    "substr(email, 1, 2)": _TEXTS,
    "lower(inner.city)": _TEXTS,
    "concat(email, coalesce(inner.city, ''))": _TEXTS,
    "get_json_object(payload, '$.user.id')": ("'1'", "'2'", "'x'", "''"),
    "length(email)": ("0", "1", "4", "7"),
    "amount % 100": ("0", "7", "-7", "99"),
    "coalesce(amount, -1)": ("-1", "7", "107", "2147483647"),
    "money + 1": ("1.00", "2.5", "-98765431.10"),
    "real * 2": ("0D", "3D", "double('NaN')", "double('Infinity')", "-0D"),
    "year(day)": ("1970", "2020", "9999"),
    "date_trunc('month', at)": tuple(f"timestamp{day}" for day in _DAYS),
    "(amount > length(email))": ("true", "false"),
}
"""The indexed expressions, and values to compare them with."""
_DRAWN_TEXTS = (
    *(None, "", "Anna", "ANNA", "anna", "İ", "I", "\u0131", "ß", "ẞ", "ss", "Zoë", "ZOË"),
    *("日本", "a b", "\U0001d4b3x"),
)
_PAYLOADS = (
    *(None, "", "{", "[]", '{"user":{"id":1}}', '{"user":{"id":"1"}}', '{"user":{"id":null}}'),
    *('{"user":{"id":"x"}}', '{"user":{"id":1},"user":{"id":2}}', '{"user":2}'),
)
_OLD = [date(1, 1, 1), date(1582, 10, 10), date(1600, 1, 1)] if NEWEST else []


def _row(drawn: random.Random, number: int) -> tuple[Any, ...]:
    days = [None, date(1970, 1, 1), date(2020, 2, 29), date(9999, 12, 31), *_OLD]
    moments = [
        None if day is None else datetime(max(day.year, 2), 1, 15, 3, 4, 5, 678901, tzinfo=UTC)
        for day in days
        if day is None or day.year < 9999
    ]
    city = drawn.choice(_DRAWN_TEXTS)
    return (
        number,
        drawn.choice(_DRAWN_TEXTS),
        drawn.choice(moments),
        drawn.choice(days),
        drawn.choice([None, 0, 7, -7, 107, 99, 2**31 - 1, -(2**31)]),
        drawn.choice([None, 0.0, -0.0, 1.5, float("nan"), float("inf"), -2.0]),
        drawn.choice(_PAYLOADS),
        None if drawn.random() < 0.2 else drawn.choice([0, 1, 1, -98765432]),
        None if drawn.random() < 0.2 else (city,),
    )


def _drawn_rows(spark: SparkSession, drawn: random.Random, first: int) -> DataFrame:
    """Rows whose files have few different values each, so that files can be skipped."""
    rows = []
    for file in range(8):
        some = [_row(drawn, 0) for _ in range(2)]
        rows += [(first + 5 * file + at, *drawn.choice(some)[1:]) for at in range(5)]
    schema = _SCHEMA.replace("DECIMAL(10, 2)", "INT")
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 8), schema)
    return frame.withColumn("money", frame["money"].cast("DECIMAL(10, 2)") + 0).selectExpr(
        *(name.split(" ")[0] for name in _SCHEMA.replace("(10, 2)", "").split(", ")[:7]),
        "CAST(money AS DECIMAL(10, 2)) AS money",
        "inner",
    )


def _leaf(drawn: random.Random, expressions: list[str]) -> str:
    text = drawn.choice(expressions)
    values = [drawn.choice(_VALUES[text]) for _ in range(3)]
    forms = [
        *(f"{text} {op} {values[0]}" for op in ("=", "<=>", "<", "<=", ">", ">=", "<>")),
        f"{values[0]} < {text}",
        f"{text} IN ({', '.join(values)})",
        f"{text} IN ({values[0]}, NULL)",
        f"{text} BETWEEN {values[0]} AND {values[1]}",
        f"{text} IS NULL",
        f"{text} IS NOT NULL",
        f"{text} <=> NULL",
    ]
    if values[0].startswith("'"):
        forms += [f"{text} LIKE '{values[0][1:-1]}%'"] * 3
    if text.startswith("("):
        forms += [text] * 5
    return f"({drawn.choice(forms)})"


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("name", _FORMATS)
def test_drawn_conditions(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Queries have the rows that they have without indexes, whatever is compared and joined."""
    drawn = random.Random(f"expressions {name}")
    driver = DRIVERS[name](spark, tmp_path / "t", f"expressions_{name}")
    indexed = depth("INDEXED", test=4, soak=len(_VALUES))
    rows = partial(_drawn_rows, spark, drawn)
    expressions = index_some(spark, driver, drawn, rows=rows, keys=list(_VALUES), count=indexed)
    count = depth("EXPRESSIONS", test=6, soak=600)
    conditions = [drawn_condition(drawn, partial(_leaf, drawn, expressions)) for _ in range(count)]
    assert check_conditions(spark, driver.relation(), conditions)


_SKIPS = {
    "=": ("upper(text) = 'K25-É'", 1),
    "<=>": ("upper(text) <=> 'K25-É'", 1),
    "in": ("upper(text) IN ('K22-É', 'K25-É')", 2),
    "range": ("upper(text) > 'K24' AND upper(text) < 'K25'", 1),
    "between": ("small * 3 BETWEEN 72 AND 78", 3),
    "prefix": ("upper(text) LIKE 'K25%'", 1),
    "null": ("upper(text) IS NULL", 1),
    "not null": ("upper(text) <=> NULL", 1),
    "or": ("small * 3 = 66 OR upper(text) = 'K25-É'", 2),
    "and": ("small * 3 >= 0 AND upper(text) = 'K25-É'", 1),
    "not": ("NOT (small * 3 <> 75)", 1),
    "other order": ("3 * SMALL = 75", 1),
    "moment": ("date_trunc('hour', moment) = timestamp'2020-01-01 20:00:00'", 1),
    "day": ("year(day) * 100 + month(day) = 202002 AND small * 3 = 105", 1),
    "boolean": ("length(text) < small - 50", 4),
    "column as well": ("upper(text) = 'K25-É' AND small = 25", 1),
}
_SKIPPING = {
    "upper": "upper(text)",
    "three": "small * 3",
    "hour": "date_trunc('hour', moment)",
    "month": "year(day) * 100 + month(day)",
    "boolean": "length(text) < small - 50",
}


@pytest.fixture(scope="module", params=_FORMATS)
def driver(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenDriver]:
    """A table with indexes on expressions, and skipping on."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("expressions") / request.param
    made = DRIVERS[request.param](spark, folder, f"skipped_{request.param}")
    rows = frame_of(spark, ("small", "text", "day", "moment"))
    made.create(rows)
    made.append(rows)
    names = list(_SKIPPING)
    ls.create_indexes(made.name, list(_SKIPPING.values()), spark=spark, names=names)
    ls.enable(spark)
    yield made
    ls.disable(spark)


def test_files_are_skipped(spark: SparkSession, driver: OpenDriver) -> None:
    """Each form of condition on an expression opens only the files of its rows."""
    check_files(spark, driver, _SKIPS)


@pytest.mark.in_time("iceberg", "parquet")
def test_the_report_names_the_expression(spark: SparkSession, driver: OpenDriver) -> None:
    """Reports, explain, show and verify say which expression is looked up."""
    condition = "upper(text) = 'K25-É' AND small * 3 = 75"
    spark.sql(f"SELECT * FROM {driver.relation()} WHERE {condition}").collect()
    (scan,) = ls.last_pruning(spark)
    assert "upper(text) = 'K25-É'" in scan.predicate
    assert "(small * 3) = 75" in scan.predicate
    index = ls.open_index(driver.name, "upper", spark=spark)
    assert len(index.files("upper(text) = 'K25-É'").paths) == 1
    assert "read 1 of 20 data files" in index.explain("upper(text) = 'K25-É'")
    assert index.info().columns == ("upper(text)",)
    assert index.verify_rows(files=None).wrong == ()


@pytest.mark.in_time("iceberg-zone", "iceberg-mode")
@pytest.mark.parametrize(
    ("change", "condition", "told"),
    [
        (
            ("spark.sql.session.timeZone", "Europe/Berlin"),
            "date_trunc('hour', moment) = timestamp'2020-01-01 20:00:00'",
            "time zone America/New_York instead of Europe/Berlin",
        ),
        (("spark.sql.ansi.enabled", None), "small * 3 = 75", "mode"),
    ],
    ids=["zone", "mode"],
)
def test_other_sessions(
    spark: SparkSession,
    driver: OpenDriver,
    change: tuple[str, str | None],
    condition: str,
    told: str,
) -> None:
    """A session with another time zone or ANSI mode does not use the index, and says so."""
    setting, value = change
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, value or {"true": "false", "false": "true"}[before])
    try:
        rows = spark.sql(f"SELECT * FROM {driver.relation()} WHERE {condition}").collect()
        (scan,) = ls.last_pruning(spark)
        index = ls.open_index(driver.name, "three" if value is None else "hour", spark=spark)
        with pytest.raises(UnsupportedError, match="This session cannot compute"):
            index.verify_rows()
    finally:
        spark.conf.set(setting, before)
    assert len(rows) == 1
    assert scan.files_read == scan.files_total == 20
    (differs,) = [reason for reason in scan.reasons if reason.code == "session-differs"]
    assert told in differs.detail


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """An Iceberg table of two files."""
    name = "lake.expressions.t"
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.expressions")
    spark.sql(f"CREATE TABLE {name} (n INT, s STRING) USING iceberg")
    rows = spark.range(0, 20, 1, 2).selectExpr("CAST(id AS INT) AS n", "concat('S', id) AS s")
    rows.writeTo(name).append()
    ls.enable(spark)
    yield name
    ls.disable(spark)
    spark.sql(f"DROP TABLE {name}")


def test_changed_columns(spark: SparkSession, table: str) -> None:
    """A renamed column keeps the index; a widened or dropped one makes it unusable."""
    ls.create_index(table, "n % 10", spark=spark)
    ls.create_index(table, "lower(s)", spark=spark)
    query = f"SELECT n FROM {table} WHERE"
    assert read_by(spark, f"{query} lower(s) = 's3'") == (1, 1, {"index-used"})
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN s TO z")
    assert read_by(spark, f"{query} lower(z) = 's3'") == (1, 1, {"index-used"})
    with pytest.raises(InvalidInputError, match="renamed"):
        ls.open_index(table, "lower_s", spark=spark).verify_rows()
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE BIGINT")
    rows, files, reasons = read_by(spark, f"{query} n % 10 = 3")
    assert (rows, files) == (2, 2)
    assert "type-changed" in reasons
    with pytest.raises(UnsupportedError, match="of type int, read now as long"):
        ls.open_index(table, "n_10", spark=spark).refresh()
    spark.sql(f"ALTER TABLE {table} DROP COLUMN z")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN s STRING")
    rows, files, reasons = read_by(spark, f"{query} lower(s) = 's3'")
    assert (rows, files) == (0, 2)
    assert "type-changed" in reasons
    assert "index-used" not in reasons


def test_younger_columns(spark: SparkSession, table: str) -> None:
    """A file that lacks a column has the expression's value of nulls."""
    spark.sql(f"ALTER TABLE {table} ADD COLUMN extra INT")
    spark.sql(f"INSERT INTO {table} VALUES (99, 'S99', 5)")
    index = ls.create_index(table, "coalesce(extra, -1)", spark=spark)
    where = f"SELECT * FROM {table} WHERE coalesce(extra, -1)"
    assert read_by(spark, f"{where} = -1") == (20, 2, {"index-used"})
    assert read_by(spark, f"{where} = 5") == (1, 1, {"index-used"})
    spark.sql(f"INSERT INTO {table} VALUES (100, 'S100', 7)")
    assert read_by(spark, f"{where} = 7")[:2] == (1, 1)
    assert index.refresh().files == 1
    index.compact()
    assert read_by(spark, f"{where} = 7") == (1, 1, {"index-used"})
    assert index.verify_rows(files=None).wrong == ()


def test_budgets_and_row_blocks(spark: SparkSession, table: str) -> None:
    """Budgets and row blocks work for expressions as for columns."""
    blocks = ls.create_index(table, "n % 10", spark=spark, rows_per_block=2)
    ls.create_index(table, "upper(s)", spark=spark, budget="2 bits")
    matches = blocks.files("n % 10 = 3")
    assert matches.row_ranges == (((2, 4),), ((2, 4),))
    assert read_by(spark, f"SELECT * FROM {table} WHERE n % 10 = 3")[0] == 2
    assert read_by(spark, f"SELECT * FROM {table} WHERE upper(s) = 'S3'")[0] == 1


_ALLOWED = """
lower(s); upper(s); substr(s, 2); left(s, 2); right(s, 2); trim(s); ltrim(s); rtrim(s);
replace(s, 'a', 'b'); translate(s, 'a', 'b'); instr(s, 'a'); locate('a', s); lpad(s, 9, '0');
rpad(s, 9, '0'); repeat(s, 2); concat(s, s); s || 'a'; concat_ws('-', s, s);
substring_index(s, '-', 1); length(s); bit_length(s); octet_length(s); reverse(s); ascii(s);
hex(s); contains(s, 'a'); startswith(s, 'a'); endswith(s, 'a'); get_json_object(s, '$.a'); md5(s);
sha1(s); sha2(s, 256); crc32(s); n + 1; n - 1; n * 2; n / 2; n div 2; n % 10; pmod(n, 10); abs(n);
-n; floor(n / 2); ceil(n / 2); round(CAST(n AS DECIMAL(9, 2)), 1); round(n, -1); greatest(n, 1);
least(n, 1); n & 3; n | 3; n ^ 3; ~n; isnan(CAST(n AS DOUBLE)); date_trunc('day', t);
trunc(d, 'month'); year(d); quarter(d); month(d); weekofyear(d); day(d); dayofweek(d); weekday(d);
dayofyear(d); last_day(d); date_add(d, 1); date_sub(d, 1); datediff(d, DATE'2020-01-01');
add_months(d, 1); make_date(n, 1, 1); hour(t); minute(t); second(t); unix_seconds(t);
unix_millis(t); unix_micros(t); unix_date(d); date_from_unix_date(n); timestamp_seconds(n);
timestamp_millis(n); timestamp_micros(n); CAST(s AS INT); CAST(t AS DATE); n > length(s);
n > 1 AND startswith(s, 'a'); s IS NULL OR NOT (n = 5); coalesce(n, 0); if(n > 1, 'a', s);
CASE WHEN n > 1 THEN s WHEN n < 0 THEN 'b' ELSE 'c' END; nvl(s, '')
"""


def test_allowed_functions(spark: SparkSession) -> None:
    """Every function that docs/expressions.md lists can be used, each as another key."""
    rows = spark.createDataFrame([], "n INT, s STRING, d DATE, t TIMESTAMP")
    kinds = {"n": "integer", "s": "string", "d": "date", "t": "timestamp"}
    columns: dict[tuple[str, ...], Column] = {
        (name,): Column(path=(name,), field_id=at, type=kind, kind=kind)
        for at, (name, kind) in enumerate(kinds.items())
    }
    texts = [text.strip() for text in _ALLOWED.split(";")]
    keys: list[Column] = []
    refused = []
    for text in texts:
        try:
            keys += described_keys(rows, text, columns)
        except UnsupportedError as error:
            refused.append(error.message)
    assert refused == []
    same = [text for text, key in zip(texts, keys, strict=True) if keys.count(key) > 1]
    assert same == []
    trees = {key.expression.tree for key in keys if key.expression is not None}
    # day and dayofmonth, for example, would be one expression
    assert len(trees) == len(texts)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("n + rand()", "rand is not allowed"),
        ("date_diff(current_date(), DATE'2020-01-01') + n", "current_date is not allowed"),
        ("concat(s, current_user())", "current_user is not allowed"),
        ("concat(s, input_file_name())", "input_file_name is not allowed"),
        ("sum(n)", "aggregate"),
        ("explode(array(n))", "generator"),
        ("n + (SELECT 1)", "subquery"),
        ("CAST(n / 3D AS STRING)", "cast from double to string"),
        # '10:30' is a time of the current day
        ("date_trunc('hour', s)", "cast from string to timestamp"),
        ("lower('a')", "without columns"),
        # the direction of an order would be the value's name
        ("lower(s) DESC", "a name for its value"),
        ("date_format(DATE'2020-01-01', s)", "date_format is not allowed"),
    ],
)
def test_refused_expressions(spark: SparkSession, table: str, expression: str, told: str) -> None:
    """An expression whose value depends on more than its row is refused, and the reason named."""
    with pytest.raises(UnsupportedError, match=told):
        ls.create_index(table, expression, spark=spark)


def test_refused_uses(spark: SparkSession, table: str) -> None:
    """What an expression cannot be used for is refused by name."""
    for text in ("lower(nope)", "lower(s"):
        with pytest.raises(InvalidInputError, match="neither a column nor an expression"):
            ls.create_index(table, text, spark=spark)
    index = ls.create_index(table, "lower(s)", spark=spark)
    keys = spark.sql("SELECT 's3' AS `lower(s)`")
    with pytest.raises(UnsupportedError, match="contains takes an index on columns"):
        index.contains(["s3"])
    with pytest.raises(UnsupportedError, match="contains takes an index on columns"):
        index.contains(keys)
    with pytest.raises(UnsupportedError, match="locate takes an index on columns"):
        index.locate(keys)
    with pytest.raises(UnsupportedError, match="is an expression"):
        ls.duplicates(table, ["lower(s)"], spark=spark)
    with pytest.raises(UnsupportedError, match="is an expression"):
        ls.upsert(keys, table, on=["lower(s)"], spark=spark)


def test_without_spark(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Without Spark, a condition on an expression reads every file."""
    folder = f"{tmp_path}/folder"
    spark.table(table).write.parquet(folder)
    ls.create_index(f"parquet:{folder}", "upper(s)", spark=spark)
    matches = ls.find_files(f"parquet:{folder}", "upper(s) = 'S3'")
    assert len(matches.paths) == matches.total
    assert [str(reason.code) for reason in matches.reasons] == ["no-usable-predicate"]
    found = ls.open_index(f"parquet:{folder}", "upper_s").files("upper(s) = 'S3' AND s = 'S3'")
    assert len(found.paths) == found.total
