"""Keys in one large file, without Spark: row blocks in each engine, beside Lance's BTREE index."""

from __future__ import annotations

import random
import time
from itertools import cycle
from typing import TYPE_CHECKING

import duckdb
import lance
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds

import lakesieve as ls
from bench.large_files import COLUMNS, key_of
from bench.measure import Measured, bytes_below, in_series, in_turn, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    Way = Callable[[Sequence[int]], int]

__all__ = ["ROWS", "run"]

ROWS = 4_700_000
"""About 400 MB."""

_BYTES_A_ROW = 86
"""About what a row takes in a Parquet file of Spark's."""

_ROW_GROUPS = 40
_BLOCK = 20_000
_KEYS = 1000
_LANCE = "Lance BTREE"


def run(spark: SparkSession, root: Path, *, rows: int = ROWS) -> Iterator[Measured]:
    """Write one file, index it with lakesieve and with Lance, and look up keys in turn."""
    folder = root / f"one-file-{time.time_ns()}"
    note(f"writing {rows:,} rows as one file")
    made = spark.range(0, rows, 1, 1).selectExpr("id", *COLUMNS)
    group = rows * _BYTES_A_ROW // _ROW_GROUPS
    made.write.option("parquet.block.size", group).parquet(str(folder))
    table = f"parquet:{folder}"
    note("indexing it")
    # the first build of a session starts Spark's Python processes
    ls.create_index(table, "by_file", spark=spark)
    start = time.perf_counter()
    info = ls.create_index(table, "by_block", spark=spark, rows_per_block=_BLOCK).info()
    seconds = time.perf_counter() - start
    place = root / f"lance-{time.time_ns()}"
    dataset = lance.write_dataset(ds.dataset(sorted(map(str, folder.glob("*.parquet")))), place)
    start = time.perf_counter()
    dataset.create_scalar_index("by_block", "BTREE")
    of_lance, size = time.perf_counter() - start, bytes_below(place / "_indices")
    yield Measured(
        name="bytes of the index over Lance's BTREE",
        value=info.bytes / size,
        unit="x",
        details={
            "lakesieve": f"{info.bits_per_row:.1f} bits a row, built in {seconds:.1f} s",
            _LANCE: f"{8 * size / rows:.1f} bits a row, built in {of_lance:.1f} s",
        },
    )
    drawn = random.Random(7)
    keys = sorted({key_of(drawn.randrange(rows)) for _ in range(_KEYS)})
    drawn.shuffle(keys)
    file_bytes = bytes_below(folder)
    ways = _ways(table, dataset)
    questions = (
        ("a point", [[key] for key in keys], in_series),
        (f"IN of {_KEYS} keys", [keys], in_turn),
    )
    for name, lists, medians in questions:
        times = medians({way: _counted(action, lists) for way, action in ways.items()})
        for way, took in times.items():
            yield Measured(
                name=f"{name}: {way}",
                value=1e3 * took,
                unit="ms",
                at_most=30 if len(lists[0]) == 1 and way != _LANCE else None,
                details={"file": f"{file_bytes / 1e6:.0f} MB", "of Lance": _ratio(times, way)},
            )


def _counted(action: Way, lists: Sequence[Sequence[int]]) -> Callable[[], None]:
    """Return an action that asks for another list of keys each time, and checks the answer."""
    asked = cycle(lists)

    def ask() -> None:
        keys = next(asked)
        if (found := action(keys)) != len(keys):
            raise AssertionError(f"{found} rows instead of {len(keys)}")

    return ask


def _ratio(times: dict[str, float], way: str) -> str:
    return f"{times[way] / times[_LANCE]:.1f} times"


def _ways(table: str, dataset: lance.LanceDataset) -> dict[str, Way]:
    """Return how each engine counts the rows of keys, all columns read."""
    of_arrow, of_polars = ls.engines.arrow.dataset(table), ls.engines.polars.scan(table)
    connection = duckdb.connect()
    ls.engines.duckdb.relation(connection, table).create_view("indexed")

    def listed(keys: Sequence[int]) -> str:
        return f"by_block IN ({', '.join(map(str, keys))})"

    return {
        "Arrow": lambda keys: int(
            of_arrow.to_table(filter=pc.field("by_block").isin(list(keys))).num_rows
        ),
        "Polars": lambda keys: int(
            of_polars.filter(pl.col("by_block").is_in(list(keys))).collect().height
        ),
        "DuckDB": lambda keys: len(
            connection.execute(f"SELECT * FROM indexed WHERE {listed(keys)}").fetchall()
        ),
        _LANCE: lambda keys: int(dataset.to_table(filter=listed(keys)).num_rows),
    }
