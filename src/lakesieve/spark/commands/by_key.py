"""Upsert and delete rows by key, in one commit each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakesieve.index.definition import column_names
from lakesieve.spark.build.after_write import AFTER_WRITE, refreshing_itself
from lakesieve.spark.commands.change import (
    ChangeRequest,
    RowChanger,
    check_keys,
    check_once,
)
from lakesieve.spark.commands.held_keys import HeldKeys
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.changes import NOTHING, ChangeOutcome
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.cached_rows import CachedRows
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.index import Reason, RowChange

_ONE_ROW = "Keep one row of each key first, such as the newest by a window function."


def upsert(
    rows: DataFrame | str,
    table: str,
    *,
    on: str | Sequence[str],
    spark: SparkSession,
    refresh: str | None = AFTER_WRITE,
    txn: tuple[str, int] | None = None,
    location: str | None = None,
    dry_run: bool = False,
) -> RowChange:
    """Update the rows of a table that have given keys, and insert the rows with new keys.

    The change is one commit of the table's own format, with the format's own checks for conflicts:
    all or nothing. Repeating the call leaves the same content. With ``txn``, a repeated call does
    nothing.

    Args:
        rows: All columns of the table, in any order, evaluated once. Or the path of a Parquet file,
            or of a CSV file with a header line.
        table: ``catalog.database.table``, ``delta:PATH`` or ``hudi:PATH``.
        on: The key column or columns. In ``rows``, they have no nulls and no key twice. For Hudi,
            the record key.
        spark: The session. Skipping is on during this call, and then as it was before.
        refresh: ``"after-write"`` indexes the new files in this call; ``"never"`` or ``None`` does
            not.
        txn: Name and number of a transaction. If the table has a transaction of this name with the
            same or a higher number, nothing is done. Iceberg stores it with the snapshot, Delta in
            the log.
        location: A further root to search for indexes.
        dry_run: Change nothing. Only return which rows and files would be changed.

    Raises:
        NotFoundError: The table does not exist, or ``rows`` lacks a column.
        InvalidInputError: Keys are null or not unique, or columns have other types or are unknown.
        UnsupportedError: The table cannot be changed by these keys.

    Examples:
        >>> changed = spark.table("lake.shop.orders").where("customer = 4711")
        >>> ls.upsert(changed, "lake.shop.orders", on="id", spark=spark, dry_run=True).updated
        1
    """
    request = ChangeRequest(
        operation="upsert",
        table=table,
        on=column_names(on),
        spark=spark,
        refresh=refresh,
        txn=txn,
        location=location,
        dry_run=dry_run,
    )
    return _change(rows, request)


def delete(
    keys: DataFrame | str,
    table: str,
    *,
    on: str | Sequence[str],
    spark: SparkSession,
    refresh: str | None = AFTER_WRITE,
    txn: tuple[str, int] | None = None,
    location: str | None = None,
    dry_run: bool = False,
) -> RowChange:
    """Delete all rows of a table that have given keys.

    The change is one commit, as for :func:`upsert`. Readers of the new version no longer see the
    rows. Older versions keep them until their snapshots expire and their files are removed.

    Args:
        keys: The key columns, evaluated once, or a path as for :func:`upsert`. Other columns are
            ignored. A key may occur more than once, and need not be in the table.
        table: ``catalog.database.table``, ``delta:PATH`` or ``hudi:PATH``.
        on: The key column or columns, without nulls in ``keys``. For Hudi, the record key.
        spark: The session. Skipping is on during this call, and then as it was before.
        refresh: As for :func:`upsert`.
        txn: As for :func:`upsert`.
        location: A further root to search for indexes.
        dry_run: Change nothing. Only return which rows and files would be changed.

    Raises:
        NotFoundError: The table does not exist, or ``keys`` lacks a column.
        InvalidInputError: Keys are null, or columns have other types.
        UnsupportedError: The table cannot be changed by these keys.

    Examples:
        >>> keys = spark.sql("SELECT 4711L AS customer")
        >>> ls.delete(keys, "lake.shop.orders", on="customer", spark=spark, dry_run=True).deleted
        1
    """
    request = ChangeRequest(
        operation="delete",
        table=table,
        on=column_names(on),
        spark=spark,
        refresh=refresh,
        txn=txn,
        location=location,
        dry_run=dry_run,
    )
    return _change(keys, request)


def _change(source: DataFrame | str, request: ChangeRequest) -> RowChange:
    changer = RowChanger.prepare(source, request)
    rows = changer.given.distinct() if request.operation == "delete" else changer.given
    with refreshing_itself(changer.table, does=request.refreshes):
        with changer.under_way(rows) as rows_once:
            count = check_keys(rows_once, changer.on)
            check_once(rows_once, changer.on, _ONE_ROW)
            with _reading_by_keys(changer, rows_once, count) as reasons:
                outcome, files_read = _outcome(changer, rows_once, count)
        return changer.result(outcome, keys=count, files_read=files_read, reasons=reasons)


@contextmanager
def _reading_by_keys(changer: RowChanger, rows: DataFrame, count: int) -> Iterator[list[Reason]]:
    """While the context is open, read only the files and rows that may hold the keys of a change.

    The rule looks up the keys of a join by itself, unless its rows exceed a limit.

    Yields:
        Coded reasons why indexes cannot help.
    """
    request, rule = changer.request, installed_rule(changer.request.spark)
    session, plan = request.spark._jsparkSession, rows._jdf.queryExecution().optimizedPlan()
    if not count or not own_class(request.spark, "joins.JoinSide").isTooLarge(session, plan):
        yield []
        return
    lookup = HeldKeys(changer.table, changer.columns, request.spark, request.location)
    given = CachedRows(rows=rows, count=count)
    tree = lookup.plan(given, changer.on, changer.table.reader.version())
    if tree is None:
        yield lookup.reasons
        return
    with rule.given(request.spark, changer.table.reader.uuid, tree):
        yield lookup.reasons


def _outcome(changer: RowChanger, rows: DataFrame, count: int) -> tuple[ChangeOutcome, int | None]:
    """Make the commit, and count the data files that it read."""
    request, rule = changer.request, installed_rule(changer.request.spark)
    if count == 0:
        return NOTHING, None
    if request.dry_run:
        return _touched(changer, rows, count)
    rule.forget()
    outcome = changer.changes.change(request.operation, rows, changer.on, request.txn)
    if outcome.known:
        return outcome, None
    counts = [row["files_read"] for row in rule.report() if row.get("files_total")]
    return outcome, max(counts, default=None)


def _touched(changer: RowChanger, rows: DataFrame, count: int) -> tuple[ChangeOutcome, int]:
    """Count the rows that would be changed, and the data files with such rows."""
    from pyspark.sql import functions as F

    file = "lakesieve file"
    on = [quoted(name) for name in changer.on]
    keyed = changer.changes.frame().select(*on, F.input_file_name().alias(file))
    touched = keyed.join(rows.select(*on), changer.on, "left_semi")
    row_count, files, keys = touched.agg(
        F.count("*"), F.count_distinct(F.col(quoted(file))), F.count_distinct(F.struct(*on))
    ).collect()[0]
    if changer.request.operation == "upsert":
        return ChangeOutcome(inserted=count - keys, updated=row_count, deleted=0), files
    return ChangeOutcome(inserted=0, updated=0, deleted=row_count), files
