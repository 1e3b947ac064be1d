"""Look up many keys on the executors: which files and rows of an index may hold one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.index.many_keys import KeyMatches, sorted_codes
from lakesieve.index.opened import MANY_UNITS, OpenedIndex
from lakesieve.index.row_ranges import Candidates
from lakesieve.spark.tables.workers import gathered, in_workers
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from lakesieve.sieve import KeyType
    from lakesieve.spark.tables.workers import Stage
    from lakesieve.storage import Storage
    from lakesieve.store import Snapshot

_HELD = "held binary, nulls boolean"
_BATCH_ROWS = 500_000
_FIRST_ROWS = 20_000


def rows_of_keys(
    keys: DataFrame,
    index: OpenedIndex,
    key_types: Sequence[KeyType],
    *,
    is_prefix: bool = False,
    tasks: int | None = None,
    wanted: np.ndarray | None = None,
) -> Candidates:
    """Return which covered files, and which of their rows, may hold one of many keys.

    The result of a task is a bit for each unit of the index, however many keys there are.

    Args:
        keys: The key columns of the index in their order, or the first of them. Keys may repeat.
        index: The index.
        key_types: Types of the given key columns.
        is_prefix: True if the index has more columns than the keys.
        tasks: How many tasks look up keys. By default, Spark decides.
        wanted: The covered files that matter, by number. By default, all of them do.
    """
    # Each task gets neighbouring keys in order, so that it reads every row group once.
    number = () if tasks is None else (tasks,)
    in_order = keys.repartitionByRange(*number, *keys.columns).sortWithinPartitions(*keys.columns)
    stage = units_of_keys(
        index.storage, index.snapshot, tuple(key_types), wanted, is_prefix=is_prefix
    )
    count, by_unit = _bits(index)
    held = np.zeros(count, bool)
    has_null = False
    for row in in_workers(in_order, stage, _HELD).collect():
        held |= np.unpackbits(np.frombuffer(row.held, np.uint8), count=len(held)).astype(bool)
        has_null |= row.nulls
    matches = index.candidates_of_units(held) if by_unit else Candidates(keep=held)
    if not has_null:
        return matches
    nulls = Candidates(keep=index.flagged("has_null"))
    return Candidates.joined([matches, nulls], every=False)


def units_of_keys(
    storage: Storage,
    state: Snapshot,
    key_types: tuple[KeyType, ...],
    wanted: np.ndarray | None = None,
    *,
    is_prefix: bool = False,
) -> Stage:
    """Return a stage of a Spark job, which sets a bit for each unit that may hold one of the keys.

    The keys come in ascending order. If the index has very many units, the bits stand for its data
    files.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = OpenedIndex.at(IndexStore(storage), state, in_order=True)
        count, by_unit = _bits(index)
        held = np.zeros(count, bool)
        matter = np.ones(len(held), bool)
        if wanted is not None:
            matter = np.repeat(wanted, np.diff(index.first_units())) if by_unit else wanted
        has_null = False
        for keys in gathered(batches, _BATCH_ROWS, first=_FIRST_ROWS):
            # once every wanted unit is known to hold a key, the rest need not be looked up
            if np.all(held[matter]):
                continue
            columns = [column.combine_chunks() for column in keys.columns]
            codes = sorted_codes(key_types, columns, is_prefix=is_prefix).codes
            matches = KeyMatches(index, codes, is_prefix=is_prefix)
            has_null |= matches.has_null
            held[matches.units() if by_unit else matches.pairs()[1]] = True
        packed = pa.array([np.packbits(held).tobytes()], pa.binary())
        yield pa.record_batch([packed, pa.array([has_null])], names=["held", "nulls"])

    return run


def _bits(index: OpenedIndex) -> tuple[int, bool]:
    """Return the number of bits, and whether they stand for units rather than data files."""
    units = int(index.first_units()[-1])
    return (units, True) if units <= MANY_UNITS else (len(index.paths()), False)
