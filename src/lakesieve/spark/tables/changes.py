"""Changes of rows by key: one commit of the format's own, and what it says of it."""

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

# by session
_LOCKS: dict[str, threading.Lock] = {}
_CLAUSES = {
    "upsert": "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "delete": "WHEN MATCHED THEN DELETE",
    "insert": "WHEN NOT MATCHED THEN INSERT *",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOutcome:
    """The outcome of one change, as the table tells it.

    Args:
        version: The version that the change made; ``None`` if it made none.
        inserted: Rows inserted; ``None`` here and below if the table does not tell.
        updated: Rows updated.
        deleted: Rows deleted.
        files_added: Data and delete files that were written.
        files_removed: Data and delete files that the version does not have any more.
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
    """Whether ``insert`` reads the table once more to find conflicts."""

    def frame(self) -> DataFrame:
        """The rows as they are now, without columns of the format's own."""

    def check(self, on: Sequence[str], txn: tuple[str, int] | None) -> None:
        """Refuse what the format cannot do."""

    def change(
        self, operation: str, rows: DataFrame, on: Sequence[str], txn: tuple[str, int] | None
    ) -> ChangeOutcome:
        """Make one commit.

        ``upsert`` updates the rows with the keys and inserts the others; ``delete`` deletes the
        rows with the keys, which are all that is given.
        """

    def insert(
        self,
        rows: DataFrame,
        on: Sequence[str],
        txn: tuple[str, int] | None,
        base: TableVersion,
    ) -> ChangeOutcome | None:
        """Append rows whose keys a version has not, in one commit.

        Returns:
            ``None`` where nothing was committed, since other rows came that may have the keys.
        """


@contextmanager
def session_settings(spark: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Set settings of the session for a while; ``None`` takes one away.

    Other threads of the session wait meanwhile to set theirs.
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
        What the command gives.
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
    """Whether an exception of Java has one of some classes, or is caused by one."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        if str(java.getClass().getName()) in names:
            return True
        java = java.getCause()
    return False
