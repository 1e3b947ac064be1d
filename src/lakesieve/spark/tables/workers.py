"""Run lakesieve's functions in Spark's Python workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING
from zipimport import zipimporter

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

Stage = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
"""A function from the Arrow batches of a partition to Arrow batches."""


def in_workers(frame: DataFrame, stage: Stage, schema: str) -> DataFrame:
    """Run a function over the Arrow batches of each partition."""
    return frame.mapInArrow(partial(_run, stage), schema)


def frame_of_rows(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return a frame with the rows and types of an Arrow table."""
    from pyspark.sql.pandas.types import from_arrow_type

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    types = ", ".join(
        f"{field.name} {from_arrow_type(field.type).simpleString()}" for field in rows.schema
    )
    packed = spark.createDataFrame([(bytearray(sink.getvalue()),)], "rows binary")
    return in_workers(packed, _unpacked, types)


def _unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())


def gathered(
    batches: Iterable[pa.RecordBatch], rows: int, first: int | None = None
) -> Iterator[pa.Table]:
    """Join batches into tables of at least ``rows`` rows. Only the last one may have fewer."""
    waiting: list[pa.RecordBatch] = []
    size, least = 0, rows if first is None else first
    for batch in batches:
        waiting.append(batch)
        size += batch.num_rows
        if size >= least:
            yield pa.Table.from_batches(waiting)
            waiting, size, least = [], 0, rows
    if size:
        yield pa.Table.from_batches(waiting)


def _run(stage: Stage, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    forget_archives()
    yield from stage(batches)


def forget_archives() -> None:
    """Save a worker's next task from reading all archives.

    Spark puts its own zips and the jars of ``spark.jars.packages`` on the workers' path, and clears
    the import caches before each task. Python 3.10 and 3.11 then read the directory of each archive
    again, once for each package in it (python/cpython#103200). For the jars of three formats, this
    takes half a second. Later imports still find the archives.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
