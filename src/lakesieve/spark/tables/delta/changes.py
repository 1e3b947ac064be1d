"""Change rows of Delta tables by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.spark.tables.changes import ChangeOutcome, has_cause, merge, session_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.tables import TableVersion

_CONFLICTS = frozenset(
    f"{package}.{name}"
    for package in ("io.delta.exceptions", "org.apache.spark.sql.delta")
    for name in (
        "ConcurrentAppendException",
        "ConcurrentDeleteReadException",
        "ConcurrentTransactionException",
        "ConcurrentWriteException",
    )
)
# number of versions that are searched for the version of a write
_ANCESTORS = 50


class DeltaChanges:
    """A Delta table. Its log stores the last transaction of every application."""

    rereads = True
    _LAST = "spark.databricks.delta.lastCommitVersionInSession"
    _APP = "spark.databricks.delta.write.txnAppId"
    _NUMBER = "spark.databricks.delta.write.txnVersion"

    def __init__(self, spark: SparkSession, relation: str) -> None:
        self._spark = spark
        self._relation = relation

    def frame(self) -> DataFrame:
        """Return the current rows."""
        return self._spark.table(self._relation)

    def check(self, on: Sequence[str], txn: tuple[str, int] | None) -> None:
        """Refuse nothing. As for :meth:`TableChanges.check`."""

    def change(
        self, operation: str, rows: DataFrame, on: Sequence[str], txn: tuple[str, int] | None
    ) -> ChangeOutcome:
        """As for :meth:`TableChanges.change`."""
        app, number = txn or (None, None)
        settings = {
            self._LAST: None,
            self._APP: app,
            self._NUMBER: None if number is None else str(number),
        }
        with session_settings(self._spark, settings):
            metrics_rows = merge(self._spark, self._relation, rows, on, operation).collect()
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

    def insert(
        self,
        rows: DataFrame,
        on: Sequence[str],
        txn: tuple[str, int] | None,
        base: TableVersion,  # noqa: ARG002 - Delta looks at all versions since, and at its own files
    ) -> ChangeOutcome | None:
        """As for :meth:`TableChanges.insert`. It is a MERGE, whose conflicts Delta detects."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            return self.change("insert", rows, on, txn)
        except (Py4JJavaError, PySparkException) as error:
            if has_cause(error, _CONFLICTS):
                return None
            raise

    def _metrics(self, version: int) -> dict[str, str]:
        history = self._spark.sql(f"DESCRIBE HISTORY {self._relation} LIMIT {_ANCESTORS}")
        rows = history.where(f"version = {version}").select("operationMetrics").collect()
        return dict(rows[0][0] or {}) if rows else {}
