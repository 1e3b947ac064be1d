"""Keys of which a row has many: what holds for elements, entries and words alike."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.spark.drawn_conditions import check_conditions, check_files, drawn_condition
from tests.spark.drivers import DRIVERS, OpenDriver
from tests.spark.many_keys.elements import ELEMENTS
from tests.spark.many_keys.entries import ENTRIES
from tests.spark.many_keys.words import WORDS
from tests.spark.rows.compared import compared, read_by

import lakesieve as ls
from lakesieve.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from tests.spark.many_keys.key_kind import DrawnTable, KeyKind

_FORMATS = ["iceberg", "delta", "parquet"]
_KINDS = {kind.name: kind for kind in (ELEMENTS, ENTRIES, WORDS)}
_FILES = 8


@pytest.fixture(params=_KINDS)
def kind(request: pytest.FixtureRequest) -> KeyKind:
    """Each kind of keys."""
    return _KINDS[request.param]


def _on_each(name: str) -> pytest.MarkDecorator:
    """Run a test with each kind in every build, but on tables of one format only."""
    # pytest orders the parts of an id by the scopes of the fixtures
    return pytest.mark.in_time(*(f"{name}-{k}" for k in _KINDS), *(f"{k}-{name}" for k in _KINDS))


def _drawn_rows(
    spark: SparkSession, drawn: random.Random, table: DrawnTable, names: Sequence[str], first: int
) -> DataFrame:
    """Rows for several files. Each file has few different values, so queries can skip files."""
    plain = [name for name in names if "." not in name]
    inner, _, field = table.columns[-1].partition(".")
    rows = []
    for number in range(first, first + 18):
        values = [table.value(drawn, name) for name in plain]
        struct = f"named_struct('{field}', {table.value(drawn, table.columns[-1])})"
        struct = drawn.choice([struct, struct, f"if(true, NULL, {struct})"])
        rows.append(f"({', '.join([str(number), *values, struct])})")
    columns = ", ".join(["k", *plain, inner])
    rows_sql = f"SELECT * FROM VALUES {', '.join(rows)} AS t({columns})"
    return spark.sql(rows_sql).repartitionByRange(6, "k")


@_on_each("iceberg")
@pytest.mark.parametrize("name", _FORMATS)
def test_drawn_conditions(spark: SparkSession, tmp_path: Path, name: str, kind: KeyKind) -> None:
    """Queries have the rows that they have without indexes, whatever their conditions ask."""
    table = kind.drawn
    drawn = random.Random(f"{kind.name} {name} 1")
    driver = DRIVERS[name](spark, tmp_path / "t", f"{kind.name}_{name}")
    indexed = depth("INDEXED", test=3, soak=len(table.columns))
    names = drawn.sample(table.columns, min(indexed, len(table.columns)))
    driver.create(_drawn_rows(spark, drawn, table, names, 0))
    driver.append(_drawn_rows(spark, drawn, table, names, 100))
    keys = [f"{kind.name}({column})" for column in names]
    if table.also in names:
        keys += drawn.choice([[], [table.also]])
    blocks = drawn.choice([None, 2])
    built = ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=blocks)
    driver.append(_drawn_rows(spark, drawn, table, names, 200))
    built[0].refresh()
    built[0].compact()
    assert [index.verify_rows(files=None).wrong for index in built] == [()] * len(built)
    # without a refresh of the others: some files are not covered
    driver.append(_drawn_rows(spark, drawn, table, names, 300))
    count = depth("MANY_KEYS", test=6, soak=600)
    conditions = [drawn_condition(drawn, lambda: table.leaf(drawn, names)) for _ in range(count)]
    conditions += [table.leaf(drawn, names) for _ in range(2 * count)]
    assert check_conditions(spark, driver.relation(), conditions)


@pytest.fixture(scope="module", params=_FORMATS)
def driver(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenDriver]:
    """A table of eight files with indexes of every kind, and skipping on."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("many_keys") / request.param
    made = DRIVERS[request.param](spark, folder, f"many_keys_{request.param}")
    columns = [column for kind in _KINDS.values() for column in kind.files.columns]
    rows = spark.range(0, 4 * _FILES, 1, _FILES).selectExpr("CAST(id AS INT) AS id", *columns)
    made.create(rows)
    made.append(rows)
    indexes = {name: key for kind in _KINDS.values() for name, key in kind.files.indexes.items()}
    keys, names = list(indexes.values()), list(indexes)
    ls.create_indexes(made.name, keys, spark=spark, names=names, rows_per_block=2)
    ls.enable(spark)
    yield made
    ls.disable(spark)


def test_files_are_skipped(spark: SparkSession, driver: OpenDriver, kind: KeyKind) -> None:
    """Each form of condition on the keys opens only the files of its rows."""
    check_files(spark, driver, kind.files.skips)


@pytest.mark.parametrize("kind", [ELEMENTS, ENTRIES], ids=lambda kind: kind.name)
def test_exploded_parts(spark: SparkSession, driver: OpenDriver, kind: KeyKind) -> None:
    """A condition on what ``explode`` makes of a column opens only the files of its rows."""
    check_files(spark, driver, kind.files.exploded, clause="")


def _exploded(drawn: random.Random, table: DrawnTable, relation: str, name: str) -> str:
    """Draw a query of the elements or entries of a column."""
    part_leaf = table.part_leaf
    assert part_leaf is not None

    def condition() -> str:
        return drawn_condition(drawn, lambda: part_leaf(drawn, name))

    function = drawn.choice(["explode", "posexplode"])
    columns = f"place, {table.parts}" if function == "posexplode" else table.parts
    shape = drawn.randrange(5)
    if shape < 2:
        outer = drawn.choice(["", "OUTER "])
        view = f"LATERAL VIEW {outer}{function}({name}) e AS {columns}"
        selected = drawn.choice([f"k, {columns}", "count(*)"])
        return f"SELECT {selected} FROM {relation} {view} WHERE {condition()}"
    whole, _, _ = name.partition(".")
    inner = f"SELECT k, {whole}, {function}({name}) AS ({columns}) FROM {relation}"
    inner = drawn.choice([inner, inner.replace(f"{function}(", f"{function}_outer(")])
    if shape == 2:
        return f"SELECT * FROM ({inner}) WHERE {condition()} AND {condition()}"
    if shape == 3:
        # one name for the column, and conditions below and above
        below = f"(SELECT k, {name} AS other FROM {relation} WHERE k > 5)"
        view = f"LATERAL VIEW {function}(other) e AS {columns}"
        plain = re.sub(rf"(?<![\w.']){re.escape(name)}(?![\w'])", "other", condition())
        return f"SELECT k, {columns} FROM {below} {view} WHERE {plain}"
    # one plan of the rows in two places, with another condition in each
    parts = [f"SELECT k, {columns} FROM e WHERE {condition()}" for _ in range(2)]
    return f"WITH e AS ({inner}) {' UNION ALL '.join(parts)}"


@pytest.mark.in_time("iceberg-elements", "iceberg-entries", "parquet-entries")
@pytest.mark.parametrize("kind", [ELEMENTS, ENTRIES], ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", _FORMATS)
def test_drawn_queries_of_parts(
    spark: SparkSession, tmp_path: Path, name: str, kind: KeyKind
) -> None:
    """Queries of elements and entries have the rows that they have without indexes."""
    table = kind.drawn
    drawn = random.Random(f"exploded {kind.name} {name} 1")
    driver = DRIVERS[name](spark, tmp_path / "t", f"exploded_{kind.name}_{name}")
    indexed = depth("INDEXED", test=3, soak=len(table.columns))
    names = drawn.sample(table.columns, indexed)
    driver.create(_drawn_rows(spark, drawn, table, names, 0))
    driver.append(_drawn_rows(spark, drawn, table, names, 100))
    keys = [f"{kind.name}({column})" for column in names]
    ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=drawn.choice([None, 2]))
    driver.append(_drawn_rows(spark, drawn, table, names, 200))
    skipped = 0
    for _ in range(depth("MANY_KEYS", test=10, soak=600)):
        query = _exploded(drawn, table, driver.relation(), drawn.choice(names))
        skipped += any(scan.files_read < scan.files_total for scan in compared(spark, query))
    ls.disable(spark)
    assert skipped


@_on_each("iceberg")
def test_conditions_that_no_key_answers(
    spark: SparkSession, driver: OpenDriver, kind: KeyKind
) -> None:
    """A negation, a null and whatever is no condition on the keys read every file."""
    for condition in kind.files.unanswered:
        spark.sql(f"SELECT * FROM {driver.relation()} WHERE {condition}").collect()
        (scan,) = ls.last_pruning(spark)
        # Iceberg's own statistics may leave out some
        assert scan.files_read == scan.files_total, condition
        assert {str(reason.code) for reason in scan.reasons} <= kind.files.codes, condition


@_on_each("parquet")
def test_the_report_names_the_keys(spark: SparkSession, driver: OpenDriver, kind: KeyKind) -> None:
    """Reports, explain, show and verify say which keys are looked up; blocks are exact."""
    condition, parts = kind.files.shown
    spark.sql(f"SELECT * FROM {driver.relation()} WHERE {condition}").collect()
    (scan,) = ls.last_pruning(spark)
    for part in parts:
        assert part in scan.predicate
    name, of_row = kind.files.numbered
    index = ls.open_index(driver.name, name, spark=spark)
    assert "read 1 of 8 data files" in index.explain(of_row(5))
    assert index.info().columns == (kind.files.indexes[name],)
    assert index.info().types == (kind.files.type,)
    for wanted in (5, 10, 24):
        start = wanted % 4 // 2 * 2
        assert index.files(of_row(wanted)).row_ranges == (((start, start + 2),),)
    assert index.verify_rows(files=None).wrong == ()


@pytest.fixture
def table(spark: SparkSession, kind: KeyKind) -> Iterator[str]:
    """An Iceberg table of two files."""
    name = "lake.many_keys.t"
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.many_keys")
    types = zip("cd", kind.small.types, strict=True)
    columns = ", ".join(f"{column} {kind_of}" for column, kind_of in types)
    spark.sql(f"CREATE TABLE {name} (id INT, {columns}) USING iceberg")
    values = zip("cd", kind.small.rows, strict=True)
    rows = spark.range(0, 20, 1, 2).selectExpr(
        "CAST(id AS INT) AS id", *(f"{value} AS {column}" for column, value in values)
    )
    rows.writeTo(name).append()
    ls.enable(spark)
    yield name
    ls.disable(spark)
    spark.sql(f"DROP TABLE {name}")


def test_upkeep(spark: SparkSession, table: str, kind: KeyKind) -> None:
    """Refresh, compaction, budgets and deletes of rows work for many keys as for one."""
    index = ls.create_index(table, f"{kind.name}(c)", spark=spark)
    ls.create_index(table, f"{kind.name}(d)", spark=spark, budget=kind.small.budget)
    both, empty = kind.small.added
    added = f"VALUES (99, {both}, NULL), (100, NULL, NULL), (101, {empty}, NULL)"
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM {added}")
    old, new, other = (
        f"SELECT * FROM {table} WHERE {condition}"
        for condition in (
            kind.small.old.format("c"),
            kind.small.new.format("c"),
            kind.small.other.format("d"),
        )
    )
    assert read_by(spark, new)[:2] == (1, 1)
    assert index.refresh().files == 1
    assert read_by(spark, new) == (1, 1, {"index-used"})
    index.compact()
    assert read_by(spark, old) == (2, 2, {"index-used"})
    assert read_by(spark, new) == (1, 1, {"index-used"})
    assert read_by(spark, other)[0] == 1
    assert index.verify_rows(files=None).wrong == ()
    spark.sql(f"DELETE FROM {table} WHERE {kind.small.old.format('c')}")
    assert read_by(spark, old)[0] == 0
    assert spark.table(table).count() == 21


def test_changed_columns(spark: SparkSession, table: str, kind: KeyKind) -> None:
    """A renamed column keeps its index in queries; another type or column of the name does not."""
    ls.create_index(table, f"{kind.name}(c)", spark=spark)
    ls.create_index(table, f"{kind.name}(d)", spark=spark)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN c TO renamed")
    query = f"SELECT id FROM {table} WHERE"
    old = f"{query} {kind.small.old.format('renamed')}"
    assert read_by(spark, old) == (1, 1, {"index-used"})
    with pytest.raises(InvalidInputError, match="renamed"):
        ls.open_index(table, f"{kind.name}_c", spark=spark).verify_rows()
    if kind.small.widened:
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN {kind.small.widened}")
        assert read_by(spark, f"{query} {kind.small.other.format('d')}")[:2] == (1, 2)
    spark.sql(f"ALTER TABLE {table} DROP COLUMN renamed")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN renamed {kind.small.types[0]}")
    assert read_by(spark, old)[:2] == (0, 2)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("elements(n)", "a column of type int is not allowed"),
        ("elements(split(s, ','))", "anything but a column"),
        ("elements(m)", "a column of type map<string,string>"),
        ("elements(map_keys(m))", "anything but a column"),
        ("elements(nested)", "a column of type array<array<int>>"),
        ("elements(items)", "a column of type array<struct<a:int>>"),
        ("elements(items.a)", "anything but a column"),
        ("tags", "of type list cannot be indexed"),
        ("entries(n)", "a column of type int is not allowed"),
        ("entries(tags)", "a column of type array<string>"),
        ("entries(map(s, s))", "anything but a column"),
        ("entries(deep)", "a column of type map<string,array<int>>"),
        ("entries(shapes)", "a column of type map<struct<a:int>,int>"),
        ("m", "of type map cannot be indexed"),
        ("words(n)", "a column of type int is not allowed"),
        ("words(tags)", "a column of type array<string>"),
        ("words(lower(s))", "anything but a column"),
    ],
)
def test_refused_columns(spark: SparkSession, key: str, message: str) -> None:
    """Whatever is no list, map or text of keys is refused, and the reason named."""
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.many_keys")
    spark.sql(
        "CREATE TABLE IF NOT EXISTS lake.many_keys.odd (n INT, s STRING, m MAP<STRING, STRING>, "
        "nested ARRAY<ARRAY<INT>>, items ARRAY<STRUCT<a: INT>>, tags ARRAY<STRING>, "
        "deep MAP<STRING, ARRAY<INT>>, shapes MAP<STRUCT<a: INT>, INT>) USING iceberg"
    )
    with pytest.raises(UnsupportedError, match=message):
        ls.create_index("lake.many_keys.odd", key, spark=spark)


def test_refused_uses(spark: SparkSession, table: str, kind: KeyKind) -> None:
    """What needs one key for each row is refused by name."""
    key = f"{kind.name}(c)"
    for text in (f"{kind.name}(nope)", f"{key} || {kind.name}(d)", f"{kind.name}()"):
        with pytest.raises(InvalidInputError, match="neither a column nor an expression"):
            ls.create_index(table, text, spark=spark)
    index = ls.create_index(table, key, spark=spark)
    for call in (index.min, index.max, index.distinct, index.distinct_count):
        with pytest.raises(UnsupportedError, match="a row may have many"):
            call()
    keys = spark.sql(f"SELECT 't3' AS `{key}`")
    with pytest.raises(UnsupportedError, match="contains takes an index on columns"):
        index.contains(["t3"])
    with pytest.raises(UnsupportedError, match="locate takes an index on columns"):
        index.locate(keys)
    with pytest.raises(UnsupportedError, match="is an expression"):
        ls.duplicates(table, [key], spark=spark)
    with pytest.raises(UnsupportedError, match="is an expression"):
        ls.upsert(keys, table, on=[key], spark=spark)


@pytest.mark.parametrize("kind", [ELEMENTS, ENTRIES], ids=lambda kind: kind.name)
def test_tables_with_a_name_mapping(spark: SparkSession, table: str, kind: KeyKind) -> None:
    """Lists and maps of imported Iceberg tables are refused, and an older index is not used."""
    ls.create_index(table, f"{kind.name}(c)", spark=spark)
    mapping = '[{"field-id": 1, "names": ["id"]}]'
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default'='{mapping}')")
    where = f"SELECT * FROM {table} WHERE {kind.small.old.format('c')}"
    assert read_by(spark, where)[:2] == (1, 2)
    with pytest.raises(UnsupportedError, match="cannot be the key of an index"):
        ls.create_index(table, f"{kind.name}(d)", spark=spark)


def test_drawn_conditions_without_spark(spark: SparkSession, tmp_path: Path, kind: KeyKind) -> None:
    """No file with a row that meets a condition in SQL text is left out."""
    table = kind.drawn
    drawn = random.Random(f"without spark {kind.name} 1")
    driver = DRIVERS["parquet"](spark, tmp_path / "t", f"without_{kind.name}")
    names = drawn.sample(table.columns, min(4, len(table.columns)))
    rows = _drawn_rows(spark, drawn, table, names, 0)
    driver.create(rows)
    driver.append(rows)
    keys = [f"{kind.name}({column})" for column in names]
    ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=None)
    count = depth("MANY_KEYS", test=25, soak=600)
    conditions = [drawn_condition(drawn, lambda: table.leaf(drawn, names), 1) for _ in range(count)]
    truths = [f"coalesce({text}, false) AS c{at}" for at, text in enumerate(conditions)]
    found = spark.sql(
        f"SELECT _metadata.file_name AS file, {', '.join(truths)} FROM {driver.relation()}"
    ).collect()
    skipped = 0
    for at, text in enumerate(conditions):
        try:
            matches = ls.find_files(driver.name, text)
        except InvalidInputError:
            # the parser of SQL text does not know all of Spark's
            continue
        read = {path.rpartition("/")[2] for path in matches.paths}
        assert {row.file for row in found if row[f"c{at}"]} <= read, text
        skipped += len(read) < matches.total
    assert skipped


def test_without_spark(spark: SparkSession, table: str, kind: KeyKind, tmp_path: Path) -> None:
    """Without Spark, conditions in SQL use the index or read every file with a reason."""
    folder = f"{tmp_path}/folder"
    spark.table(table).repartitionByRange(2, "id").write.parquet(folder)
    ls.create_index(f"parquet:{folder}", f"{kind.name}(c)", spark=spark)
    for condition, files in kind.small.plain.items():
        matches = ls.find_files(f"parquet:{folder}", condition)
        assert (len(matches.paths), matches.total) == (files, 2), condition
        code = "index-used" if files < 2 else "no-usable-predicate"
        assert [str(reason.code) for reason in matches.reasons] == [code], condition
