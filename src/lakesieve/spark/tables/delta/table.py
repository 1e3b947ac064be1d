"""Delta Lake tables through a Spark session."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.errors import ErrorKind, NotFoundError
from lakesieve.spark.tables.catalogs import catalog_table, named_errors
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.delta.changes import DeltaChanges
from lakesieve.spark.tables.jobs import own_jobs
from lakesieve.spark.tables.reading import (
    hadoop_path,
    in_larger_tasks,
    keys_of,
    quoted,
    raw_read,
)
from lakesieve.spark.tables.row_deletes import RowDeletes
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import java_class, scala_seq
from lakesieve.spark.versions.spark_versions import arrow_of, delta_commit_at, delta_snapshot_at
from lakesieve.tables import Column, TableVersion
from lakesieve.tables.delta.statistics import delta_statistics
from lakesieve.tables.identity import check_identity
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import identified, normal_paths
from lakesieve.tables.struct_schema import delta_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.tables.statistics import FileStatistics

CATALOG_CLASS = "org.apache.spark.sql.delta.catalog.DeltaTableV2"
"""What a catalog gives for a Delta table."""

_FILES_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("records", pa.int64())])


class DeltaTable:
    """One Delta table: a catalog identifier, or a path.

    A data file is known by its absolute path, so that shallow clones share what they share.

    Args:
        spark: The session.
        name: As the user called it.
        log: Its ``DeltaLog``.
        entry: What the catalog has of it, an ``Option[CatalogTable]``.
        is_named: Whether the name is one that SQL knows, and no path.

    Raises:
        NotFoundError: There is no table.
    """

    format = "delta"
    file_io: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, spark: SparkSession, name: str, log: Any, entry: Any, *, is_named: bool = True
    ) -> None:
        self.is_named = is_named
        self._spark = spark
        self._log = log
        self._entry = entry
        self.name = name
        with named_errors(name):
            self._snapshot = log.update(False, _none(spark), entry)
        if self._snapshot.version() < 0:
            raise _no_table(log)
        self.uuid = str(self._snapshot.metadata().id())
        self.location = str(log.dataPath().toString())

    @classmethod
    def at(cls, spark: SparkSession, path: str) -> DeltaTable:
        """Open the table in a folder.

        Args:
            spark: The session.
            path: The folder that holds ``_delta_log``.
        """
        logs = java_class(spark, "org.apache.spark.sql.delta.DeltaLog")
        with named_errors(path):
            log = logs.forTable(spark._jsparkSession, path)
        return cls(spark, path, log, _none(spark), is_named=False)

    @classmethod
    def named(cls, spark: SparkSession, name: str, java: Any) -> DeltaTable:
        """Open what the catalog has under a name, a ``DeltaTableV2``.

        Args:
            spark: The session.
            name: ``catalog.database.table``.
            java: The catalog's own object.
        """
        with named_errors(name):
            return cls(spark, name, java.deltaLog(), java.catalogTable())

    @property
    def relation(self) -> str:
        """How SQL names it."""
        return self.name if self.is_named else f"delta.{quoted(self.name)}"

    @property
    def reader(self) -> DeltaTable:
        """Reads the table's metadata."""
        return self

    def reload(self) -> None:
        """Read the newest snapshot.

        Raises:
            NotFoundError: The table is gone, or its name leads to another one.
        """
        log, entry = self._log, self._entry
        if self.is_named:
            java = catalog_table(self._spark, self.name)
            check_identity(self.name, CATALOG_CLASS, str(java.getClass().getName()))
            with named_errors(self.name):
                log, entry = java.deltaLog(), java.catalogTable()
            check_identity(self.name, self.location, str(log.dataPath().toString()))
        with named_errors(self.name):
            snapshot = log.update(False, _none(self._spark), entry)
        if snapshot.version() < 0:
            raise _no_table(log)
        check_identity(self.name, self.uuid, str(snapshot.metadata().id()))
        self._log, self._entry, self._snapshot = log, entry, snapshot

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve a version number or an ISO timestamp.

        Raises:
            NotFoundError: There is no such version.
        """
        self.reload()
        snapshot = self._snapshot if spec is None else self._snapshot_at(str(spec))
        document = own_class(self._spark, "delta.DeltaFiles").schema(
            self._spark._jsparkSession, snapshot
        )
        return TableVersion(
            id=str(snapshot.version()), schema=str(document), timestamp_ms=snapshot.timestamp()
        )

    def _snapshot_at(self, spec: str) -> Any:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        cause = None
        try:
            number = int(spec) if spec.isascii() and spec.isdigit() else self._number_at(spec)
            if number == self._snapshot.version():
                return self._snapshot
            if number is not None and number < self._snapshot.version():
                return delta_snapshot_at(self._spark, self._log, number, self._entry)
        except (Py4JJavaError, PySparkException) as error:
            cause = error
        raise NotFoundError(
            f"{self.name} has no version {spec!r}.",
            kind=ErrorKind.VERSION_NOT_FOUND,
            hint="Give a version number, or a time such as 2026-01-31T12:00:00; DESCRIBE HISTORY "
            "lists the versions.",
        ) from cause

    def _number_at(self, spec: str) -> int | None:
        millis = millis_of(spec)
        if millis is None:
            return None
        return delta_commit_at(self._spark, self._log, millis, self._entry)

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """The columns, and the fields of structs outside lists and maps, as of that version.

        Raises:
            UnsupportedError: The table was written with a feature that is not known.
        """
        return delta_columns(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:
        """Data files of that version; ``records`` is null where the log does not tell."""
        from pyspark.sql import functions as F

        delta_columns(version.schema)
        records = F.get_json_object("stats", "$.numRecords").cast("bigint").alias("records")
        rows = self._absolute(self._added(version), F.col("size"), records)
        with own_jobs(self._spark, f"lakesieve: list the files of {self.name}"):
            return identified(arrow_of(rows).cast(_FILES_SCHEMA))

    def file_statistics(self, version: TableVersion) -> FileStatistics:
        """The statistics and partition values of the log, as :class:`HasFileStatistics` says."""
        from pyspark.sql import functions as F

        def read() -> tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray]:
            columns = F.col("stats"), F.col("partitionValues")
            rows = self._absolute(self._added(version), *columns)
            with own_jobs(self._spark, f"lakesieve: list the statistics of {self.name}"):
                files = arrow_of(rows)
            return normal_paths(files.column("path")), files.column(1), files.column(2)

        return delta_statistics(version.schema, read)

    def row_deletes(self, version: TableVersion) -> RowDeletes:
        """Count the data files that have a deletion vector."""
        delta_columns(version.schema)
        added = self._added(version)
        with own_jobs(self._spark, f"lakesieve: count the deletion vectors of {self.name}"):
            counts = added.selectExpr("count(*)", "count(deletionVector)").collect()[0]
        commands = (f"REORG TABLE {self.relation} APPLY (PURGE)", f"OPTIMIZE {self.relation}")
        return RowDeletes(files=counts[0], marked_files=counts[1], commands=commands)

    def changes(self) -> DeltaChanges:
        """By SQL, which knows a Delta table by its path, too."""
        return DeltaChanges(self._spark, self.relation)

    def _absolute(self, logged: DataFrame, *more: SparkColumn) -> DataFrame:
        """Data files of the log as ``path``: the log has relative and absolute ones, encoded."""
        from pyspark.sql import functions as F

        path = hadoop_path(F.col("path"))
        is_absolute = F.col("path").rlike(r"^([A-Za-z][A-Za-z0-9+.\-]*:|/)")
        inside = F.concat(F.lit(f"{self.location}/"), path)
        return logged.select(F.when(is_absolute, path).otherwise(inside).alias("path"), *more)

    def _added(self, version: TableVersion) -> DataFrame:
        from pyspark.sql import DataFrame

        return DataFrame(self._snapshot_at(str(version.id)).allFiles().toDF(), self._spark)

    @property
    def merges_on_read(self) -> bool:
        """Whether row-level commands write deletion vectors."""
        setting = self._snapshot.metadata().configuration().get("delta.enableDeletionVectors")
        return bool(setting.isDefined()) and str(setting.get()).lower() == "true"

    def retained_files(self) -> pa.ChunkedArray:
        """Files of the current version, and of older ones as long as VACUUM leaves them."""
        from pyspark.sql import DataFrame

        self.reload()
        live, gone = self._snapshot.allFiles().toDF(), self._snapshot.tombstones().toDF()
        paths = [self._absolute(DataFrame(java, self._spark)) for java in (live, gone)]
        with own_jobs(self._spark, f"lakesieve: list the files of {self.name}"):
            listed = arrow_of(paths[0].union(paths[1]).distinct()).column("path")
        return normal_paths(listed)

    def references(self) -> Sequence[str]:
        """Delta tables have no branches or tags."""
        return ()

    def raw_rows(
        self,
        version: TableVersion,
        columns: Sequence[Column],
        *,
        split_bytes: int,
        stride: int = 1,
        selection: str = "",
    ) -> DataFrame:
        """Rows as written, deletion vectors ignored, of every ``stride``-th selected file.

        Args:
            version: As for :meth:`Table.raw_rows`, as are the others.
            columns: The key columns.
            split_bytes: Bytes of data files that a task should read.
            stride: Only every ``stride``-th file is read.
            selection: Name of a selection of files; all by default.
        """
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        snapshot = self._snapshot_at(str(version.id))
        added = self._added(version)
        vector = added.schema["deletionVector"].dataType
        bare = added.withColumn("deletionVector", F.lit(None).cast(vector))
        files = getattr(bare._jdf, "as")(snapshot.allFiles().encoder()).collectAsList()
        option = java_class(self._spark, "scala.Option")
        action = option.apply(f"{RAW_READ} {raw_read(stride, selection)}")
        files = scala_seq(self._spark, files)
        java = self._log.createDataFrame(snapshot, files, False, action)
        rows = DataFrame(java, self._spark).select(
            *keys_of(columns), hadoop_path(F.col("_metadata.file_path")).alias("file")
        )
        total = int(snapshot.sizeInBytes())
        return in_larger_tasks(rows, total_bytes=total / stride, split_bytes=split_bytes)

    def rows(self, version: TableVersion) -> DataFrame:
        """Rows of a version; as for :meth:`SparkTable.rows`."""
        reader = self._spark.read.format("delta").option("versionAsOf", str(version.id))
        return reader.load(self.location)


def _no_table(log: Any) -> NotFoundError:
    return NotFoundError(
        f"There is no Delta table at {log.dataPath().toString()}.",
        kind=ErrorKind.TABLE_NOT_FOUND,
        hint="Give the folder that holds _delta_log.",
    )


def _none(spark: SparkSession) -> Any:
    return java_class(spark, "scala.Option").empty()
