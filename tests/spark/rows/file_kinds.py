"""Parquet files of many kinds with the same columns, in one folder."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["PAGED", "ROWS", "UNPAGED", "row_group_starts", "row_groups", "write_kinds"]

ROWS = 2_000
# files with an offset index, of which only the wanted rows are read
PAGED = ("pages", "second", "overflow", "nulls", "one", "spark", "legacy")
# files of which whole row groups are read
UNPAGED = ("plain", "large")

_DRAWN = random.Random(11)
_DAY = dt.date(1500, 1, 1)
_MOMENT = dt.datetime(1500, 1, 1, tzinfo=dt.UTC)


def _table(rows: int) -> pa.Table:
    numbers = range(rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "word": pa.array([f"word {_DRAWN.randrange(20)}" for _ in numbers]),
            "unique": pa.array([f"unique {_DRAWN.random()}" for _ in numbers]),
            "maybe": pa.array([None if n % 3 else n / 7 for n in numbers], pa.float64()),
            "day": pa.array([_DAY + dt.timedelta(days=n) for n in numbers]),
            "moment": pa.array(
                [_MOMENT + dt.timedelta(hours=n) for n in numbers], pa.timestamp("us", "UTC")
            ),
            "price": pa.array([Decimal(n) / 8 for n in numbers], pa.decimal128(20, 3)),
            "point": pa.array([None if n % 11 == 0 else {"x": n, "y": str(n)} for n in numbers]),
            "parts": pa.array(
                [None if n % 13 == 0 else [{"a": n, "b": [n] * (n % 3)}] * (n % 5) for n in numbers]
            ),
            "flags": pa.array(
                [[(str(k), n) for k in range(n % 4)] for n in numbers],
                pa.map_(pa.string(), pa.int64()),
            ),
        }
    )


def write_kinds(spark: SparkSession, folder: Path) -> None:
    """Write a file of each kind."""
    table = _table(ROWS)
    small: dict[str, Any] = {"data_page_size": 500, "write_batch_size": 20}
    # several row groups, the last one short
    groups = {"row_group_size": 600}
    indexed = {"write_page_index": True}

    def write(name: str, table: pa.Table, **options: Any) -> None:
        pq.write_table(table, folder / f"{name}.parquet", **options)

    write("pages", table, **small, **groups, **indexed)
    write("second", table, **small, **groups, **indexed, data_page_version="2.0")
    write("overflow", table, **small, **indexed, dictionary_pagesize_limit=300)
    empty = [pa.nulls(ROWS, field.type) for field in table.schema]
    write(
        "nulls", pa.table(empty, table.schema).set_column(0, "id", table["id"]), **small, **indexed
    )
    write("one", table.slice(7, 1), **indexed)
    write("plain", table, **groups)
    write("large", table)
    _write_by_spark(spark, folder / "spark.parquet", "CORRECTED", "TIMESTAMP_MICROS")
    _write_by_spark(spark, folder / "legacy.parquet", "LEGACY", "INT96")


def _write_by_spark(spark: SparkSession, file: Path, rebase: str, kind: str) -> None:
    """Write a file with several row groups and small pages."""
    folder, options = file.parent, {"parquet.page.row.count.limit": "37"}
    options["parquet.block.size"] = "60000"
    settings = {
        "spark.sql.parquet.datetimeRebaseModeInWrite": rebase,
        "spark.sql.parquet.int96RebaseModeInWrite": rebase,
        "spark.sql.parquet.outputTimestampType": kind,
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    target = folder.parent / file.stem
    rows = spark.read.parquet(str(folder / "large.parquet")).coalesce(1).sortWithinPartitions("id")
    rows.write.options(**options).parquet(str(target))
    for key in settings:
        spark.conf.unset(key)
    (written,) = target.glob("*.parquet")
    written.rename(file)


def row_groups(file: Path) -> list[tuple[int, int]]:
    """Return the first row of each row group and the row after its last."""
    metadata = pq.ParquetFile(file).metadata
    bounds, start = [], 0
    for at in range(metadata.num_row_groups):
        end = start + metadata.row_group(at).num_rows
        bounds.append((start, end))
        start = end
    return bounds


def row_group_starts(file: Path) -> list[int]:
    """Return where each row group begins, in bytes."""
    metadata = pq.ParquetFile(file).metadata
    first = [metadata.row_group(at).column(0) for at in range(metadata.num_row_groups)]
    return [min(filter(None, (c.dictionary_page_offset, c.data_page_offset))) for c in first]
