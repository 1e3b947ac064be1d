"""Rows changed by key: upsert and delete, one commit each, and the indexes refreshed after it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, UnsupportedError
from lakesieve.index import Reason, ReasonCode, Refreshed, RowChange
from lakesieve.index.definition import key_columns
from lakesieve.spark.build.refresh import refresh_each
from lakesieve.spark.commands.keys import given_keys, given_rows, rows_in
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables import FORMATS, open_table
from lakesieve.spark.tables.changes import NOTHING, ChangeOutcome
from lakesieve.spark.tables.contract import ChangeableTable
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.spark_versions import cached_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables import IndexableTable
    from lakesieve.spark.tables.changes import TableChanges

__all__ = ["delete", "upsert"]

AFTER_WRITE = "after-write"
_REFRESHES = (AFTER_WRITE, "never", None)


def upsert(
    rows: DataFrame | str,
    table: str,
    *,
    on: Sequence[str],
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
        on: The key columns: no nulls, and no key twice, in ``rows``. For Hudi the record key.
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
    request = _Request(table=table, on=tuple(on), refresh=refresh, txn=txn, location=location)
    return _change("upsert", rows, request, spark, dry_run=dry_run)


def delete(
    keys: DataFrame | str,
    table: str,
    *,
    on: Sequence[str],
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
        on: The key columns, without nulls in ``keys``. For Hudi the record key.
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
    request = _Request(table=table, on=tuple(on), refresh=refresh, txn=txn, location=location)
    return _change("delete", keys, request, spark, dry_run=dry_run)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What both have in common; see :func:`upsert`."""

    table: str
    on: tuple[str, ...]
    refresh: str | None
    txn: tuple[str, int] | None
    location: str | None


def _change(
    operation: str,
    source: DataFrame | str,
    request: _Request,
    spark: SparkSession,
    *,
    dry_run: bool,
) -> RowChange:
    started = time.perf_counter()
    if request.refresh not in _REFRESHES:
        raise InvalidInputError(
            f"refresh={request.refresh!r} is unknown.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Give {AFTER_WRITE!r}, or 'never'.",
        )
    opened = open_table(spark, request.table)
    changes = _changes_of(opened, request.table)
    columns = key_columns(opened, opened.version(), request.on)
    on = [_top_level(column.path) for column in columns]
    changes.check(on, request.txn)
    given = rows_in(source, spark, changes.frame()) if isinstance(source, str) else source
    # types of keys first: their error says more
    given_keys(given, columns, request.table)
    rows = given_rows(given, changes.frame(), on if operation == "delete" else None, request.table)
    if operation == "delete":
        rows = rows.distinct()
    rule = installed_rule(spark)
    skipping = rule.skipping(request.location, storage_options(spark))
    with _evaluated_once(rows) as rows, skipping:
        count = _checked(rows, on)
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
    wanted = request.refresh == AFTER_WRITE and not dry_run
    refreshed, reasons = _refreshed(request, spark) if wanted else ([], [])
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


def _changes_of(table: IndexableTable, name: str) -> TableChanges:
    if isinstance(table, ChangeableTable):
        return table.changes()
    raise UnsupportedError(
        f"{name} is a directory of {table.format} files, which no commit can change.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint=FORMATS[table.format].changing,
    )


def _top_level(path: tuple[str, ...]) -> str:
    if len(path) > 1:
        raise UnsupportedError(
            f"{'.'.join(path)} is a field of a struct, by which rows cannot be changed.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Give columns of the table's top level.",
        )
    return path[0]


@contextmanager
def _evaluated_once(rows: DataFrame) -> Iterator[DataFrame]:
    """Keep rows as they are first evaluated, so that the checks and the commit see the same."""
    from pyspark import StorageLevel

    kept = rows.storageLevel != StorageLevel.NONE
    if not kept:
        rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield cached_of(rows)
    finally:
        if not kept:
            rows.unpersist()


def _checked(rows: DataFrame, on: Sequence[str]) -> int:
    """How many rows there are, all with keys, each once."""
    from pyspark.sql import functions as F

    keys = [F.col(quoted(name)) for name in on]
    missing = reduce(or_, (key.isNull() for key in keys))
    counts = rows.agg(F.count("*"), F.count_if(missing)).collect()[0]
    if counts[1]:
        raise InvalidInputError(
            f"{counts[1]} of {counts[0]} given rows have a null in their key ({', '.join(on)}).",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="A null equals no key: leave those rows out, or change them by SQL.",
        )
    twice = rows.groupBy(*keys).count().where("count > 1").limit(1).collect()
    if twice:
        named = ", ".join(f"{name}={twice[0][name]!r}" for name in on)
        raise InvalidInputError(
            f"The key {named} is given {twice[0][-1]} times, and the table can keep one row of it.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Keep one row of each key first, such as the newest by a window function.",
        )
    return int(counts[0])


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


def _refreshed(request: _Request, spark: SparkSession) -> tuple[list[Refreshed], list[Reason]]:
    """Index what the commit wrote; what fails is reported and leaves the commit as it is."""
    try:
        table = open_table(spark, request.table)
        stores = access_by(spark).stores(table, request.location)
    except Exception as error:  # noqa: BLE001 - the commit is made, and must be reported
        return [], [_failed("the indexes could not be listed", error)]
    try:
        outcomes = refresh_each(spark, table, stores)
    except Exception as error:  # noqa: BLE001 - as above
        return [], [_failed(name, error) for name in stores]
    done = [outcome for outcome in outcomes.values() if isinstance(outcome, Refreshed)]
    failed = {n: outcome for n, outcome in outcomes.items() if isinstance(outcome, Exception)}
    return done, [_failed(name, error) for name, error in failed.items()]


def _failed(what: str, error: Exception) -> Reason:
    message = error.message if isinstance(error, LakesieveError) else str(error).partition("\n")[0]
    return Reason(code=ReasonCode.REFRESH_FAILED, detail=f"{what}: {message}")
