"""Directories of Parquet files through a Spark session."""

from __future__ import annotations

import json
import time
import uuid
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, NotFoundError, UnsupportedError
from lakesieve.spark.tables.catalogs import named_errors
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.reading import (
    hadoop_path,
    in_larger_tasks,
    keys_of,
    lines_of,
    parts_of,
    raw_read,
)
from lakesieve.spark.versions.jar import own_class
from lakesieve.tables import Column, TableVersion
from lakesieve.tables.identity import check_identity
from lakesieve.tables.parquet.statistics import parquet_statistics
from lakesieve.tables.parquet.versions import version_of
from lakesieve.tables.paths import identified
from lakesieve.tables.statistics import unread_statistics
from lakesieve.tables.struct_schema import parquet_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.tables.statistics import FileStatistics

_IDENTITY = r"^(?P<location>(?s:.*))#(?P<size>\d+)@(?P<modified>-?\d+)$"
_CLOCK_SECONDS = 2.0
"""Object stores tell modification times in whole seconds."""


class Clock(Protocol):
    """A source of the time that can wait."""

    def time(self) -> float:
        """Seconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Wait so long."""


class ParquetTable:
    """One directory of Parquet files, by its path or as a catalog table.

    A data file is known by its path, size and modification time: one that was rewritten in place is
    another file.

    Args:
        spark: The session.
        name: As the user called it.
        is_path: Whether that is a path.

    Raises:
        NotFoundError: There is no table, or it has no files.
        UnsupportedError: It is no Parquet directory.
    """

    format = "parquet"
    file_io: Mapping[str, str] = MappingProxyType({})
    clock: Clock = time
    """The wall's; tests that rewrite no file in the tick in which it was read put in another."""

    def __init__(self, spark: SparkSession, name: str, *, is_path: bool) -> None:
        self._spark = spark
        self._is_path = is_path
        self.name = name
        self._leaf = self._listed()
        location = None if self._leaf is None else self._call("FileScans.location", self._leaf)
        if location is None:
            raise UnsupportedError(
                f"{name} is not one directory of Parquet files.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the folder, or a catalog table made with USING parquet.",
            )
        self.location = str(location)
        self.uuid = str(self._call("FileScans.uuid", location))

    @classmethod
    def at(cls, spark: SparkSession, path: str) -> ParquetTable:
        """Open the files in a folder and the folders in it."""
        return cls(spark, path, is_path=True)

    @classmethod
    def named(cls, spark: SparkSession, name: str) -> ParquetTable:
        """Open what the catalog has under a name.

        Args:
            spark: The session.
            name: ``catalog.database.table``.
        """
        return cls(spark, name, is_path=False)

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call a static method of a Java class, both named as in ``FileScans.location``."""
        java_class, method = name.split(".")
        return getattr(own_class(self._spark, f"folders.{java_class}"), method)(*arguments)

    def _listed(self) -> Any:
        """A leaf that reads the files that are there now."""
        if not self._is_path:
            with named_errors(self.name):
                # the session keeps the list of a catalog table's files
                self._spark.catalog.refreshTable(self.name)
        return self._call("FileScans.parquetLeaf", self._read()._jdf.queryExecution().analyzed())

    def _read(self, **options: str) -> DataFrame:
        reader = self._spark.read.options(**options)
        with named_errors(self.name):
            return reader.parquet(self.name) if self._is_path else reader.table(self.name)

    @property
    def reader(self) -> ParquetTable:
        """Reads the table's metadata."""
        return self

    def reload(self) -> None:
        """List the files anew.

        Raises:
            NotFoundError: The table is gone, or its name leads to another folder.
        """
        leaf = self._listed()
        location = None if leaf is None else self._call("FileScans.location", leaf)
        check_identity(self.name, self.location, str(location))
        self._leaf = leaf

    def version(self, spec: str | int | None = None) -> TableVersion:
        """The files as they are listed now: there is no other version.

        Raises:
            NotFoundError: Another one was given.
        """
        if spec is not None:
            raise NotFoundError(
                f"{self.name} has no version {spec!r}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="A directory of Parquet files has only the files that are in it now.",
            )
        self.reload()
        return TableVersion(
            id=version_of(part.split("\n") for part in self._identities()),
            schema=str(self._call("SchemaDocument.of", self._leaf)),
        )

    def _identities(self) -> Iterator[str]:
        """Identities of the files, one a line, some thousands at a time."""
        listed = self._call("FolderFiles.listed", self._leaf)
        return parts_of(self._call, "FolderFiles.identities", listed)

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """The columns, and the fields of structs outside lists and maps."""
        return parquet_columns(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:  # noqa: ARG002 - there is one version
        """The files; ``records`` is null, ``path`` has size and modification time behind it."""
        paths = lines_of(self._identities())
        parts = pc.extract_regex(paths, _IDENTITY)
        files = pa.table(
            {
                "path": paths,
                "size": pc.struct_field(parts, "size").cast(pa.int64()),
                "records": pa.nulls(len(paths), pa.int64()),
                "location": pc.struct_field(parts, "location"),
                "modified": pc.struct_field(parts, "modified").cast(pa.int64()),
            }
        )
        return identified(files)

    def file_statistics(self, version: TableVersion) -> FileStatistics | None:
        """The partition values in the names of folders, as :class:`HasFileStatistics` says.

        A catalog may keep a partition in any folder: the folder's name says nothing of it.
        """
        if not self._is_path and json.loads(version.schema)["partitioning"]:
            return unread_statistics("the catalog's partitions are not read")
        return parquet_statistics(version.schema, self.location, self.live_files(version))

    @property
    def merges_on_read(self) -> bool:
        """Rows are only changed by writing files anew."""
        return False

    def retained_files(self) -> pa.ChunkedArray:
        """The files that are there now."""
        return self.live_files(self.version()).column("path")

    def references(self) -> Sequence[str]:
        """A directory has no branches or tags."""
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
        """Rows of every ``stride``-th selected file: the keys and ``file``.

        Args:
            version: As for :meth:`Table.raw_rows`, as are the others.
            columns: The key columns.
            split_bytes: Bytes of data files that a task should read.
            stride: Only every ``stride``-th file is read.
            selection: Name of a selection of files; all by default.
        """
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        files = self.live_files(version)
        _let_settle(files.column("modified"), self.clock)
        metadata = F.col("_metadata")
        identity = F.concat(
            hadoop_path(metadata["file_path"]),
            F.lit("#"),
            metadata["file_size"].cast("string"),
            F.lit("@"),
            F.unix_millis(metadata["file_modification_time"]).cast("string"),
        )
        whole = self._read(**{RAW_READ: raw_read(stride, selection)})
        leaf = self._call("FileScans.parquetLeaf", whole._jdf.queryExecution().analyzed())
        # without what a catalog table may have above its leaf, such as padding of CHAR
        session = self._spark._jsparkSession
        java = own_class(self._spark, "spark.ClassicSessions").rows(session, leaf)
        rows = DataFrame(java, self._spark).select(*keys_of(columns), identity.alias("file"))
        total = pc.sum(files.column("size")).as_py() or 0
        return in_larger_tasks(rows, total_bytes=total / stride, split_bytes=split_bytes)

    def rows(self, version: TableVersion) -> DataFrame:  # noqa: ARG002 - there is no other
        """Rows of the files that are there now; as for :meth:`SparkTable.rows`."""
        # an option of its own: else Spark may answer from rows that somebody had it keep before
        return self._read(**{"lakesieve-read": uuid.uuid4().hex})


def _let_settle(modified: pa.ChunkedArray, clock: Clock) -> None:
    """Wait until a rewrite from now on cannot give a file the modification time that it has."""
    newest = (pc.max(modified).as_py() or 0) / 1000
    left = min(_CLOCK_SECONDS, newest + _CLOCK_SECONDS - clock.time())
    if left > 0:
        clock.sleep(left)
