"""What the demo measured, as values; rendered by ``report``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoIndex:
    """One index of the demo's table, with its size and the size of the indexed column."""

    column: str
    keys: int  # distinct keys
    bytes: int  # bytes of the index
    bits_per_row: float  # the same in bits a row of the table
    column_bytes: int  # bytes of the column in the table's Parquet files
    build_seconds: float  # time that the build took


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuery:
    """One query, run with skipping off and on, with equal answers."""

    name: str  # what kind of query it is
    sql: str
    rows: int  # rows of the answer
    files_off: int  # data files opened with skipping off, after Iceberg's own min/max skipping
    files_on: int  # data files opened with skipping on
    uncovered: int  # how many of `files_on` were written after the index was built
    seconds_off: float  # median time with skipping off
    seconds_on: float  # median time with skipping on
    speedup: float  # `seconds_off` over `seconds_on`


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """All results of one run of the demo."""

    table: str  # name of the table
    warehouse: str  # where the table's catalog lies
    scale: float  # TPC-H scale factor
    rows: int  # rows of the table when it was indexed
    files: int  # data files then
    table_bytes: int  # bytes of those files
    indexes: tuple[DemoIndex, ...]
    queries: tuple[DemoQuery, ...]
    seconds: float  # time that the whole demo took
