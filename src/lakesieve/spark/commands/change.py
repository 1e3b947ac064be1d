"""What all changes of rows by key share: what they are given, and the indexes after the commit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, UnsupportedError
from lakesieve.index import Reason, ReasonCode, Refreshed
from lakesieve.index.definition import key_columns
from lakesieve.spark.build.after_write import check_refresh
from lakesieve.spark.build.refresh import refresh_each
from lakesieve.spark.commands.keys import given_keys, given_rows, rows_in
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables import FORMATS, open_table
from lakesieve.spark.tables.contract import ChangeableTable
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.kept import cached_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables import SparkTable
    from lakesieve.spark.tables.changes import TableChanges
    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """What is to be changed, and how.

    Args:
        table: The table's name.
        on: The key columns.
        refresh: Whether the indexes are refreshed after the commit.
        txn: Name and number of a transaction, if any.
        location: A further root to search for indexes.

    Raises:
        InvalidInputError: ``refresh`` has another value.
    """

    table: str
    on: tuple[str, ...]
    refresh: str | None
    txn: tuple[str, int] | None
    location: str | None

    def __post_init__(self) -> None:
        check_refresh(self.refresh)

    @property
    def refreshes(self) -> bool:
        """Whether the indexes are refreshed after the commit."""
        return check_refresh(self.refresh)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """A change that the table can make.

    Args:
        table: The table.
        changes: How its rows are changed.
        columns: The key columns.
        on: Their names.
        rows: What is given, as columns of the table in its order and of its types.
    """

    table: SparkTable
    changes: TableChanges
    columns: tuple[Column, ...]
    on: list[str]
    rows: DataFrame


def prepare(
    source: DataFrame | str, request: ChangeRequest, spark: SparkSession, *, keys_only: bool
) -> Prepared:
    """Check what is given for a change against its table.

    Raises:
        NotFoundError: No such table, or a column is missing.
        InvalidInputError: Columns of other types or too many.
        UnsupportedError: The table cannot be changed by these keys.
    """
    opened = open_table(spark, request.table)
    changes = _changes_of(opened, request.table)
    columns = key_columns(opened.reader, opened.reader.version(), request.on)
    on = [_top_level(column.path) for column in columns]
    changes.check(on, request.txn)
    given = rows_in(source, spark, changes.frame()) if isinstance(source, str) else source
    # types of keys first: their error says more
    given_keys(given, columns, request.table)
    rows = given_rows(given, changes.frame(), on if keys_only else None, request.table)
    return Prepared(table=opened, changes=changes, columns=columns, on=on, rows=rows)


def _changes_of(table: SparkTable, name: str) -> TableChanges:
    """How the rows of a table are changed.

    Raises:
        UnsupportedError: No commit can change it.
    """
    if isinstance(table, ChangeableTable):
        return table.changes()
    raise UnsupportedError(
        f"{name} is a directory of {table.reader.format} files, which no commit can change.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint=FORMATS[table.reader.format].changing,
    )


def _top_level(path: tuple[str, ...]) -> str:
    """The name of a column that is no field of a struct.

    Raises:
        UnsupportedError: It is one.
    """
    if len(path) > 1:
        raise UnsupportedError(
            f"{'.'.join(path)} is a field of a struct, by which rows cannot be changed.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Give columns of the table's top level.",
        )
    return path[0]


@contextmanager
def evaluated_once(rows: DataFrame, spark: SparkSession) -> Iterator[DataFrame]:
    """Keep rows as they are first evaluated, so that the checks and the commit see the same.

    Yields:
        Those rows, in that session.
    """
    from pyspark import StorageLevel

    kept = rows.storageLevel != StorageLevel.NONE
    if not kept:
        rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield cached_of(rows, spark)
    finally:
        if not kept:
            rows.unpersist()


def check_keys(rows: DataFrame, on: Sequence[str]) -> int:
    """Count rows, and insist that all have keys.

    Raises:
        InvalidInputError: Some have a null in their key.
    """
    from pyspark.sql import functions as F

    missing = reduce(or_, (F.col(quoted(name)).isNull() for name in on))
    counts = rows.agg(F.count("*"), F.count_if(missing)).collect()[0]
    if counts[1]:
        raise InvalidInputError(
            f"{counts[1]} of {counts[0]} given rows have a null in their key ({', '.join(on)}).",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="A null equals no key: leave those rows out, or change them by SQL.",
        )
    return int(counts[0])


def check_once(rows: DataFrame, on: Sequence[str], hint: str) -> None:
    """Insist that no key is given twice.

    Raises:
        InvalidInputError: One is.
    """
    keys = [quoted(name) for name in on]
    twice = rows.groupBy(*keys).count().where("count > 1").limit(1).collect()
    if twice:
        named = ", ".join(f"{name}={twice[0][name]!r}" for name in on)
        raise InvalidInputError(
            f"The key {named} is given {twice[0][-1]} times, and the table can keep one row of it.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=hint,
        )


def refreshed_after(
    request: ChangeRequest, spark: SparkSession
) -> tuple[list[Refreshed], list[Reason]]:
    """Index what a commit wrote; what fails is reported and leaves the commit as it is."""
    try:
        table = open_table(spark, request.table)
        stores = access_by(spark).stores(table.reader, request.location)
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
