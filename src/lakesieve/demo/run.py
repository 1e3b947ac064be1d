"""The demo: queries on a real Iceberg table with skipping off and on, compared and timed."""

from __future__ import annotations

import statistics
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lakesieve.demo.data import RECALLS, TABLE, prepare_table
from lakesieve.demo.measurements import DemoIndex, DemoQuery, DemoResult
from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError
from lakesieve.spark import api
from lakesieve.spark.create import create_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from lakesieve.demo.data import DemoTable
    from lakesieve.index.result import BuildProgress, TablePruning

COLUMNS = ("l_orderkey", "l_partkey")
TIMED_RUNS = 3
LINES = "l_orderkey, l_linenumber, l_partkey, l_quantity, l_shipmode"


class Observer(Protocol):
    """What follows how far the demo is."""

    def say(self, message: str) -> None:
        """Called with one sentence about the next step."""

    def building(self, title: str) -> AbstractContextManager[Callable[[BuildProgress], None]]:
        """Return what is called with the progress of one build."""


def run_demo(
    spark: SparkSession, directory: Path, *, warehouse: str, scale: float, observer: Observer
) -> DemoResult:
    """Load the table, index it, and run every query with skipping off and on."""
    began = time.monotonic()
    directory.mkdir(parents=True, exist_ok=True)
    loaded = prepare_table(spark, directory, scale, observer.say)
    indexes = tuple(_build(spark, column, observer) for column in COLUMNS)
    keys = _Keys.at(scale)
    queries = [_compare(spark, question, observer) for question in _on_loaded(keys)]
    _append(spark, keys)
    queries += [_compare(spark, question, observer) for question in _on_appended(keys, loaded)]
    api.disable(spark)
    return DemoResult(
        table=TABLE,
        warehouse=warehouse,
        scale=scale,
        rows=loaded.rows,
        files=loaded.files,
        table_bytes=loaded.bytes,
        indexes=indexes,
        queries=tuple(queries),
        seconds=time.monotonic() - began,
    )


def _build(spark: SparkSession, column: str, observer: Observer) -> DemoIndex:
    with suppress(NotFoundError):  # there is none in a new directory
        api.open_index(TABLE, column, spark=spark).drop()
    with observer.building(f"Indexing {column}") as progress:
        start = time.monotonic()
        index = create_index(TABLE, [column], spark=spark, progress=progress)
        seconds = time.monotonic() - start
    info = index.info()
    (size,) = spark.sql(
        f"SELECT sum(readable_metrics.{column}.column_size) AS bytes FROM {TABLE}.files"
    ).collect()
    return DemoIndex(
        column=column,
        keys=info.keys,
        bytes=info.bytes,
        bits_per_row=info.bits_per_row,
        column_bytes=size.bytes,
        build_seconds=seconds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    """Keys from the middle of the table, at any scale."""

    order: int
    far_order: int
    part: int

    @classmethod
    def at(cls, scale: float) -> _Keys:
        # of each 32 order keys TPC-H uses the first 8, and a multiple of 1000 parts is recalled
        blocks = round(1_500_000 * scale) // 8
        parts = max(1, round(200 * scale) // 3)
        return cls(order=blocks // 2 * 32 + 6, far_order=blocks // 5 * 32 + 6, part=parts * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    name: str
    sql: str


def _on_loaded(keys: _Keys) -> tuple[_Question, ...]:
    order, lines = keys.order, f"SELECT {LINES} FROM {TABLE}"
    several = f"{keys.far_order}, {order}, {order + 1}"
    return (
        _Question(name="point", sql=f"{lines} WHERE l_orderkey = {order}"),
        _Question(name="IN", sql=f"{lines} WHERE l_orderkey IN ({several})"),
        _Question(
            name="narrow range",
            sql=f"{lines} WHERE l_orderkey BETWEEN {order} AND {order + 31}",
        ),
        _Question(
            name="join",
            sql=f"SELECT {LINES}, r_notice FROM {TABLE} JOIN {RECALLS} ON l_partkey = r_partkey"
            f" WHERE r_partkey = {keys.part}",
        ),
    )


def _on_appended(keys: _Keys, loaded: DemoTable) -> tuple[_Question, ...]:
    condition = f"WHERE l_orderkey = {keys.order}"
    return (
        _Question(name="after an append", sql=f"SELECT {LINES} FROM {TABLE} {condition}"),
        _Question(
            name="time travel",
            sql=f"SELECT {LINES} FROM {TABLE} VERSION AS OF {loaded.snapshot} {condition}",
        ),
    )


def _append(spark: SparkSession, keys: _Keys) -> None:
    """Repeat an order's lines under new numbers, in a file that no index has seen."""
    order = spark.table(TABLE).where(f"l_orderkey = {keys.order}")
    again = order.withColumn("l_linenumber", order["l_linenumber"] + 7)
    again.coalesce(1).writeTo(TABLE).append()


def _compare(spark: SparkSession, question: _Question, observer: Observer) -> DemoQuery:
    """Run a query with skipping off and on."""
    observer.say(f"Running the query '{question.name}' with skipping off, then on ...")
    api.disable(spark)
    answer_off, seconds_off = _timed(spark, question.sql)
    api.enable(spark)
    answer_on, seconds_on = _timed(spark, question.sql)
    scan = _scan_of_lineitem(api.last_pruning(spark), question)
    if answer_on != answer_off:
        raise LakesieveError(
            f"The answers of the query '{question.name}' differ: {len(answer_off)} rows with"
            f" skipping off, {len(answer_on)} with skipping on.",
            kind=ErrorKind.BUILD_INCONSISTENT,
            hint=f"Please report it with this query: {question.sql}",
        )
    return DemoQuery(
        name=question.name,
        sql=question.sql,
        rows=len(answer_on),
        files_off=scan.files_total,
        files_on=scan.files_read,
        uncovered=scan.uncovered,
        seconds_off=seconds_off,
        seconds_on=seconds_on,
        speedup=seconds_off / seconds_on,
    )


def _timed(spark: SparkSession, sql: str) -> tuple[list[Row], float]:
    """Return the sorted answer of a query and the median of its times, planning included."""
    answers, seconds = [], []
    for _ in range(TIMED_RUNS):
        start = time.perf_counter()
        rows = spark.sql(sql).collect()
        seconds.append(time.perf_counter() - start)
        answers.append(sorted(rows))
    if any(rows != answers[0] for rows in answers):
        raise LakesieveError(
            f"Two runs of one query gave different answers: {sql}",
            kind=ErrorKind.BUILD_INCONSISTENT,
            hint="Is another program writing to the demo's table?",
        )
    return answers[0], statistics.median(seconds)


def _scan_of_lineitem(scans: list[TablePruning], question: _Question) -> TablePruning:
    for scan in scans:
        if "lineitem" in scan.table:
            return scan
    raise LakesieveError(
        f"The session does not report what it did to the query '{question.name}'.",
        kind=ErrorKind.BUILD_INCONSISTENT,
        hint=f"Please report it with this query: {question.sql}",
    )
