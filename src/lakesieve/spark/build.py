"""The build pipeline: uncovered data files of a table to segments of an index, on Spark."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, LakesieveError, UnsupportedError
from lakesieve.format import SegmentEntry, catalogue_id
from lakesieve.sieve import Budget, KeyType, encode_rows
from lakesieve.spark.source import SMALLEST_SPLIT
from lakesieve.spark.stages import (
    BUFFER_ROWS,
    CUT_SCHEMA,
    SCATTER_SCHEMA,
    CutPlan,
    ScatterPlan,
    curve,
    cut,
    scatter,
)
from lakesieve.store import Changes, stage_catalogue
from lakesieve.tables.lines import arrow_of, by_number, frame_of
from lakesieve.tables.workers import in_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.format import IndexDefinition
    from lakesieve.spark.progress import Watch
    from lakesieve.spark.rule import InstalledRule
    from lakesieve.spark.source import Source
    from lakesieve.storage import Storage
    from lakesieve.tables import Column, TableVersion

__all__ = [
    "Built",
    "build_segments",
    "draw_curve",
    "file_hashes",
    "hashed_rows",
    "staged",
]

BUCKET_ROWS = 4_000_000
SMALLEST_BUCKET = 500_000
SAMPLE_KEYS = 100_000
SAMPLED_FILES = 32
CURVE_ROWS = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build wrote; not yet committed.

    Args:
        segments: Entries of the written segments.
        files: The catalogue: ``path``, ``size``, ``records``, ``has_null``, ``has_value``.
    """

    segments: tuple[SegmentEntry, ...]
    files: pa.Table


def build_segments(
    spark: SparkSession,
    rule: InstalledRule,
    source: Source,
    *,
    definition: IndexDefinition,
    storage: Storage,
    watch: Watch,
) -> Built:
    """Index data files and write the segments from the executors, row-level deletes ignored.

    Args:
        spark: The session.
        rule: The session's rule, which makes raw reads possible.
        source: The files and columns, counted.
        definition: What the index is to be like.
        storage: The index's root.
        watch: Told of the progress.

    Raises:
        LakesieveError: ``BUILD_INCONSISTENT``: the rows read are not those of the files.
    """
    files = source.files
    watch.expect(rows=source.rows, files=files.num_rows)
    if source.rows == 0:
        return Built(segments=(), files=_with_flags(files, np.zeros((2, files.num_rows), np.int64)))
    with _scattered(spark, rule, source, watch) as (runs, tally_bucket):
        plan = CutPlan(
            storage=storage,
            catalogue=catalogue_id(files.column("path")),
            unit_count=files.num_rows,
            tally_bucket=tally_bucket,
            absent_hits=definition.absent_hits,
            budget=Budget.parse(definition.budget) if definition.budget else None,
        )
        if source.rows <= SMALLEST_BUCKET:
            # both stages in one task: a shuffle of so little would cost more than it spreads
            by_bucket = runs.coalesce(1)
        else:
            by_bucket = by_number(runs, tally_bucket + 1, "bucket")
        told = arrow_of(in_workers(by_bucket, cut(plan), CUT_SCHEMA))
    segments, tally = _collect(told, files.num_rows)
    _check_rows(files, tally)
    return Built(segments=segments, files=_with_flags(files, tally))


def staged(
    built: Built,
    operation: str,
    version: TableVersion,
    *,
    storage: Storage,
    definition: IndexDefinition,
) -> Changes:
    """Write the catalogue of a build, and tell what its commit does.

    Raises:
        StorageError: The place cannot be written to.
    """
    catalogue = stage_catalogue(
        storage, built.files, segments=built.segments, definition=definition
    )
    return Changes(
        operation=operation,
        table_version={"id": version.id, "timestamp_ms": version.timestamp_ms},
        add_catalogues=(catalogue,) if built.files.num_rows else (),
        add_segments=built.segments,
    )


def draw_curve(
    spark: SparkSession, rule: InstalledRule, source: Source, *, watch: Watch
) -> list[dict[str, Any]]:
    """Try all budgets on one stretch of the keys, about :data:`CURVE_ROWS` rows in the middle.

    Returns:
        By increasing size: ``way``, ``bits_per_row``, ``false_files``, ``blocks``; only points that
        no other beats in both.
    """
    watch.expect(rows=source.rows, files=source.files.num_rows)
    if source.rows == 0:
        return []
    buckets = max(1, source.rows // CURVE_ROWS)
    with _scattered(spark, rule, source, watch, buckets=buckets) as (runs, tally_bucket):
        middle = runs.where(f"bucket = {tally_bucket // 2}").repartition(1)
        told = arrow_of(in_workers(middle, curve(source.files.num_rows), CUT_SCHEMA))
    points = [json.loads(body) for body in told.column("body").to_pylist()]
    points.sort(key=lambda point: (point["bits_per_row"], point["false_files"]))
    best: list[dict[str, Any]] = []
    for point in points:
        if not best or point["false_files"] < best[-1]["false_files"]:
            best.append(point)
    return best


@contextmanager
def _scattered(
    spark: SparkSession, rule: InstalledRule, source: Source, watch: Watch, buckets: int = 0
) -> Iterator[tuple[DataFrame, int]]:
    """The first stage: sorted runs by key bucket, and the bucket of the tally, which is the last.

    Args:
        spark: The session.
        rule: The session's rule.
        source: What is read.
        watch: Told of the progress.
        buckets: How many key buckets; as many as memory and cores ask for by default.
    """
    table, files = source.table, source.files
    cores = spark.sparkContext.defaultParallelism
    with rule.raw_reads(source.selected()) as selection:
        salt, hashes, ordinals = file_hashes(spark, source.scanned)
        split = _split_bytes(files, source.rows, cores)
        buckets = buckets or _bucket_count(source.rows, cores)
        boundaries: tuple[int | bytes, ...] = ()
        read = partial(
            table.raw_rows,
            source.version,
            source.columns,
            split_bytes=split,
            selection=selection,
        )
        if buckets > 1:
            watch.phase("sample")
            stride = max(1, files.num_rows // max(SAMPLED_FILES, 4 * buckets))
            sample = hashed_rows(read(stride=stride), source.columns, salt)
            fraction = min(1.0, SAMPLE_KEYS * stride / source.rows)
            sample = sample.sample(fraction, seed=7)
            boundaries = _boundaries(sample, source.key_types, buckets)
        plan = ScatterPlan(
            key_types=source.key_types, hashes=hashes, ordinals=ordinals, boundaries=boundaries
        )
        watch.phase("index")
        rows = hashed_rows(read(), source.columns, salt)
        yield in_workers(rows, scatter(plan), SCATTER_SCHEMA), plan.tally_bucket


def hashed_rows(rows: DataFrame, columns: Sequence[Column], salt: int) -> DataFrame:
    """Keys and hash of the file; strings as bytes, so that no decoding can fail.

    Raises:
        UnsupportedError: Strings of a column do not compare by their bytes.
    """
    names = [f"key_{at}" for at in range(len(columns))]
    for name, column in zip(names, columns, strict=True):
        _check_collation(column, rows.schema[name].dataType.simpleString())
    keys = (
        f"CAST({name} AS BINARY) AS {name}" if column.kind == "string" else name
        for name, column in zip(names, columns, strict=True)
    )
    return rows.selectExpr(*keys, f"xxhash64(file, {salt}) AS file")


def _check_collation(column: Column, found: str) -> None:
    if found.startswith("string collate"):
        raise UnsupportedError(
            f"The column {'.'.join(column.path)} of type {found} cannot be indexed.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Strings can be indexed that compare by their bytes (UTF8_BINARY).",
        )


def file_hashes(spark: SparkSession, paths: pa.ChunkedArray) -> tuple[int, np.ndarray, np.ndarray]:
    """Hash every path as the rows will be hashed; try another salt in case two collide."""
    frame = frame_of(spark, "path", paths)
    for salt in range(8):
        told = arrow_of(frame.selectExpr("path", f"xxhash64(path, {salt}) AS hash"))
        hashes = told.column("hash").to_numpy()
        order = np.argsort(hashes, kind="stable")
        ascending = hashes[order]
        if (ascending[1:] != ascending[:-1]).all() and told.column("path").equals(paths):
            return salt, ascending, order.astype(np.int32)
    raise LakesieveError(
        "The paths of the data files cannot be told apart.",
        kind=ErrorKind.BUILD_INCONSISTENT,
        hint="The table lists a data file twice; repair its metadata first.",
    )


def _bucket_count(rows: int, cores: int) -> int:
    by_size = math.ceil(rows / BUCKET_ROWS)
    by_cores = min(cores, rows // SMALLEST_BUCKET)
    return max(1, by_size, by_cores)


def _split_bytes(files: pa.Table, rows: int, cores: int) -> int:
    """Bytes of files for one scatter task: a buffer's worth of rows, and work for every core."""
    tasks = cores * max(1, math.ceil(rows / (BUFFER_ROWS * cores)))
    total = int(pc.sum(files.column("size")).as_py())
    return max(SMALLEST_SPLIT, math.ceil(1.05 * total / tasks))


def _boundaries(
    sample: DataFrame, key_types: Sequence[KeyType], buckets: int
) -> tuple[int | bytes, ...]:
    """Quantiles of sampled keys: first code of every bucket but the first."""
    codes = encode_rows(key_types, arrow_of(sample.drop("file")).columns).drop_null()
    if len(codes) == 0:
        return ()
    codes = codes.take(pc.sort_indices(codes))
    at = [len(codes) * i // buckets for i in range(1, buckets)]
    return tuple(sorted({codes[i].as_py() for i in at}))


def _collect(told: pa.Table, unit_count: int) -> tuple[tuple[SegmentEntry, ...], np.ndarray]:
    segments = []
    tally = np.zeros((2, unit_count), np.int64)
    for kind, body in zip(
        told.column("kind").to_pylist(), told.column("body").to_pylist(), strict=True
    ):
        if kind == "tally":
            tally += np.frombuffer(body, np.int64).reshape(2, unit_count)
        else:
            segments.append(SegmentEntry.from_json(json.loads(body)))
    return tuple(segments), tally


def _check_rows(files: pa.Table, tally: np.ndarray) -> None:
    """Every row of every file must have been seen, or an older version would miss matches."""
    expected = files.column("records").to_numpy()
    wrong = np.flatnonzero(tally[0] != expected)
    if len(wrong):
        first = int(wrong[0])
        raise LakesieveError(
            f"{len(wrong)} data files gave another number of rows than their metadata says, "
            f"first {files.column('path')[first].as_py()}: {int(tally[0][first])} "
            f"instead of {int(expected[first])}.",
            kind=ErrorKind.BUILD_INCONSISTENT,
            hint="Nothing was committed; check the table for files that were changed in place.",
        )


def _with_flags(files: pa.Table, tally: np.ndarray) -> pa.Table:
    return (
        files.select(["path", "size", "records"])
        .append_column("has_null", pa.array(tally[1] > 0))
        .append_column("has_value", pa.array(tally[0] > tally[1]))
    )
