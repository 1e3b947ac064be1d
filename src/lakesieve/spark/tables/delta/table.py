"""Delta Lake tables through a Spark session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from lakesieve.spark.tables.catalogs import catalog_table, named_errors
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.delta.changes import DeltaChanges
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.reading import (
    encoded_paths,
    in_larger_tasks,
    quoted,
    raw_columns,
    read_settings,
)
from lakesieve.spark.tables.row_deletes import RowDeletes
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import java_class, scala_seq
from lakesieve.spark.versions.spark_versions import delta_snapshot_at
from lakesieve.tables.delta.table import DeltaReader
from lakesieve.tables.identity import check_identity
from lakesieve.tables.struct_schema import delta_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables.contract import RawRead
    from lakesieve.tables import TableVersion

CATALOG_CLASS = "org.apache.spark.sql.delta.catalog.DeltaTableV2"
"""Java class of a Delta table in a catalog."""


class DeltaTable:
    """One Delta table, by its catalog identifier or its folder.

    Raises:
        NotFoundError: The table does not exist.
    """

    row_positions = True
    reads_row_blocks = True

    def __init__(self, spark: SparkSession, name: str, log: Any, *, is_named: bool) -> None:
        self._spark = spark
        self._name = name
        self._is_named = is_named
        self._location = str(log.dataPath().toString())
        self.reader = DeltaReader(
            name,
            self._location,
            storage_options(spark, hadoop=self._hadoop_conf),
            locate=self._locate,
            read_settings=partial(read_settings, spark),
        )

    @classmethod
    def at(cls, spark: SparkSession, path: str) -> DeltaTable:
        """Open the table in a folder that contains ``_delta_log``."""
        return cls(spark, path, _log_at(spark, path), is_named=False)

    @classmethod
    def named(cls, spark: SparkSession, name: str, java: Any) -> DeltaTable:
        """Open the table that the catalog has under a name, a ``DeltaTableV2``."""
        with named_errors(name):
            return cls(spark, name, java.deltaLog(), is_named=True)

    def _log(self) -> tuple[Any, Any]:
        """Return the ``DeltaLog`` to which the name leads now, and its entry in the catalog."""
        if not self._is_named:
            return _log_at(self._spark, self._name), _none(self._spark)
        java = catalog_table(self._spark, self._name)
        check_identity(self._name, CATALOG_CLASS, str(java.getClass().getName()))
        with named_errors(self._name):
            return java.deltaLog(), java.catalogTable()

    def _locate(self) -> str:
        return str(self._log()[0].dataPath().toString())

    def _hadoop_conf(self) -> Any:
        """Return the session's settings, together with the catalog's settings for the table."""
        return self._log()[0].newDeltaHadoopConf()

    @property
    def relation(self) -> str:
        """Name of the table in SQL."""
        return self._name if self._is_named else f"delta.{quoted(self._name)}"

    @property
    def merges_on_read(self) -> bool:
        """True if row-level commands write deletion vectors."""
        setting = self.reader.properties.get("delta.enableDeletionVectors")
        return str(setting).lower() == "true"

    def row_deletes(self, version: TableVersion) -> RowDeletes:
        """Count the data files with a deletion vector."""
        delta_columns(version.schema)
        vectors = self.reader.logged_files(version).column("vector")
        marked = pc.sum(pc.not_equal(vectors, ""), min_count=0).as_py()
        commands = (f"REORG TABLE {self.relation} APPLY (PURGE)", f"OPTIMIZE {self.relation}")
        return RowDeletes(files=len(vectors), marked_files=marked, commands=commands)

    def changes(self) -> DeltaChanges:
        """Change rows with SQL, which can also name a Delta table by its path."""
        return DeltaChanges(self._spark, self.relation)

    def raw_rows(self, version: TableVersion, read: RawRead) -> DataFrame:
        """As for :meth:`SparkTable.raw_rows`."""
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        log, entry = self._log()
        with named_errors(self._name):
            snapshot = delta_snapshot_at(self._spark, log, int(str(version.id)), entry)
        check_identity(self._name, self.reader.uuid, str(snapshot.metadata().id()))
        added = DataFrame(snapshot.allFiles().toDF(), self._spark)
        vector = added.schema["deletionVector"].dataType
        bare = added.withColumn("deletionVector", F.lit(None).cast(vector))
        files = getattr(bare._jdf, "as")(snapshot.allFiles().encoder()).collectAsList()
        option = java_class(self._spark, "scala.Option")
        action = option.apply(f"{RAW_READ} {read.option}")
        files = scala_seq(self._spark, files)
        whole = log.createDataFrame(snapshot, files, False, action)
        if read.positions:
            positions = own_class(self._spark, "delta.RowPositions")
            leaf = positions.read(whole.queryExecution().analyzed(), log, snapshot)
            session = self._spark._jsparkSession
            whole = own_class(self._spark, "spark.ClassicSessions").rows(session, leaf)
        everything = DataFrame(whole, self._spark)
        file = F.col("_metadata.file_path")
        columns = raw_columns(everything, read, "_metadata.row_index", file)
        rows = everything.select(*columns)
        return in_larger_tasks(rows, read, int(snapshot.sizeInBytes()))

    def names_in_rows(self, paths: pa.ChunkedArray) -> Sequence[pa.ChunkedArray]:
        """As for :meth:`SparkTable.names_in_rows`."""
        return encoded_paths(self._spark, paths)

    def rows(self, version: TableVersion) -> DataFrame:
        """As for :meth:`SparkTable.rows`."""
        reader = self._spark.read.format("delta").option("versionAsOf", str(version.id))
        return reader.load(self._location)


def _log_at(spark: SparkSession, path: str) -> Any:
    logs = java_class(spark, "org.apache.spark.sql.delta.DeltaLog")
    with named_errors(path):
        return logs.forTable(spark._jsparkSession, path)


def _none(spark: SparkSession) -> Any:
    return java_class(spark, "scala.Option").empty()
