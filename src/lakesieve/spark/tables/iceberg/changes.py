"""Change rows of Iceberg tables by key."""

from __future__ import annotations

import itertools
import re
import uuid
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.tables.changes import (
    ChangeOutcome,
    has_cause,
    merge,
    session_settings,
)
from lakesieve.spark.versions.java_classes import java_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables.iceberg.table import IcebergTable
    from lakesieve.tables import TableVersion

_CONFLICTS = frozenset(
    f"org.apache.iceberg.exceptions.{name}"
    for name in ("ValidationException", "CommitFailedException")
)
_SETTINGS_CLASS = "org.apache.iceberg.spark.SparkSQLProperties"
_IS_NUMBER = re.compile(r"-?[0-9]{1,19}")
# number of snapshots that are searched for the snapshot of a write
_ANCESTORS = 50


class IcebergChanges:
    """An Iceberg table, by its identifier. Its snapshots store who made them."""

    rereads = False
    _SETTING = "spark.sql.iceberg.snapshot-property."
    _OPTION = "snapshot-property."
    _WRITE, _APP, _NUMBER = "lakesieve.write-id", "lakesieve.txn-app-id", "lakesieve.txn-version"

    def __init__(self, spark: SparkSession, table: IcebergTable) -> None:
        self._spark = spark
        self._table = table

    def frame(self) -> DataFrame:
        """Return the current rows."""
        return self._spark.table(self._table.name)

    def check(
        self,
        on: Sequence[str],  # noqa: ARG002 - any columns can be the key
        txn: tuple[str, int] | None,  # noqa: ARG002 - snapshots keep any transaction
    ) -> None:
        """Refuse a session whose commits no reader would see. As for :meth:`TableChanges.check`."""
        self._table.check_commits()

    def change(
        self, operation: str, rows: DataFrame, on: Sequence[str], txn: tuple[str, int] | None
    ) -> ChangeOutcome:
        """As for :meth:`TableChanges.change`."""
        if txn is not None:
            self._check_notes(operation)
            if self._is_known(*txn):
                return ChangeOutcome(known=True)
        write = uuid.uuid4().hex
        noted = {self._SETTING + name: value for name, value in self._noted(write, txn).items()}
        with session_settings(self._spark, noted):
            merge(self._spark, self._table.name, rows, on, operation)
        return self._outcome(write)

    def insert(
        self,
        rows: DataFrame,
        on: Sequence[str],  # noqa: ARG002 - any row that came may have any key
        txn: tuple[str, int] | None,
        base: TableVersion,
    ) -> ChangeOutcome | None:
        """Append the rows in one commit, see :meth:`TableChanges.insert`.

        The append is an overwrite that deletes no rows, because Iceberg validates overwrites. The
        overwrite fails if another writer added data files after version ``base``.
        """
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        if txn is not None and self._is_known(*txn):
            return ChangeOutcome(known=True)
        write = uuid.uuid4().hex
        writer = rows.writeTo(self._table.name).option("isolation-level", "serializable")
        if base.id is not None:
            writer = writer.option("validate-from-snapshot-id", base.id)
        for name, value in self._noted(write, txn).items():
            writer = writer.option(self._OPTION + name, value)
        try:
            writer.overwrite(F.lit(False))
        except (Py4JJavaError, PySparkException) as error:
            if has_cause(error, _CONFLICTS):
                return None
            raise
        return self._outcome(write)

    def _check_notes(self, operation: str) -> None:
        """Refuse a transaction if a MERGE cannot store it in its snapshot.

        Raises:
            UnsupportedError: Iceberg ignores session settings for properties of snapshots.
        """
        from py4j.protocol import Py4JError

        try:
            # this class is in Iceberg's runtimes for Spark 4.0 and newer
            _ = java_class(self._spark, _SETTINGS_CLASS).SNAPSHOT_PROPERTY_PREFIX
        except Py4JError as error:
            raise UnsupportedError(
                f"This version of Iceberg does not store transactions of {operation}. Repeating it "
                "would "
                "run it again.",
                kind=ErrorKind.UNSUPPORTED_SESSION,
                hint="Leave out txn: repeating an upsert or a delete leaves the same rows. "
                "Or use Spark 4.0 or newer.",
            ) from error

    def _noted(self, write: str, txn: tuple[str, int] | None) -> dict[str, str]:
        """Return the properties with which the snapshot says who made it."""
        noted = {self._WRITE: write}
        if txn is not None:
            noted |= {self._APP: txn[0], self._NUMBER: str(txn[1])}
        return noted

    def _is_known(self, app: str, number: int) -> bool:
        """Return whether the branch has this transaction or a later one."""
        summaries = map(_summary, self._history())
        numbers = (one.get(self._NUMBER, "") for one in summaries if one.get(self._APP) == app)
        return any(_IS_NUMBER.fullmatch(text) and int(text) >= number for text in numbers)

    def _history(self) -> Iterator[Mapping[str, Any]]:
        """Yield the snapshots of the branch that is written to, the newest first."""
        self._table.reader.reload()
        metadata = self._table.metadata
        return metadata.history(metadata.head(self._table.write_branch))

    def _outcome(self, write: str) -> ChangeOutcome:
        """Return what the snapshot of this write says, even if later commits exist."""
        newest = itertools.islice(self._history(), _ANCESTORS)
        own = (one for one in newest if _summary(one).get(self._WRITE) == write)
        snapshot = next(own, None)
        if snapshot is None:
            return ChangeOutcome()
        summary = _summary(snapshot)

        def metric(what: str) -> int | None:
            # Spark 3.5 does not report row counts
            count = int(summary.get(f"spark.merge-into.num-target-rows-{what}") or -1)
            return None if count < 0 else count

        def total(*names: str) -> int:
            return sum(int(summary.get(name) or 0) for name in names)

        return ChangeOutcome(
            version=str(snapshot["snapshot-id"]),
            inserted=metric("inserted"),
            updated=metric("updated"),
            deleted=metric("deleted"),
            files_added=total("added-data-files", "added-delete-files"),
            files_removed=total("deleted-data-files", "removed-delete-files"),
        )


def _summary(snapshot: Mapping[str, Any]) -> Mapping[str, str]:
    return snapshot.get("summary") or {}
