"""Indexes on fields of JSON texts and of variants: answers, settings, and what is refused."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.spark.drawn_conditions import check_conditions, drawn_condition, index_some
from tests.spark.drivers import DRIVERS
from tests.spark.rows.compared import read_by
from tests.spark.settings import NEWEST

import lakesieve as ls
from lakesieve.errors import UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_TEXTS = ("'1'", "'x'", "''", "'1.5'", "'8.41E21'", "'null'", "'{\"a\":1}'", "'[1]'", "'true'")
_NUMBERS = ("1", "-1", "1.5", "0", "9223372036854775807")
_VALUES: dict[str, tuple[str, ...]] = {
    "get_json_object(payload, '$.user.id')": _TEXTS,
    "from_json(payload, 'user STRUCT<id: STRING>').user.id": _TEXTS,
    "from_json(payload, 'n BIGINT, other INT').n": _NUMBERS,
    "from_json(payload, 'n DOUBLE').n + 1": _NUMBERS,
    "from_json(payload, 'n DECIMAL(20, 3)').n": _NUMBERS,
    "from_json(payload, 'b BOOLEAN').b": ("true", "false"),
}
"""The indexed fields of JSON texts, and values to compare them with."""
_OF_VARIANTS: dict[str, tuple[str, ...]] = {
    "variant_get(v, '$.user.id', 'string')": _TEXTS,
    "try_variant_get(v, '$.n', 'bigint')": _NUMBERS,
    "try_variant_get(v, '$.n', 'decimal(20, 3)')": _NUMBERS,
    "v:user.id::string": _TEXTS,
    "CAST(v AS STRING)": _TEXTS,
    "try_variant_get(v, '$.list[0]', 'double')": _NUMBERS,
}
_PARTS: tuple[Any, ...] = (
    *(1, -1, 1.5, 8.41e21, 2**63 - 1, 2**63, 0, True, False, None, "1", "x", "", "1.5", "NaN"),
    *("true", "null", {"a": 1}, {}, [1], [], "é", "\U0001d4b3", " 1 "),
)
_BROKEN = (
    *("", " ", "{", "[]", "1", "null", '"x"', "{'user': {'id': 'x'}}", '{"n": 01}', '{"n": NaN}'),
    *('{"n": 1}}', '{"n": 1, "n": 2}', '{"user": {"id": 1}, "user": {"id": "x"}}'),
    *('[{"n": 1}]', '{"user": [{"id": 1}]}', '{"user": {"id": 1.50}}', '{"N": 1}'),
)


def _payload(drawn: random.Random) -> str | None:
    """Draw a JSON text, sometimes an invalid one."""
    if drawn.random() < 0.3:
        return drawn.choice((None, *_BROKEN))
    document: dict[str, Any] = {}
    if drawn.random() < 0.8:
        document["user"] = {"id": drawn.choice(_PARTS)} if drawn.random() < 0.9 else 5
    for name in ("n", "b"):
        if drawn.random() < 0.8:
            document[name] = drawn.choice(_PARTS)
    document["list"] = drawn.sample(_PARTS, 2)
    return json.dumps(document, ensure_ascii=drawn.random() < 0.5)


def _rows(spark: SparkSession, drawn: random.Random, first: int) -> DataFrame:
    """Rows of eight files, each with few different texts, so that files can be skipped."""
    rows: list[tuple[int, str | None]] = []
    for file in range(8):
        some = [_payload(drawn) for _ in range(2)]
        rows += [(first + 5 * file + at, drawn.choice(some)) for at in range(5)]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 8), "k INT, payload STRING")


def _check_drawn(
    spark: SparkSession,
    folder: Path,
    name: str,
    values: dict[str, tuple[str, ...]],
    column: str = "payload",
) -> None:
    """Compare drawn conditions on some indexed fields with the answers without an index."""
    drawn = random.Random(f"documents {name} {column}")
    driver = DRIVERS[name](spark, folder / "t", f"documents_{column[:1]}_{name}")

    def rows(first: int) -> DataFrame:
        return _rows(spark, drawn, first).selectExpr("k", column)

    indexed = depth("INDEXED", test=3, soak=len(values))
    keys = index_some(spark, driver, drawn, rows=rows, keys=list(values), count=indexed)

    def leaf() -> str:
        key = drawn.choice(keys)
        one, other = (drawn.choice(values[key]) for _ in range(2))
        compared = drawn.choice(("=", "<=>", "<", ">=", "<>"))
        forms = (f"{compared} {one}", f"IN ({one}, {other}, NULL)", "IS NULL", "IS NOT NULL")
        return f"({key} {drawn.choice(forms)})"

    count = depth("EXPRESSIONS", test=6, soak=300)
    conditions = [drawn_condition(drawn, leaf) for _ in range(count)] + [leaf() for _ in range(6)]
    assert check_conditions(spark, driver.relation(), conditions)


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("name", ["iceberg", "delta", "parquet"])
def test_drawn_json(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Conditions on fields of JSON texts, valid or not, have the rows that they have without."""
    _check_drawn(spark, tmp_path, name, _VALUES)


@pytest.mark.skipif(not NEWEST, reason="formats store variants since Spark 4.1")
@pytest.mark.parametrize("name", ["iceberg", "delta"])
def test_drawn_variants(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """The same for fields of variants."""
    _check_drawn(spark, tmp_path, name, _OF_VARIANTS, "try_parse_json(payload) AS v")


@pytest.mark.parametrize(
    ("setting", "other"),
    [
        ("spark.sql.json.enablePartialResults", "false"),
        ("spark.sql.columnNameOfCorruptRecord", "broken"),
    ],
)
def test_other_json_settings(spark: SparkSession, tmp_path: Path, setting: str, other: str) -> None:
    """A session that reads JSON in another way does not use the index, and says so."""
    folder = f"{tmp_path}/t"
    payloads = spark.range(0, 8, 1, 4).selectExpr("""'{"n": ' || id || '}' AS payload""")
    payloads.write.parquet(folder)
    key = "from_json(payload, 'n INT').n"
    ls.create_index(f"parquet:{folder}", key, spark=spark)
    query = f"SELECT * FROM parquet.`{folder}` WHERE {key} = 3"
    ls.enable(spark)
    before = spark.conf.get(setting)
    try:
        assert read_by(spark, query) == (1, 1, {"index-used"})
        spark.conf.set(setting, other)
        _, files, reasons = read_by(spark, query)
    finally:
        spark.conf.set(setting, str(before))
        ls.disable(spark)
    assert files == 4
    assert "session-differs" in reasons


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("from_json(payload, 'at TIMESTAMP').at", "from_json with the type timestamp"),
        ("from_json(payload, 'n INT', map('mode', 'FAILFAST')).n", "an option of from_json"),
        ("from_json(payload, 'a ARRAY<INT>').a[0]", "is not allowed"),
        ("from_json(payload, 'n INT')", "of type struct"),
    ],
)
def test_refused_json(spark: SparkSession, tmp_path: Path, expression: str, told: str) -> None:
    """The error names why a field cannot be indexed: its type, an option, or a missing field."""
    folder = f"{tmp_path}/t"
    spark.sql("SELECT '{}' AS payload").write.parquet(folder)
    with pytest.raises(UnsupportedError, match=told):
        ls.create_index(f"parquet:{folder}", expression, spark=spark)


@pytest.mark.skipif(not NEWEST, reason="formats store variants since Spark 4.1")
@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("v", "type variant"),
        ("variant_get(v, '$.at', 'timestamp')", "a variant as timestamp"),
        ("v:at::timestamp", "a variant as timestamp"),
        ("variant_get(v, '$.user')", "of type variant"),
        ("CAST(CAST(payload AS VARIANT) AS STRING)", "cast to variant"),
    ],
)
def test_refused_variants(spark: SparkSession, expression: str, told: str) -> None:
    """Neither a whole variant nor a timestamp of a variant can be indexed."""
    name = "lake.documents.refused"
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.documents")
    spark.sql(
        f"CREATE OR REPLACE TABLE {name} (payload STRING, v VARIANT) USING iceberg "
        "TBLPROPERTIES ('format-version'='3')"
    )
    with pytest.raises(UnsupportedError, match=told):
        ls.create_index(name, expression, spark=spark)
