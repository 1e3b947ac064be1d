"""Share code between all changes of rows by key: arguments, and the refresh after the commit."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, UnsupportedError
from lakesieve.index import Reason, ReasonCode, RefreshResult, RowChange
from lakesieve.index.definition import key_columns
from lakesieve.spark.build.after_write import check_refresh
from lakesieve.spark.build.refresh import refresh_each
from lakesieve.spark.commands.keys import given_keys, given_rows, rows_in
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables import FORMATS, open_table
from lakesieve.spark.tables.contract import ChangeableTable
from lakesieve.spark.tables.formats import unchangeable
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.cached_rows import cached_leaf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables import SparkTable
    from lakesieve.spark.tables.changes import ChangeOutcome, TableChanges
    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """A user's request to change rows of a table.

    Args:
        operation: ``upsert``, ``delete`` or ``insert-new``.
        table: The table's name.
        on: The key columns.
        spark: The session.
        refresh: The user's setting for refreshing the indexes after the commit.
        txn: Name and number of a transaction, if any.
        location: A further root to search for indexes.
        dry_run: Change nothing, and only return what would be changed.
    """

    operation: str
    table: str
    on: tuple[str, ...]
    spark: SparkSession
    refresh: str | None
    txn: tuple[str, int] | None
    location: str | None
    dry_run: bool
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        check_refresh(self.refresh)

    @property
    def refreshes(self) -> bool:
        """True if the indexes are refreshed after the commit."""
        return check_refresh(self.refresh) and not self.dry_run


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowChanger:
    """A change of rows that was checked against its table.

    Args:
        request: What the user asks for.
        table: The table.
        changes: The way in which the table's rows are changed.
        columns: The key columns.
        on: Their names.
        given: The given rows, with the table's columns, in its order and of its types.
    """

    request: ChangeRequest
    table: SparkTable
    changes: TableChanges
    columns: tuple[Column, ...]
    on: list[str]
    given: DataFrame

    @classmethod
    def prepare(cls, source: DataFrame | str, request: ChangeRequest) -> RowChanger:
        """Check a request and its rows against the table."""
        opened = open_table(request.spark, request.table)
        changes = _changes_of(opened, request.table)
        columns = key_columns(opened.reader, opened.reader.version(), request.on)
        on = [_top_level(column.path) for column in columns]
        changes.check(on, request.txn)
        target = changes.frame()
        given_frame = rows_in(source, request.spark, target) if isinstance(source, str) else source
        # check the types of keys first, because their error is clearer
        given_keys(given_frame, columns, request.table)
        names = on if request.operation == "delete" else None
        given_frame = given_rows(given_frame, target, names, request.table)
        return cls(
            request=request,
            table=opened,
            changes=changes,
            columns=columns,
            on=on,
            given=given_frame,
        )

    @contextmanager
    def under_way(self, rows: DataFrame) -> Iterator[DataFrame]:
        """Turn skipping on, and evaluate the rows once: checks and commit see the same rows.

        Yields:
            The rows, in the session of the change.
        """
        from pyspark import StorageLevel

        spark, location = self.request.spark, self.request.location
        is_cached = rows.storageLevel != StorageLevel.NONE
        if not is_cached:
            rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            with installed_rule(spark).skipping(location, storage_options(spark)):
                yield cached_leaf(rows, spark)
        finally:
            if not is_cached:
                rows.unpersist()

    def result(
        self,
        outcome: ChangeOutcome,
        *,
        keys: int,
        files_read: int | None,
        reasons: Sequence[Reason] = (),
    ) -> RowChange:
        """Refresh the indexes if requested, and return the result."""
        request = self.request
        refreshed, failed = _refreshed_after(request) if request.refreshes else ([], [])
        return RowChange(
            table=request.table,
            operation=request.operation,
            on=tuple(self.on),
            keys=keys,
            inserted=outcome.inserted,
            updated=outcome.updated,
            deleted=outcome.deleted,
            files_read=files_read,
            files_added=outcome.files_added,
            files_removed=outcome.files_removed,
            version=outcome.version,
            known=outcome.known,
            refreshed=tuple(refreshed),
            reasons=(*reasons, *failed),
            seconds=time.perf_counter() - request.started,
            dry_run=request.dry_run,
        )


def _changes_of(table: SparkTable, name: str) -> TableChanges:
    """Return the way in which a table's rows are changed."""
    if isinstance(table, ChangeableTable):
        return table.changes()
    raise unchangeable(name, FORMATS[table.reader.format])


def _top_level(path: tuple[str, ...]) -> str:
    """Return the name of a column, which must not be a field of a struct."""
    if len(path) > 1:
        raise UnsupportedError(
            f"{'.'.join(path)} is a field of a struct. Rows can be changed only by top-level "
            "columns.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Give top-level columns of the table.",
        )
    return path[0]


def check_keys(rows: DataFrame, on: Sequence[str]) -> int:
    """Count rows, and check that all of them have keys."""
    from pyspark.sql import functions as F

    missing = reduce(or_, (F.col(quoted(name)).isNull() for name in on))
    counts = rows.agg(F.count("*"), F.count_if(missing)).collect()[0]
    if counts[1]:
        raise InvalidInputError(
            f"{counts[1]} of {counts[0]} given rows have a null in their key ({', '.join(on)}).",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="NULL equals no key. Leave out these rows, or change them with SQL.",
        )
    return int(counts[0])


def check_once(rows: DataFrame, on: Sequence[str], hint: str) -> None:
    """Check that no key is given twice."""
    keys = [quoted(name) for name in on]
    twice = rows.groupBy(*keys).count().where("count > 1").limit(1).collect()
    if twice:
        named = ", ".join(f"{name}={twice[0][name]!r}" for name in on)
        raise InvalidInputError(
            f"The key {named} is given {twice[0][-1]} times, but the table can have only one row "
            "with it.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=hint,
        )


def _refreshed_after(request: ChangeRequest) -> tuple[list[RefreshResult], list[Reason]]:
    """Refresh the indexes after a commit. A failure is reported and does not affect the commit."""
    try:
        table = open_table(request.spark, request.table)
        stores = access_by(request.spark).stores(table.reader, request.location)
    except Exception as error:  # noqa: BLE001 - the commit is made, and must be reported
        return [], [_failed("the indexes could not be listed", error)]
    try:
        outcomes = refresh_each(request.spark, table, stores)
    except Exception as error:  # noqa: BLE001 - as above
        return [], [_failed(name, error) for name in stores]
    refreshed = [outcome for outcome in outcomes.values() if isinstance(outcome, RefreshResult)]
    failed = {n: outcome for n, outcome in outcomes.items() if isinstance(outcome, Exception)}
    return refreshed, [_failed(name, error) for name, error in failed.items()]


def _failed(what: str, error: Exception) -> Reason:
    message = error.message if isinstance(error, LakesieveError) else str(error).partition("\n")[0]
    return Reason(code=ReasonCode.REFRESH_FAILED, detail=f"{what}: {message}")
