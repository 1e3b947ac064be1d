"""Indexes on the entries of maps: answers, skipped files, upkeep, and what is refused."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.depth import depth
from tests.spark.drawn_conditions import check_conditions, check_files, drawn_condition
from tests.spark.drivers import DRIVERS, OpenDriver
from tests.spark.rows.compared import read_by

import lakesieve as ls
from lakesieve.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_FORMATS = ["iceberg", "delta", "parquet"]
_TEXTS = ("'a'", "'A'", "''", "'ß'", "'İ'", "'日本'", "'\U0001d4b3x'", "'a b'", "'a\\0b'", "'no'")
_LONGS = ("0L", "1L", "-1L", "7L", "9223372036854775807L")
_DOUBLES = ("0D", "1.5D", "double('NaN')", "double('-Infinity')", "7D")
_DAYS = ("DATE'1970-01-01'", "DATE'2020-02-29'", "DATE'9999-12-31'")
_TIMES = tuple(f"CAST({value} AS TIMESTAMP)" for value in _DAYS)
_CENTS = ("0.00BD", "1.50BD", "-7.25BD")
_WIDE = ("0.00BD", "123456789012345678901234567890.12BD", "-1.00BD")
_BYTES = ("X''", "X'00'", "X'FF'", "X'0000'", "X'6161'")
_MAPS: dict[str, tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]] = {
    "texts": (("STRING", _TEXTS), ("STRING", _TEXTS)),
    "n": (("INT", ("0", "1", "-1", "7")), ("BIGINT", _LONGS)),
    "real": (("DOUBLE", _DOUBLES), ("DOUBLE", (*_DOUBLES, "-0D"))),
    "single": (("STRING", _TEXTS), ("FLOAT", tuple(f"CAST({v} AS FLOAT)" for v in _DOUBLES))),
    "day": (("DATE", _DAYS), ("TIMESTAMP", _TIMES)),
    "money": (("DECIMAL(10, 2)", _CENTS), ("DECIMAL(38, 2)", _WIDE)),
    "wide": (("DECIMAL(38, 2)", _WIDE), ("DECIMAL(10, 2)", _CENTS)),
    "data": (("BINARY", _BYTES), ("BINARY", _BYTES)),
    "flag": (("BOOLEAN", ("true", "false")), ("BOOLEAN", ("true", "false"))),
    "inner.texts": (("STRING", _TEXTS), ("INT", ("0", "1", "-1", "7"))),
}
"""The maps of the drawn tables: type and values of the keys, and of the values."""


def _map_sql(drawn: random.Random, name: str) -> str:
    """A map as SQL: often null, empty, and with null values."""
    (key, keys), (kind, values) = _MAPS[name]
    length = drawn.choice([-1, 0, 1, 1, 2, 3])
    chosen = drawn.sample(keys, min(length, len(keys))) if length > 0 else []
    entries = [drawn.choice([*values, "NULL"]) for _ in chosen]
    if length < 0:
        return f"CAST(NULL AS MAP<{key}, {kind}>)"
    lists = f"CAST(array({', '.join(chosen)}) AS ARRAY<{key}>)"
    return f"map_from_arrays({lists}, CAST(array({', '.join(entries)}) AS ARRAY<{kind}>))"


def _drawn_rows(
    spark: SparkSession, drawn: random.Random, names: Sequence[str], first: int
) -> DataFrame:
    """Rows for several files. Each file has few different maps, so queries can skip files."""
    plain = [name for name in names if "." not in name]
    rows = []
    for number in range(first, first + 18):
        maps = [_map_sql(drawn, name) for name in plain]
        inner = f"named_struct('texts', {_map_sql(drawn, 'inner.texts')})"
        inner = drawn.choice([inner, inner, f"if(true, NULL, {inner})"])
        rows.append(f"({', '.join([str(number), *maps, inner])})")
    columns = ", ".join(["k", *plain, "inner"])
    rows_sql = f"SELECT * FROM VALUES {', '.join(rows)} AS t({columns})"
    return spark.sql(rows_sql).repartitionByRange(6, "k")


def _leaf(drawn: random.Random, names: Sequence[str]) -> str:
    name = drawn.choice(names)
    (key_type, keys), (kind, values) = _MAPS[name]
    key, other = (drawn.choice(keys) for _ in range(2))
    if key_type.startswith("DECIMAL"):
        # Spark converts no decimals here
        key, other = (f"CAST({text} AS {key_type})" for text in (key, other))
    a, b, c = (drawn.choice(values) for _ in range(3))
    value = drawn.choice([f"{name}[{key}]", f"element_at({name}, {key})"])
    value = drawn.choice([value, value, f"try_element_at({name}, {key})"])
    wider = {"n": "element_at(n, 7L)", "real": "real[-0D]"}.get(name, value)
    forms = [
        *(f"{value} {operator} {a}" for operator in ("=", "<=>", "<>", "<", ">=")),
        f"{a} = {value}",
        f"{wider} = {a}",
        f"{value} = CAST({a} AS {kind})",
        f"{value} IN ({a}, {b}, {c})",
        f"{value} NOT IN ({a}, {b})",
        f"{value} BETWEEN {a} AND {b}",
        f"{value} >= {a} AND {name}[{key}] < {b}",
        f"{value} = {a} AND {name}[{other}] = {b}",
        f"{value} = {a} OR {name}[{other}] <=> {b}",
        f"{value} IS NOT NULL",
        f"{value} IS NULL",
        f"{value} <=> NULL",
        f"{value} = {name}[{other}]",
        f"map_contains_key({name}, {key})",
        f"map_contains_key({name}, {key}) AND {value} IS NULL",
        f"array_contains(map_keys({name}), {key})",
        f"exists(map_keys({name}), x -> x = {key} OR x > {other})",
        f"exists(map_keys({name}), x -> x IS NOT NULL)",
        f"array_contains(map_values({name}), {a})",
        f"size({name}) = 1",
        f"{name} IS NULL",
    ]
    if kind == "STRING":
        forms += [
            f"{value} LIKE '{a[1:-1]}%'",
            f"startswith({value}, {a})",
            f"lower({value}) = 'a'",
        ]
    if kind == "BOOLEAN":
        forms += [value, f"NOT {value}"]
    return f"({drawn.choice(forms)})"


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("name", _FORMATS)
def test_drawn_conditions(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Queries have the rows that they have without indexes, whatever they ask of maps."""
    drawn = random.Random(f"entries {name} 1")
    driver = DRIVERS[name](spark, tmp_path / "t", f"entries_{name}")
    names = drawn.sample(list(_MAPS), depth("INDEXED", test=3, soak=len(_MAPS)))
    driver.create(_drawn_rows(spark, drawn, names, 0))
    driver.append(_drawn_rows(spark, drawn, names, 100))
    keys = [f"entries({column})" for column in names]
    blocks = drawn.choice([None, 2])
    built = ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=blocks)
    assert [index.verify_rows(files=None).wrong for index in built] == [()] * len(built)
    # without a refresh: some files are not covered
    driver.append(_drawn_rows(spark, drawn, names, 200))
    count = depth("ENTRIES", test=8, soak=600)
    conditions = [drawn_condition(drawn, lambda: _leaf(drawn, names)) for _ in range(count)]
    conditions += [_leaf(drawn, names) for _ in range(count)]
    assert check_conditions(spark, driver.relation(), conditions)


def _foreign_rows(drawn: random.Random, first: int, texts: Sequence[str]) -> pa.Table:
    """Rows that Spark would not write: maps with a key twice, and with -0.0 as a key."""
    numbers = (0.0, -0.0, 1.0, float("nan"))
    longs = [
        [(drawn.choice(texts), drawn.choice([1, 5, 9, None])) for _ in range(drawn.randrange(4))]
        for _ in range(4)
    ]
    doubles = [
        [(drawn.choice(numbers), drawn.choice([1, 5, 9, None])) for _ in range(drawn.randrange(4))]
        for _ in range(4)
    ]
    return pa.table(
        {
            "k": pa.array(range(first, first + 4), pa.int32()),
            "m": pa.array(longs, pa.map_(pa.string(), pa.int64())),
            "d": pa.array(doubles, pa.map_(pa.float64(), pa.int64())),
        }
    )


def test_keys_that_a_map_has_twice(spark: SparkSession, tmp_path: Path) -> None:
    """Whichever entry of a key Spark takes, its file is read."""
    drawn = random.Random("twice")
    folder = tmp_path / "twice"
    folder.mkdir()
    for number in range(12):
        texts = drawn.sample(["a", "b", "c", "d"], 2)
        pq.write_table(_foreign_rows(drawn, 4 * number, texts), folder / f"{number}.parquet")
    ls.create_indexes(f"parquet:{folder}", ["entries(m)", "entries(d)"], spark=spark)
    keys = {"m": ("'a'", "'b'", "'c'"), "d": ("0D", "-0D", "1D", "double('NaN')")}

    def leaf() -> str:
        name = drawn.choice(["m", "d"])
        one, other = (f"{name}[{drawn.choice(keys[name])}]" for _ in range(2))
        at = f"element_at({name}, {drawn.choice(keys[name])})"
        return drawn.choice(
            [
                f"({one} = 5)",
                f"({one} >= 5 AND {one} < 9)",
                f"({one} = 5 AND {other} = 9)",
                f"({one} > 1 AND {at} < 9)",
                f"({one} <> 5)",
                f"({at} = 9)",
                f"map_contains_key({name}, {drawn.choice(keys[name])})",
            ]
        )

    count = depth("ENTRIES", test=10, soak=600)
    conditions = [drawn_condition(drawn, leaf) for _ in range(count)] + [
        leaf() for _ in range(count)
    ]
    assert check_conditions(spark, f"parquet.`{folder}`", conditions)


_SKIPS = {
    "value": ("tags['a'] = 't5'", 1),
    "other order": ("'t5' = tags['a']", 1),
    "element_at": ("element_at(tags, 'a') = 't5'", 1),
    "try_element_at": ("try_element_at(tags, 'a') <=> 't5'", 1),
    "with a dot": ("tags.a = 't5'", 1),
    "value of another key": ("tags['b'] = 't5'", 0),
    "in": ("tags['a'] IN ('t5', 't12')", 2),
    "above": ("NOT tags['a'] <= 't7'", 1),
    "prefix": ("tags['a'] LIKE 't5%'", 1),
    "range": ("n[1] BETWEEN 30 AND 31", 1),
    "range from two conditions": ("n[1] > 29 AND element_at(n, 1) < 31", 1),
    "wider key": ("element_at(n, 1L) = 24", 1),
    "wider value": ("n[1] = 24L", 1),
    "or": ("tags['a'] = 't5' OR n[1] = 24", 2),
    "two keys": ("tags['a'] = 't5' AND tags['b'] = 'u5'", 1),
    "two keys of two files": ("tags['a'] = 't5' AND tags['b'] = 'u12'", 0),
    "not null": ("n[77] IS NOT NULL", 1),
    "key": ("map_contains_key(n, 77)", 1),
    "key, spelled out": ("exists(map_keys(n), x -> x > 76)", 1),
    "key of a null": ("map_contains_key(tags, 'only 8')", 1),
    "field of a struct": ("inner.d['x'] = 10", 1),
    "not a number": ("inner.d['x'] = double('NaN')", 1),
    "column as well": ("tags['a'] = 't5' AND id = 5", 1),
    "absent": ("tags['a'] = 'nothing'", 0),
    "absent key": ("tags['nothing'] = 't5'", 0),
}
_FILES = 8


@pytest.fixture(scope="module", params=_FORMATS)
def driver(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenDriver]:
    """A table of eight files with indexes on the entries of maps, and skipping on."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("entries") / request.param
    made = DRIVERS[request.param](spark, folder, f"entries_skipped_{request.param}")
    rows = spark.range(0, 32, 1, _FILES).selectExpr(
        "CAST(id AS INT) AS id",
        "if(id % 5 = 4, NULL, map('a', concat('t', id), 'b', concat('u', id), "
        "concat('only ', id), NULL)) AS tags",
        "if(id = 20, map(77, 1), map(1, CAST(id AS INT))) AS n",
        "named_struct('d', map('x', if(id = 3, double('NaN'), double(id)))) AS inner",
    )
    made.create(rows)
    made.append(rows)
    keys = ["entries(tags)", "entries(n)", "Entries( inner.D )"]
    ls.create_indexes(made.name, keys, spark=spark, names=["tags", "n", "d"], rows_per_block=2)
    ls.enable(spark)
    yield made
    ls.disable(spark)


def test_files_are_skipped(spark: SparkSession, driver: OpenDriver) -> None:
    """Each form of condition on the entries opens only the files of its rows."""
    check_files(spark, driver, _SKIPS)


@pytest.mark.in_time("iceberg")
def test_conditions_that_no_entry_answers(spark: SparkSession, driver: OpenDriver) -> None:
    """A null, a value of any key, another function and another column read every file."""
    for text in (
        "tags['a'] IS NULL",
        "tags['a'] = 't5' OR tags['b'] IS NULL",
        "NOT map_contains_key(n, 77)",
        "array_contains(map_values(tags), 't5')",
        "lower(tags['a']) = 't5'",
        "n[1] = id",
        "n[id] = 5",
        "tags['a'] = tags['b']",
        "size(n) = 1",
    ):
        spark.sql(f"SELECT * FROM {driver.relation()} WHERE {text}").collect()
        (scan,) = ls.last_pruning(spark)
        assert scan.files_read == _FILES, text
        codes = {str(reason.code) for reason in scan.reasons}
        assert codes <= {"no-usable-predicate", "not-selective"}, text


@pytest.mark.in_time("parquet")
def test_the_report_names_the_entries(spark: SparkSession, driver: OpenDriver) -> None:
    """Reports, explain, show and verify say which entries are looked up; blocks are exact."""
    text = "tags['a'] = 't5' AND n[1] BETWEEN 5 AND 6 AND map_contains_key(n, 1)"
    spark.sql(f"SELECT * FROM {driver.relation()} WHERE {text}").collect()
    (scan,) = ls.last_pruning(spark)
    for part in ("tags['a'] = 't5'", "n[1] BETWEEN 5 AND 6", "exists(map_keys(n), x -> x = 1)"):
        assert part in scan.predicate
    index = ls.open_index(driver.name, "tags", spark=spark)
    assert "read 1 of 8 data files" in index.explain("tags['a'] = 't5'")
    assert index.info().columns == ("entries(tags)",)
    assert index.info().types == ("map<string,string>",)
    blocks = ls.open_index(driver.name, "n", spark=spark)
    for wanted in (5, 10, 24):
        matches = blocks.files(f"n[1] = {wanted}")
        start = wanted % 4 // 2 * 2
        assert matches.row_ranges == (((start, start + 2),),)
    assert index.verify_rows(files=None).wrong == ()


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """An Iceberg table of two files."""
    name = "lake.entries.t"
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.entries")
    spark.sql(
        f"CREATE TABLE {name} (id INT, tags MAP<STRING, STRING>, n MAP<STRING, INT>) USING iceberg"
    )
    rows = spark.range(0, 20, 1, 2).selectExpr(
        "CAST(id AS INT) AS id", "map('a', concat('t', id)) AS tags", "map('a', int(id)) AS n"
    )
    rows.writeTo(name).append()
    ls.enable(spark)
    yield name
    ls.disable(spark)
    spark.sql(f"DROP TABLE {name}")


def test_upkeep(spark: SparkSession, table: str) -> None:
    """Refresh, compaction, budgets and deletes of rows work for entries as for columns."""
    index = ls.create_index(table, "entries(tags)", spark=spark)
    ls.create_index(table, "entries(n)", spark=spark, budget="8 bits")
    spark.sql(f"INSERT INTO {table} VALUES (99, map('a', 't3', 'z', 'new'), NULL)")
    where = f"SELECT * FROM {table} WHERE"
    assert read_by(spark, f"{where} tags['z'] = 'new'")[:2] == (1, 1)
    assert index.refresh().files == 1
    index.compact()
    assert read_by(spark, f"{where} tags['a'] = 't3'") == (2, 2, {"index-used"})
    assert read_by(spark, f"{where} tags['z'] = 'new'") == (1, 1, {"index-used"})
    assert read_by(spark, f"{where} n['a'] = 3")[0] == 1
    assert index.verify_rows(files=None).wrong == ()
    spark.sql(f"DELETE FROM {table} WHERE tags['a'] = 't3'")
    assert read_by(spark, f"{where} tags['a'] = 't3'")[0] == 0
    assert spark.table(table).count() == 19


def test_changed_maps(spark: SparkSession, table: str) -> None:
    """A renamed map keeps its index in queries; other values make it unusable."""
    ls.create_index(table, "entries(tags)", spark=spark)
    ls.create_index(table, "entries(n)", spark=spark)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN tags TO labels")
    where = f"SELECT id FROM {table} WHERE"
    assert read_by(spark, f"{where} labels['a'] = 't3'") == (1, 1, {"index-used"})
    with pytest.raises(InvalidInputError, match="renamed"):
        ls.open_index(table, "entries_tags", spark=spark).verify_rows()
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN n.value TYPE BIGINT")
    assert read_by(spark, f"{where} n['a'] = 3")[:2] == (1, 2)
    spark.sql(f"ALTER TABLE {table} DROP COLUMN labels")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN labels MAP<STRING, STRING>")
    assert read_by(spark, f"{where} labels['a'] = 't3'")[:2] == (0, 2)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("entries(n)", "a column of type int is not allowed"),
        ("entries(tags)", "a column of type array<string>"),
        ("entries(map(s, s))", "anything but a column"),
        ("entries(deep)", "a column of type map<string,array<int>>"),
        ("entries(shapes)", "a column of type map<struct<a:int>,int>"),
        ("elements(m)", "a column of type map<string,string>"),
        ("m", "of type map cannot be indexed"),
    ],
)
def test_refused_maps(spark: SparkSession, key: str, told: str) -> None:
    """Whatever is no map of keys and values is refused, and the reason named."""
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.entries")
    spark.sql(
        "CREATE TABLE IF NOT EXISTS lake.entries.odd (n INT, s STRING, m MAP<STRING, STRING>, "
        "deep MAP<STRING, ARRAY<INT>>, shapes MAP<STRUCT<a: INT>, INT>, tags ARRAY<STRING>) "
        "USING iceberg"
    )
    with pytest.raises(UnsupportedError, match=told):
        ls.create_index("lake.entries.odd", key, spark=spark)


def test_refused_uses(spark: SparkSession, table: str) -> None:
    """What needs one key for each row is refused by name."""
    with pytest.raises(UnsupportedError, match="cannot be one of several keys"):
        ls.create_index(table, ["entries(tags)", "id"], spark=spark)
    for text in ("entries(nope)", "entries(tags) || entries(n)", "entries()"):
        with pytest.raises(InvalidInputError, match="neither a column nor an expression"):
            ls.create_index(table, text, spark=spark)
    index = ls.create_index(table, "entries(tags)", spark=spark)
    for call in (index.min, index.max, index.distinct, index.distinct_count):
        with pytest.raises(UnsupportedError, match="a row may have many"):
            call()
    with pytest.raises(UnsupportedError, match="contains takes an index on columns"):
        index.contains(["t3"])
    with pytest.raises(UnsupportedError, match="locate takes an index on columns"):
        index.locate(spark.sql("SELECT 't3' AS `entries(tags)`"))
    with pytest.raises(UnsupportedError, match="is an expression"):
        ls.duplicates(table, ["entries(tags)"], spark=spark)


def test_tables_with_a_name_mapping(spark: SparkSession, table: str) -> None:
    """The entries of imported Iceberg tables are refused, and an older index is not used."""
    ls.create_index(table, "entries(tags)", spark=spark)
    mapping = '[{"field-id": 1, "names": ["id"]}]'
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default'='{mapping}')")
    assert read_by(spark, f"SELECT * FROM {table} WHERE tags['a'] = 't3'")[:2] == (1, 2)
    with pytest.raises(UnsupportedError, match="cannot be the key of an index"):
        ls.create_index(table, "entries(n)", spark=spark)


def test_without_spark(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Without Spark, a condition on entries reads every file."""
    folder = f"{tmp_path}/folder"
    spark.table(table).write.parquet(folder)
    ls.create_index(f"parquet:{folder}", "entries(tags)", spark=spark)
    for text in ("tags['a'] = 't3'", "element_at(tags, 'a') = 't3'"):
        matches = ls.find_files(f"parquet:{folder}", text)
        assert len(matches.paths) == matches.total
        assert [str(reason.code) for reason in matches.reasons] == ["no-usable-predicate"]
