"""Every type that can be indexed works from its rows to the files of a query."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lakesieve as ls
from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.build import segments
from lakesieve.spark.build.file_hashes import FileHashes
from lakesieve.tables import Column

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

FILES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A type, the keys of row ``id``, and a condition that needs one file."""

    kind: str
    key: str
    condition: str
    column: str = "k"


KEY = "(id * 31) % 800"
CASES = (
    Case(kind="boolean", key="id BETWEEN 110 AND 120", condition="k"),
    Case(kind="float", key=f"CAST({KEY} / 10 AS FLOAT)", condition="k = CAST('12.5' AS FLOAT)"),
    Case(kind="double", key=f"IF(id = 5, double('NaN'), {KEY} / 10D)", condition="k > 1e300"),
    Case(kind="decimal(38, 10)", key=f"CAST({KEY} / 8 AS DECIMAL(38,10))", condition="k = 12.125"),
    Case(kind="binary", key=f"CAST(concat('k', {KEY}) AS BINARY)", condition="k = X'6B3130'"),
    Case(kind="fixed[4]", key=f"CAST(lpad({KEY}, 4, '0') AS BINARY)", condition="k = X'30313233'"),
    # compared as the text that Spark reads
    Case(
        kind="uuid",
        key=f"concat('00000000-0000-4000-8000-', lpad(lower(hex({KEY})), 12, '0'))",
        condition="k = '00000000-0000-4000-8000-00000000007b'",
    ),
    Case(
        kind="double",
        key=f"named_struct('a', named_struct('b', {KEY} / 8D))",
        condition="k.a.b = 12.125",
        column="k.a.b",
    ),
)
PROPERTIES = (
    "TBLPROPERTIES ('write.distribution-mode'='none', 'write.metadata.metrics.default'='none')"
)


def _files(spark: SparkSession, table: str, condition: str) -> set[str]:
    rows = spark.sql(f"SELECT DISTINCT _file FROM {table} WHERE {condition}").collect()
    return {row[0] for row in rows}


def _add_column(spark: SparkSession, table: str, case: Case) -> None:
    """Add the key column by Iceberg's own names of types, some of which SQL does not have."""
    kind: Any = case.kind
    for at, name in enumerate(reversed(case.column.split("."))):
        field = {"id": 9 - at, "name": name, "required": False, "type": kind}
        kind = {"type": "struct", "fields": [field]}
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    added = iceberg.SchemaParser.fromJson(json.dumps(kind)).findType("k")
    loaded = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    loaded.updateSchema().addColumn("k", added).commit()
    spark.sql(f"REFRESH TABLE {table}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}-{case.column}")
def test_types(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]], case: Case
) -> None:
    """An index of any type finds the files of a predicate, as text and within queries."""
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING iceberg {PROPERTIES}")
    _add_column(spark, table, case)
    rows = spark.range(0, 800, 1, FILES).selectExpr("id", f"{case.key} AS k")
    rows.writeTo(table).append()
    index = ls.create_index(table, [case.column], spark=spark)

    assert both(f"SELECT * FROM {table} WHERE {case.condition}") == (FILES, 1)
    ls.disable(spark)
    assert set(index.files(case.condition).paths) == _files(spark, table, case.condition)
    assert index.info().types == (case.kind,)


# test_build promotes a column of one type
@pytest.mark.soak
def test_promotion_of_every_type(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """After int, float and decimal columns grew, the old index still skips old files."""
    spark.sql(f"CREATE TABLE {table} (i INT, f FLOAT, m DECIMAL(9,2)) USING iceberg {PROPERTIES}")
    rows = spark.range(0, 800, 1, FILES).selectExpr(
        "CAST((id * 31) % 800 AS INT) AS i",
        "CAST((id * 31) % 800 / 10 AS FLOAT) AS f",
        "CAST((id * 31) % 800 / 4 AS DECIMAL(9,2)) AS m",
    )
    rows.writeTo(table).append()
    ls.create_indexes(table, [["i"], ["f"], ["m"]], spark=spark)
    for column, kind in (("i", "BIGINT"), ("f", "DOUBLE"), ("m", "DECIMAL(38,2)")):
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {kind}")
    big = "999999999999999999999999999999999999.99"
    grown = f"VALUES (3000000000, 0.1D, {big}), (5, double('NaN'), -{big})"
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM {grown}")

    for condition, most in (
        ("i = 123", 2),
        ("i = 3000000000", 1),
        # what was a float of 12.3 is no double of 12.3
        ("f = 12.3D", 2),
        ("f = CAST(12.3 AS FLOAT)", 2),
        ("f = 0.1D", 2),
        ("f > 79.89", 2),
        ("f < 0", 1),
        ("m = 12.25", 2),
        (f"m = {big}", 1),
        (f"m < -{big[1:]}", 1),
        ("m BETWEEN 12.25 AND 12.25", 2),
        ("NOT (m <= 199.5)", 2),
    ):
        total, read = both(f"SELECT * FROM {table} WHERE {condition}")
        assert read <= most, condition
        assert total == FILES + 1
    ls.disable(spark)
    # an index of the grown columns is one type throughout
    for column in ("f", "m"):
        ls.create_index(table, [column], spark=spark, name=f"{column}2").info()
    for condition in ("m = 12.25", f"m = {big}", "f = 12.5", "f = double('NaN')"):
        named = ls.open_index(table, f"{condition[0]}2", spark=spark)
        assert set(named.files(condition).paths) == _files(spark, table, condition)


def test_types_that_cannot_be_indexed(spark: SparkSession, table: str) -> None:
    """Types without an order are refused, with the types that can be indexed."""
    spark.sql(
        f"CREATE TABLE {table} (a ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>, st STRUCT<k: INT>, "
        "v VARIANT) USING iceberg TBLPROPERTIES ('format-version'='3')"
    )
    for column, kind in {
        "a": "list",
        "a.element.x": "list",
        "m": "map",
        "m.value": "map",
        "st": "struct",
        "v": "variant",
    }.items():
        with pytest.raises(UnsupportedError, match=kind) as caught:
            ls.create_index(table, [column], spark=spark)
        assert caught.value.kind is ErrorKind.UNSUPPORTED_TYPE
        assert "UUIDs and bytes" in str(caught.value.hint)
    assert ls.list_indexes(table, spark=spark) == []


def test_strings_of_another_collation_cannot_be_indexed(spark: SparkSession) -> None:
    """Strings that do not compare by their bytes are refused before they are read."""
    number = Column(path=("n",), field_id=1, type="int", kind="integer")
    column = Column(path=("k",), field_id=2, type="string", kind="string")
    rows = spark.sql("SELECT 1 AS key_0, 'a' COLLATE UNICODE_CI AS key_1, 'f' AS file")
    files = pa.chunked_array([["f"]])

    with pytest.raises(UnsupportedError, match="UNICODE_CI"):
        segments.hashed_rows(rows, [number, column], FileHashes.of(spark, [files]))


def test_collated_comparisons_read_every_file(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """A comparison under another collation reads every file."""
    spark.sql(f"CREATE TABLE {table} (k STRING) USING iceberg {PROPERTIES}")
    spark.range(0, 80, 1, 4).selectExpr("concat('K', id) AS k").writeTo(table).append()
    ls.create_index(table, ["k"], spark=spark)

    for condition in ("k = 'k5' COLLATE UTF8_LCASE", "startswith(k COLLATE UTF8_LCASE, 'k5')"):
        assert both(f"SELECT * FROM {table} WHERE {condition}") == (4, 4)
    assert both(f"SELECT * FROM {table} WHERE k = 'K5'") == (4, 1)


def test_casts_that_keep_the_order_are_seen_through(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """A float compared as double and an int as bigint are looked up, but not a bigint as double."""
    spark.sql(
        f"CREATE TABLE {table} (f FLOAT, i INT, l BIGINT, m DECIMAL(9,2)) USING iceberg "
        f"{PROPERTIES}"
    )
    rows = spark.range(0, 800, 1, FILES).selectExpr(
        f"CAST({KEY} / 10 AS FLOAT) AS f",
        f"CAST({KEY} AS INT) AS i",
        f"{KEY} + 9007199254740992 AS l",
        f"CAST({KEY} / 4 AS DECIMAL(9,2)) AS m",
    )
    rows.writeTo(table).append()
    ls.create_indexes(table, [["f"], ["i"], ["l"], ["m"]], spark=spark)
    rule = "org.apache.spark.sql.catalyst.optimizer.UnwrapCastInBinaryComparison"
    spark.conf.set("spark.sql.optimizer.excludedRules", rule)
    try:
        for condition, most in (
            ("f = 12.5D", 1),
            ("f IN (12.5D, double('NaN'))", 2),
            ("f > 79.9D OR CAST(f AS DOUBLE) IS NULL", 2),
            ("f = 12.3D", 2),
            ("i = 123L", 1),
            ("i BETWEEN 123L AND 124L", 2),
            ("l = 9007199254740993D", FILES),
            ("m = 12.25D", FILES),
            ("i = 12.5", FILES),
        ):
            total, read = both(f"SELECT * FROM {table} WHERE {condition}")
            assert total == FILES
            assert read <= most if most < FILES else read == FILES, condition
    finally:
        spark.conf.unset("spark.sql.optimizer.excludedRules")
