"""Reading a table with equality deletes by joins, which spill instead of failing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.spark.deletes.plan import (
    ALL,
    DELETE_SEQUENCE,
    GROUP,
    SEQUENCE,
    DeletePlan,
    Kind,
    plan_deletes,
)
from lakesieve.spark.tables.reading import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

_KEY = "__lakesieve_key_"
_DELETE_GROUP = "__lakesieve_delete_group"


def read(table: str, *, spark: SparkSession, version: str | int | None = None) -> DataFrame:
    """Read a table with equality deletes in bounded memory.

    The rows are those that Iceberg's own reader gives. Columns and filters are pushed into the
    scan of the data files as usual; a data file that no equality delete reaches takes part in no
    join.

    Args:
        table: ``catalog.database.table`` or ``iceberg:PATH``.
        spark: A classic (not Connect) session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.

    Returns:
        The table's columns, fixed to the version as it is now.

    Raises:
        NotFoundError: There is no such table or version.
        UnsupportedError: It is not an Iceberg table, or the session is a Connect session.
    """
    plan = plan_deletes(spark, table, version)
    return live_rows(plan, plan.columns)


def live_rows(plan: DeletePlan, names: Sequence[str], extra: Sequence[str] = ()) -> DataFrame:
    """The rows of a plan's data files that no delete deletes."""
    columns = [column((name,)) for name in names]
    untouched = plan.untouched().select(*columns)
    if not plan.reached_files:
        return untouched
    rows = plan.touched().select("*", *extra)
    for kind in plan.kinds_of():
        rows = rows.join(newest_deletes(plan, kind), deleted_by(kind), "left_anti")
    live = rows.select(*columns)
    if plan.reached_files == plan.summary["data_files"]:
        return live
    return untouched.unionAll(live)


def newest_deletes(plan: DeletePlan, kind: Kind, unit: int = ALL) -> DataFrame:
    """One row a deleted key (in each partition), with its highest sequence number.

    Args:
        plan: The plan.
        kind: The kind of deletes.
        unit: As for :meth:`DeletePlan.deletes`.
    """
    from pyspark.sql import functions as F

    keys = [_comparable(c.path, c.type).alias(f"{_KEY}{n}") for n, c in enumerate(kind.columns)]
    by = [f"{_KEY}{n}" for n in range(len(keys))]
    if not kind.everywhere:
        by.append(_DELETE_GROUP)
    newest = (
        plan.deletes(kind, unit)
        .select(*keys, F.col(GROUP).alias(_DELETE_GROUP), SEQUENCE)
        .groupBy(*by)
        .agg(F.max(SEQUENCE).alias(DELETE_SEQUENCE))
    )
    # the rows of data files are then joined where they are read
    return F.broadcast(newest) if plan.is_small(kind) else newest


def deleted_by(kind: Kind) -> Column:
    """The condition under which a row of :func:`newest_deletes` deletes a row."""
    from pyspark.sql import functions as F

    condition = F.col(SEQUENCE) < F.col(DELETE_SEQUENCE)
    for n, key in enumerate(kind.columns):
        condition &= _comparable(key.path, key.type).eqNullSafe(F.col(f"{_KEY}{n}"))
    return condition if kind.everywhere else condition & (F.col(GROUP) == F.col(_DELETE_GROUP))


def column(path: Sequence[str]) -> Column:
    """A column by the names that lead to it, whatever characters they have."""
    from pyspark.sql import functions as F

    return F.col(quoted(*path))


def _comparable(path: Sequence[str], type_: str) -> Column:
    # Iceberg tells -0.0 from 0.0, Spark's joins do not; as text they differ, and every NaN is one
    return column(path).cast("string") if type_ in {"float", "double"} else column(path)
