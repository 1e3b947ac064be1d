"""Directories of Parquet files through a Spark session."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.tables.catalogs import named_errors
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.reading import (
    encoded_paths,
    in_larger_tasks,
    lines_of,
    parts_of,
    raw_columns,
)
from lakesieve.spark.versions.jar import own_class
from lakesieve.tables.parquet.table import ParquetReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables.contract import RawRead
    from lakesieve.tables import TableVersion

_IDENTITY = r"^(?P<location>(?s:.*))#(?P<size>\d+)@(?P<modified>-?\d+)$"
_CLOCK_SECONDS = 2.0
"""Precision of modification times in object stores: whole seconds."""


class Clock(Protocol):
    """A source of the time that can wait."""

    def time(self) -> float:
        """Return seconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""


class ParquetTable:
    """One directory of Parquet files, by its path or as a catalog table.

    The session lists the files. Its settings and its catalog decide which files belong to the
    table, and with which columns they are read.

    Raises:
        NotFoundError: The table does not exist, or it has no files.
        UnsupportedError: It is not a Parquet directory.
    """

    merges_on_read = False
    row_positions = True
    reads_row_blocks = True
    clock: Clock = time
    """The real clock. Tests that rewrite no file right after it was read use another one."""

    def __init__(self, spark: SparkSession, name: str, *, is_path: bool) -> None:
        self._spark = spark
        self._name = name
        self.is_named = not is_path
        self._leaf: Any = None
        location = self.location()
        if not location:
            raise UnsupportedError(
                f"{name} is not one directory of Parquet files.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the folder, or a catalog table made with USING parquet.",
            )
        self.reader = ParquetReader(name, location, storage_options(spark), session=self)

    def location(self) -> str:
        """List the files anew. Return the folder to which the name leads, or an empty text."""
        if self.is_named:
            with named_errors(self._name):
                # the session caches the list of a catalog table's files
                self._spark.catalog.refreshTable(self._name)
        self._leaf = self._leaf_of(self._read())
        location = None if self._leaf is None else self._call("FileScans.location", self._leaf)
        return "" if location is None else str(location)

    def files(self) -> pa.Table:
        """Return the files as the session listed them last."""
        iterator = self._call("FolderFiles.listed", self._leaf)
        lines = lines_of(parts_of(self._call, "FolderFiles.identities", iterator))
        location, *numbers = _parts_of_identities(lines)
        size, modified = (number.cast(pa.int64()) for number in numbers)
        return pa.table({"location": location, "size": size, "modified": modified})

    def document(self) -> str:
        """Return the schema with which the session reads the files that it listed last."""
        return str(self._call("SchemaDocument.of", self._leaf))

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call a static method of a Java class, both named as in ``FileScans.location``."""
        java_class, method = name.split(".")
        return getattr(own_class(self._spark, f"folders.{java_class}"), method)(*arguments)

    def _leaf_of(self, rows: DataFrame) -> Any:
        return self._call("FileScans.parquetLeaf", rows._jdf.queryExecution().analyzed())

    def _read(self, **options: str) -> DataFrame:
        reader = self._spark.read.options(**options)
        with named_errors(self._name):
            return reader.table(self._name) if self.is_named else reader.parquet(self._name)

    def raw_rows(self, version: TableVersion, read: RawRead) -> DataFrame:
        """Return rows of every ``stride``-th selected file. As for :meth:`SparkTable.raw_rows`."""
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        files = self.reader.live_files(version)
        _let_settle(files.column("modified"), self.clock)
        metadata = F.col("_metadata")
        identity = F.concat(
            metadata["file_path"],
            F.lit("#"),
            metadata["file_size"].cast("string"),
            F.lit("@"),
            F.unix_millis(metadata["file_modification_time"]).cast("string"),
        )
        leaf = self._leaf_of(self._read(**{RAW_READ: read.option}))
        # without what a catalog table may add above its leaf, such as padding of CHAR
        session = self._spark._jsparkSession
        java = own_class(self._spark, "spark.ClassicSessions").rows(session, leaf)
        everything = DataFrame(java, self._spark)
        columns = raw_columns(everything, read, "_metadata.row_index", identity)
        rows = everything.select(*columns)
        return in_larger_tasks(rows, read, pc.sum(files.column("size")).as_py() or 0)

    def names_in_rows(self, paths: pa.ChunkedArray) -> Sequence[pa.ChunkedArray]:
        """As for :meth:`SparkTable.names_in_rows`."""
        location, size, modified = _parts_of_identities(paths)
        rest = pc.binary_join_element_wise("#", size, "@", modified, "")
        encoded = encoded_paths(self._spark, location)
        return tuple(pc.binary_join_element_wise(path, rest, "") for path in encoded)

    def rows(self, version: TableVersion) -> DataFrame:  # noqa: ARG002 - there is no other
        """Return the rows of the current files. As for :meth:`SparkTable.rows`."""
        # a unique option, because otherwise Spark may answer from rows that were cached earlier
        return self._read(**{"lakesieve-read": uuid.uuid4().hex})


def _parts_of_identities(identities: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Return the locations, sizes and modification times in identities of files, as texts."""
    parts = pc.extract_regex(identities, _IDENTITY)
    return [pc.struct_field(parts, name) for name in ("location", "size", "modified")]


def _let_settle(modified: pa.ChunkedArray, clock: Clock) -> None:
    """Wait until a rewritten file must get another modification time than it has now."""
    newest = (pc.max(modified).as_py() or 0) / 1000
    wait = min(_CLOCK_SECONDS, newest + _CLOCK_SECONDS - clock.time())
    if wait > 0:
        clock.sleep(wait)
