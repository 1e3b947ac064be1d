"""Change rows by key: one commit of the table format, and its result."""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lakesieve.spark.tables.reading import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.tables import TableVersion

# locks by session
_LOCKS: dict[str, threading.Lock] = {}
_CLAUSES = {
    "upsert": "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "delete": "WHEN MATCHED THEN DELETE",
    "insert": "WHEN NOT MATCHED THEN INSERT *",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOutcome:
    """The result of one change, as the table reports it.

    Args:
        version: The version that the change made; ``None`` if it made none.
        inserted: Inserted rows; ``None``, here and below, if the table does not report it.
        updated: Updated rows.
        deleted: Deleted rows.
        files_added: Data and delete files that were written.
        files_removed: Data and delete files that the version no longer has.
        known: The transaction had been committed before, so nothing was done.
    """

    version: str | None = None
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    known: bool = False


NOTHING = ChangeOutcome(inserted=0, updated=0, deleted=0, files_added=0, files_removed=0)
"""No row had to be changed."""


class TableChanges(Protocol):
    """How the rows of one table are changed by key."""

    rereads: bool
    """True if ``insert`` reads the table once more to find conflicts."""

    def frame(self) -> DataFrame:
        """Return the current rows, without the format's own columns."""

    def check(self, on: Sequence[str], txn: tuple[str, int] | None) -> None:
        """Refuse a change that the format cannot make."""

    def change(
        self, operation: str, rows: DataFrame, on: Sequence[str], txn: tuple[str, int] | None
    ) -> ChangeOutcome:
        """Make one commit.

        ``upsert`` updates the rows with the given keys and inserts the others. ``delete`` deletes
        the rows with the given keys; then ``rows`` has only key columns.
        """

    def insert(
        self,
        rows: DataFrame,
        on: Sequence[str],
        txn: tuple[str, int] | None,
        base: TableVersion,
    ) -> ChangeOutcome | None:
        """Append, in one commit, rows whose keys version ``base`` does not have.

        Returns:
            The outcome, or ``None`` if nothing was committed, because new rows may have the same
            keys.
        """


@contextmanager
def session_settings(spark: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Set settings of the session while the context is open; ``None`` removes a setting.

    Other threads that want to set settings of the session wait.
    """
    with _LOCKS.setdefault(str(spark._jsparkSession.sessionUUID()), threading.Lock()):
        before = {name: spark.conf.get(name, None) for name in settings}
        try:
            _set(spark, settings)
            yield
        finally:
            _set(spark, before)


def _set(spark: SparkSession, settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def merge(
    spark: SparkSession, relation: str, rows: DataFrame, on: Sequence[str], operation: str
) -> DataFrame:
    """Run one MERGE.

    Returns:
        The frame that the command returns.
    """
    view = f"lakesieve_{uuid.uuid4().hex}"
    same = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in on)
    rows.createOrReplaceTempView(view)
    try:
        return spark.sql(
            f"MERGE INTO {relation} AS t USING {view} AS s ON {same} {_CLAUSES[operation]}"
        )
    finally:
        spark.catalog.dropTempView(view)


def has_cause(error: Exception, names: Collection[str]) -> bool:
    """Return whether a Java exception, or one of its causes, has one of some classes."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        if str(java.getClass().getName()) in names:
            return True
        java = java.getCause()
    return False
