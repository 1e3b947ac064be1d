"""Verify an index: read data files again, and look up all their keys.

An index of row blocks must name the block of each row, not only its file.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.index import OpenedIndex
from lakesieve.sieve import keys_of_rows, sort_pairs
from lakesieve.spark.build.segments import hashed_rows
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.contract import RawRead
from lakesieve.spark.tables.workers import gathered, in_workers
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.sieve import KeysOfRow, KeyType
    from lakesieve.spark.build.file_hashes import FileHashes
    from lakesieve.spark.build.progress import Watch
    from lakesieve.spark.build.source import Source
    from lakesieve.storage import Storage
    from lakesieve.store import Snapshot

_SCHEMA = "file bigint, missing bigint"
_OUT = pa.schema([("file", pa.int64()), ("missing", pa.int64())])
_SPLIT = 64 << 20
_BATCH_ROWS = 1 << 19
# limits of one look-up: keys, approximate (key, unit) pairs, and the fewest keys
_KEYS, _PAIRS, _LEAST_KEYS = 1 << 16, 1 << 20, 1 << 8


def files_with_missing_keys(
    spark: SparkSession, source: Source, store: IndexStore, state: Snapshot, watch: Watch
) -> list[str]:
    """Read data files and look up all their keys.

    Returns:
        Paths of the files with a row whose unit the index does not name for a key of the row, or
        with a null that the index does not know.
    """
    watch.expect(rows=source.rows, files=source.files.num_rows)
    paths = source.files.column("path")
    if not source.rows:
        return []
    with installed_rule(spark).raw_reads(source.selected()) as selection:
        file_hashes = source.file_hashes(spark)
        read = RawRead(
            columns=source.columns,
            split_bytes=_SPLIT,
            selection=selection,
            positions=bool(state.definition.rows_per_block),
        )
        rows = source.table.raw_rows(source.version, read)
        watch.phase("verify")
        stage = partial(
            missing_by_file,
            storage=store.storage,
            state=state,
            key_types=source.key_types,
            keys_of_row=[column.keys_of_row for column in source.columns],
            paths=paths.to_pylist(),
            files=file_hashes,
        )
        results = in_workers(hashed_rows(rows, source.columns, file_hashes), stage, _SCHEMA)
        wrong = sorted(
            {row["file"] for row in results.where("missing > 0").distinct().toLocalIterator()}
        )
    return [paths[at].as_py() for at in wrong]


def missing_by_file(
    batches: Iterable[pa.RecordBatch],
    *,
    storage: Storage,
    state: Snapshot,
    key_types: tuple[KeyType, ...],
    keys_of_row: Sequence[KeysOfRow],
    paths: list[str],
    files: FileHashes,
) -> Iterator[pa.RecordBatch]:
    """Count, by file, the rows that the index misses.

    Batches have keys, the position of the row if units are row blocks, and the file's hash.
    """
    # keys of a batch are looked up in ascending order
    index = OpenedIndex.at(IndexStore(storage), state, in_order=True)
    # for each file that is read, its number among the covered files
    numbers = {path: at for at, path in enumerate(index.paths().to_pylist())}
    covered = np.array([numbers[path] for path in paths], np.int64)
    for rows in gathered(batches, _BATCH_ROWS):
        *columns, hashed = (column.combine_chunks() for column in rows.columns)
        at = files.numbers(hashed.to_numpy())
        has_positions = bool(index.definition.rows_per_block)
        positions = columns.pop().to_numpy() if has_positions else None
        units = index.units_of_rows(covered[at], positions)
        keys = keys_of_rows(key_types, columns, keys_of_row)
        missing = _missing(index, *keys, covered[at], units)
        counts = np.bincount(at[missing], minlength=len(paths))
        wrong = np.flatnonzero(counts)
        yield pa.record_batch(
            [pa.array(wrong, pa.int64()), pa.array(counts[wrong], pa.int64())], schema=_OUT
        )


def _missing(
    index: OpenedIndex,
    keys: pa.Array,
    rows: np.ndarray | None,
    covered: np.ndarray,
    units: np.ndarray,
) -> np.ndarray:
    """Return which rows the index does not find in their unit.

    Args:
        index: The index.
        keys: The keys of the rows, without nulls.
        rows: The row of each key; ``None`` if each row has one key.
        covered: The number of each row's file.
        units: The number of each row's unit.
    """
    rows = np.arange(len(covered)) if rows is None else rows
    has_key = np.zeros(len(covered), bool)
    has_key[rows] = True
    flag = index.flagged("has_value")[covered]
    missing: np.ndarray = np.where(has_key, ~flag, ~index.flagged("has_null")[covered])
    distinct, _ = sort_pairs(keys, np.zeros(len(rows), np.int32))
    if not len(distinct):
        return missing
    positions = pa.compute.index_in(keys, value_set=distinct).to_numpy()
    unit_count = int(index.first_units()[-1])
    order = np.argsort(positions, kind="stable")
    ascending = positions[order]
    start, count = 0, _KEYS
    while start < len(distinct):
        which, numbers = index.unit_pairs(index.units_of_keys(distinct.slice(start, count)))
        # a key and a unit, packed into one number
        indexed = np.unique(which * unit_count + numbers)
        first, last = np.searchsorted(ascending, [start, start + count])
        some = order[first:last]
        expected = (positions[some].astype(np.int64) - start) * unit_count + units[rows[some]]
        # a row may have many keys
        missing[rows[some[~np.isin(expected, indexed)]]] = True
        start += count
        # a key may be in many units
        count = max(_LEAST_KEYS, min(_KEYS, _PAIRS * count // max(1, len(which))))
    return missing
