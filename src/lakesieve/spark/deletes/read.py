"""Read a table with equality deletes by joins, which spill to disk instead of failing."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from lakesieve.spark.deletes.version_deletes import (
    ALL,
    GROUP,
    NUMBER,
    SEQUENCE,
    DeleteKind,
    VersionDeletes,
    deletes_of_scan,
    deletes_of_version,
)
from lakesieve.spark.tables.iceberg.spec import ICEBERG
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.java_classes import as_python, has_class
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

_DELETE_SEQUENCE = "__lakesieve_delete_sequence"
_DELETE_GROUP = "__lakesieve_delete_group"
_KEY = "__lakesieve_key_"
_NEW = "__lakesieve_new"


def read(table: str, *, spark: SparkSession, version: str | int | None = None) -> DataFrame:
    """Read a table with equality deletes in bounded memory.

    The rows are the same as those of Iceberg's own reader. Columns and filters are pushed into the
    scan of the data files as usual. Data files that no equality delete reaches are not joined.

    Args:
        table: ``catalog.database.table`` or ``iceberg:PATH``.
        spark: A classic (not Connect) session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.

    Returns:
        The table's columns, at the version that is current now.

    Raises:
        NotFoundError: The table or the version does not exist.
        UnsupportedError: It is not an Iceberg table, or the session is a Connect session.

    Examples:
        >>> ls.deletes.read("lake.shop.orders", spark=spark).where("customer = 4711").count()
        1
    """
    deletes = deletes_of_version(spark, table, version)
    return _live_rows(deletes, deletes.columns)


def join_scan(spark: SparkSession, scan: Any) -> Any:
    """Return the rows of an Iceberg scan, with the equality deletes applied by joins.

    Iceberg's own scan keeps its sets of deletes in memory. The joins do not need these sets. This
    function is called during query planning, so it runs no Spark job.

    Args:
        spark: The session of the query.
        scan: A Java ``QueryScan``.

    Returns:
        The Java dataset, with the columns of the scan's output in their order.
    """
    output, metadata = as_python(spark, scan.output()), as_python(spark, scan.metadata())
    return _live_rows(deletes_of_scan(spark, scan), output, metadata)._jdf


def joins_deletes(spark: SparkSession) -> bool:
    """Return whether the equality deletes of this session's scans can be joined.

    Only scans of Iceberg 1.12 and newer say which snapshot they read. Spark 3.5 and 4.0 have older
    versions of Iceberg.
    """
    tells_snapshot = spark_version_of(spark.version).jar not in {"3.5", "4.0"}
    return tells_snapshot and has_class(spark, ICEBERG.runtime)


def _live_rows(
    deletes: VersionDeletes, names: Sequence[str], extra: Sequence[str] = ()
) -> DataFrame:
    """Return the rows that no delete deletes."""
    columns = [column((name,)) for name in names]
    untouched = deletes.untouched().select(*columns)
    if not deletes.reached_files:
        return untouched
    rows = deletes.touched().select("*", *extra)
    for kind in deletes.kinds_of():
        rows = rows.join(newest_deletes(deletes, kind), _deleted_by(kind), "left_anti")
    live = rows.select(*columns)
    if deletes.reached_files == deletes.summary["data_files"]:
        return live
    return untouched.unionAll(live)


def deleted_positions(deletes: VersionDeletes, unit: int, *, with_old: bool) -> DataFrame:
    """Find the rows of a unit that are deleted by key.

    Returns:
        ``file`` (the data file's path), ``pos`` and ``new``, sorted by file and position within
        partitions. Each file is in one partition. ``new`` is false for a row that was already
        deleted by position.
    """
    from pyspark.sql import functions as F

    # if _deleted is among its columns, Iceberg's reader returns deleted rows too, and marks them
    extra = ("_pos", "_deleted") if with_old else ("_pos",)
    rows = deletes.touched_unit(unit).select("*", *extra)
    flags = []
    for kind in deletes.kinds_of(unit):
        flag = f"{_NEW}_{kind.number}"
        newest = newest_deletes(deletes, kind, unit)
        rows = rows.join(newest, _deleted_by(kind), "left")
        rows = rows.withColumn(flag, F.col(_DELETE_SEQUENCE).isNotNull()).drop(*newest.columns)
        flags.append(F.col(flag))
    new = reduce(or_, flags)
    selected = new
    if with_old:
        new &= ~F.col("_deleted")
        selected |= F.col("_deleted")
    positions = rows.where(selected).select(NUMBER, F.col("_pos").alias("pos"), new.alias("new"))
    # join the paths last, because they are long and only needed for deleted rows
    files = F.broadcast(deletes.touched_files(unit))
    named = positions.join(files, NUMBER).select("file", "pos", "new")
    return named.repartition("file").sortWithinPartitions("file", "pos")


def newest_deletes(deletes: VersionDeletes, kind: DeleteKind, unit: int = ALL) -> DataFrame:
    """Return one row for each deleted key (in each partition), with its highest sequence number."""
    from pyspark.sql import functions as F

    keys = [_comparable(c.path, c.type).alias(f"{_KEY}{n}") for n, c in enumerate(kind.columns)]
    by = [f"{_KEY}{n}" for n in range(len(keys))]
    if not kind.everywhere:
        by.append(_DELETE_GROUP)
    newest = (
        deletes.delete_rows(kind, unit)
        .select(*keys, F.col(GROUP).alias(_DELETE_GROUP), SEQUENCE)
        .groupBy(*by)
        .agg(F.max(SEQUENCE).alias(_DELETE_SEQUENCE))
    )
    # a broadcast join runs where the rows of data files are read
    return F.broadcast(newest) if deletes.is_small(kind) else newest


def _deleted_by(kind: DeleteKind) -> Column:
    """Return the condition under which a row of :func:`newest_deletes` deletes a row."""
    from pyspark.sql import functions as F

    condition = F.col(SEQUENCE) < F.col(_DELETE_SEQUENCE)
    for n, key in enumerate(kind.columns):
        condition &= _comparable(key.path, key.type).eqNullSafe(F.col(f"{_KEY}{n}"))
    return condition if kind.everywhere else condition & (F.col(GROUP) == F.col(_DELETE_GROUP))


def column(path: Sequence[str]) -> Column:
    """Return a column by its path of names, whatever characters these contain."""
    from pyspark.sql import functions as F

    return F.col(quoted(*path))


def _comparable(path: Sequence[str], type_: str) -> Column:
    # Iceberg distinguishes -0.0 from 0.0, but Spark's joins do not. As text they differ, and every
    # NaN is equal.
    return column(path).cast("string") if type_ in {"float", "double"} else column(path)
