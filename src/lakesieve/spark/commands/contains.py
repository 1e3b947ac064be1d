"""Many keys, looked up by the executors: those that a table version lacks, and the others."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.index.many_keys import plan_of_files
from lakesieve.spark.commands.keys import given_keys
from lakesieve.spark.commands.locate import (
    by_keys,
    leading_keys,
    looked_up,
    lookup_plan,
    plan_of,
)
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.reading import keys_of
from lakesieve.spark.tables.workers import frame_of_rows
from lakesieve.spark.versions.kept import kept
from lakesieve.spark.versions.spark_versions import arrow_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark import Broadcast
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.index import OpenedIndex, Plan
    from lakesieve.index.many_keys import KeysToFind
    from lakesieve.spark.commands.keys import GivenKey
    from lakesieve.spark.commands.locate import LocatePlan, LookedUp
    from lakesieve.spark.tables import SparkTable
    from lakesieve.spark.tables.workers import Stage
    from lakesieve.tables import Column, TableVersion

FEW = 1_000_000
"""Keys that are looked up in this process, and broadcast; more are by the executors."""

ABSENT, FILES = "absent", "files"
_NUMBERS = "numbers"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContainedRows:
    """Which of many keys a table version lacks, and the data files that can hold the others.

    Args:
        keys: The key columns, each key once; ``absent``, true for a key that no row has; and
            ``files``, the data files that can hold it. Looked up whenever it is evaluated; where it
            was confirmed, it is kept by Spark.
        uncovered: Live data files that the index has not seen: any of them can hold any key.
        confirmed: Whether the files were read, row-level deletes applied: then a key that is not
            absent is there.
        files: Live data files of the version.
        version: The version, or ``None`` for a table without data.
        table: The table's name.
        index: The index's name.
        commit: The index's commit that was read.
    """

    keys: DataFrame
    uncovered: tuple[str, ...]
    confirmed: bool
    files: int
    version: str | None
    table: str
    index: str
    commit: int


def contained_rows(
    keys: DataFrame,
    index: OpenedIndex,
    *,
    table: SparkTable,
    version: TableVersion,
    columns: Sequence[Column],
    confirm: bool,
) -> ContainedRows:
    """Look up a frame of keys.

    Raises:
        NotFoundError: The first key column is missing in the frame.
        InvalidInputError: A column is of another type, no key column, or skips one.
    """
    from pyspark.sql import functions as F

    leading = leading_keys(keys, columns, table.reader.name, ABSENT, FILES)
    given = given_keys(keys, leading, table.reader.name)
    live = table.reader.live_files(version)
    plan, uncovered = plan_of(given, index, live, is_prefix=len(given) < len(columns))
    stage = _listed(plan, _spellings(keys.sparkSession, index, live))
    further = f"{_NUMBERS} array<int>, {FILES} array<string>"
    found = by_keys(keys, given, stage, further, at_once=confirm)
    names = [f"key_{at}" for at in range(len(given))]
    if confirm:
        absent = _confirmed(found, index, table, version, leading, everything=bool(uncovered))
    else:
        # any key can be in a file that the index has not seen
        nowhere = F.lit(False) if uncovered else F.size(_NUMBERS) == 0
        absent = found.select(*names, nowhere.alias(ABSENT), FILES)
    return ContainedRows(
        keys=absent.toDF(*(key.name for key in given), ABSENT, FILES),
        uncovered=uncovered,
        confirmed=confirm,
        files=live.num_rows,
        version=version.id,
        table=table.reader.name,
        index=index.definition.name,
        commit=plan.commit,
    )


def _spellings(
    spark: SparkSession, index: OpenedIndex, live: pa.Table
) -> Broadcast[list[str]] | None:
    """Paths of the covered files as the table spells them, where that is not as the index does."""
    if "scanned" not in live.column_names:
        return None
    covered = index.paths()
    at = pc.index_in(covered, value_set=live.column("path"))
    shown = pc.coalesce(live.column("location").take(at), covered)
    return spark.sparkContext.broadcast(shown.to_pylist())


def _listed(plan: LocatePlan, spellings: Broadcast[list[str]] | None) -> Stage:
    """Make the stage: batches of sorted keys to each key once, with its files."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        paths = None if spellings is None else pa.array(spellings.value, pa.string())
        for found in looked_up(plan, batches):
            yield from _with_lists(found, found.paths if paths is None else paths, plan.found_rows)

    return run


def _with_lists(found: LookedUp, paths: pa.Array, rows: int) -> Iterator[pa.RecordBatch]:
    order = np.argsort(found.which, kind="stable")
    numbers = found.numbers[order]
    starts = np.searchsorted(found.which[order], np.arange(found.keys.num_rows + 1))
    first = 0
    while first < found.keys.num_rows:
        # as many keys as have so many files together, one at least
        last = int(np.searchsorted(starts, starts[first] + rows, side="right")) - 1
        last = max(first + 1, min(last, first + rows))
        offsets = pa.array(starts[first : last + 1] - starts[first], pa.int32())
        some = pa.array(numbers[starts[first] : starts[last]], pa.int32())
        batch = found.keys.slice(first, last - first)
        batch = batch.append_column(_NUMBERS, pa.ListArray.from_arrays(offsets, some))
        batch = batch.append_column(FILES, pa.ListArray.from_arrays(offsets, paths.take(some)))
        yield from batch.combine_chunks().to_batches()
        first = last


def _confirmed(
    found: DataFrame,
    index: OpenedIndex,
    table: SparkTable,
    version: TableVersion,
    columns: Sequence[Column],
    *,
    everything: bool,
) -> DataFrame:
    """The keys, whether rows have them, and the files of those that rows have."""
    from pyspark.sql import functions as F

    looked_for = kept(found)
    found = looked_for.rows
    listed = found.select(F.explode(_NUMBERS)).distinct().collect()
    plan = plan_of_files(index, np.array([row[0] for row in listed], np.int64))
    names = [f"key_{at}" for at in range(len(columns))]
    sought = found if everything else found.where(F.size(_NUMBERS) > 0)
    with read_by_plan(table, version, plan, columns) as rows:
        same = same_keys(rows, sought, names)
        small = F.broadcast(sought) if looked_for.count <= FEW else sought
        # while what it reads is planned
        held = kept(rows.join(small, same, "left_semi").distinct(), shuffled=True)
    marked = held.rows.withColumn("held", F.lit(True))
    joined = found.join(marked, same_keys(found, marked, names), "left")
    there = marked["held"].isNotNull()
    none = F.array().cast("array<string>")
    return joined.select(
        *(found[name] for name in names),
        (~there).alias(ABSENT),
        F.when(there, found[FILES]).otherwise(none).alias(FILES),
    )


@contextmanager
def read_by_plan(
    table: SparkTable, version: TableVersion, plan: Plan, columns: Sequence[Column]
) -> Iterator[DataFrame]:
    """Key columns of the rows in some files of a version, row-level deletes applied.

    Valid while the context is open, in which nothing else may read the table.

    Yields:
        ``key_0``, ``key_1`` and so on.
    """
    rows = table.rows(version)
    spark = rows.sparkSession
    rule = installed_rule(spark)
    with rule.skipping(None, storage_options(spark)), rule.given(spark, table.reader.uuid, plan):
        yield rows.select(*keys_of(columns))


def same_keys(left: DataFrame, right: DataFrame, names: Sequence[str]) -> SparkColumn:
    """The condition of a join by keys, nulls equal to nulls."""
    same = [left[name].eqNullSafe(right[name]) for name in names]
    return reduce(and_, same)


def numbers_of(
    keys: DataFrame, given: Sequence[GivenKey], index: OpenedIndex, *, is_prefix: bool
) -> np.ndarray:
    """The covered files that can hold one of many keys, looked up by the executors."""
    from pyspark.sql import functions as F

    plan = lookup_plan(given, index, np.ones(len(index.paths()), bool), is_prefix=is_prefix)
    further = f"{_NUMBERS} array<int>, {FILES} array<string>"
    found = by_keys(keys, given, _listed(plan, None), further)
    rows = found.select(F.explode(_NUMBERS)).distinct().collect()
    return np.array([row[0] for row in rows], np.int64)


def held_rows(
    spark: SparkSession, table: SparkTable, wanted: KeysToFind
) -> Iterator[list[pa.ChunkedArray]]:
    """Those of some keys that rows in some files of a version have, row-level deletes applied."""
    if wanted.version.id is None:
        return
    names = [f"key_{at}" for at in range(len(wanted.columns))]
    keys = frame_of_rows(spark, pa.table(list(wanted.keys), names=names))
    with read_by_plan(table, wanted.version, wanted.plan, wanted.columns) as rows:
        held = arrow_of(rows.join(keys, same_keys(rows, keys, names), "left_semi").distinct())
    if held.num_rows:
        yield held.columns
