"""The advisor on real tables: its predictions match real indexes, and it gives reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.advisor.logs import logged
from typer.testing import CliRunner

import lakesieve as ls
from lakesieve.advisor.index_estimates import estimate_indexes
from lakesieve.advisor.result import Verdict
from lakesieve.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lakesieve.advisor.result import IndexEstimate, TableAdvice

TABLE = "lake.advised.sales"
FILES, ROWS = 24, 24_000
_COLUMNS = (
    # in order of arrival; in no order; the same with few values; two that only together are rare
    *(
        "id AS arrived",
        "pmod(xxhash64(id), 1000000) AS ticket",
        "pmod(xxhash64(id, 1), 40) AS shop",
    ),
    *("pmod(xxhash64(id, 2), 60) AS a", "pmod(xxhash64(id, 3), 60) AS b"),
    "concat('c', pmod(xxhash64(id, 4), 3000)) AS customer",
)


# whatever it saves: these tables are small
ANY: dict[str, Any] = {"min_saved": 0.0, "max_payback": 1e9}


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[str]:
    """An Iceberg table."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.advised")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    spark.range(0, ROWS, 1, FILES).selectExpr(*_COLUMNS).writeTo(TABLE).using(
        "iceberg"
    ).tableProperty("write.distribution-mode", "none").create()
    yield TABLE
    spark.sql(f"DROP TABLE {TABLE} PURGE")


@pytest.fixture(scope="module")
def statements(spark: SparkSession, table: str) -> list[str]:
    """Queries of the table, with values that exist."""
    rows = spark.table(table).limit(400).collect()[::40]
    found = [f"SELECT * FROM {table} WHERE ticket = {row.ticket}" for row in rows]
    found += [f"SELECT * FROM {table} WHERE customer = '{row.customer}'" for row in rows[:6]]
    found += [f"SELECT * FROM {table} WHERE a = {row.a} AND b = {row.b}" for row in rows[:5]]
    found += [f"SELECT count(*) FROM {table} WHERE shop = {row.shop}" for row in rows[:4]]
    return found + [
        f"SELECT * FROM {table} WHERE arrived BETWEEN {n} AND {n + 5}" for n in range(0, ROWS, 6000)
    ]


@pytest.fixture(scope="module")
def logs(
    spark: SparkSession,
    statements: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A log of these queries."""
    folder = tmp_path_factory.mktemp("advised") / "logs"
    with logged(spark, folder, compress="true", rolling_enabled="true"):
        for text in statements:
            spark.sql(text).collect()
    return folder


@pytest.fixture(scope="module")
def whole(spark: SparkSession, table: str, logs: Path) -> list[TableAdvice]:
    """Advice from trials over all files."""
    return ls.advise(table, event_logs=[str(logs)], spark=spark, **ANY)


def test_what_is_advised(spark: SparkSession, table: str, whole: list[TableAdvice]) -> None:
    """The index that saves most comes first, and each of the others has a reason."""
    (advice,) = whole
    verdicts = {one.columns: one.verdict for one in advice.columns}
    assert verdicts[("ticket",)] is Verdict.INDEX
    assert verdicts[("customer",)] is Verdict.INDEX
    assert verdicts[("shop",)] is Verdict.IN_EVERY_FILE
    assert verdicts[("arrived",)] is Verdict.CLUSTERED
    assert verdicts[("a", "b")] is Verdict.INDEX
    assert {verdicts[("a",)], verdicts[("b",)]} <= {Verdict.IN_EVERY_FILE, Verdict.LITTLE_SAVED}
    assert advice.advised[0].columns == ("ticket",)
    assert (advice.files, advice.rows, advice.sampled_files) == (FILES, ROWS, FILES)
    assert (advice.unqueried, advice.problems) == ((), ())
    for one in advice.advised:
        assert one.files_then.value < 0.8 * one.files_now.value
        assert one.seconds_saved.value > 0
        assert one.payback_days is not None
    assert ls.list_indexes(table, spark=spark) == []


# that of one column is compared with a real index below
@pytest.mark.soak
def test_predictions_are_what_indexes_do(spark: SparkSession, table: str, logs: Path) -> None:
    """With a trial over all files, the predicted files and bytes are exact."""
    wanted = [["ticket"], ["customer"], ["a", "b"], ["shop"]]
    indexes = ls.create_indexes(table, wanted, spark=spark)
    try:
        (advice,) = ls.advise(table, event_logs=[str(logs)], spark=spark, check=True, **ANY)
        checks = {check.columns: check for check in advice.checks}
        assert set(checks) == set(map(tuple, wanted))
        for check in checks.values():
            assert check.files_measured > 0
            assert check.files_error == pytest.approx(0, abs=1e-9)
            assert check.bytes_error < 0.05
        verdicts = {one.columns: one.verdict for one in advice.columns}
        assert verdicts[("ticket",)] is Verdict.EXISTS
        why = {one.columns: one.why for one in advice.columns}
        assert "indexed already, by ticket" in why[("ticket",)]
        assert not advice.advised
    finally:
        for index in indexes:
            index.drop()


@pytest.mark.soak
def test_a_part_of_the_files(
    spark: SparkSession, table: str, logs: Path, whole: list[TableAdvice]
) -> None:
    """With a trial over some files, figures are extrapolated and have bounds."""
    (some,) = ls.advise(table, event_logs=[str(logs)], spark=spark, sample=ROWS // 2, **ANY)
    assert some.sampled_files == FILES // 2
    exact = {one.columns: one for one in whole[0].columns}
    for one in some.columns:
        truth = exact[one.columns]
        # five times the error of 95 %: a test that is right must not fail once a year
        spread = 2.5 * (one.files_then.high - one.files_then.low)
        assert abs(one.files_then.value - truth.files_then.value) <= spread + 1e-9
        assert one.index_bytes.value == pytest.approx(truth.index_bytes.value, rel=0.5)
        assert one.files_then.low <= one.files_then.value <= one.files_then.high


# the advisor treats statements of a file as it treats queries of an event log
@pytest.mark.soak
def test_statements(spark: SparkSession, table: str, statements: list[str], tmp_path: Path) -> None:
    """Files of SQL lead to the same advice, and none of their statements runs."""
    file = tmp_path / "queries.sql"
    more = [
        f"DELETE FROM {table} WHERE ticket = 5",
        f"UPDATE {table} AS t SET a = 1 WHERE t.customer = 'c7'",
        f"MERGE INTO {table} t USING {table} s ON t.ticket = s.ticket WHEN MATCHED THEN DELETE",
        "SELECT * FROM nowhere.at.all",
        f"DROP TABLE {table}",
    ]
    file.write_text(";\n-- a comment; with a semicolon\n".join(statements + more) + ";\n")
    (advice,) = ls.advise(table, queries=[str(file)], spark=spark, **ANY)
    assert advice.advised[0].columns == ("ticket",)
    assert advice.queries == len(statements) + 3
    assert len(advice.problems) == 1
    assert "nowhere" in advice.problems[0]
    assert spark.table(table).count() == ROWS


@pytest.mark.soak
def test_delta(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    """Advice works for Delta, and for a table that no query of the log reads."""
    path = tmp_path / "delta"
    spark.range(0, ROWS, 1, 8).selectExpr(*_COLUMNS).write.format("delta").save(str(path))
    with logged(spark, tmp_path / "logs", compress="false", rolling_enabled="false"):
        for ticket in range(5):
            spark.sql(f"SELECT * FROM delta.`{path}` WHERE ticket = {ticket}").collect()
    name = f"delta:{path}"
    (advice,) = ls.advise([name], event_logs=[str(tmp_path / "logs")], spark=spark)
    assert [one.columns for one in advice.columns] == [("ticket",)]
    assert advice.queries == 5
    (none,) = ls.advise([name], event_logs=[str(logs)], spark=spark)
    assert (none.queries, none.columns) == (0, ())
    assert "ticket" in none.unqueried


# options are read without Spark, and the advice is that of the function
@pytest.mark.soak
def test_command(
    spark: SparkSession, table: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints the advice, writes a page, and builds the advised indexes."""
    from lakesieve.cli.app import build_app

    monkeypatch.setattr("lakesieve.cli.session.start_session", lambda *_, **__: spark)
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))
    monkeypatch.setenv("LAKESIEVE_WAREHOUSE", warehouse)
    page = tmp_path / "advice.html"
    command = ["advise", table, "--event-log", str(logs), "--html", str(page), "--create"]
    command += ["--min-saved", "0", "--max-payback", "1e9"]
    done = CliRunner().invoke(build_app(), command)
    assert done.exit_code == 0, done.output
    try:
        assert f"lakesieve create {table} ticket" in done.output
        assert "in-every-file" in page.read_text("utf-8")
        made = {info.columns for info in ls.list_indexes(table, spark=spark)}
        assert made == {("ticket",), ("customer",), ("a", "b")}
        again = CliRunner().invoke(
            build_app(), ["advise", table, "--event-log", str(logs), "--json"]
        )
        document = json.loads(again.stdout)
        assert {one["verdict"] for one in document[0]["columns"]} >= {"exists", "in-every-file"}
    finally:
        for info in ls.list_indexes(table, spark=spark):
            ls.open_index(table, info.name, spark=spark).drop()


def test_mistakes(spark: SparkSession, table: str, logs: Path, tmp_path: Path) -> None:
    """Errors say what to give instead."""
    with pytest.raises(InvalidInputError, match="event logs"):
        ls.advise(table, spark=spark)
    with pytest.raises(InvalidInputError, match="No table"):
        ls.advise([], event_logs=[str(logs)], spark=spark)
    with pytest.raises(InvalidInputError, match="sample"):
        ls.advise(table, event_logs=[str(logs)], spark=spark, sample=0)
    with pytest.raises(NotFoundError, match="No event log"):
        ls.advise(table, event_logs=[str(tmp_path / "none")], spark=spark)
    with pytest.raises(NotFoundError):
        ls.advise("lake.advised.none", event_logs=[str(logs)], spark=spark)
    (tmp_path / "bad.sql").write_text("SELECT 'open")
    with pytest.raises(InvalidInputError, match="cannot be parsed"):
        ls.advise(table, queries=[str(tmp_path / "bad.sql")], spark=spark)


def test_shown(whole: list[TableAdvice]) -> None:
    """Advice is shown in a shell and in a notebook, alone and in a list, with text escaped."""
    advice = whole
    assert "in-every-file" in repr(advice)
    assert "in-every-file" in str(advice[0])
    assert "ticket" in str(advice[0].advised[0])
    hostile = replace(advice[0], table="<script>", problems=("<b>&",))
    assert "<script>" not in hostile._repr_html_()
    assert "&lt;script&gt;" in hostile._repr_html_()


@pytest.fixture(scope="module")
def estimates(spark: SparkSession, table: str) -> dict[str, IndexEstimate]:
    """Estimates by trials over all data files, by their column."""
    found = estimate_indexes(table, ["ticket", "arrived", "customer"], spark=spark)
    return {one.columns[0]: one for one in found}


def test_an_estimate_is_what_the_index_then_is(
    spark: SparkSession, table: str, estimates: dict[str, IndexEstimate], tmp_path: Path
) -> None:
    """Its size, and the data files of one key; trials leave nothing behind."""
    before = ls.list_indexes(table, spark=spark)

    index = ls.create_index(table, "ticket", spark=spark, location=str(tmp_path), name="tried")

    assert before == []
    ticket = estimates["ticket"]
    assert ticket.index_bytes.value == pytest.approx(index.info().bytes, rel=0.05)
    assert (ticket.files, ticket.sampled_files, ticket.rows) == (FILES, FILES, ROWS)
    assert ticket.files_then < 2
    assert 20 < ticket.files_now <= FILES
    assert estimates["arrived"].files_now == estimates["arrived"].files_then == 1


# the mathematics of samples are tested without Spark
@pytest.mark.soak
def test_an_estimate_by_a_sample(
    spark: SparkSession, table: str, estimates: dict[str, IndexEstimate]
) -> None:
    """A quarter of the data files tells about as much as all of them."""
    (sampled,) = estimate_indexes(table, ["customer"], spark=spark, sample=ROWS // 4)

    whole = estimates["customer"]
    assert sampled.sampled_files < FILES
    assert sampled.files_then == pytest.approx(whole.files_then, rel=0.25)
    assert sampled.files_now == pytest.approx(whole.files_now, rel=0.1)
    low, high = sampled.index_bytes.low, sampled.index_bytes.high
    assert low <= whole.index_bytes.value <= high


def test_an_estimate_of_row_blocks(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Its size is that of an index of row blocks, and its files are those of a key."""
    (half, whole) = (
        estimate_indexes(table, ["ticket"], spark=spark, sample=rows, rows_per_block=100)[0]
        for rows in (ROWS // 2, ROWS)
    )

    index = ls.create_index(
        table, "ticket", spark=spark, location=str(tmp_path), name="tried", rows_per_block=100
    )

    assert whole.rows_per_block == index.info().rows_per_block == 100
    assert whole.index_bytes.value == pytest.approx(index.info().bytes, rel=0.05)
    assert half.index_bytes.low <= whole.index_bytes.value <= half.index_bytes.high
    assert whole.files_then < 2
