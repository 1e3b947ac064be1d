"""Tables whose rows are changed by key: one commit of the format's own, and what it says of it."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.tables.delta import DeltaTable
from lakesieve.tables.hudi import HudiTable
from lakesieve.tables.iceberg import IcebergTable
from lakesieve.tables.reading import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.tables import Table

__all__ = ["NOTHING", "ChangeOutcome", "Target", "target_of"]

_HUDI_META = "_hoodie_"
_ANCESTORS = 50
_CLAUSES = {
    "upsert": "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "delete": "WHEN MATCHED THEN DELETE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOutcome:
    """What a table says of one change.

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


class Target(Protocol):
    """A table that can be changed by key."""

    def frame(self) -> DataFrame:
        """The rows as they are now, without columns of the format's own."""

    def check(self, on: Sequence[str], txn: tuple[str, int] | None) -> None:
        """Refuse what the format cannot do.

        Args:
            on: Names of the key columns.
            txn: Name and number of a transaction, if any.

        Raises:
            UnsupportedError: It cannot.
        """

    def change(
        self, operation: str, rows: DataFrame, on: Sequence[str], txn: tuple[str, int] | None
    ) -> ChangeOutcome:
        """Make one commit.

        Args:
            operation: ``upsert`` updates the rows with some keys and inserts those that are not
                there, ``delete`` deletes them.
            rows: Whole rows, or of a delete the keys.
            on: The key columns.
            txn: Name and number of the transaction.
        """


def target_of(spark: SparkSession, table: Table, name: str) -> Target:
    """How a table is written to.

    Args:
        spark: The session.
        table: The table.
        name: As the user called it.

    Raises:
        UnsupportedError: It cannot be changed by key.
    """
    if isinstance(table, HudiTable):
        return _HudiTarget(spark, table)
    if isinstance(table, DeltaTable):
        return _DeltaTarget(spark, table.relation)
    if not isinstance(table, IcebergTable):
        raise UnsupportedError(
            f"{name} is a directory of {table.format} files, which no commit can change.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Convert it to a table first, such as with CONVERT TO DELTA or Iceberg's snapshot "
            "procedure.",
        )
    if not table.is_named:
        raise UnsupportedError(
            f"{name} is the path of an Iceberg table, by which SQL cannot change it.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Name it by its catalog identifier; CALL catalog.system.register_table gives it "
            "one.",
        )
    return _IcebergTarget(spark, table)


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Session settings for a while; ``None`` takes one away."""
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


def _merge(
    spark: SparkSession, relation: str, rows: DataFrame, on: Sequence[str], operation: str
) -> DataFrame:
    """Run one MERGE."""
    view = f"lakesieve_{uuid.uuid4().hex}"
    same = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in on)
    rows.createOrReplaceTempView(view)
    try:
        return spark.sql(
            f"MERGE INTO {relation} AS t USING {view} AS s ON {same} {_CLAUSES[operation]}"
        )
    finally:
        spark.catalog.dropTempView(view)


class _IcebergTarget:
    """An Iceberg table by its identifier; its snapshots keep who made them."""

    _PROPERTY = "spark.sql.iceberg.snapshot-property."
    _WRITE, _APP, _NUMBER = "lakesieve.write-id", "lakesieve.txn-app-id", "lakesieve.txn-version"

    def __init__(self, spark: SparkSession, table: IcebergTable) -> None:
        self._spark = spark
        self._table = table

    def frame(self) -> DataFrame:
        return self._spark.table(self._table.name)

    def check(self, on: Sequence[str], txn: tuple[str, int] | None) -> None:
        """All is possible."""

    def change(
        self, operation: str, rows: DataFrame, on: Sequence[str], txn: tuple[str, int] | None
    ) -> ChangeOutcome:
        if txn is not None and self._is_known(*txn):
            return ChangeOutcome(known=True)
        write = uuid.uuid4().hex
        settings: dict[str, str | None] = {self._PROPERTY + self._WRITE: write}
        if txn is not None:
            settings[self._PROPERTY + self._APP] = txn[0]
            settings[self._PROPERTY + self._NUMBER] = str(txn[1])
        with _settings(self._spark, settings):
            _merge(self._spark, self._table.name, rows, on, operation)
        return self._outcome(write)

    def _is_known(self, app: str, number: int) -> bool:
        """Whether the current version descends from a snapshot of that transaction or a later."""
        from pyspark.sql import functions as F

        name = self._table.name
        made = self._spark.table(f"{name}.snapshots").where(
            (F.col("summary")[self._APP] == app)
            & (F.col("summary")[self._NUMBER].cast("bigint") >= number)
        )
        past = self._spark.table(f"{name}.history").where("is_current_ancestor")
        return bool(made.join(past, "snapshot_id", "left_semi").limit(1).count())

    def _outcome(self, write: str) -> ChangeOutcome:
        """What the snapshot says that this write made, also when others came after it."""
        java = self._table.java
        java.refresh()
        snapshot = java.currentSnapshot()
        for _ in range(_ANCESTORS):
            if snapshot is None or snapshot.summary().get(self._WRITE) == write:
                break
            parent = snapshot.parentId()
            snapshot = None if parent is None else java.snapshot(parent)
        if snapshot is None:
            return ChangeOutcome()
        summary = snapshot.summary()

        def metric(what: str) -> int | None:
            # Spark 3.5 counts no rows
            count = int(summary.get(f"spark.merge-into.num-target-rows-{what}") or -1)
            return None if count < 0 else count

        def total(*names: str) -> int:
            return sum(int(summary.get(name) or 0) for name in names)

        return ChangeOutcome(
            version=str(snapshot.snapshotId()),
            inserted=metric("inserted"),
            updated=metric("updated"),
            deleted=metric("deleted"),
            files_added=total("added-data-files", "added-delete-files"),
            files_removed=total("deleted-data-files", "removed-delete-files"),
        )


class _DeltaTarget:
    """A Delta table; its log keeps the last transaction of every application."""

    _LAST = "spark.databricks.delta.lastCommitVersionInSession"
    _APP = "spark.databricks.delta.write.txnAppId"
    _NUMBER = "spark.databricks.delta.write.txnVersion"

    def __init__(self, spark: SparkSession, relation: str) -> None:
        self._spark = spark
        self._relation = relation

    def frame(self) -> DataFrame:
        return self._spark.table(self._relation)

    def check(self, on: Sequence[str], txn: tuple[str, int] | None) -> None:
        """All is possible."""

    def change(
        self, operation: str, rows: DataFrame, on: Sequence[str], txn: tuple[str, int] | None
    ) -> ChangeOutcome:
        app, number = txn or (None, None)
        settings = {
            self._LAST: None,
            self._APP: app,
            self._NUMBER: None if number is None else str(number),
        }
        with _settings(self._spark, settings):
            metrics_rows = _merge(self._spark, self._relation, rows, on, operation).collect()
            version = self._spark.conf.get(self._LAST, None)
        if not metrics_rows:
            return ChangeOutcome(known=True)
        metrics = {} if version is None else self._metrics(int(version))

        def total(*names: str) -> int | None:
            counts = [int(metrics[name]) for name in names if name in metrics]
            return sum(counts) if counts or version is None else None

        return ChangeOutcome(
            version=version,
            inserted=metrics_rows[0]["num_inserted_rows"],
            updated=metrics_rows[0]["num_updated_rows"],
            deleted=metrics_rows[0]["num_deleted_rows"],
            files_added=total("numTargetFilesAdded", "numTargetDeletionVectorsAdded"),
            files_removed=total("numTargetFilesRemoved"),
        )

    def _metrics(self, version: int) -> dict[str, str]:
        history = self._spark.sql(f"DESCRIBE HISTORY {self._relation} LIMIT {_ANCESTORS}")
        rows = history.where(f"version = {version}").select("operationMetrics").collect()
        return dict(rows[0][0] or {}) if rows else {}


class _HudiTarget:
    """A Hudi table, written to by its record keys."""

    _KEYS = "hoodie.datasource.write.recordkey.field"

    def __init__(self, spark: SparkSession, table: HudiTable) -> None:
        self._spark = spark
        self._table = table
        config = table.client().getTableConfig().getProps()
        self._settings = {
            option: str(config.getProperty(name) or "")
            for option, name in (
                ("hoodie.table.name", "hoodie.table.name"),
                ("hoodie.datasource.write.table.type", "hoodie.table.type"),
                (self._KEYS, "hoodie.table.recordkey.fields"),
                ("hoodie.datasource.write.partitionpath.field", "hoodie.table.partition.fields"),
            )
        }
        self._keys = self._settings[self._KEYS]

    def frame(self) -> DataFrame:
        rows = self._spark.read.format("hudi").load(self._table.location)
        return rows.drop(*(name for name in rows.columns if name.startswith(_HUDI_META)))

    def check(self, on: Sequence[str], txn: tuple[str, int] | None) -> None:
        if set(self._keys.split(",")) != set(on):
            raise UnsupportedError(
                f"The record key of {self._table.name} is {self._keys or 'none'}, "
                f"not {', '.join(on)}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Hudi changes rows by their record key: give its columns.",
            )
        if txn is not None:
            raise InvalidInputError(
                "Hudi keeps no transactions of applications.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Leave txn out: the same change made twice is the same as once.",
            )

    def change(
        self,
        operation: str,
        rows: DataFrame,
        on: Sequence[str],
        txn: tuple[str, int] | None,  # noqa: ARG002 - refused before
    ) -> ChangeOutcome:
        if operation == "upsert":
            return self._write(rows, operation)
        # Hudi needs the partition of each row, and which value is newer
        held = self.frame().join(rows, list(on), "left_semi").persist()
        try:
            return self._write(held, operation) if held.count() else NOTHING
        finally:
            held.unpersist()

    def _write(self, rows: DataFrame, operation: str) -> ChangeOutcome:
        before = self._table.version().id
        options = {**self._settings, "hoodie.datasource.write.operation": operation}
        rows.write.format("hudi").options(**options).mode("append").save(self._table.location)
        if self._table.is_named:
            # the session keeps the list of its files
            self._spark.catalog.refreshTable(self._table.name)
        version = self._table.version().id
        if version == before:
            return ChangeOutcome()
        counts = self._table.commit_counts(str(version))
        return ChangeOutcome(
            version=version,
            inserted=counts.get("inserted"),
            updated=counts.get("updated"),
            deleted=counts.get("deleted"),
            files_added=counts.get("files_added"),
            files_removed=0,
        )
