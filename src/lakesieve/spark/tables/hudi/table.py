"""Apache Hudi tables through a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.tables.catalogs import named_errors
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.hudi.changes import HudiChanges
from lakesieve.spark.tables.reading import encoded_paths, in_larger_tasks, raw_columns
from lakesieve.spark.tables.row_deletes import RowDeletes
from lakesieve.spark.versions.jar import own_class
from lakesieve.tables.hudi.table import HudiReader
from lakesieve.tables.struct_schema import hudi_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables.contract import RawRead
    from lakesieve.tables import Column, TableVersion


# the column in which Spark's Parquet reader returns the position of each row
_POSITION = "_tmp_metadata_row_index"


class HudiTable:
    """One Hudi table, copy-on-write or merge-on-read, by its path or as a catalog table.

    Raises:
        NotFoundError: The table does not exist, or it has no commits.
        UnsupportedError: It is not a Hudi table that this version supports.
    """

    row_positions = True
    reads_row_blocks = True

    def __init__(self, spark: SparkSession, name: str, *, is_path: bool) -> None:
        self._spark = spark
        self._name = name
        self.is_named = not is_path
        location = self.location()
        if not location:
            raise UnsupportedError(
                f"{name} has no commits, or it is not a Hudi table that Spark reads by file group.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the folder that contains .hoodie, or a catalog table made with USING "
                "hudi. Write rows to a new table first.",
            )
        self.reader = HudiReader(name, location, storage_options(spark), session=self)

    def location(self) -> str:
        """Return the folder to which the name leads now; empty if it is not a Hudi table."""
        with named_errors(self._name):
            if self.is_named:
                rows = self._spark.read.table(self._name)
            else:
                rows = self._spark.read.format("hudi").load(self._name)
            leaf = self._leaf(rows)
        return "" if leaf is None else str(self._call("location", leaf))

    def document(self, instant: str | None) -> str:
        """Return the schema with which the session reads a version, by default the current one."""
        return str(self._call("schema", self._leaf(self._read(instant))))

    def moment(self, millis: int) -> str:
        """Return a point in time as Hudi writes it. A local time is in Java's time zone."""
        return str(self._call("moment", millis))

    def _call(self, method: str, argument: Any) -> Any:
        return getattr(own_class(self._spark, "hudi.HudiFiles"), method)(argument)

    def _leaf(self, rows: DataFrame) -> Any:
        return self._call("leaf", rows._jdf.queryExecution().analyzed())

    def _read(self, instant: str | None, **options: str) -> DataFrame:
        reader = self._spark.read.format("hudi").options(**options)
        if instant is not None:
            reader = reader.option("as.of.instant", instant)
        with named_errors(self._name):
            return reader.load(self.reader.location)

    def changes(self) -> HudiChanges:
        """Change rows with Hudi's writer."""
        return HudiChanges(self._spark, self)

    def row_deletes(self, version: TableVersion) -> RowDeletes:
        """Count the file slices with log files."""
        live = self.reader.live_files(version)
        named = f"{'table' if self.is_named else 'path'} => '{self._name}'"
        return RowDeletes(
            files=live.num_rows,
            marked_files=live.column("indexable").to_pylist().count(False),
            form="log files",
            commands=(f"CALL run_compaction(op => 'scheduleAndExecute', {named})",),
        )

    @property
    def merges_on_read(self) -> bool:
        """True if row-level commands write log files."""
        return self.reader.merges_on_read

    def raw_rows(self, version: TableVersion, read: RawRead) -> DataFrame:
        """Return rows of every ``stride``-th selected base file.

        As for :meth:`SparkTable.raw_rows`.
        """
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        whole = self._read(version.id, **{RAW_READ: read.option})
        self._check_columns(whole, read.columns)
        if read.positions:
            # Hudi's relation has no metadata columns
            whole = DataFrame(self._call("positions", self._leaf(whole)), self._spark)
        rows = whole.select(*raw_columns(whole, read, _POSITION, F.input_file_name()))
        total = pc.sum(self.reader.live_files(version).column("size")).as_py() or 0
        return in_larger_tasks(rows, read, total)

    def names_in_rows(self, paths: pa.ChunkedArray) -> Sequence[pa.ChunkedArray]:
        """As for :meth:`SparkTable.names_in_rows`."""
        return encoded_paths(self._spark, paths)

    def _check_columns(self, rows: DataFrame, columns: Sequence[Column]) -> None:
        """Check that a read has the requested columns.

        A commit in between may have changed them. Then their values would get a wrong identity.
        """
        current = hudi_columns(str(self._call("schema", self._leaf(rows))))
        plain = [source for column in columns for source in (column.sources or (column,))]
        changed = [column for column in plain if current.get(column.path) != column]
        if changed:
            raise UnsupportedError(
                f"Spark now reads the column {'.'.join(changed[0].path)} of {self._name} "
                "differently.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Try again. The schema of the table or a setting of the session has changed.",
            )

    def rows(self, version: TableVersion) -> DataFrame:
        """Return the rows of a version. As for :meth:`SparkTable.rows`."""
        return self._read(version.id)
