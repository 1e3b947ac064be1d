"""Read the rows of a table that have given keys, from the files that may hold the keys."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import pyarrow as pa

from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.reading import keys_of, quoted
from lakesieve.spark.tables.workers import frame_of_rows
from lakesieve.spark.versions.spark_versions import arrow_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.index import KeepTree
    from lakesieve.index.many_keys import KeysToFind
    from lakesieve.spark.tables import SparkTable
    from lakesieve.tables import Column, TableVersion


@contextmanager
def read_by_plan(
    table: SparkTable, version: TableVersion, plan: KeepTree | None, columns: Sequence[Column]
) -> Iterator[DataFrame]:
    """Read the key columns of the data files that a plan keeps, with row-level deletes applied.

    Plan the read while the context is open: the plan applies only then, and to every read of the
    table. Without a plan, the session's rule prunes the read like any other.

    Yields:
        A frame with the columns ``key_0``, ``key_1`` and so on.
    """
    rows = table.rows(version)
    rows = rows.select(*keys_of(rows, columns))
    if plan is None:
        yield rows
        return
    spark = rows.sparkSession
    rule = installed_rule(spark)
    active = nullcontext() if rule.active else rule.skipping(None, storage_options(spark))
    with active, rule.given(spark, table.reader.uuid, plan):
        yield rows


def without_nulls(keys: DataFrame) -> DataFrame:
    """Return the keys without nulls. ``dropna`` would also drop NaN."""
    from pyspark.sql import functions as F

    return keys.where(reduce(and_, (F.col(quoted(name)).isNotNull() for name in keys.columns)))


def same_keys(
    left: DataFrame, right: DataFrame, names: Sequence[str], *, nulls_equal: bool = True
) -> SparkColumn:
    """Return the condition of a join by keys."""
    return reduce(
        and_,
        (
            left[name].eqNullSafe(right[name]) if nulls_equal else left[name] == right[name]
            for name in names
        ),
    )


def rows_with_keys(
    rows: DataFrame, keys: DataFrame, *, are_few: bool, nulls_equal: bool = True
) -> DataFrame:
    """Return the rows that have one of the keys. Columns of both have the same names."""
    from pyspark.sql import functions as F

    same = same_keys(rows, keys, rows.columns, nulls_equal=nulls_equal)
    return rows.join(F.broadcast(keys) if are_few else keys, same, "left_semi")


def read_held_keys(
    spark: SparkSession, table: SparkTable, sought: KeysToFind
) -> Iterator[list[pa.ChunkedArray]]:
    """Read which of some keys are in rows of some data files, with row-level deletes applied."""
    if sought.version.id is None:
        return
    names = [f"key_{at}" for at in range(len(sought.columns))]
    keys = frame_of_rows(spark, pa.table(list(sought.keys), names=names))
    with read_by_plan(table, sought.version, sought.plan, sought.columns) as rows:
        rows_held = arrow_of(rows_with_keys(rows, keys, are_few=False).distinct())
    if rows_held.num_rows:
        yield rows_held.columns
