"""Conditions on words, expressions, elements, entries and JSON paths, with skipping off and on."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import lakesieve as ls
from bench.measure import Measured, in_turn, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["LOG_ROWS", "MESSAGE", "REQUEST", "request_id", "run"]

LOG_ROWS = 20_000_000
KINDS = ("iceberg", "delta")
"""Formats."""

SIZES = (128, 16)
"""Sizes of data files in megabytes."""

_SAMPLE = 200_000
# with these, the files of a table have about the same size and a row goes where its number says
_PROPERTIES = {"iceberg": {"write.distribution-mode": "none"}, "delta": {}}
_LEVELS = "element_at(array('INFO', 'INFO', 'INFO', 'DEBUG', 'WARN', 'ERROR'), 1 + {})"
_SYLLABLES = "substr('bacedifogukaleminopurasetivoxuza', CAST(1 + 2 * ({}) AS INT), 2)"
_AGENTS = (
    "'Mozilla/5.0 (X11; Linux x86_64)', 'curl/8.5.0', 'okhttp/4.12.0', 'python-requests/2.32.3'"
)


def _drawn(seed: int, values: int) -> str:
    """SQL of a number below ``values``, drawn by the row's id."""
    return f"CAST(pmod(xxhash64(id, {seed}), {values}) AS INT)"


def _word(seed: int) -> str:
    """SQL of one of 4,096 words. The first ones are drawn much more often."""
    number = f"CAST(pow({_drawn(seed, 1_000_000)} / 1e6, 3) * 4096 AS INT)"
    parts = (f"{number} DIV 256", f"{number} DIV 16 % 16", f"{number} % 16")
    return f"concat({', '.join(_SYLLABLES.format(part) for part in parts)})"


REQUEST = "substr(md5(CAST(id AS STRING)), 1, 16)"
MESSAGE = f"""concat_ws(' ',
  {_LEVELS.format(_drawn(1, 6))},
  concat('service=shop-', {_drawn(2, 40)}),
  concat('request=', {REQUEST}),
  concat('GET /api/v2/', {_word(3)}, '/', {_drawn(4, 100_000)}),
  concat('took ', {_drawn(5, 2000)}, ' ms,'),
  element_at(array({_AGENTS}), 1 + {_drawn(6, 4)}),
  {_word(7)}, {_word(8)}, {_word(9)}, {_word(10)},
  IF(id % 1000003 = 77, 'deadlock', NULL))"""

_EVENT = f"""to_json(struct(
  struct(id DIV 1000 AS id) AS batch,
  struct({_word(15)} AS name, {_drawn(16, 1_000_000)} AS id, {_drawn(17, 100)} AS age) AS user,
  {REQUEST} AS session,
  concat('/shop/', {_word(18)}, '/', {_drawn(19, 100_000)}) AS path,
  element_at(array({_AGENTS}), 1 + {_drawn(20, 4)}) AS agent,
  {_drawn(21, 2000)} AS took))"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    """A condition, and how many times faster an index has to make it."""

    name: str
    condition: str
    at_least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """A table that is written in each format and size.

    Args:
        name: Its name.
        columns: SQL of its columns over a number ``id``.
        indexes: What is indexed, by the name of the index.
        queries: Returns the queries of a table with a number of rows.
        share: Its rows, for each row of the log.
        mixed_case: Whether it has addresses in mixed case and, in a column of its own, in lower
            case.
    """

    name: str
    columns: tuple[str, ...]
    indexes: Mapping[str, str]
    queries: Callable[[int], list[_Query]]
    share: float
    mixed_case: bool = False


def request_id(row: int) -> str:
    """Return the request id in the message of a row."""
    return hashlib.md5(str(row).encode(), usedforsecurity=False).hexdigest()[:16]


def _queries_of_log(rows: int) -> list[_Query]:
    """Return the queries of a log with a number of rows."""
    request = request_id(rows // 3)
    return [
        _Query(name="a request id", condition=f"message LIKE '%{request}%'", at_least=20),
        _Query(
            name="a part of a request id",
            condition=f"message LIKE '%{request[3:13]}%'",
            at_least=10,
        ),
        _Query(name="a rare word", condition="message LIKE '%deadlock%'", at_least=10),
    ]


def _queries_of_events(rows: int) -> list[_Query]:
    """Return the queries of a table of events with a number of rows."""
    batch = rows // 2000
    conditions = {
        "array_contains": f"array_contains(tags, 'batch {batch}')",
        "the entry of a map": f"attributes['batch'] = '{batch}'",
        "a JSON path": f"get_json_object(payload, '$.batch.id') = '{batch}'",
    }
    return [
        _Query(name=name, condition=condition, at_least=20)
        for name, condition in conditions.items()
    ]


_CONTENTS = (
    _Content(
        name="log",
        columns=(
            "id",
            "timestamp_millis(1700000000000 + id * 50) AS time",
            f"{MESSAGE} AS message",
            f"concat('User.', {_drawn(11, 2_000_000)}, '@Example.com') AS email",
            f"concat('user.', {_drawn(11, 2_000_000)}, '@example.com') AS mail",
        ),
        indexes={"words": "words(message)", "lower": "lower(email)", "mail": "mail"},
        queries=_queries_of_log,
        share=1,
        mixed_case=True,
    ),
    # a batch of a thousand rows is in one row block
    _Content(
        name="events",
        columns=(
            "id",
            f"array({_word(12)}, {_word(13)}, concat('batch ', id DIV 1000)) AS tags",
            f"map('color', {_word(14)}, 'batch', CAST(id DIV 1000 AS STRING)) AS attributes",
            f"{_EVENT} AS payload",
        ),
        indexes={
            "tags": "elements(tags)",
            "attributes": "entries(attributes)",
            "batch": "get_json_object(payload, '$.batch.id')",
        },
        queries=_queries_of_events,
        share=0.5,
    ),
)


def run(
    spark: SparkSession,
    root: Path,
    *,
    rows: int = LOG_ROWS,
    sizes: tuple[int, ...] = SIZES,
    kinds: tuple[str, ...] = KINDS,
) -> Iterator[Measured]:
    """Write both tables in each format and size, index them, and query them in turn.

    Args:
        spark: The session.
        root: A folder for samples of the tables.
        rows: Rows of the log; the table of events has half as many.
        sizes: Sizes of data files in megabytes.
        kinds: Formats of the tables.
    """
    for content in _CONTENTS:
        number = int(rows * content.share)
        bytes_a_row = _bytes_a_row(spark, root, content)
        for kind in kinds:
            for size in sizes:
                files = max(1, round(number * bytes_a_row / size / 1e6))
                yield from _measured(spark, content, kind, rows=number, files=files)


def _bytes_a_row(spark: SparkSession, root: Path, content: _Content) -> float:
    """Return how many bytes of a data file a row takes, from a sample."""
    folder = root / f"sample-{content.name}-{time.time_ns()}"
    frame = spark.range(0, _SAMPLE, 1, 1).selectExpr(*content.columns)
    frame.write.option("compression", "zstd").parquet(str(folder))
    return sum(file.stat().st_size for file in folder.glob("*.parquet")) / _SAMPLE


def _measured(
    spark: SparkSession, content: _Content, kind: str, *, rows: int, files: int
) -> Iterator[Measured]:
    database = "lake.bench" if kind == "iceberg" else "bench"
    table = f"{database}.{content.name}"
    what = f"{kind}, {content.name} in {files} files"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    # Delta writes snappy by default, Iceberg zstd
    spark.conf.set("spark.sql.parquet.compression.codec", "zstd")
    writer = spark.range(0, rows, 1, files).selectExpr(*content.columns).writeTo(table)
    for name, value in _PROPERTIES[kind].items():
        writer = writer.tableProperty(name, value)
    note(f"{what}: writing {rows:,} rows")
    writer.using(kind).create()
    try:
        yield from _built(spark, content, table, what)
        for query in content.queries(rows):
            yield _queried(spark, table, what, query)
        if content.mixed_case:
            yield _beside_a_column(spark, table, what)
    finally:
        ls.disable(spark)
        spark.sql(f"DROP TABLE {table}")


def _built(spark: SparkSession, content: _Content, table: str, what: str) -> Iterator[Measured]:
    """Build the indexes, each with its size."""
    for name, key in content.indexes.items():
        start = time.perf_counter()
        info = ls.create_index(table, [key], name=name, spark=spark).info()
        took = time.perf_counter() - start
        details = {
            "built in": f"{took:.1f} s",
            "rows a block": str(info.rows_per_block or "a file"),
            "bits a row": f"{info.bits_per_row:.2f}",
        }
        if name != "words":
            yield Measured(
                name=f"{what}: size of {key}",
                value=info.bytes / 1e6,
                unit="MB",
                details=details,
            )
            continue
        (of_text,) = spark.sql(f"SELECT sum(octet_length(message)) FROM {table}").first() or (0,)
        yield Measured(
            name=f"{what}: size of {key}",
            value=100 * info.bytes / of_text,
            unit="% of the text",
            at_most=7,
            details=details | {"text": f"{of_text / 1e9:.2f} GB", "words": f"{info.keys:,}"},
        )


def _queried(spark: SparkSession, table: str, what: str, query: _Query) -> Measured:
    """Query with skipping off and on in turn."""
    name = f"{what}: {query.name}"
    text = f"SELECT * FROM {table} WHERE {query.condition}"

    def off() -> list[str]:
        ls.disable(spark)
        return sorted(map(str, spark.sql(text).collect()))

    def on() -> list[str]:
        ls.enable(spark)
        return sorted(map(str, spark.sql(text).collect()))

    found = on()
    (scan,) = ls.last_pruning(spark)
    if not found or off() != found:
        raise AssertionError(f"{name}: the answers differ, or there is none")
    times = in_turn({"off": off, "on": on}, rounds=3)
    return Measured(
        name=f"{name}, speed-up",
        value=times["off"] / times["on"],
        unit="x",
        at_least=query.at_least,
        details={way: f"{1e3 * took:.0f} ms" for way, took in times.items()}
        | {
            "rows": str(len(found)),
            "files": f"{scan.files_total} -> {scan.files_read}",
            "rows read": f"{scan.rows_read} of {scan.rows_total}",
        },
    )


def _beside_a_column(spark: SparkSession, table: str, what: str) -> Measured:
    """Query an expression, and a column that has the same values, in turn."""
    ls.enable(spark)

    def of(key: str) -> int:
        found = spark.sql(f"SELECT * FROM {table} WHERE {key} = 'user.4711@example.com'")
        return len(found.collect())

    if of("lower(email)") != of("mail"):
        raise AssertionError(f"{what}: the expression and the column have other rows")
    times = in_turn({"column": lambda: of("mail"), "expression": lambda: of("lower(email)")})
    return Measured(
        name=f"{what}: lower(email) against a column of its values",
        value=times["expression"] / times["column"],
        unit="x",
        at_most=1.1,
        details={way: f"{1e3 * took:.0f} ms" for way, took in times.items()},
    )
