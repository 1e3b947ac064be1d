"""Indexes on the words of texts: answers, skipped files, upkeep, and what is refused."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.sieve.test_words import CASES
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
_LETTERS = (
    "a",
    "ab",
    "abc",
    "B",
    "9",
    "ß",
    "İ",
    "日本",
    "\U0001d4b3",
    "\ufffd",
    "x" * 255,
    "xy" * 150,
)
_BREAKS = (" ", "-", "_", "%", "\\", ".", "'", "\n", "\0", "—")
_ODD = ("X'FF'", "X'61FF62'", "X'C320'", "X'F09F'")


def _literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
    return "'" + escaped.replace("\n", "\\n") + "'"


def _drawn_text(drawn: random.Random, most: int = 6) -> str:
    pieces = [
        drawn.choice(drawn.choice([_LETTERS, _BREAKS])) for _ in range(drawn.randint(1, most))
    ]
    return "".join(pieces)


def _text_sql(drawn: random.Random) -> str:
    """A text as SQL: sometimes null, empty, or no UTF-8."""
    kind = drawn.randrange(12)
    if kind < 2:
        return ("NULL", "''")[kind]
    if kind == 2:
        return f"CAST({drawn.choice(_ODD)} AS STRING)"
    return _literal(_drawn_text(drawn))


def _drawn_rows(spark: SparkSession, drawn: random.Random, first: int) -> DataFrame:
    """Rows whose files have few texts each, so that files can be skipped."""
    rows = []
    for number in range(first, first + 18):
        inner = f"named_struct('s', CAST({_text_sql(drawn)} AS STRING))"
        rows.append(f"({number}, CAST({_text_sql(drawn)} AS STRING), {inner})")
    rows_sql = f"SELECT * FROM VALUES {', '.join(rows)} AS t(k, s, inner)"
    return spark.sql(rows_sql).repartitionByRange(6, "k")


def _pattern(drawn: random.Random, escape: str) -> str:
    """A pattern of LIKE: texts between wildcards."""
    parts = []
    for _ in range(drawn.randint(1, 3)):
        text = _drawn_text(drawn, 3)
        for special in dict.fromkeys((escape, "%", "_")):
            text = text.replace(special, escape + special)
        parts += [drawn.choice(["", "%", "_", "%%"]), text]
    return "".join([*parts, drawn.choice(["", "%", "_"])])


def _leaf(drawn: random.Random) -> str:
    name = drawn.choice(["s", "s", "inner.s"])
    a, b = (_literal(_drawn_text(drawn, drawn.choice([1, 2, 3]))) for _ in range(2))
    odd = f"CAST({drawn.choice(_ODD)} AS STRING)"
    forms = [
        f"contains({name}, {a})",
        f"startswith({name}, {a})",
        f"endswith({name}, {a})",
        f"contains({name}, {odd})",
        f"{name} LIKE {_literal(_pattern(drawn, chr(92)))}",
        f"{name} LIKE {_literal(_pattern(drawn, '!'))} ESCAPE '!'",
        f"{name} LIKE concat('%', {a}, '%')",
        f"{name} NOT LIKE {_literal(_pattern(drawn, chr(92)))}",
        f"{name} ILIKE {_literal(_pattern(drawn, chr(92)))}",
        f"{name} = {a}",
        f"{name} <=> {a}",
        f"{name} <> {a}",
        f"{name} IN ({a}, {b}, '')",
        f"{name} > {a}",
        f"{name} RLIKE '[ab]+'",
        f"lower({name}) LIKE '%a%'",
        f"contains({name}, '')",
        f"contains({name}, inner.s)",
        f"{name} LIKE '%'",
        f"{name} IS NULL",
        f"contains({name}, {a}) AND startswith({name}, {b})",
    ]
    return f"({drawn.choice(forms)})"


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("name", _FORMATS)
def test_drawn_conditions(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Queries have the rows that they have without indexes, whatever they ask of texts."""
    drawn = random.Random(f"words {name} 1")
    driver = DRIVERS[name](spark, tmp_path / "t", f"words_{name}")
    driver.create(_drawn_rows(spark, drawn, 0))
    driver.append(_drawn_rows(spark, drawn, 100))
    blocks = drawn.choice([None, 2])
    keys = ["words(s)", "words(inner.s)", *drawn.choice([[], ["s"]])]
    built = ls.create_indexes(driver.name, keys, spark=spark, rows_per_block=blocks)
    driver.append(_drawn_rows(spark, drawn, 200))
    built[0].refresh()
    built[0].compact()
    assert built[0].verify_rows(files=None).wrong == ()
    # without a refresh of the others: some files are not covered
    driver.append(_drawn_rows(spark, drawn, 300))
    count = depth("WORDS", test=8, soak=600)
    conditions = [drawn_condition(drawn, lambda: _leaf(drawn)) for _ in range(count)]
    conditions += [_leaf(drawn) for _ in range(2 * count)]
    assert check_conditions(spark, driver.relation(), conditions)


_HASH = hashlib.md5(b"5", usedforsecurity=False).hexdigest()
_SKIPS = {
    "word": ("contains(message, '/item5/')", 1),
    "words": ("message LIKE '%item5/x by%'", 1),
    "begin of a word": ("message LIKE '%-' || '5 %'", 1),
    "inside a word": (f"message LIKE '%{_HASH[3:20]}%'", 1),
    "end of a word": (f"contains(message, '{_HASH[20:]}')", 1),
    "end of the text": (f"endswith(message, '{_HASH[20:]}')", 1),
    "begin of the text": ("message LIKE 'GET /item5/%'", 1),
    "several parts": ("message LIKE 'GET%/item5/%user_5 %'", 1),
    "escaped": ("message LIKE '%100\\\\% item5/%'", 1),
    "whole": (f"message = 'GET /item5/x by user-5 {_HASH}'", 1),
    "list": (f"message IN ('GET /item5/x by user-5 {_HASH}', 'none')", 1),
    "or": ("contains(message, '/item5/') OR contains(message, '/item12/')", 2),
    "and": ("contains(message, '/item5/') AND contains(message, '/item12/')", 0),
    "field of a struct": ("inner.s LIKE '%level 5!%'", 1),
    "column as well": ("message LIKE '%user-%' AND message LIKE '%/item5/%' AND id = 5", 1),
    "absent": ("contains(message, 'nothing')", 0),
}
_FILES = 8


@pytest.fixture(scope="module", params=_FORMATS)
def driver(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenDriver]:
    """A table of eight files with indexes on the words of texts, and skipping on."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("words") / request.param
    made = DRIVERS[request.param](spark, folder, f"words_skipped_{request.param}")
    rows = spark.range(0, 32, 1, _FILES).selectExpr(
        "CAST(id AS INT) AS id",
        "concat('GET /item', id, '/x by user-', id, ' ', md5(string(id))) AS message",
        "named_struct('s', if(id % 5 = 4, NULL, concat('level ', id, '!'))) AS inner",
    )
    made.create(rows)
    made.append(rows)
    keys = ["words(message)", "Words( inner.S )"]
    ls.create_indexes(made.name, keys, spark=spark, names=["words", "levels"], rows_per_block=2)
    ls.enable(spark)
    yield made
    ls.disable(spark)


def test_files_are_skipped(spark: SparkSession, driver: OpenDriver) -> None:
    """Each form of condition on the words opens only the files of its rows."""
    check_files(spark, driver, _SKIPS)


@pytest.mark.in_time("iceberg")
def test_conditions_that_no_word_answers(spark: SparkSession, driver: OpenDriver) -> None:
    """A negation, other upper and lower case, separators alone and a null read every file."""
    for text in (
        "NOT contains(message, '/item5/')",
        "message NOT LIKE '%item5/%'",
        "message ILIKE '%ITEM5/%'",
        "lower(message) LIKE '%item5/%'",
        "contains(message, '/')",
        "message RLIKE 'item5/'",
        "contains(message, inner.s)",
        "inner.s IS NULL",
    ):
        spark.sql(f"SELECT * FROM {driver.relation()} WHERE {text}").collect()
        (scan,) = ls.last_pruning(spark)
        # Iceberg's own statistics may leave out some
        assert scan.files_read == scan.files_total, text
        assert [str(reason.code) for reason in scan.reasons] == ["no-usable-predicate"], text


@pytest.mark.in_time("parquet")
def test_the_report_names_the_words(spark: SparkSession, driver: OpenDriver) -> None:
    """Reports, explain, show and verify say which words are looked up; blocks are exact."""
    text = f"message LIKE '%/item5/%' AND message LIKE '%{_HASH[3:20]}%'"
    spark.sql(f"SELECT * FROM {driver.relation()} WHERE {text}").collect()
    (scan,) = ls.last_pruning(spark)
    assert "exists(words(message), x -> x = 'item5')" in scan.predicate
    assert f"exists(words(message), x -> contains(x, '{_HASH[3:20]}'))" in scan.predicate
    index = ls.open_index(driver.name, "words", spark=spark)
    assert "read 1 of 8 data files" in index.explain("message LIKE '%/item5/%'")
    assert index.info().columns == ("words(message)",)
    for wanted in (5, 10, 24):
        matches = index.files(f"message LIKE '%/item{wanted}/%'")
        start = wanted % 4 // 2 * 2
        assert matches.row_ranges == (((start, start + 2),),)
    assert index.verify_rows(files=None).wrong == ()


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """An Iceberg table of two files."""
    name = "lake.words.t"
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.words")
    spark.sql(f"CREATE TABLE {name} (id INT, message STRING) USING iceberg")
    rows = spark.range(0, 20, 1, 2).selectExpr("CAST(id AS INT) AS id", "concat('no ', id) AS m")
    rows.withColumnRenamed("m", "message").writeTo(name).append()
    ls.enable(spark)
    yield name
    ls.disable(spark)
    spark.sql(f"DROP TABLE {name}")


def test_cases_of_the_rule(spark: SparkSession, table: str) -> None:
    """The build on Spark has exactly the words of the cases of the specification."""
    spark.sql(f"DELETE FROM {table}")
    rows = list(enumerate(CASES))
    spark.createDataFrame(rows, "id INT, message STRING").coalesce(1).writeTo(table).append()
    index = ls.create_index(table, "words(message)", spark=spark, rows_per_block=1)
    for at, text in enumerate(CASES):
        if CASES[text] and all(len(word) < 256 for word in CASES[text]):
            rows_found = index.files(f"message = {_literal(text)}").row_ranges
            assert rows_found is not None
            assert rows_found[0] is not None
            assert at in {row for start, end in rows_found[0] for row in range(start, end)}
    assert index.info().keys == len({word for words in CASES.values() for word in words})


def test_upkeep(spark: SparkSession, table: str) -> None:
    """Refresh, compaction and deletes of rows work for words as for columns."""
    index = ls.create_index(table, "words(message)", spark=spark)
    added = "VALUES (99, 'no 3 abcdef'), (100, NULL), (101, '')"
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM {added}")
    where = f"SELECT * FROM {table} WHERE message LIKE"
    assert read_by(spark, f"{where} '%bcde%'")[:2] == (1, 1)
    assert index.refresh().files == 1
    assert read_by(spark, f"{where} '%bcde%'") == (1, 1, {"index-used"})
    index.compact()
    assert read_by(spark, f"{where} 'no 3%'") == (2, 2, {"index-used"})
    assert read_by(spark, f"{where} '%bcde%'") == (1, 1, {"index-used"})
    assert index.verify_rows(files=None).wrong == ()
    spark.sql(f"DELETE FROM {table} WHERE message LIKE '%bcde%'")
    assert read_by(spark, f"{where} '%bcde%'")[0] == 0
    assert spark.table(table).count() == 22


def test_changed_texts(spark: SparkSession, table: str) -> None:
    """A renamed text keeps its index in queries; another column of the name does not."""
    ls.create_index(table, "words(message)", spark=spark)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN message TO line")
    where = f"SELECT id FROM {table} WHERE line LIKE '%no 3%'"
    assert read_by(spark, where) == (1, 1, {"index-used"})
    with pytest.raises(InvalidInputError, match="renamed"):
        ls.open_index(table, "words_message", spark=spark).verify_rows()
    spark.sql(f"ALTER TABLE {table} DROP COLUMN line")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN line STRING")
    assert read_by(spark, where)[:2] == (0, 2)


def test_refused_keys_and_uses(spark: SparkSession, table: str) -> None:
    """What is no text, and what needs one key for each row, is refused by name."""
    with pytest.raises(UnsupportedError, match="a column of type int is not allowed"):
        ls.create_index(table, "words(id)", spark=spark)
    with pytest.raises(UnsupportedError, match="anything but a column"):
        ls.create_index(table, "words(lower(message))", spark=spark)
    with pytest.raises(UnsupportedError, match="cannot be one of several keys"):
        ls.create_index(table, ["words(message)", "id"], spark=spark)
    with pytest.raises(UnsupportedError, match="cannot have a budget"):
        ls.create_index(table, "words(message)", spark=spark, budget="8 bits")
    index = ls.create_index(table, "words(message)", spark=spark)
    for call in (index.min, index.max, index.distinct, index.distinct_count):
        with pytest.raises(UnsupportedError, match="a row may have many"):
            call()
    with pytest.raises(UnsupportedError, match="contains takes an index on columns"):
        index.contains(["t3"])


def test_without_spark(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Without Spark, words answer equality, prefixes and LIKE."""
    folder = f"{tmp_path}/folder"
    spark.table(table).repartitionByRange(2, "id").write.parquet(folder)
    ls.create_index(f"parquet:{folder}", "words(message)", spark=spark)
    for text in (
        "message = 'no 3'",
        "message LIKE 'no 3%'",
        "message IN ('no 3', 'yes')",
        "message LIKE '%o 3'",
    ):
        matches = ls.find_files(f"parquet:{folder}", text)
        assert (len(matches.paths), matches.total) == (1, 2), text
