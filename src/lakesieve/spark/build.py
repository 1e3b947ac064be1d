"""The build pipeline: uncovered data files of a table to segments of an index, on Spark."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, LakesieveError, UnsupportedError
from lakesieve.format import SegmentEntry
from lakesieve.sieve import KeyType, encode_keys
from lakesieve.spark.stages import (
    BUFFER_ROWS,
    CUT_SCHEMA,
    SCATTER_SCHEMA,
    CutPlan,
    ScatterPlan,
    cut,
    scatter,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.progress import Watch
    from lakesieve.spark.rule import InstalledRule
    from lakesieve.storage import Storage
    from lakesieve.tables import Column, Table, TableVersion

__all__ = ["Built", "build_segments", "named"]

BUCKET_ROWS = 4_000_000
SMALLEST_BUCKET = 500_000
SMALLEST_SPLIT = 4 << 20
SAMPLE_KEYS = 100_000
SAMPLED_FILES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build wrote; not yet committed.

    Args:
        segments: Entries of the written segments, their catalogue still unnamed.
        files: The catalogue: ``path``, ``size``, ``records``, ``has_null``, ``has_value``.
    """

    segments: tuple[SegmentEntry, ...]
    files: pa.Table


def build_segments(
    spark: SparkSession,
    rule: InstalledRule,
    table: Table,
    *,
    version: TableVersion,
    column: Column,
    storage: Storage,
    watch: Watch,
) -> Built:
    """Index every live data file of a version and write the segments from the executors.

    Args:
        spark: The session.
        rule: The session's rule, which makes raw reads possible.
        table: The table.
        version: The version whose live files are indexed, row-level deletes ignored.
        column: The key column.
        storage: The index's root.
        watch: Told of the progress.

    Raises:
        LakesieveError: ``BUILD_INCONSISTENT``: the rows read are not those of the live files.
    """
    files = table.live_files(version)
    rows_total = int(pc.sum(files.column("records")).as_py() or 0)
    watch.expect(rows=rows_total, files=files.num_rows)
    if files.num_rows == 0:
        return Built(segments=(), files=_with_flags(files, np.zeros((2, 0), np.int64)))
    key_type = KeyType(kind=column.kind, scale=column.scale, precision=column.precision)
    with rule.raw_reads():
        salt, hashes, ordinals = _path_hashes(spark, files.column("path"))
        split = _split_bytes(files, rows_total, spark.sparkContext.defaultParallelism)
        buckets = _bucket_count(rows_total, spark.sparkContext.defaultParallelism)
        boundaries: tuple[int | bytes, ...] = ()
        if buckets > 1:
            watch.phase("sample")
            stride = max(1, files.num_rows // max(SAMPLED_FILES, 4 * buckets))
            sampled = table.raw_rows(version, column, split_bytes=split, stride=stride)
            sample = _hashed(sampled, column, salt)
            fraction = min(1.0, SAMPLE_KEYS * stride / rows_total)
            boundaries = _boundaries(sample.sample(fraction, seed=7), key_type, buckets)
        plan = ScatterPlan(
            key_type=key_type, hashes=hashes, ordinals=ordinals, boundaries=boundaries
        )
        watch.phase("index")
        rows = _hashed(table.raw_rows(version, column, split_bytes=split), column, salt)
        told = (
            _run(
                rows,
                plan,
                CutPlan(storage=storage, unit_count=files.num_rows, tally_bucket=plan.tally_bucket),
            )
            if rows_total
            else _CUT_NOTHING
        )
    segments, tally = _collect(told, files.num_rows)
    _check_rows(files, tally)
    return Built(segments=segments, files=_with_flags(files, tally))


_CUT_NOTHING = pa.table({"kind": pa.array([], pa.string()), "body": pa.array([], pa.binary())})


def _run(rows: DataFrame, scatter_plan: ScatterPlan, cut_plan: CutPlan) -> pa.Table:
    runs = rows.mapInArrow(scatter(scatter_plan), SCATTER_SCHEMA)
    by_bucket = runs.repartitionById(scatter_plan.tally_bucket + 1, "bucket")
    return by_bucket.mapInArrow(cut(cut_plan), CUT_SCHEMA).toArrow()


def _hashed(rows: DataFrame, column: Column, salt: int) -> DataFrame:
    """Key and hash of the file; strings as bytes, so that no decoding can fail.

    Raises:
        UnsupportedError: Strings of the column do not compare by their bytes.
    """
    found = rows.schema["key"].dataType.simpleString()
    if found.startswith("string collate"):
        raise UnsupportedError(
            f"The column {'.'.join(column.path)} of type {found} cannot be indexed.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Strings can be indexed that compare by their bytes (UTF8_BINARY).",
        )
    key = "CAST(key AS BINARY) AS key" if column.kind == "string" else "key"
    return rows.selectExpr(key, f"xxhash64(file, {salt}) AS file")


def _path_hashes(spark: SparkSession, paths: pa.ChunkedArray) -> tuple[int, np.ndarray, np.ndarray]:
    """Hash every path as the rows will be hashed; try another salt in case two collide."""
    frame = spark.createDataFrame(pa.table({"path": paths}))
    for salt in range(8):
        told = frame.selectExpr("path", f"xxhash64(path, {salt}) AS hash").toArrow()
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


def _boundaries(sample: DataFrame, key_type: KeyType, buckets: int) -> tuple[int | bytes, ...]:
    """Quantiles of sampled keys: first code of every bucket but the first."""
    codes = encode_keys(key_type, sample.select("key").toArrow().column("key"))
    codes = codes.drop_null()
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


def named(segments: tuple[SegmentEntry, ...], catalogue: str) -> tuple[SegmentEntry, ...]:
    """Segments with the catalogue that their ordinals count in."""
    return tuple(replace(segment, catalogue=catalogue) for segment in segments)
