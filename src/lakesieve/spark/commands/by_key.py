"""Upsert and delete: rows changed by key, in one commit each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.index.definition import column_names
from lakesieve.spark.build.after_write import AFTER_WRITE, refreshing_itself
from lakesieve.spark.commands.change import (
    ChangeRequest,
    RowChanger,
    check_keys,
    check_once,
)
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.changes import NOTHING, ChangeOutcome
from lakesieve.spark.tables.reading import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.index import RowChange

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
    """Update the rows of a table that have given keys, and insert those that are not there.

    One commit of the table's own format, with its own checks for conflicts: all or nothing. Doing
    it again leaves the same content; with ``txn`` it is not done again.

    Args:
        rows: All columns of the table, in any order; evaluated once. Or the path of a Parquet file,
            or of a CSV file with a header line.
        table: ``catalog.database.table``, ``delta:PATH`` or ``hudi:PATH``.
        on: The key column or columns: no nulls, and no key twice, in ``rows``. For Hudi the
            record key.
        spark: The session; skipping is on for this call, and as it was afterwards.
        refresh: ``"after-write"`` indexes the new files in this call; ``"never"`` or ``None`` not.
        txn: Name and number of a transaction: where the table has one of that name with that number
            or a higher, nothing is done. Iceberg keeps it with the snapshot, Delta in the log.
        location: A further root to search for indexes.
        dry_run: Only tell which rows and files there are to change.

    Raises:
        NotFoundError: No such table, or ``rows`` lacks a column.
        InvalidInputError: Keys that are null or not unique, columns of other types or too many.
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

    One commit, as for :func:`upsert`. The rows are gone for readers of the new version; older
    versions keep them until their snapshots expire and their files are removed.

    Args:
        keys: The key columns, and others that are ignored; evaluated once, or a path as for
            :func:`upsert`. A key may be there more than once, and need not be in the table.
        table: ``catalog.database.table``, ``delta:PATH`` or ``hudi:PATH``.
        on: The key column or columns, without nulls in ``keys``. For Hudi the record key.
        spark: The session; skipping is on for this call, and as it was afterwards.
        refresh: As for :func:`upsert`.
        txn: As for :func:`upsert`.
        location: A further root to search for indexes.
        dry_run: Only tell which rows and files there are to change.

    Raises:
        NotFoundError: No such table, or ``keys`` lacks a column.
        InvalidInputError: Keys that are null, or columns of other types.
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
            outcome, files_read = _outcome(changer, rows_once, count)
        return changer.result(outcome, keys=count, files_read=files_read)


def _outcome(changer: RowChanger, rows: DataFrame, count: int) -> tuple[ChangeOutcome, int | None]:
    """Make the commit; also count the data files that it read."""
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
    """Count the rows that would be changed, and the data files that hold them."""
    from pyspark.sql import functions as F

    file = "lakesieve file"
    on = [quoted(name) for name in changer.on]
    keyed = changer.changes.frame().select(*on, F.input_file_name().alias(file))
    touched = keyed.join(rows.select(*on), changer.on, "left_semi")
    held, files, keys = touched.agg(
        F.count("*"), F.count_distinct(F.col(quoted(file))), F.count_distinct(F.struct(*on))
    ).collect()[0]
    if changer.request.operation == "upsert":
        return ChangeOutcome(inserted=count - keys, updated=held, deleted=0), files
    return ChangeOutcome(inserted=0, updated=0, deleted=held), files
