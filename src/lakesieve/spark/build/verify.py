"""Proof that an index names the file of every key: data files are read again and looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.index import OpenedIndex
from lakesieve.sieve import encode_rows, sort_pairs
from lakesieve.spark.build.segments import file_hashes, hashed_rows
from lakesieve.spark.tables.workers import gathered, in_workers
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from lakesieve.sieve import KeyType
    from lakesieve.spark.build.progress import Watch
    from lakesieve.spark.build.source import Source
    from lakesieve.spark.rule.installed import InstalledRule
    from lakesieve.spark.tables.workers import Stage
    from lakesieve.store import Snapshot

_SCHEMA = "file bigint, missing bigint"
_OUT = pa.schema([("file", pa.int64()), ("missing", pa.int64())])
_SPLIT = 64 << 20
_BATCH_ROWS = 1 << 19
# looked up at once: keys, and about how many files of theirs in all
_KEYS, _PAIRS, _LEAST_KEYS = 1 << 16, 1 << 20, 1 << 8


def check_rows(
    spark: SparkSession,
    rule: InstalledRule,
    source: Source,
    store: IndexStore,
    state: Snapshot,
    *,
    watch: Watch,
) -> list[str]:
    """Read files and look up all their keys.

    Returns:
        Paths of the files that the index misses for some key or null of theirs.
    """
    watch.expect(rows=source.rows, files=source.files.num_rows)
    paths = source.files.column("path")
    if not source.rows:
        return []
    with rule.raw_reads(source.selected()) as selection:
        salt, hashes, order = file_hashes(spark, source.scanned)
        rows = source.table.raw_rows(
            source.version, source.columns, split_bytes=_SPLIT, selection=selection
        )
        watch.phase("verify")
        check = _checker(store, state, source.key_types, paths.to_pylist(), (hashes, order))
        results = in_workers(hashed_rows(rows, source.columns, salt), check, _SCHEMA)
        wrong = sorted(
            {row["file"] for row in results.where("missing > 0").distinct().toLocalIterator()}
        )
    return [paths[at].as_py() for at in wrong]


def _checker(
    store: IndexStore,
    state: Snapshot,
    key_types: tuple[KeyType, ...],
    paths: list[str],
    by_hash: tuple[np.ndarray, np.ndarray],
) -> Stage:
    """Make the stage: batches of keys and the hash of their file to what the index misses."""
    storage = store.storage
    hashes, order = by_hash

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # keys of a batch are looked up in their order
        index = OpenedIndex.at(IndexStore(storage), state, in_order=True)
        # the covered file behind each file that is read
        numbers = {path: at for at, path in enumerate(index.paths().to_pylist())}
        covered = np.array([numbers[path] for path in paths], np.int64)
        for rows in gathered(batches, _BATCH_ROWS):
            *columns, files = (column.combine_chunks() for column in rows.columns)
            at = order[np.searchsorted(hashes, files.to_numpy())]
            missing = _missing(index, key_types, columns, covered[at])
            counts = np.bincount(at[missing], minlength=len(paths))
            found = np.flatnonzero(counts)
            yield pa.record_batch(
                [pa.array(found, pa.int64()), pa.array(counts[found], pa.int64())], schema=_OUT
            )

    return run


def _missing(
    index: OpenedIndex,
    key_types: tuple[KeyType, ...],
    columns: list[pa.Array],
    covered: np.ndarray,
) -> np.ndarray:
    """Which rows the index does not find in their file."""
    codes = encode_rows(key_types, columns)
    missing = np.zeros(len(codes), bool)
    null = codes.is_null().to_numpy(zero_copy_only=False)
    missing[null] = ~index.flagged("has_null")[covered[null]]
    missing[~null] |= ~index.flagged("has_value")[covered[~null]]
    rows = np.flatnonzero(~null)
    distinct, _ = sort_pairs(codes.drop_null(), np.zeros(len(rows), np.int32))
    if not len(distinct):
        return missing
    positions = pa.compute.index_in(codes.drop_null(), value_set=distinct).to_numpy()
    files = len(index.paths())
    order = np.argsort(positions, kind="stable")
    ascending = positions[order]
    start, count = 0, _KEYS
    while start < len(distinct):
        which, numbers = index.points(distinct.slice(start, count))
        # a key and a file as one number, which the index must have found
        found = np.unique(which * files + numbers)
        first, last = np.searchsorted(ascending, [start, start + count])
        some = order[first:last]
        expected = (positions[some].astype(np.int64) - start) * files + covered[rows[some]]
        missing[rows[some]] |= ~np.isin(expected, found, assume_unique=False)
        start += count
        # a key may be in many files
        count = max(_LEAST_KEYS, min(_KEYS, _PAIRS * count // max(1, len(which))))
    return missing
