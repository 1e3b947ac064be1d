"""What Delta for Spark says about a table, to compare with the reader without an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import java_class
from lakesieve.spark.versions.spark_versions import delta_snapshot_at, spark_version_of
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import table_root

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lakesieve.tables import TableVersion
    from lakesieve.tables.delta.table import DeltaReader

__all__ = ["SparkLog", "check_listed_as_spark_does"]

_RECORDS = "get_json_object(stats, '$.numRecords')"
_VECTOR = (
    "concat(deletionVector.storageType, deletionVector.pathOrInlineDv, "
    "coalesce(concat('@', deletionVector.offset), ''))"
)


class SparkLog:
    """The ``DeltaLog`` of the table in a folder."""

    def __init__(self, spark: SparkSession, root: Path | str) -> None:
        self._spark = spark
        self._none = java_class(spark, "scala.Option").empty()
        logs = java_class(spark, "org.apache.spark.sql.delta.DeltaLog")
        self._log = logs.forTable(spark._jsparkSession, str(root))
        self._newest = self._log.update(False, self._none, self._none)

    @property
    def newest(self) -> int:
        """The number of the newest version."""
        return int(self._newest.version())

    def number(self, spec: str) -> str | None:
        """Return the number of a version that is named by its number or a time, if there is one."""
        try:
            number = int(spec) if spec.isdigit() else self._number_at(spec)
            if number > self.newest:
                return None
            return str(self.snapshot(number).version())
        except (Py4JJavaError, PySparkException):
            return None

    def _number_at(self, spec: str) -> int:
        moment = java_class(self._spark, "java.sql.Timestamp")(millis_of(spec))
        more = () if spark_version_of(self._spark.version).name == "3.5" else (self._none,)
        history = self._log.history()
        return int(history.getActiveCommitAtTime(moment, *more, True, True, False).version())

    def snapshot(self, number: int) -> Any:
        """Return Spark's snapshot of a version."""
        if number == self.newest:
            return self._newest
        return delta_snapshot_at(self._spark, self._log, number, self._none)

    def document(self, number: int) -> dict[str, Any]:
        """Return how the session reads a version, as the optimizer rule describes its scans."""
        described = own_class(self._spark, "delta.DeltaFiles").schema(
            self._spark._jsparkSession, self.snapshot(number)
        )
        found: dict[str, Any] = json.loads(described)
        return found

    def files(self, number: int) -> list[tuple[object, ...]]:
        """Return path, size, records and deletion vector of each data file of a version."""
        rows = self._rows(self.snapshot(number).allFiles(), "path", "size", _RECORDS, _VECTOR)
        return sorted(
            (self._absolute(path), size, None if records is None else int(records), vector or "")
            for path, size, records, vector in rows
        )

    def removed(self) -> set[str]:
        """Return the data files that older versions may still have."""
        return {self._absolute(path) for (path,) in self._rows(self._newest.tombstones(), "path")}

    def _rows(self, files: Any, *columns: str) -> list[Any]:
        return DataFrame(files.toDF(), self._spark).selectExpr(*columns).collect()

    def _absolute(self, path: str) -> str:
        operations = java_class(self._spark, "org.apache.spark.sql.delta.util.DeltaFileOperations")
        root = str(self._log.dataPath().toString())
        return table_root(str(operations.absolutePath(root, path).toString()))


def check_listed_as_spark_does(spark: SparkSession, table: DeltaReader, spec: str | None) -> None:
    """Check that Spark knows the same version of a table, with the same data files."""
    log = SparkLog(spark, table.location)
    version = table.version(spec)
    number = int(str(version.id))
    snapshot = log.snapshot(number)
    assert number == snapshot.version()
    assert version.timestamp_ms == snapshot.timestamp()
    assert table.uuid == snapshot.metadata().id()
    documents = json.loads(version.schema), log.document(number)
    for document in documents:
        document["features"].sort()
    assert documents[0] == documents[1]
    assert _files(table, version) == log.files(number)
    kept = {str(path) for path, *_ in log.files(log.newest)} | log.removed()
    # what Spark does not list any more may be named by the log for longer
    assert kept <= set(table.retained_files().to_pylist())


def _files(table: DeltaReader, version: TableVersion) -> list[tuple[object, ...]]:
    vectors = table.logged_files(version).column("vector").to_pylist()
    live = table.live_files(version).select(["path", "size", "records"]).to_pylist()
    return sorted((*row.values(), vector) for row, vector in zip(live, vectors, strict=True))
