"""TPC-H lineitem by the day of its receipt, some of it late, as large as a disk holds.

The table is written in two passes of bounded memory: parts of TPC-H, each cut by the data file that
its rows go to, and then every data file from its slices of all parts.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import note
from lakesieve.demo.data import generate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["TABLE", "Loaded", "prepare"]

TABLE = "lake.bench.lineitem"
ROWS_A_FILE = 1_000_000
ROWS_A_PART = 6_000_000
SHARES = (0.1, 1 / 3, 1.0)
FIRST_DAY, LAST_DAY = np.datetime64("1992-01-03"), np.datetime64("1998-12-31")
"""When TPC-H's goods are received, whatever the scale."""

_DAY = 86_400
_LATE = 50
"""One of so many rows is late, by up to a year."""
_READ = ["l_orderkey", "l_linenumber", "l_partkey", "l_quantity", "l_receiptdate"]
_COLUMNS = {
    "l_orderkey": pa.int64(),
    "l_linenumber": pa.int32(),
    "l_partkey": pa.int64(),
    "l_quantity": pa.int32(),
    "l_receiptdate": pa.date32(),
}
_SLICES = pa.schema([*_COLUMNS.items(), ("arrival", pa.int32())])
_WRITTEN = pa.schema([*_COLUMNS.items(), ("event_id", pa.int64())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The table.

    Args:
        rows: About how many it holds.
        snapshots: Its version after a tenth, a third and all of the files.
    """

    rows: int
    snapshots: tuple[int, ...]


def prepare(spark: SparkSession, folder: Path, rows: int) -> Loaded:
    """Write the table, or take the one that is there.

    Args:
        spark: A session whose catalog ``lake`` is in the folder.
        folder: Where slices go until the table is written, and the note that it is complete.
        rows: About how many rows; the scale of TPC-H is a six-millionth of it.
    """
    marker = folder / "lineitem.json"
    if marker.exists():
        found = json.loads(marker.read_text(encoding="utf-8"))
        if found["rows"] == rows:
            return Loaded(rows=rows, snapshots=tuple(found["snapshots"]))
        marker.unlink()
    files = max(10, round(rows / ROWS_A_FILE))
    slices = folder / "slices"
    shutil.rmtree(slices, ignore_errors=True)
    parts = max(1, round(rows / ROWS_A_PART))
    for part in range(1, parts + 1):
        note(f"TPC-H lineitem, part {part} of {parts}")
        _cut_part(folder / "generated", slices, rows / 6_000_000, (part, parts), files)
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    columns = ", ".join(f"{field.name} {_spark_type(field.type)}" for field in _WRITTEN)
    spark.sql(
        f"CREATE TABLE {TABLE} ({columns}) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    ends = [max(1, round(share * files)) for share in SHARES]
    snapshots = []
    for start, end in zip([0, *ends], ends, strict=False):
        note(f"data files {start} to {end}")
        numbers = spark.range(start, end, 1, end - start)
        numbers.mapInArrow(partial(_rows, slices), columns).writeTo(TABLE).append()
        (row,) = spark.sql(f"SELECT snapshot_id FROM {TABLE}.refs WHERE name = 'main'").collect()
        snapshots.append(row.snapshot_id)
    shutil.rmtree(slices)
    loaded = Loaded(rows=rows, snapshots=tuple(snapshots))
    marker.write_text(json.dumps(asdict(loaded)), encoding="utf-8")
    return loaded


def _spark_type(arrow: pa.DataType) -> str:
    return {"int64": "BIGINT", "int32": "INT"}.get(str(arrow), "DATE")


def _cut_part(raw: Path, slices: Path, scale: float, part: tuple[int, int], files: int) -> None:
    """One part of lineitem as one Arrow file, of a record batch for each data file."""
    generate(raw, scale, part=part)
    table = pq.read_table(raw / "lineitem", columns=_READ)
    shutil.rmtree(raw)
    arrival = _arrivals(table)
    span = (int((LAST_DAY - FIRST_DAY).astype(int)) + 1) * _DAY
    number = np.minimum(arrival, span - 1).astype(np.int64) * files // span
    order = np.argsort(number, kind="stable")
    table = table.append_column("arrival", pa.array(arrival)).take(order).cast(_SLICES)
    ends = np.searchsorted(number[order], np.arange(files), side="right")
    slices.mkdir(exist_ok=True)
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    path = str(slices / f"{part[0]:05d}.arrow")
    with pa.ipc.new_file(path, _SLICES, options=options) as writer:
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            (batch,) = table[start:end].combine_chunks().to_batches() or [_empty()]
            writer.write_batch(batch)


def _empty() -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=_SLICES)


def _arrivals(table: pa.Table) -> np.ndarray:
    """Seconds from the first day until a row came: some time of its receipt date, or late."""
    days = table["l_receiptdate"].cast(pa.int32()).to_numpy()
    drawn = _event_ids(table).astype(np.uint64)
    late = np.where(drawn % _LATE == 0, (drawn // _LATE) % 365, 0).astype(np.int64)
    seconds = ((drawn >> np.uint64(32)) % _DAY).astype(np.int64)
    first = int(FIRST_DAY.astype(int))
    return ((days - first + late) * _DAY + seconds).astype(np.int32)


def _event_ids(table: pa.Table) -> np.ndarray:
    """Random 64-bit numbers, the same for the same row: splitmix64 of its key."""
    orders = table["l_orderkey"].to_numpy().astype(np.uint64)
    state = orders * np.uint64(8) + table["l_linenumber"].to_numpy().astype(np.uint64)
    state = (state + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))).astype(np.int64)


def _rows(slices: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of data files by number, in the order in which they came."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            found = []
            for path in sorted(slices.iterdir()):
                with pa.memory_map(str(path)) as source:
                    found.append(pa.ipc.open_file(source).get_batch(number))
            table = pa.Table.from_batches(found).sort_by("arrival").drop_columns("arrival")
            table = table.append_column("event_id", pa.array(_event_ids(table)))
            yield from table.to_batches(max_chunksize=100_000)
