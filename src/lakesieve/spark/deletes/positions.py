"""Which rows equality deletes delete, by data file and position."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from lakesieve.spark.deletes.plan import DELETE_SEQUENCE, NUMBER, DeletePlan
from lakesieve.spark.deletes.read import deleted_by, newest_deletes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NEW = "__lakesieve_new"


def deleted_positions(plan: DeletePlan, unit: int, *, with_old: bool) -> DataFrame:
    """Find the rows of a unit that are deleted by key.

    Returns:
        ``file`` (the data file's path), ``pos`` and ``new``, sorted by file and position within
        partitions; every file in one partition. ``new`` is false for a row that was deleted by
        position already.
    """
    from pyspark.sql import functions as F

    # with _deleted among its columns, Iceberg's reader gives deleted rows too, and marks them
    extra = ("_pos", "_deleted") if with_old else ("_pos",)
    rows = plan.touched_unit(unit).select("*", *extra)
    flags = []
    for kind in plan.kinds_of(unit):
        flag = f"{_NEW}_{kind.number}"
        deletes = newest_deletes(plan, kind, unit)
        rows = rows.join(deletes, deleted_by(kind), "left")
        rows = rows.withColumn(flag, F.col(DELETE_SEQUENCE).isNotNull()).drop(*deletes.columns)
        flags.append(F.col(flag))
    new = reduce(or_, flags)
    wanted = new
    if with_old:
        new &= ~F.col("_deleted")
        wanted |= F.col("_deleted")
    found = rows.where(wanted).select(NUMBER, F.col("_pos").alias("pos"), new.alias("new"))
    # paths are long, and wanted of deleted rows alone
    named = found.join(F.broadcast(plan.touched_files(unit)), NUMBER).select("file", "pos", "new")
    return named.repartition("file").sortWithinPartitions("file", "pos")
