"""Rows changed by key: upsert and delete, one commit each, and the indexes refreshed after it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lakesieve.index import RowChange
from lakesieve.index.definition import column_names
from lakesieve.spark.build.after_write import AFTER_WRITE, refreshing_itself
from lakesieve.spark.commands.change import (
    ChangeRequest,
    check_keys,
    check_once,
    evaluated_once,
    prepare,
    refreshed_after,
)
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.changes import NOTHING, ChangeOutcome
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.reading import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables.changes import TableChanges

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
    """
    request = ChangeRequest(
        table=table, on=column_names(on), refresh=refresh, txn=txn, location=location
    )
    return _change("upsert", rows, request, spark, dry_run=dry_run)


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
    """
    request = ChangeRequest(
        table=table, on=column_names(on), refresh=refresh, txn=txn, location=location
    )
    return _change("delete", keys, request, spark, dry_run=dry_run)


def _change(
    operation: str,
    source: DataFrame | str,
    request: ChangeRequest,
    spark: SparkSession,
    *,
    dry_run: bool,
) -> RowChange:
    started = time.perf_counter()
    prepared = prepare(source, request, spark, keys_only=operation == "delete")
    changes, on, rows = prepared.changes, prepared.on, prepared.rows
    if operation == "delete":
        rows = rows.distinct()
    rule = installed_rule(spark)
    skipping = rule.skipping(request.location, storage_options(spark))
    wanted = request.refreshes and not dry_run
    with refreshing_itself(prepared.table, does=wanted):
        with evaluated_once(rows, spark) as rows, skipping:
            count = check_keys(rows, on)
            check_once(rows, on, _ONE_ROW)
            files_read = None
            if count == 0:
                done = NOTHING
            elif dry_run:
                done, files_read = _touched(changes, rows, on, operation, count)
            else:
                rule.forget()
                done = changes.change(operation, rows, on, request.txn)
                read_counts = [row["files_read"] for row in rule.report() if row.get("files_total")]
                files_read = max(read_counts, default=None) if not done.known else None
        refreshed, reasons = refreshed_after(request, spark) if wanted else ([], [])
    return RowChange(
        table=request.table,
        operation=operation,
        on=tuple(on),
        keys=count,
        inserted=done.inserted,
        updated=done.updated,
        deleted=done.deleted,
        files_read=files_read,
        files_added=done.files_added,
        files_removed=done.files_removed,
        version=done.version,
        known=done.known,
        refreshed=tuple(refreshed),
        reasons=tuple(reasons),
        seconds=time.perf_counter() - started,
        dry_run=dry_run,
    )


def _touched(
    changes: TableChanges, rows: DataFrame, on: Sequence[str], operation: str, count: int
) -> tuple[ChangeOutcome, int]:
    """Rows that would be changed, and the data files that hold them."""
    from pyspark.sql import functions as F

    file = "lakesieve file"
    held = changes.frame().select(*(quoted(name) for name in on), F.input_file_name().alias(file))
    keys = rows.select(*(quoted(name) for name in on))
    found = held.join(keys, list(on), "left_semi")
    counts = found.agg(
        F.count("*"),
        F.count_distinct(F.col(quoted(file))),
        F.count_distinct(F.struct(*(quoted(name) for name in on))),
    ).collect()[0]
    is_upsert = operation == "upsert"
    outcome = ChangeOutcome(
        inserted=count - counts[2] if is_upsert else 0,
        updated=counts[0] if is_upsert else 0,
        deleted=0 if is_upsert else counts[0],
    )
    return outcome, int(counts[1])
