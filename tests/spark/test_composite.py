"""Indexes on several columns serve queries across schema changes and versions."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.kit.reports import internal_errors

import lakesieve as ls
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index import ReasonCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

FILES = 16
ROWS = 4_000
NAME = "lake.composite.events"
# nulls, NUL bytes, NaN and both zeros, in columns that do not follow the order of files
COLUMNS = {
    "tenant": "IF(id % 41 = 0, NULL, CAST((id * 7919) % 23 - 5 AS INT))",
    "s": "CASE WHEN id % 37 = 0 THEN NULL WHEN id % 31 = 0 THEN '' "
    "WHEN id % 29 = 0 THEN concat('a', CHR(0), id % 7) WHEN id % 23 = 0 THEN concat('a', CHR(0)) "
    "ELSE concat('a', (id * 31) % 47) END",
    "x": "CASE WHEN id % 43 = 0 THEN NULL WHEN id % 19 = 0 THEN CAST('NaN' AS FLOAT) "
    "WHEN id % 17 = 0 THEN CAST('-0.0' AS FLOAT) WHEN id % 13 = 0 THEN CAST(0 AS FLOAT) "
    "ELSE CAST((id * 13) % 101 / 4 AS FLOAT) END",
    "m": "IF(id % 47 = 0, NULL, CAST((id * 17) % 301 / 4 AS DECIMAL(12,2)))",
    "t": "IF(id % 53 = 0, NULL, timestamp_micros(id * 1000003))",
    "d": "IF(id % 59 = 0, NULL, date_add(DATE'1969-12-20', CAST(id % 40 AS INT)))",
}
INDEXED = (
    ["tenant", "t"],
    ["tenant", "s", "x"],
    ["s", "m", "tenant"],
    ["d", "x", "m", "s", "tenant"],
)


@pytest.fixture(scope="module")
def versions(spark: SparkSession) -> Iterator[list[str]]:
    """FROM clauses of one table: before and after a column grew, was renamed, was dropped."""
    ls.disable(spark)
    spark.sql(f"DROP TABLE IF EXISTS {NAME} PURGE")
    typed = ", ".join(f"{expression} AS {c}" for c, expression in COLUMNS.items())
    spark.sql(
        f"CREATE TABLE {NAME} USING iceberg TBLPROPERTIES ('write.distribution-mode'='none', "
        "'write.metadata.metrics.default'='none') "
        f"AS SELECT id, {typed} FROM range(0)"
    )
    rows = spark.range(0, ROWS, 1, FILES).selectExpr(
        "id", *(f"{expression} AS {c}" for c, expression in COLUMNS.items())
    )
    rows.writeTo(NAME).append()
    made = ls.create_indexes(NAME, INDEXED, spark=spark)
    assert [index.name for index in made] == ["_".join(columns) for columns in INDEXED]
    old = f"{NAME} VERSION AS OF {_head(spark)}"
    spark.sql(f"ALTER TABLE {NAME} ALTER COLUMN tenant TYPE BIGINT")
    spark.sql(f"ALTER TABLE {NAME} ALTER COLUMN x TYPE DOUBLE")
    spark.sql(f"ALTER TABLE {NAME} ALTER COLUMN m TYPE DECIMAL(30,2)")
    spark.sql(
        f"INSERT INTO {NAME} SELECT id + 10000, tenant, s, x, m, t, d FROM {old} WHERE id < 99"
    )
    yield [NAME, old]
    spark.sql(f"DROP TABLE {NAME} PURGE")


def _head(spark: SparkSession) -> int:
    history = spark.sql(f"SELECT snapshot_id FROM {NAME}.snapshots ORDER BY committed_at DESC")
    return int(history.head(1)[0][0])


Values = dict[str, str]


@pytest.fixture(scope="module")
def values(spark: SparkSession, versions: list[str]) -> list[Values]:
    """Some rows, the value of each column as SQL text."""
    texts = {
        "tenant": "CAST(tenant AS STRING)",
        "s": "concat('CAST(X\\'', hex(s), '\\' AS STRING)')",
        "x": "concat('double(\\'', x, '\\')')",
        "m": "concat('CAST(', m, ' AS DECIMAL(12,2))')",
        "t": "concat('timestamp_micros(', unix_micros(t), ')')",
        "d": "concat('DATE\\'', d, '\\'')",
    }
    written = ", ".join(f"coalesce({text}, 'NULL') AS {c}" for c, text in texts.items())
    rows = spark.sql(f"SELECT {written} FROM {versions[1]} WHERE id % 67 = 5 ORDER BY id")
    return [row.asDict() for row in rows.collect()]


def _leaf(random_: random.Random, row: Values, other: Values) -> str:
    column = random_.choice(("tenant", "tenant", *COLUMNS))
    value, another = row[column], other[column]
    listed = sorted({value, another} - {"NULL"})
    return random_.choice(
        (
            f"{column} <=> {value}",
            f"{column} <=> {value}",
            f"{column} IN ({', '.join(listed)})" if listed else f"{column} IS NULL",
            f"{column} BETWEEN {value} AND {another}",
            f"{column} {random_.choice(('<', '<=', '>', '>='))} {value}",
            f"{column} IS {random_.choice(('', 'NOT '))}NULL",
            "s LIKE 'a1%'" if column == "s" else f"NOT ({column} > {value})",
        )
    )


def _predicate(random_: random.Random, values: list[Values], nested: int = 1) -> str:
    kind, row = random_.random(), random_.choice(values)
    if nested and kind < 0.5:
        predicates = [
            _predicate(random_, values, nested - 1) for _ in range(random_.choice((2, 3)))
        ]
        joined = random_.choice((" AND ", " OR ")).join(f"({text})" for text in predicates)
        return f"NOT ({joined})" if random_.random() < 0.1 else joined
    if kind < 0.8:
        # all columns but the last few of an index, as one row has them
        columns = random_.choice(INDEXED)
        leading = columns[: random_.randint(2, len(columns))]
        return " AND ".join(f"{column} <=> {row[column]}" for column in leading)
    return " AND ".join(_leaf(random_, row, random_.choice(values)) for _ in range(2))


def test_same_answers_with_and_without_skipping(
    spark: SparkSession, versions: list[str], values: list[Values]
) -> None:
    """Generated predicates over several columns give the same rows, and many of them skip files."""
    random_ = random.Random(20)
    total = read = 0
    for _ in range(depth("STATEMENTS", test=2, soak=40)):
        query = " UNION ALL ".join(
            f"SELECT {number} AS q, count(*) AS n, sum(id) AS ids FROM "
            f"{random_.choice(versions)} WHERE {_predicate(random_, values)}"
            for number in range(12)
        )
        ls.disable(spark)
        expected = sorted(spark.sql(query).collect())
        ls.enable(spark)
        actual = sorted(spark.sql(query).collect())
        pruned = ls.last_pruning(spark)

        assert actual == expected, query
        assert internal_errors(pruned) == []
        total += sum(p.files_total for p in pruned)
        read += sum(p.files_read for p in pruned)
    ls.disable(spark)

    assert read < 0.7 * total


@pytest.mark.parametrize(
    "condition",
    [
        "tenant = 3 AND t BETWEEN timestamp_micros(500001500) AND timestamp_micros(800000000)",
        "tenant = 3 AND s = 'a7' AND x = 6.5D",
        "tenant IS NULL AND t > timestamp_micros(3990000000)",
        "s = concat('a', CHR(0)) AND m = 12.25",
        "(tenant = 3 AND s = 'a7') OR (tenant = 4 AND s = 'a8')",
        "tenant IN (1, 2) AND s IS NULL",
        "d = DATE'1970-01-01' AND x = double('NaN')",
        "d = DATE'1970-01-01' AND x = 0.0D",
    ],
)
def test_files_are_those_of_the_rows(
    spark: SparkSession, versions: list[str], condition: str
) -> None:
    """Only files with a match are read, and for a range possibly the file before it."""
    ls.disable(spark)
    rows = spark.sql(f"SELECT DISTINCT _file FROM {versions[1]} WHERE {condition}").collect()
    ls.enable(spark)
    spark.sql(f"SELECT count(*) FROM {versions[1]} WHERE {condition}").collect()
    (pruned,) = ls.last_pruning(spark)
    ls.disable(spark)

    assert len(rows) <= pruned.files_read <= len(rows) + 2 < FILES == pruned.files_total


# columns are known by their ids in test_build, whatever their number
@pytest.mark.soak
def test_schema_changes(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """A rename keeps the index; after a drop, the columns before the dropped one are used."""
    spark.sql(
        f"CREATE TABLE {table} (a INT, b STRING, c BIGINT) USING iceberg TBLPROPERTIES "
        "('write.distribution-mode'='none', 'write.metadata.metrics.default'='none')"
    )
    rows = spark.range(0, 800, 1, 8).selectExpr(
        "CAST(id % 5 AS INT) AS a", "concat('k', (id * 31) % 800) AS b", "id DIV 100 AS c"
    )
    rows.writeTo(table).append()
    ls.create_index(table, ["a", "b"], spark=spark)
    ls.create_index(table, ["c", "b"], spark=spark)
    before = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").head(1)[0][0]

    assert both(f"SELECT * FROM {table} WHERE a = 4 AND b = 'k124'") == (8, 1)
    assert both(f"SELECT * FROM {table} WHERE c = 4") == (8, 1)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN b TO text")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN a TYPE BIGINT")
    assert both(f"SELECT * FROM {table} WHERE a = 4 AND text = 'k124'") == (8, 1)
    spark.sql(f"ALTER TABLE {table} DROP COLUMN text")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN b STRING")
    assert both(f"SELECT * FROM {table} WHERE c = 4") == (8, 1)
    assert both(f"SELECT * FROM {table} WHERE c = 4 AND b IS NULL") == (8, 1)
    assert both(f"SELECT * FROM {table} WHERE a = 4 AND b IS NULL") == (8, 8)
    old = f"{table} VERSION AS OF {before}"
    assert both(f"SELECT * FROM {old} WHERE a = 4 AND b = 'k124'") == (8, 1)
    spark.sql(f"ALTER TABLE {table} DROP COLUMN c")
    both(f"SELECT * FROM {table} WHERE b IS NULL")
    (pruned,) = ls.last_pruning(spark)
    assert [reason.code for reason in pruned.reasons] == [ReasonCode.NO_USABLE_PREDICATE]


def test_columns_that_make_no_key(spark: SparkSession, table: str) -> None:
    """No columns, too many, and one named twice are refused before any work."""
    spark.sql(f"CREATE TABLE {table} (a INT, b INT) USING iceberg")
    for columns in ([], ["a"] * 9, ["a", "b", "A"]):
        with pytest.raises(InvalidInputError) as caught:
            ls.create_index(table, columns, spark=spark)
        assert caught.value.kind is ErrorKind.INVALID_ARGUMENT
    assert ls.list_indexes(table, spark=spark) == []


def test_an_index_tells_all_its_columns(spark: SparkSession, versions: list[str]) -> None:
    """Names and types of all key columns are shown, and rows of only nulls have a key."""
    info = ls.open_index(versions[0], "d_x_m_s_tenant", spark=spark).info()

    assert info.columns == ("d", "x", "m", "s", "tenant")
    assert info.types == ("date", "float", "decimal(12, 2)", "string", "int")
    assert info.rows == ROWS
