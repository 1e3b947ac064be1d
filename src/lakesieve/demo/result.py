"""What the demo measured, as values; rendered by ``report``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoIndex:
    """One index of the demo's table, its cost beside that of what it indexes.

    Args:
        column: The indexed column.
        keys: Distinct keys.
        bytes: Bytes of the index.
        bits_per_row: The same in bits a row of the table.
        column_bytes: Bytes of the column in the table's Parquet files.
        build_seconds: Time that the build took.
    """

    column: str
    keys: int
    bytes: int
    bits_per_row: float
    column_bytes: int
    build_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuery:
    """One query, run with skipping off and on, with equal answers.

    Args:
        name: What kind of query it is.
        sql: Its text.
        rows: Rows of the answer.
        files_off: Data files opened with skipping off, after Iceberg's own min/max skipping.
        files_on: Data files opened with skipping on.
        uncovered: How many of ``files_on`` were written after the index was built.
        seconds_off: Median time with skipping off.
        seconds_on: Median time with skipping on.
        speedup: ``seconds_off`` over ``seconds_on``.
    """

    name: str
    sql: str
    rows: int
    files_off: int
    files_on: int
    uncovered: int
    seconds_off: float
    seconds_on: float
    speedup: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """All results of one run of the demo.

    Args:
        table: Name of the table.
        warehouse: Where the table's catalog lies.
        scale: TPC-H scale factor.
        rows: Rows of the table when it was indexed.
        files: Data files then.
        table_bytes: Bytes of those files.
        indexes: The indexes that were built.
        queries: The queries that were run.
        seconds: Time that the whole demo took.
    """

    table: str
    warehouse: str
    scale: float
    rows: int
    files: int
    table_bytes: int
    indexes: tuple[DemoIndex, ...]
    queries: tuple[DemoQuery, ...]
    seconds: float
