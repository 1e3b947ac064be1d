"""Find which of given keys a table version has, from its indexes and the files that they name."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.index import KeepTree, OpenedIndex, Reason, broken_index
from lakesieve.index.definition import indexed_columns
from lakesieve.index.given_keys import GivenKeys
from lakesieve.index.many_keys import (
    keep_candidates,
    keep_files_of_keys,
    keep_some_files,
    sorted_codes,
)
from lakesieve.index.reasons import READ_FAILURES
from lakesieve.spark.build.source import key_types
from lakesieve.spark.commands.key_lookup import FEW, LOCAL, candidates_of_keys
from lakesieve.spark.commands.key_rows import read_by_plan, rows_with_keys
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables.changes import session_settings
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.cached_rows import CachedRows, cache_rows
from lakesieve.spark.versions.spark_versions import arrow_of, local_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables import SparkTable
    from lakesieve.tables import Column, TableVersion

_ONE_FILE = 10_000


def usable_indexes(
    spark: SparkSession, table: SparkTable, location: str | None
) -> tuple[list[OpenedIndex], list[Reason]]:
    """Open the current indexes of a table that have a key of each row.

    There are coded reasons for those that cannot be opened.
    """
    indexes: list[OpenedIndex] = []
    reasons: list[Reason] = []
    for name, store in access_by(spark).stores(table.reader, location).items():
        try:
            state = store.snapshot()
        except READ_FAILURES as error:
            reasons.append(broken_index(name, error))
            continue
        definition = state.definition
        # a row without elements, entries or words has no key
        if definition.table_uuid == table.reader.uuid and definition.key_of_many is None:
            indexes.append(OpenedIndex.at(store, state))
    return indexes, reasons


class HeldKeys:
    """Finds which of given keys rows of a table have."""

    def __init__(
        self,
        table: SparkTable,
        columns: Sequence[Column],
        spark: SparkSession,
        location: str | None,
    ) -> None:
        self._table = table
        self._columns = columns
        self._spark = spark
        self._rule = installed_rule(spark)
        indexes, self.reasons = usable_indexes(spark, table, location)
        # the index that begins with the most key columns
        self._best = max(indexes, key=self._leading, default=None)
        self.index: str | None = None
        self.files_read: int | None = None

    def _leading(self, index: OpenedIndex) -> int:
        """Count the leading columns of an index that are key columns."""
        field_ids = {column.field_id for column in self._columns}
        fields = (key.field_id for key in index.definition.columns)
        return sum(1 for _ in itertools.takewhile(field_ids.__contains__, fields))

    def without(
        self,
        given: CachedRows,
        on: Sequence[str],
        version: TableVersion,
        *,
        known: pa.Table | None = None,
        after: TableVersion | None = None,
    ) -> CachedRows:
        """Return the rows whose keys no row of a version has.

        Args:
            given: Rows with distinct keys.
            on: Their key columns.
            version: The version.
            known: The keys of the rows, if they are in memory.
            after: A version that has none of the keys. Then only files that are newer are read.
        """
        if version.id is None or not given.count:
            return given
        keys = _keys(given.rows, on)
        names = keys.columns
        are_few = given.count <= FEW
        at_hand = known if known is not None or not are_few else arrow_of(keys)
        plan = self._candidates(keys, at_hand, version) if after is None else self._since(after)
        local = None
        if at_hand is not None and given.count <= LOCAL:
            local = local_frame(self._spark, at_hand.rename_columns(names), keys.schema)
        self._rule.forget()
        with read_by_plan(self._table, version, plan, self._columns) as rows:
            keys_to_find = keys if local is None else local
            present = rows_with_keys(rows, keys_to_find, are_few=are_few, nulls_equal=False)
            # planned inside the context, because the plan applies only to reads planned now
            new_rows = None if local is None else self._left_of_few(given, on, present)
            if new_rows is None:
                new_rows = _left_of_many(given, on, present, are_few=are_few)
        if after is None:
            counts = [row["files_read"] for row in self._rule.report() if row.get("files_total")]
            self.files_read = max(counts, default=None)
        return new_rows

    def _left_of_few(
        self, given: CachedRows, on: Sequence[str], held: DataFrame
    ) -> CachedRows | None:
        """Return the given rows whose keys are not in the table.

        The driver collects the keys that are in the table. The result is ``None`` if it cannot
        collect them: many rows of a table may have the same key.
        """
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            rows = arrow_of(_planned_whole(held))
        except (Py4JJavaError, PySparkException):
            return None
        distinct = sorted_codes(key_types(self._columns), rows.columns, is_prefix=False)
        if not len(distinct.codes):
            return given
        keys = local_frame(self._spark, rows.take(pa.array(distinct.rows)), held.schema)
        if keys is None:
            return None
        count = given.count - len(distinct.codes)
        new_rows = _without_keys(given.rows, on, keys, are_few=True)
        # write a few rows as one file in each partition of the table
        return CachedRows(
            rows=new_rows.coalesce(1) if count <= _ONE_FILE else new_rows, count=count
        )

    def plan(self, given: CachedRows, on: Sequence[str], version: TableVersion) -> KeepTree | None:
        """Return a plan of the files and rows that may hold the keys of given rows.

        The plan is ``None`` if no index can help.
        """
        if version.id is None:
            return None
        keys = _keys(given.rows, on)
        at_hand = arrow_of(keys) if given.count <= FEW else None
        return self._candidates(keys, at_hand, version)

    @contextmanager
    def skipping_before(self, version: TableVersion, *, when: bool) -> Iterator[None]:
        """While the context is open, reads of the table skip the files of ``version``.

        The caller knows that this version has none of the keys.
        """
        plan = self._since(version) if when else None
        if plan is None:
            yield
        else:
            with self._rule.given(self._spark, self._table.reader.uuid, plan):
                yield

    def _since(self, version: TableVersion) -> KeepTree | None:
        """Return a plan without the files of a version."""
        if self._best is None or version.id is None:
            return None
        numbers = self._best.numbers(self._table.reader.live_files(version).column("path"))
        keep = np.ones(len(self._best.paths()), bool)
        keep[numbers[numbers >= 0]] = False
        return keep_some_files(self._best, np.flatnonzero(keep))

    def _candidates(
        self, keys: DataFrame, at_hand: pa.Table | None, version: TableVersion
    ) -> KeepTree | None:
        """Return a plan of what may hold the keys, or ``None`` if no index can help."""
        index = self._best
        if index is None:
            return None
        columns = indexed_columns(index.definition, self._table.reader, version, strict=False) or ()
        at = {column.field_id: place for place, column in enumerate(self._columns)}
        places = [at.get(column.field_id) for column in columns]
        leading = list(itertools.takewhile(lambda place: place is not None, places))
        if not leading:
            return None
        names = [".".join(column.path) for column in columns[: len(leading)]]
        try:
            if at_hand is None:
                chosen = keys.select(*(f"key_{place}" for place in leading)).toDF(*names)
                candidates = candidates_of_keys(chosen, index, columns, self._table)
                plan = keep_candidates(index, candidates)
            else:
                few = pa.table([at_hand.column(place) for place in leading], names=names)
                local_keys = GivenKeys(few, columns, self._table.reader.name)
                plan = keep_files_of_keys(index, local_keys)
        except Exception as error:  # noqa: BLE001 - then all files are read
            self.reasons.append(broken_index(index.definition.name, error))
            return None
        self.index = index.definition.name
        return plan


def _keys(rows: DataFrame, on: Sequence[str]) -> DataFrame:
    """Return the key columns of rows as ``key_0`` and so on."""
    from pyspark.sql import functions as F

    return rows.select(*(F.col(quoted(name)).alias(f"key_{at}") for at, name in enumerate(on)))


def _left_of_many(
    given: CachedRows, on: Sequence[str], held: DataFrame, *, are_few: bool
) -> CachedRows:
    """Return the given rows whose keys are not in the table.

    ``held`` has the given keys that are in the table. They stay on the executors.
    """
    keys = cache_rows(held)
    if not keys.count:
        keys.release()
        return given
    new_rows = cache_rows(_without_keys(given.rows, on, keys.rows, are_few=are_few))
    keys.release()
    return new_rows


def _without_keys(
    rows: DataFrame, on: Sequence[str], keys: DataFrame, *, are_few: bool
) -> DataFrame:
    from pyspark.sql import functions as F

    names = zip(on, keys.columns, strict=True)
    same = reduce(and_, (rows[quoted(name)] == keys[key] for name, key in names))
    return rows.join(F.broadcast(keys) if are_few else keys, same, "left_anti")


def _planned_whole(frame: DataFrame) -> DataFrame:
    """Plan a frame as a whole. Stages of adaptive execution would take a quarter of a second.

    Its only join is with rows in memory, so adaptive execution could learn nothing.
    """
    execution = frame._jdf.queryExecution()
    execution.optimizedPlan()
    # the setting counts while this plans the frame, not when the frame is evaluated
    with session_settings(frame.sparkSession, {"spark.sql.adaptive.enabled": "false"}):
        execution.executedPlan()
    return frame
