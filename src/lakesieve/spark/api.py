"""The public functions that need a Spark session."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.index import ShownList, TradeOffInfo
from lakesieve.index.definition import check_budgets, column_names
from lakesieve.spark.build.after_write import check_refresh, refresh_after_writes
from lakesieve.spark.build.keys import index_keys
from lakesieve.spark.build.progress import Watch
from lakesieve.spark.build.row_blocks import unit_of
from lakesieve.spark.build.segments import draw_curve
from lakesieve.spark.build.source import Source
from lakesieve.spark.extension import remote
from lakesieve.spark.index import SparkIndex, open_index
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.rule.report import pruning_rows
from lakesieve.spark.rule.suitability import problem_of, report_of
from lakesieve.spark.session.access import access_by
from lakesieve.spark.statements.in_session import understand_statements
from lakesieve.spark.tables import FORMATS, open_table
from lakesieve.spark.tables.contract import CopyableTable
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.versions.spark_versions import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index import BuildProgress, CloneResult, TablePruning

__all__ = [
    "clone_table",
    "disable",
    "enable",
    "last_pruning",
    "open_index",
    "trade_offs",
]

_LOGGER = logging.getLogger("lakesieve.spark")


def enable(
    spark: SparkSession, *, locations: Iterable[str] = (), refresh: str | None = "never"
) -> None:
    """Make every query and command of this session skip files from now on.

    The session also understands SQL statements about indexes, such as ``SHOW INDEXES ON orders``.

    A session of a version of Spark that is newer than those tested is checked first. If something
    is missing, a warning says what, and queries read all files.

    Args:
        spark: The session. One of Spark Connect needs a server with the jar that ``lakesieve
            spark-jar`` writes.
        locations: Further roots to search for indexes, besides each table's own folder.
        refresh: ``"after-write"`` has the indexes of a table refreshed in the background after each
            commit that this session makes to it: no command waits for it, one table is refreshed
            at a time, and what fails is a warning of the logger ``lakesieve.refresh``. ``"never"``
            or ``None`` leaves them as they are.

    Raises:
        InvalidInputError: ``refresh`` has another value.
        UnsupportedError: A session in which the optimizer cannot be reached; or one of Spark
            Connect that shall refresh indexes.
        SetupError: The table format's runtime is missing.

    Examples:
        >>> ls.enable(spark)
        >>> spark.sql("SELECT id FROM lake.shop.orders WHERE customer = 4711").collect()
        [Row(id=3990)]
        >>> ls.last_pruning(spark)[0].files_read
        1
    """
    refreshes = check_refresh(refresh)
    roots = tuple(locations)
    if is_remote(spark):
        if refreshes:
            raise UnsupportedError(
                "A Spark Connect session cannot refresh indexes: it does not see its own commits.",
                kind=ErrorKind.UNSUPPORTED_SESSION,
                hint="Run lakesieve maintain --watch, which refreshes the indexes.",
            )
        remote.enable(spark, roots)
        return
    problem = problem_of(spark)
    if problem is not None:
        _LOGGER.warning("Queries read all files: %s.", problem)
        return
    installed_rule(spark).enable(roots, storage_options(spark))
    understand_statements(spark)
    refresh_after_writes(spark, wanted=refreshes, locations=roots)


def disable(spark: SparkSession) -> None:
    """Leave the scans of this session's queries as they are from now on.

    Commands under way that skip files for themselves, such as an upsert, still do. Indexes are not
    refreshed after writes any more; those that are still to be refreshed are waited for.

    Examples:
        >>> ls.disable(spark)
    """
    if is_remote(spark):
        remote.disable(spark)
        return
    if problem_of(spark) is not None:
        return
    refresh_after_writes(spark, wanted=False)
    installed_rule(spark).disable()


def last_pruning(spark: SparkSession) -> list[TablePruning]:
    """What the latest query or command of this session did; see :func:`lakesieve.last_pruning`."""
    if is_remote(spark):
        return pruning_rows(remote.report(spark))
    problem = problem_of(spark)
    if problem is not None:
        return ShownList([report_of(problem)])
    report = installed_rule(spark).report()
    return pruning_rows(report)


def trade_offs(
    table: str,
    columns: str | Sequence[str],
    *,
    spark: SparkSession,
    rows_per_block: int | str | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
) -> list[TradeOffInfo]:
    """What an index would cost at all budgets, tried on a stretch of its keys.

    Args:
        table: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``parquet:PATH``.
        columns: The key column, or several in order.
        spark: The session.
        rows_per_block: As for :func:`create_index`; row blocks then count in place of data files.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Returns:
        The points worth having, smallest first.

    Raises:
        NotFoundError: No such table or column.
        UnsupportedError: A column's type cannot be indexed, the keys are words, which have no
            budgets, or Spark cannot read the table.

    Examples:
        >>> ls.trade_offs("lake.shop.orders", "customer", spark=spark)[-1].strategy
        'exact'
    """
    rule = installed_rule(spark)
    opened = open_table(spark, table)
    version = opened.reader.version()
    keys = index_keys(opened, version, columns)
    check_budgets(keys)
    source = Source.whole(opened, version, keys)
    names = ", ".join(column_names(columns))
    with Watch(spark, progress, f"lakesieve: budgets of {table} on {names}") as watch:
        unit = unit_of(opened, source.files, rows_per_block)
        points = draw_curve(spark, source.counted(rule), watch, unit)
    return ShownList(TradeOffInfo(**point) for point in points)


def clone_table(
    table: str,
    target: str,
    *,
    spark: SparkSession,
    version: str | int | None = None,
    location: str | None = None,
) -> list[CloneResult]:
    """Make a zero-copy table that begins as a version of another, with all of its indexes.

    The copy shares the data files, and can never delete them (``gc.enabled`` is off); the indexes
    share their segments. From then on the tables are independent.

    Args:
        table: An Iceberg table, ``catalog.database.table``.
        target: Name of the copy, in the same catalog.
        spark: The session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        location: A further root to search for indexes.

    Returns:
        The indexes of the copy.

    Raises:
        NotFoundError: No such table or version.
        InvalidInputError: The target's name is taken.
        UnsupportedError: The table has no catalog, or one that cannot register tables.

    Examples:
        >>> clones = ls.clone_table("lake.shop.orders", "lake.shop.copy", spark=spark)
        >>> [clone.index for clone in clones]
        ['customer', 'id']
    """
    opened = open_table(spark, table)
    copied = opened.reader.version(version)
    if not isinstance(opened, CopyableTable):
        copying = FORMATS[opened.reader.format].copying
        raise UnsupportedError(
            f"{table} is a {opened.reader.format} table, which lakesieve does not copy.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint=copying.format(table=table, copy=target, version=copied.id),
        )
    opened.copy_to(target, copied)
    stores = access_by(spark).stores(opened.reader, location).values()
    return [SparkIndex(spark, opened, store.storage).clone(target) for store in stores]
