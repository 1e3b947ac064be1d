"""The build pipeline on Spark: read data files of a table, and write segments of indexes."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, LakesieveError, UnsupportedError
from lakesieve.format import catalogue_id
from lakesieve.sieve import Budget, KeysOfRow
from lakesieve.spark.build.source import SMALLEST_SPLIT, key_types
from lakesieve.spark.build.stages import (
    BUFFER_ROWS,
    CUT_SCHEMA,
    SCATTER_SCHEMA,
    IndexTask,
    curve,
    cut,
    read_results,
    scatter,
)
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.contract import RawRead
from lakesieve.spark.tables.workers import in_workers
from lakesieve.spark.versions.spark_versions import arrow_of, by_number
from lakesieve.store import Changes, stage_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.format import IndexDefinition, SegmentEntry, Unit
    from lakesieve.spark.build.file_hashes import FileHashes
    from lakesieve.spark.build.progress import Watch
    from lakesieve.spark.build.source import IndexBuild, Source
    from lakesieve.storage import Storage
    from lakesieve.tables import Column, TableVersion

BUCKET_ROWS = 4_000_000
SMALLEST_BUCKET = 500_000
SAMPLE_KEYS = 100_000
SAMPLED_FILES = 32
CURVE_ROWS = 500_000
_BYTES = {KeysOfRow.LISTS: "ARRAY<BINARY>"}
# how many keys a row has, as SQL; words have five letters on average
_KEYS_OF_A_ROW = {
    KeysOfRow.LISTS: "greatest(size({}), 0)",
    KeysOfRow.WORDS: "octet_length({}) / 6",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSegments:
    """Segments that a build has written and that no commit names yet.

    Args:
        segments: Their entries.
        files: The catalogue of the data files that they cover, with all of its columns.
    """

    segments: tuple[SegmentEntry, ...]
    files: pa.Table

    @classmethod
    def of(cls, files: pa.Table, results: pa.Table, unit: Unit) -> WrittenSegments:
        """Read the results of the second stage for one index."""
        firsts = unit.first_ordinals(files.column("records").to_numpy())
        segments, tally = read_results(results, int(firsts[-1]))
        rows, nulls, repeats = _by_file(tally, firsts)
        _check_rows(files, rows)
        catalogue = (
            files.select(["path", "size", "records"])
            .append_column("has_null", pa.array(nulls > 0))
            .append_column("has_value", pa.array(rows > nulls))
            .append_column("repeats", pa.array(repeats > 0))
        )
        return cls(segments=segments, files=catalogue)

    def changes(
        self, storage: Storage, definition: IndexDefinition, version: TableVersion, operation: str
    ) -> Changes:
        """Write the catalogue, and return the changes for the commit of the segments."""
        catalogue = stage_catalogue(
            storage, self.files, segments=self.segments, definition=definition
        )
        return Changes(
            operation=operation,
            table_version={"id": version.id, "timestamp_ms": version.timestamp_ms},
            add_catalogues=(catalogue,) if self.files.num_rows else (),
            add_segments=self.segments,
        )


def build_segments(
    spark: SparkSession, source: Source, builds: Sequence[IndexBuild], watch: Watch
) -> list[WrittenSegments]:
    """Write the segments of each index on the executors.

    Spark reads the data files once for all indexes. Rows that row-level deletes remove are indexed
    too.
    """
    files = source.files
    if source.rows == 0:
        nothing = pa.table({"kind": pa.array([], pa.string()), "body": pa.array([], pa.binary())})
        return [WrittenSegments.of(files, nothing, build.definition.unit) for build in builds]
    wanted = [(build.columns, build.definition.unit) for build in builds]
    with _scattered(spark, source, wanted, watch) as (rows, tasks):
        indexes = [
            replace(
                task,
                storage=build.store.storage,
                absent_hits=build.definition.absent_hits,
                budget=Budget.parse(build.definition.budget) if build.definition.budget else None,
            )
            for task, build in zip(tasks, builds, strict=True)
        ]
        is_small = source.rows * len(builds) <= SMALLEST_BUCKET
        if is_small and not any(task.boundaries for task in tasks):
            # both stages in one task: a shuffle of so few rows would cost more than it saves
            by_bucket = rows.coalesce(1)
        else:
            by_bucket = by_number(rows, indexes[-1].tally_bucket + 1, "bucket")
        catalogue = catalogue_id(files.column("path"))
        stage = partial(cut, indexes=indexes, catalogue=catalogue)
        results = arrow_of(in_workers(by_bucket, stage, CUT_SCHEMA))
    return [
        WrittenSegments.of(files, results.filter(pc.field("index") == at), build.definition.unit)
        for at, build in enumerate(builds)
    ]


def draw_curve(
    spark: SparkSession, source: Source, watch: Watch, unit: Unit
) -> list[dict[str, Any]]:
    """Try all budgets on about :data:`CURVE_ROWS` rows from the middle of the key range.

    Returns:
        Rows by increasing size: ``strategy``, ``bits_per_row``, ``false_files``, ``blocks``. A
        point that another one beats in both size and false files is left out.
    """
    watch.expect(rows=source.rows, files=source.files.num_rows)
    if source.rows == 0:
        return []
    buckets = max(1, source.rows // CURVE_ROWS)
    wanted = [(source.columns, unit)]
    with _scattered(spark, source, wanted, watch, buckets=buckets) as (rows, tasks):
        middle = rows.where(f"bucket = {tasks[0].tally_bucket // 2}").repartition(1)
        stage = partial(curve, unit_count=tasks[0].unit_count)
        results = arrow_of(in_workers(middle, stage, CUT_SCHEMA))
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
    source: Source,
    indexes: Sequence[tuple[Sequence[Column], Unit]],
    watch: Watch,
    *,
    buckets: int = 0,
) -> Iterator[tuple[DataFrame, list[IndexTask]]]:
    """Plan the first stage, which sorts keys into runs by the buckets of each index.

    Args:
        spark: The session.
        source: The data files and columns to read.
        indexes: The key columns of each index, all among the columns of the source, and its unit.
        watch: Receives the progress.
        buckets: Key buckets of each index. The default depends on memory and cores.
    """
    files = source.files
    cores = spark.sparkContext.defaultParallelism
    with installed_rule(spark).raw_reads(source.selected()) as selection:
        file_hashes = source.file_hashes(spark)
        raw_rows = partial(source.table.raw_rows, source.version)
        read = RawRead(
            columns=source.columns,
            split_bytes=_split_bytes(files, source.rows, cores),
            selection=selection,
            positions=any(unit.rows for _, unit in indexes),
        )
        keys = source.rows
        if any(column.keys_of_row is not KeysOfRow.ONE for column in source.columns):
            few = replace(read, stride=max(1, files.num_rows // SAMPLED_FILES))
            keys = math.ceil(keys * _keys_of_a_row(raw_rows(few), source.columns))
            read = replace(read, split_bytes=_split_bytes(files, keys, cores))
        buckets = buckets or _bucket_count(keys, cores)
        sampled: pa.Table | None = None
        if buckets > 1:
            watch.phase("sample")
            stride = max(1, files.num_rows // max(SAMPLED_FILES, 4 * buckets))
            some = raw_rows(replace(read, stride=stride))
            sample = hashed_rows(some, source.columns, file_hashes)
            fraction = min(1.0, SAMPLE_KEYS * stride / source.rows)
            sampled = arrow_of(sample.sample(fraction, seed=7).drop("file", "position"))
        tasks = _index_tasks(source, indexes, sampled, buckets)
        watch.phase("index")
        rows = hashed_rows(raw_rows(read), source.columns, file_hashes)
        stage = partial(scatter, indexes=tasks, files=file_hashes)
        yield in_workers(rows, stage, SCATTER_SCHEMA), tasks


def _index_tasks(
    source: Source,
    indexes: Sequence[tuple[Sequence[Column], Unit]],
    sampled: pa.Table | None,
    buckets: int,
) -> list[IndexTask]:
    """Divide the keys of each index into buckets. The buckets of the indexes follow each other."""
    positions = {column.field_id: at for at, column in enumerate(source.columns)}
    records = source.files.column("records").to_numpy()
    tasks: list[IndexTask] = []
    for columns, unit in indexes:
        task = IndexTask(
            columns=tuple(positions[column.field_id] for column in columns),
            key_types=key_types(columns),
            keys_of_row=tuple(column.keys_of_row for column in columns),
            first_bucket=tasks[-1].tally_bucket + 1 if tasks else 0,
            unit=unit,
            first_ordinals=unit.first_ordinals(records),
        )
        if sampled is not None:
            keys, _ = task.keys_of(sampled.columns)
            task = replace(task, boundaries=_boundaries(keys, buckets))
        tasks.append(task)
    return tasks


def hashed_rows(rows: DataFrame, columns: Sequence[Column], files: FileHashes) -> DataFrame:
    """Return the keys of raw rows, their positions if there are any, and a hash of their file.

    Strings are cast to bytes, so that no decoding can fail.
    """
    names = [f"key_{at}" for at in range(len(columns))]
    for name, column in zip(names, columns, strict=True):
        _check_collation(column, rows.schema[name].dataType.simpleString())
    keys = (
        f"CAST({name} AS {_BYTES.get(column.keys_of_row, 'BINARY')}) AS {name}"
        if column.kind == "string"
        else name
        for name, column in zip(names, columns, strict=True)
    )
    positions = ["position"] if "position" in rows.columns else []
    return rows.selectExpr(*keys, *positions, files.sql)


def _check_collation(column: Column, data_type: str) -> None:
    if data_type.startswith("string collate"):
        raise UnsupportedError(
            f"The column {'.'.join(column.path)} of type {data_type} cannot be indexed.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Only strings that compare by their bytes (UTF8_BINARY) can be indexed.",
        )


def _keys_of_a_row(rows: DataFrame, columns: Sequence[Column]) -> float:
    """Return how many keys a row has on average in the key column with most, but at least one."""
    means = (
        f"avg({_KEYS_OF_A_ROW[column.keys_of_row].format(f'key_{at}')})"
        for at, column in enumerate(columns)
        if column.keys_of_row in _KEYS_OF_A_ROW
    )
    (found,) = rows.selectExpr(*means).collect()
    return max(1.0, *(float(mean or 0) for mean in found))


def _bucket_count(rows: int, cores: int) -> int:
    by_size = math.ceil(rows / BUCKET_ROWS)
    by_cores = min(cores, rows // SMALLEST_BUCKET)
    return max(1, by_size, by_cores)


def _split_bytes(files: pa.Table, rows: int, cores: int) -> int:
    """Return the bytes of files for one scatter task: a buffer of rows, and work for every core."""
    tasks = cores * max(1, math.ceil(rows / (BUFFER_ROWS * cores)))
    total = int(pc.sum(files.column("size")).as_py())
    return max(SMALLEST_SPLIT, math.ceil(1.05 * total / tasks))


def _boundaries(codes: pa.Array, buckets: int) -> tuple[int | bytes, ...]:
    """Return quantiles of sampled keys: the first code of every bucket except the first."""
    if len(codes) == 0:
        return ()
    codes = codes.take(pc.sort_indices(codes))
    at = [len(codes) * i // buckets for i in range(1, buckets)]
    return tuple(sorted({codes[i].as_py() for i in at}))


def _by_file(tally: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """Sum up a tally of units by data file."""
    before = np.concatenate([np.zeros((len(tally), 1), np.int64), np.cumsum(tally, axis=1)], axis=1)
    return np.diff(before[:, firsts], axis=1)


def _check_rows(files: pa.Table, rows: np.ndarray) -> None:
    """Check that every row of every file was read.

    An index that lacks rows would miss matches in this or an older version.
    """
    expected = files.column("records").to_numpy()
    wrong = np.flatnonzero(rows != expected)
    if len(wrong):
        first = int(wrong[0])
        raise LakesieveError(
            f"{len(wrong)} data files have another number of rows than their metadata says, "
            f"first {files.column('path')[first].as_py()}: {int(rows[first])} "
            f"instead of {int(expected[first])}.",
            kind=ErrorKind.BUILD_INCONSISTENT,
            hint="Nothing was committed. Check whether files of the table were changed in place.",
        )
