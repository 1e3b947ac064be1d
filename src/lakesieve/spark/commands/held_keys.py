"""Which of given keys a version of a table has, by its indexes and the files that these name."""

from __future__ import annotations

import itertools
from contextlib import contextmanager, nullcontext
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.index import OpenedIndex, Plan, Reason, broken_index
from lakesieve.index.definition import indexed_columns
from lakesieve.index.given_keys import GivenKeys
from lakesieve.index.many_keys import files_of_codes, plan_of_files, sorted_codes
from lakesieve.spark.build.source import key_types
from lakesieve.spark.commands.contains import FEW, numbers_of
from lakesieve.spark.commands.keys import given_keys
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables.changes import session_settings
from lakesieve.spark.tables.reading import keys_of, quoted
from lakesieve.spark.versions.kept import Kept, kept
from lakesieve.spark.versions.spark_versions import arrow_of, local_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables import SparkTable
    from lakesieve.tables import Column, TableVersion

# rows whose keys, and those of them that are held, pass through this process
_LOCAL = 100_000
_ONE_FILE = 10_000


def opened_indexes(
    spark: SparkSession, table: SparkTable, location: str | None
) -> list[OpenedIndex]:
    """The indexes of a table, as they are now."""
    found = []
    for store in access_by(spark).stores(table.reader, location).values():
        state = store.snapshot()
        if state.definition.table_uuid == table.reader.uuid:
            found.append(OpenedIndex.at(store, state))
    return found


class HeldKeys:
    """Finds the rows of a table that have given keys.

    Args:
        table: The table.
        columns: The key columns.
        spark: The session, which skips files meanwhile.
        location: A further root to search for indexes.
    """

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
        self._indexes = self._ranked(location)
        self.reasons: list[Reason] = []
        self.index: str | None = None
        self.files_read: int | None = None

    def _ranked(self, location: str | None) -> list[OpenedIndex]:
        """The table's indexes, first that which begins with most of the key columns."""
        wanted = {column.field_id for column in self._columns}

        def leading(index: OpenedIndex) -> int:
            fields = [key.field_id for key in index.definition.columns]
            return next((at for at, field in enumerate(fields) if field not in wanted), len(fields))

        indexes = opened_indexes(self._spark, self._table, location)
        return sorted(indexes, key=leading, reverse=True)

    def lacking(
        self,
        given: Kept,
        on: Sequence[str],
        version: TableVersion,
        *,
        known: pa.Table | None = None,
        after: TableVersion | None = None,
    ) -> Kept:
        """The rows whose keys a version has not."""
        from pyspark.sql import functions as F

        rows = given.rows
        if version.id is None or not given.count:
            return given
        names = [f"key_{at}" for at in range(len(on))]
        keys = rows.select(*(F.col(quoted(n)).alias(k) for n, k in zip(on, names, strict=True)))
        few = given.count <= FEW
        at_hand = known if known is not None or not few else arrow_of(keys)
        plan = self._candidates(keys, at_hand, version) if after is None else self._since(after)
        local = None
        if at_hand is not None and given.count <= _LOCAL:
            local = local_frame(self._spark, at_hand.rename_columns(names), keys.schema)
        self._rule.forget()
        with nullcontext() if plan is None else self._given(plan):
            read = self._table.rows(version).select(*keys_of(self._columns))
            sought = keys if local is None else local
            same = _equal(read, sought, names)
            held = read.join(F.broadcast(sought) if few else sought, same, "left_semi")
            # within the context: what it reads is planned now
            lacking = None if local is None else self._lacking_few(given, on, held)
            if lacking is None:
                lacking = _lacking_many(given, on, held, few=few)
        if after is None:
            counts = [row["files_read"] for row in self._rule.report() if row.get("files_total")]
            self.files_read = max(counts, default=None)
        return lacking

    def _lacking_few(self, given: Kept, on: Sequence[str], held: DataFrame) -> Kept | None:
        """The rows without those whose keys are held, which come back to this process.

        ``None`` where that is more than Spark lets a driver take, as the rows of a table can be
        many that have the same key.
        """
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            rows = arrow_of(_planned_whole(held))
        except (Py4JJavaError, PySparkException):
            return None
        codes = sorted_codes(key_types(self._columns), rows.columns, is_prefix=False)
        if not len(codes.codes):
            return given
        there = local_frame(self._spark, rows.take(pa.array(codes.rows)), held.schema)
        if there is None:
            return None
        count = given.count - len(codes.codes)
        lacking = _without(given.rows, on, there, few=True)
        # few rows are one file, in each partition of the table
        return Kept(rows=lacking.coalesce(1) if count <= _ONE_FILE else lacking, count=count)

    @contextmanager
    def skipping_before(self, version: TableVersion, *, when: bool) -> Iterator[None]:
        """Have reads of the table skip the files of a version that has none of the keys."""
        plan = self._since(version) if when else None
        with nullcontext() if plan is None else self._given(plan):
            yield

    def _given(self, plan: Plan) -> AbstractContextManager[None]:
        return self._rule.given(self._spark, self._table.reader.uuid, plan)

    def _since(self, version: TableVersion) -> Plan | None:
        """A plan without the files of a version."""
        if not self._indexes or version.id is None:
            return None
        index = self._indexes[0]
        numbers = index.numbers(self._table.reader.live_files(version).column("path"))
        keep = np.ones(len(index.paths()), bool)
        keep[numbers[numbers >= 0]] = False
        return plan_of_files(index, np.flatnonzero(keep))

    def _candidates(
        self, keys: DataFrame, known: pa.Table | None, version: TableVersion
    ) -> Plan | None:
        """A plan of the files that can hold the keys; ``None`` where no index tells."""
        if not self._indexes:
            return None
        index = self._indexes[0]
        columns = indexed_columns(index.definition, self._table.reader, version, strict=False) or ()
        at = {column.field_id: place for place, column in enumerate(self._columns)}
        places = [at.get(column.field_id) for column in columns]
        leading = list(itertools.takewhile(lambda place: place is not None, places))
        if not leading:
            return None
        names = [".".join(column.path) for column in columns[: len(leading)]]
        try:
            if known is None:
                chosen = keys.select(*(f"key_{place}" for place in leading)).toDF(*names)
                numbers = self._numbers(chosen, index, columns)
            else:
                few = pa.table([known.column(place) for place in leading], names=names)
                numbers = self._numbers_of_few(few, index, columns)
        except Exception as error:  # noqa: BLE001 - then all files are read
            self.reasons.append(broken_index(index.definition.name, error))
            return None
        self.index = index.definition.name
        return plan_of_files(index, numbers)

    def _numbers(
        self, keys: DataFrame, index: OpenedIndex, columns: Sequence[Column]
    ) -> np.ndarray:
        """The covered files that can hold one of many keys."""
        given = given_keys(keys, columns[: len(keys.columns)], self._table.reader.name)
        return numbers_of(keys, given, index, is_prefix=len(given) < len(columns))

    def _numbers_of_few(
        self, keys: pa.Table, index: OpenedIndex, columns: Sequence[Column]
    ) -> np.ndarray:
        """The covered files that can hold one of the keys."""
        few = GivenKeys(keys, columns, self._table.reader.name)
        codes = sorted_codes(few.key_types, few.values, is_prefix=few.is_prefix).codes
        _, numbers = files_of_codes(index, codes, is_prefix=few.is_prefix)
        return np.unique(numbers)


def _lacking_many(given: Kept, on: Sequence[str], held: DataFrame, *, few: bool) -> Kept:
    """The rows without those whose keys are held, which stay with the executors."""
    there = kept(held)
    if not there.count:
        there.release()
        return given
    lacking = kept(_without(given.rows, on, there.rows, few=few))
    there.release()
    return lacking


def _without(rows: DataFrame, on: Sequence[str], there: DataFrame, *, few: bool) -> DataFrame:
    from pyspark.sql import functions as F

    names = zip(on, there.columns, strict=True)
    same = reduce(and_, (rows[quoted(name)] == there[key] for name, key in names))
    return rows.join(F.broadcast(there) if few else there, same, "left_anti")


def _planned_whole(frame: DataFrame) -> DataFrame:
    """Have a frame planned as a whole: the stages of adaptive execution take a quarter of a second.

    It has one join with rows that are at hand, of which nothing can be learned on the way.
    """
    execution = frame._jdf.queryExecution()
    execution.optimizedPlan()
    # looked at in this last step, whatever is set when the frame is evaluated
    with session_settings(frame.sparkSession, {"spark.sql.adaptive.enabled": "false"}):
        execution.executedPlan()
    return frame


def _equal(left: DataFrame, right: DataFrame, names: Sequence[str]) -> SparkColumn:
    return reduce(and_, (left[name] == right[name] for name in names))
