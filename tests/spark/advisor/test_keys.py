"""The advisor knows every kind of key: in event logs, in trials, and in what it suggests."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest
from tests.spark.advisor.logs import logged
from typer.testing import CliRunner

import lakesieve as ls
from lakesieve.advisor.advise import _described_keys
from lakesieve.advisor.event_log import read_event_logs
from lakesieve.advisor.result import Verdict
from lakesieve.advisor.table_scans import known_table
from lakesieve.advisor.uses import keys_queried
from lakesieve.cli.app import build_app
from lakesieve.spark.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLE = "lake.advised.people"
FILES, ROWS = 8, 1600
_COLUMNS = (
    "id",
    "concat('User', id, '@X.org') AS email",
    "concat('GET /cart request r', id, 'x done') AS message",
    "array(concat('t', id), 'common') AS tags",
    "map('color', concat('c', id), 'shape', 'round') AS attributes",
    "map(1, id) AS counts",
    "to_json(named_struct('user', named_struct('id', id))) AS payload",
    "CAST(date_add(DATE'2024-01-01', CAST(id AS INT)) AS STRING) AS day",
    "TIMESTAMP'2024-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id AS INT)) AS ts",
    "named_struct('city', concat('City ', id)) AS st",
)

READ = {
    "message LIKE '%a%b%'": "words(message)",
    "message LIKE '%failed'": "words(message)",
    "message ILIKE '%FAILED%'": "words(message)",
    "message RLIKE 'fail.*d'": "words(message)",
    "contains(message, 'it\\'s (a), b')": "words(message)",
    "lower(email) = 'anna'": "lower(email)",
    "'anna' = lower(email)": "lower(email)",
    "lower(email) LIKE 'anna%'": "lower(email)",
    "lower(trim(email)) = 'anna'": "lower(trim(email))",
    "upper(email) IN ('A', 'B')": "upper(email)",
    "lower(st.city) = 'city 7'": "lower(st.city)",
    "substr(email, 1, 3) = 'abc'": "substr(email, 1, 3)",
    "trim(email) = 'abc'": "trim(email)",
    "id % 100 = 7": "id % 100",
    "id % 10 IN (7, 8)": "id % 10",
    "5 < length(message)": "length(message)",
    "length(email) > 20": "length(email)",
    "to_date(day) = DATE'2024-01-02'": "cast(day as date)",
    "CAST(day AS DATE) >= DATE'2024-01-02'": "cast(day as date)",
    "year(ts) = 2024": "year(cast(ts as date))",
    "date_trunc('month', ts) = TIMESTAMP'2024-02-01 00:00:00'": "date_trunc('month', ts)",
    "hour(ts) = 5": "hour(ts)",
    "get_json_object(payload, '$.user.id') = '7'": "get_json_object(payload, '$.user.id')",
    "array_contains(tags, 'a')": "elements(tags)",
    "arrays_overlap(tags, array('a', 'b'))": "elements(tags)",
    "exists(tags, x -> x = 'a' OR x LIKE 'b%')": "elements(tags)",
    "attributes['color'] = 'red'": "entries(attributes)",
    "element_at(attributes, 'color') = 'red'": "entries(attributes)",
    "attributes['color'] IN ('red', 'blue')": "entries(attributes)",
    "map_contains_key(attributes, 'color')": "entries(attributes)",
    "counts[1] > 5": "entries(counts)",
    # what no index answers
    "NOT array_contains(tags, 'a')": "",
    "NOT contains(message, 'a')": "",
    "message LIKE concat('%', email, '%')": "",
    "lower(email) = lower(message)": "",
    "rand() < 2": "",
}
"""Conditions, and the key that each of them asks for, besides columns."""

SEARCHED = {
    "words(message)": "message LIKE '%r321x%'",
    "lower(email)": "lower(email) = 'user321@x.org'",
    "elements(tags)": "array_contains(tags, 't321')",
    "entries(attributes)": "attributes['color'] = 'c321'",
    "get_json_object(payload, '$.user.id')": "get_json_object(payload, '$.user.id') = '321'",
    "cast(day as date)": "to_date(day) = DATE'2024-11-17'",
}
"""Conditions for which an index is worth it, by its key."""


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[str]:
    """An Iceberg table with rows in no order."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.advised")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    rows = spark.range(ROWS).selectExpr(*_COLUMNS).repartition(FILES, "email")
    rows.writeTo(TABLE).using("iceberg").tableProperty("write.distribution-mode", "none").create()
    yield TABLE
    spark.sql(f"DROP TABLE {TABLE} PURGE")


@pytest.fixture
def lakesieve(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The command line in the session of the tests, which returns what it prints."""
    monkeypatch.setattr("lakesieve.cli.session.start_session", lambda *_, **__: spark)
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))
    monkeypatch.setenv("LAKESIEVE_WAREHOUSE", warehouse)

    def run(*command: str) -> str:
        done = CliRunner().invoke(build_app(), command)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def log_of(spark: SparkSession, folder: Path, table: str, *conditions: str) -> str:
    """A log of a query for each condition."""
    with logged(spark, folder, compress="false", rolling_enabled="false"):
        for condition in conditions:
            spark.sql(f"SELECT id FROM {table} WHERE {condition}").collect()
    return str(folder)


# Spark prints the same condition for all formats
@pytest.mark.parametrize("kind", ["iceberg", pytest.param("parquet", marks=pytest.mark.soak)])
def test_what_logs_ask_for(spark: SparkSession, table: str, tmp_path: Path, kind: str) -> None:
    """Each condition is read, as this version of Spark prints it, as one on its key."""
    name = source = table
    if kind == "parquet":
        name, source = f"parquet:{tmp_path / 't'}", f"parquet.`{tmp_path / 't'}`"
        spark.table(table).repartition(2).write.parquet(str(tmp_path / "t"))
    log = log_of(spark, tmp_path / "logs", source, *READ)
    opened = open_table(spark, name)
    columns = opened.reader.columns(opened.reader.version())

    read = read_event_logs([log], [known_table(opened.reader, _described_keys(opened))])

    assert read.problems == ()
    found = [{path for path in keys_queried(use) if path not in columns} for use in read.uses]
    meant = [{(key,)} if key else set() for key in READ.values()]
    assert dict(zip(READ, found, strict=True)) == dict(zip(READ, meant, strict=True))


def test_suggested_commands(
    spark: SparkSession, table: str, tmp_path: Path, lakesieve: Callable[..., str]
) -> None:
    """Each kind of key is advised, and the index that its command makes serves its query."""
    log = log_of(spark, tmp_path / "logs", table, *SEARCHED.values())
    rows = {
        condition: spark.sql(f"SELECT id FROM {table} WHERE {condition}").collect()
        for condition in SEARCHED.values()
    }

    (advice,) = ls.advise(table, event_logs=[log], spark=spark, min_saved=0, max_payback=1e9)

    assert advice.problems == ()
    assert {one.columns for one in advice.advised} == {(key,) for key in SEARCHED}
    assert set(advice.unqueried) == {"id", "ts", "st.city"}
    for one in advice.advised:
        program, *command = shlex.split(one.command)
        assert program == "lakesieve"
        lakesieve(*command)
    names = {info.columns[0]: info.name for info in ls.list_indexes(table, spark=spark)}
    ls.enable(spark)
    try:
        for key, condition in SEARCHED.items():
            found = spark.sql(f"SELECT id FROM {table} WHERE {condition}").collect()
            (scan,) = ls.last_pruning(spark)
            assert found == rows[condition]
            assert names[key] in scan.indexes
            assert scan.files_read < FILES
            # the trial over all files said so
            (predicted,) = (one for one in advice.columns if one.columns == (key,))
            assert predicted.files_then.value == scan.files_read
    finally:
        ls.disable(spark)
        for name in names.values():
            ls.open_index(table, name, spark=spark).drop()


def test_an_index_in_other_words(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """An index on the same expression counts as one on the key, however it was written."""
    index = ls.create_index(table, "LOWER( `Email` )", spark=spark, name="by_email")
    try:
        log = log_of(spark, tmp_path / "logs", table, SEARCHED["lower(email)"])
        (advice,) = ls.advise(table, event_logs=[log], spark=spark, check=True)
    finally:
        index.drop()

    (one,) = advice.columns
    assert (one.columns, one.verdict) == (("lower(email)",), Verdict.EXISTS)
    (check,) = advice.checks
    assert check.index == "by_email"
    assert check.files_error == 0
    assert check.bytes_error < 0.05


def test_estimates(
    spark: SparkSession, table: str, tmp_path: Path, lakesieve: Callable[..., str]
) -> None:
    """An estimate of any kind of key has the size that the index then has."""
    keys = [key for key in SEARCHED if "," not in key]
    wanted = [word for key in keys for word in ("--index", key)]

    estimates = json.loads(lakesieve("create", table, *wanted, "--dry-run", "--json"))

    assert [one["columns"] for one in estimates] == [[key] for key in keys]
    indexes = ls.create_indexes(table, keys, spark=spark, location=str(tmp_path / "indexes"))
    for one, index in zip(estimates, indexes, strict=True):
        assert one["index_bytes"]["value"] == pytest.approx(index.info().bytes, rel=0.05)
        assert (one["files_now"], one["rows"]) == (FILES, ROWS)
        assert 1 <= one["files_then"] <= FILES
    assert estimates[keys.index("lower(email)")]["files_then"] == 1


# statements are read like the queries of a log, and the sample like all files
@pytest.mark.soak
def test_statements_and_a_sample(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Statements of a file ask for keys, too, and trials over half of the files have bounds."""
    file = tmp_path / "queries.sql"
    statements = [f"SELECT id FROM {table} WHERE {text}" for text in SEARCHED.values()]
    statements += [f"DELETE FROM {table} WHERE array_contains(tags, 't{n}')" for n in range(3)]
    file.write_text(";\n".join(statements))

    (advice,) = ls.advise(
        table, queries=[str(file)], spark=spark, sample=ROWS // 2, min_saved=0, max_payback=1e9
    )

    assert advice.problems == ()
    assert advice.sampled_files == FILES // 2
    tried = {one.columns: one for one in advice.columns}
    assert set(tried) == {(key,) for key in SEARCHED}
    assert tried["elements(tags)",].queries == 4
    for one in tried.values():
        assert one.files_then.low <= 1.5 <= one.files_then.high
        assert one.index_bytes.low < one.index_bytes.value < one.index_bytes.high


def test_an_expression_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    """An expression that raises an error for some row is no candidate, and the others are tried."""
    name = f"parquet:{tmp_path / 't'}"
    rows = spark.range(20).selectExpr("id", "concat('x', id) AS code")
    rows.write.parquet(str(tmp_path / "t"))
    source = f"parquet.`{tmp_path / 't'}`"
    with logged(spark, tmp_path / "logs", compress="false", rolling_enabled="false"):
        for condition in ("id = 5", "id = 1000 AND CAST(code AS INT) = 7"):
            spark.sql(f"SELECT id FROM {source} WHERE {condition}").collect()

    (advice,) = ls.advise(name, event_logs=[str(tmp_path / "logs")], spark=spark)

    is_ansi = spark.conf.get("spark.sql.ansi.enabled") == "true"
    tried = {one.columns for one in advice.columns}
    assert ("id",) in tried
    assert (("cast(code as int)",) in tried) != is_ansi
    assert len(advice.problems) == is_ansi
    assert all("cast(code as int): no trial index" in problem for problem in advice.problems)
