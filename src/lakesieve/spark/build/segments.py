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
from lakesieve.spark.build.source import SMALLEST_SPLIT, key_types
from lakesieve.spark.build.stages import (
    BUFFER_ROWS,
    CUT_SCHEMA,
    SCATTER_SCHEMA,
    CutPlan,
    KeyRuns,
    ScatterPlan,
    SegmentPlan,
    curve,
    cut,
    scatter,
)
from lakesieve.spark.build.tally import collected
from lakesieve.spark.tables.workers import in_workers
from lakesieve.spark.versions.spark_versions import arrow_of, by_number, frame_of
from lakesieve.store import Changes, stage_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.build.progress import Watch
    from lakesieve.spark.build.source import Source, Target
    from lakesieve.spark.rule.installed import InstalledRule
    from lakesieve.tables import Column, TableVersion

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
        files: The catalogue, with all of its columns.
    """

    segments: tuple[SegmentEntry, ...]
    files: pa.Table


def build_segments(
    spark: SparkSession,
    rule: InstalledRule,
    source: Source,
    *,
    targets: Sequence[Target],
    watch: Watch,
) -> tuple[Built, ...]:
    """Index data files and write the segments from the executors, row-level deletes ignored.

    The files are read once, however many indexes there are.

    Returns:
        What was written for each target.

    Raises:
        LakesieveError: ``BUILD_INCONSISTENT``: the rows read are not those of the files.
    """
    files = source.files
    if source.rows == 0:
        flagged = _with_flags(files, np.zeros((3, files.num_rows), np.int64))
        return (Built(segments=(), files=flagged),) * len(targets)
    columns = [target.columns for target in targets]
    with _scattered(spark, rule, source, columns, watch=watch) as (rows, scattered):
        plan = CutPlan(
            segments=tuple(map(_segment_plan, targets, scattered.runs)),
            catalogue=catalogue_id(files.column("path")),
            unit_count=files.num_rows,
        )
        if source.rows * len(targets) <= SMALLEST_BUCKET:
            # both stages in one task: a shuffle of so little would cost more than it spreads
            by_bucket = rows.coalesce(1)
        else:
            by_bucket = by_number(rows, scattered.bucket_count, "bucket")
        results = arrow_of(in_workers(by_bucket, cut(plan), CUT_SCHEMA))
    return tuple(
        _built(files, results.filter(pc.field("index") == at)) for at in range(len(targets))
    )


def _segment_plan(target: Target, runs: KeyRuns) -> SegmentPlan:
    definition = target.definition
    return SegmentPlan(
        storage=target.storage,
        tally_bucket=runs.tally_bucket,
        absent_hits=definition.absent_hits,
        budget=Budget.parse(definition.budget) if definition.budget else None,
    )


def _built(files: pa.Table, results: pa.Table) -> Built:
    kinds, bodies = (results.column(name).to_pylist() for name in ("kind", "body"))
    segments, tally = collected(zip(kinds, bodies, strict=True), files.num_rows)
    _check_rows(files, tally)
    return Built(segments=segments, files=_with_flags(files, tally))


def staged(built: Built, operation: str, version: TableVersion, *, target: Target) -> Changes:
    """Write the catalogue of a build, and tell what its commit does.

    Raises:
        StorageError: The location cannot be written to.
    """
    catalogue = stage_catalogue(
        target.storage, built.files, segments=built.segments, definition=target.definition
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
        By increasing size: ``strategy``, ``bits_per_row``, ``false_files``, ``blocks``; only
        points that no other one beats in both.
    """
    watch.expect(rows=source.rows, files=source.files.num_rows)
    if source.rows == 0:
        return []
    buckets = max(1, source.rows // CURVE_ROWS)
    indexes = [source.columns]
    with _scattered(spark, rule, source, indexes, watch=watch, buckets=buckets) as read:
        rows, scattered = read
        middle = rows.where(f"bucket = {scattered.runs[0].tally_bucket // 2}").repartition(1)
        results = arrow_of(in_workers(middle, curve(source.files.num_rows), CUT_SCHEMA))
    points = [json.loads(body) for body in results.column("body").to_pylist()]
    points.sort(key=lambda point: (point["bits_per_row"], point["false_files"]))
    best: list[dict[str, Any]] = []
    for point in points:
        if not best or point["false_files"] < best[-1]["false_files"]:
            best.append(point)
    return best


@contextmanager
def _scattered(
    spark: SparkSession,
    rule: InstalledRule,
    source: Source,
    indexes: Sequence[Sequence[Column]],
    *,
    watch: Watch,
    buckets: int = 0,
) -> Iterator[tuple[DataFrame, ScatterPlan]]:
    """The first stage: sorted runs by the buckets of each index.

    Args:
        spark: The session.
        rule: The session's rule.
        source: What is read.
        indexes: The key columns of each index, all among those of the source.
        watch: Told of the progress.
        buckets: How many key buckets of each; as many as memory and cores ask for by default.
    """
    files = source.files
    cores = spark.sparkContext.defaultParallelism
    with rule.raw_reads(source.selected()) as selection:
        salt, hashes, ordinals = file_hashes(spark, source.scanned)
        buckets = buckets or _bucket_count(source.rows, cores)
        read = partial(
            source.table.raw_rows,
            source.version,
            source.columns,
            split_bytes=_split_bytes(files, source.rows, cores),
            selection=selection,
        )
        sampled: pa.Table | None = None
        if buckets > 1:
            watch.phase("sample")
            stride = max(1, files.num_rows // max(SAMPLED_FILES, 4 * buckets))
            sample = hashed_rows(read(stride=stride), source.columns, salt)
            fraction = min(1.0, SAMPLE_KEYS * stride / source.rows)
            sampled = arrow_of(sample.sample(fraction, seed=7).drop("file"))
        runs = _key_runs(source, indexes, sampled, buckets)
        plan = ScatterPlan(runs=runs, hashes=hashes, ordinals=ordinals)
        watch.phase("index")
        rows = hashed_rows(read(), source.columns, salt)
        yield in_workers(rows, scatter(plan), SCATTER_SCHEMA), plan


def _key_runs(
    source: Source, indexes: Sequence[Sequence[Column]], sampled: pa.Table | None, buckets: int
) -> tuple[KeyRuns, ...]:
    """The buckets of each index, one index after the other."""
    positions = {column.field_id: at for at, column in enumerate(source.columns)}
    found: list[KeyRuns] = []
    for columns in indexes:
        types = key_types(columns)
        at = tuple(positions[column.field_id] for column in columns)
        runs = KeyRuns(
            columns=at,
            key_types=types,
            boundaries=() if sampled is None else _boundaries(sampled.select(at), types, buckets),
            first_bucket=found[-1].tally_bucket + 1 if found else 0,
        )
        found.append(runs)
    return tuple(found)


def hashed_rows(rows: DataFrame, columns: Sequence[Column], salt: int) -> DataFrame:
    """Keys and hash of the file; strings as bytes, so that no decoding can fail.

    Args:
        rows: Raw rows: ``key_0``, ``key_1`` and so on, and ``file``.
        columns: The key columns.
        salt: Seed of the hash.

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
    frame = frame_of(spark, pa.table({"path": paths}))
    for salt in range(8):
        hashed = arrow_of(frame.selectExpr("path", f"xxhash64(path, {salt}) AS hash"))
        hashes = hashed.column("hash").to_numpy()
        order = np.argsort(hashes, kind="stable")
        ascending = hashes[order]
        if (ascending[1:] != ascending[:-1]).all() and hashed.column("path").equals(paths):
            return salt, ascending, order.astype(np.int32)
    raise LakesieveError(
        "The paths of the data files cannot be distinguished.",
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
    sampled: pa.Table, types: Sequence[KeyType], buckets: int
) -> tuple[int | bytes, ...]:
    """Quantiles of sampled keys: first code of every bucket but the first."""
    codes = encode_rows(types, sampled.columns).drop_null()
    if len(codes) == 0:
        return ()
    codes = codes.take(pc.sort_indices(codes))
    at = [len(codes) * i // buckets for i in range(1, buckets)]
    return tuple(sorted({codes[i].as_py() for i in at}))


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
        .append_column("repeats", pa.array(tally[2] > 0))
    )
