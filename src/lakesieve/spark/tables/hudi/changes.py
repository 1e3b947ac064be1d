"""Change rows of Hudi tables by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.spark.tables.changes import NOTHING, ChangeOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables.hudi.table import HudiTable
    from lakesieve.tables import TableVersion

_META = "_hoodie_"


class HudiChanges:
    """A Hudi table, written by its record keys."""

    rereads = False
    _KEYS = "hoodie.datasource.write.recordkey.field"

    def __init__(self, spark: SparkSession, table: HudiTable) -> None:
        self._spark = spark
        self._table = table
        settings = table.reader.properties
        self._settings = {
            option: settings.get(name, "")
            for option, name in (
                ("hoodie.table.name", "hoodie.table.name"),
                ("hoodie.datasource.write.table.type", "hoodie.table.type"),
                (self._KEYS, "hoodie.table.recordkey.fields"),
                ("hoodie.datasource.write.partitionpath.field", "hoodie.table.partition.fields"),
            )
        }
        self._keys = self._settings[self._KEYS]

    def frame(self) -> DataFrame:
        """Return the current rows."""
        rows = self._spark.read.format("hudi").load(self._table.reader.location)
        return rows.drop(*(name for name in rows.columns if name.startswith(_META)))

    def check(self, on: Sequence[str], txn: tuple[str, int] | None) -> None:
        """As for :meth:`TableChanges.check`."""
        if set(self._keys.split(",")) != set(on):
            raise UnsupportedError(
                f"The record key of {self._table.reader.name} is {self._keys or 'none'}, "
                f"not {', '.join(on)}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Hudi changes rows by their record key. Give the columns of the record key.",
            )
        if txn is not None:
            raise InvalidInputError(
                "Hudi does not store transactions of applications.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Leave out txn. Repeating the same change has no further effect.",
            )

    def change(
        self,
        operation: str,
        rows: DataFrame,
        on: Sequence[str],
        txn: tuple[str, int] | None,  # noqa: ARG002 - refused before
    ) -> ChangeOutcome:
        """As for :meth:`TableChanges.change`."""
        if operation == "upsert":
            return self._write(rows, operation)
        # Hudi needs the partition of each row, and which value is newer
        affected = self.frame().join(rows, list(on), "left_semi").persist()
        try:
            return self._write(affected, operation) if affected.count() else NOTHING
        finally:
            affected.unpersist()

    def insert(
        self,
        rows: DataFrame,
        on: Sequence[str],  # noqa: ARG002 - the record key
        txn: tuple[str, int] | None,  # noqa: ARG002 - refused before
        base: TableVersion,
    ) -> ChangeOutcome | None:
        """As for :meth:`TableChanges.insert`. Without locks, Hudi has one writer at a time."""
        if self._table.reader.version().id != base.id:
            return None
        return self._write(rows, "insert")

    def _write(self, rows: DataFrame, operation: str) -> ChangeOutcome:
        before = self._table.reader.version().id
        options = {**self._settings, "hoodie.datasource.write.operation": operation}
        rows.write.format("hudi").options(**options).mode("append").save(
            self._table.reader.location
        )
        if self._table.is_named:
            # the session caches the list of the table's files
            self._spark.catalog.refreshTable(self._table.reader.name)
        version = self._table.reader.version().id
        if version == before:
            return ChangeOutcome()
        counts = self._table.reader.commit_counts(str(version))
        return ChangeOutcome(
            version=version,
            inserted=counts.get("inserted"),
            updated=counts.get("updated"),
            deleted=counts.get("deleted"),
            files_added=counts.get("files_added"),
            files_removed=0,
        )
