"""Apache Hudi tables through a Spark session."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, NotFoundError, UnsupportedError
from lakesieve.spark.tables.catalogs import named_errors
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.hudi.changes import HudiChanges
from lakesieve.spark.tables.reading import (
    hadoop_path,
    in_larger_tasks,
    keys_of,
    lines_of,
    parts_of,
    raw_read,
)
from lakesieve.spark.tables.row_deletes import RowDeletes
from lakesieve.spark.versions.jar import own_class
from lakesieve.tables import Column, TableVersion
from lakesieve.tables.hudi.schema import UNREAD
from lakesieve.tables.identity import check_identity
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import identified, normal_paths
from lakesieve.tables.statistics import unread_statistics
from lakesieve.tables.struct_schema import hudi_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.tables.statistics import FileStatistics

_LINE = r"^(?P<location>[^\t]*)\t(?P<size>\d+)\t(?P<indexable>1?)$"


class HudiTable:
    """One Hudi table, copy-on-write or merge-on-read, by its path or as a catalog table.

    A version is the time of a commit. Its files are those of the file slices: one without log files
    is known by the path of its base file, one with log files cannot be indexed.

    Args:
        spark: The session.
        name: As the user called it.
        is_path: Whether that is a path.

    Raises:
        NotFoundError: There is no table, or it has no commits.
        UnsupportedError: It is no Hudi table that this version knows.
    """

    format = "hudi"
    file_io: Mapping[str, str] = MappingProxyType({})

    def __init__(self, spark: SparkSession, name: str, *, is_path: bool) -> None:
        self._spark = spark
        self.name = name
        self.is_named = not is_path
        leaf = self._named_leaf()
        if leaf is None:
            raise UnsupportedError(
                f"{name} is not a Hudi table that has commits and is read by its file groups.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the folder that holds .hoodie, or a catalog table made with USING hudi, "
                "once something was written to it.",
            )
        self.location = str(self._call("location", leaf))
        self.uuid = str(own_class(spark, "folders.FileScans").uuid(self.location))

    def _named_leaf(self) -> Any:
        """A leaf of what its name leads to."""
        with named_errors(self.name):
            if self.is_named:
                rows = self._spark.read.table(self.name)
            else:
                rows = self._spark.read.format("hudi").load(self.name)
            return self._call("leaf", rows._jdf.queryExecution().analyzed())

    @property
    def reader(self) -> HudiTable:
        """Reads the table's metadata."""
        return self

    def reload(self) -> None:
        """Look where the name leads; all else is read anew each time.

        Raises:
            NotFoundError: The table is gone, or its name leads to another folder.
        """
        leaf = self._named_leaf()
        location = None if leaf is None else self._call("location", leaf)
        check_identity(self.name, self.location, str(location))

    def client(self) -> Any:
        """Hudi's own view of the table as it is now, a ``HoodieTableMetaClient``."""
        return self._call("index", self._leaf()).metaClient()

    def commit_counts(self, version: str) -> dict[str, int]:
        """Rows ``inserted``, ``updated``, ``deleted`` and files written, as the commit says."""
        timeline = self.client().getCommitsTimeline().filterCompletedInstants()
        instants = timeline.getInstants()
        for at in range(instants.size()):
            if str(instants.get(at).requestedTime()) == version:
                metadata = timeline.readCommitMetadata(instants.get(at))
                files = metadata.fetchTotalFilesInsert() + metadata.fetchTotalFilesUpdated()
                return {
                    "inserted": int(metadata.fetchTotalInsertRecordsWritten()),
                    "updated": int(metadata.fetchTotalUpdateRecordsWritten()),
                    "deleted": int(metadata.getTotalRecordsDeleted()),
                    "files_added": int(files),
                }
        return {}

    def _call(self, method: str, *arguments: Any) -> Any:
        return getattr(own_class(self._spark, "hudi.HudiFiles"), method)(*arguments)

    def _read(self, instant: str | None = None, **options: str) -> DataFrame:
        reader = self._spark.read.format("hudi").options(**options)
        if instant is not None:
            reader = reader.option("as.of.instant", instant)
        with named_errors(self.name):
            return reader.load(self.location)

    def _leaf(self, instant: str | None = None) -> Any:
        return self._call("leaf", self._read(instant)._jdf.queryExecution().analyzed())

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve the time of a commit, as Hudi writes it, or an ISO timestamp.

        Raises:
            NotFoundError: No commit is that old.
        """
        self.reload()
        latest = None if spec is None else self._moment(str(spec))
        newest = self._leaf()
        instant = None
        if spec is None or latest is not None:
            instant = self._call("instant", newest, latest)
        if instant is None:
            raise NotFoundError(
                f"{self.name} has no version {spec!r}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="Give a commit's time such as 20260131120000000, or 2026-01-31T12:00:00; "
                "CALL show_commits lists the commits.",
            )
        leaf = newest if spec is None else self._leaf(str(instant))
        return TableVersion(id=str(instant), schema=str(self._call("schema", leaf)))

    def _moment(self, spec: str) -> str | None:
        if spec.isascii() and spec.isdigit():
            # older commits are named by seconds; as Hudi compares them
            return spec
        millis = millis_of(spec)
        return None if millis is None else str(self._call("moment", millis))

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """The columns, and the fields of structs outside lists and maps, as of that version.

        Raises:
            UnsupportedError: The table is written or read in a way that is not known.
        """
        return hudi_columns(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:
        """Base files of that version; ``records`` is null.

        A slice with log files, or without a base file, is not ``indexable``: its ``path`` is that
        of no file.
        """
        hudi_columns(version.schema)
        # read as of its instant throughout: a file that a later commit replaced would seem empty
        with named_errors(self.name):
            leaf = self._leaf(version.id)
            lines = lines_of(parts_of(self._call, "files", leaf, self._call("listed", leaf)))
        parts = pc.extract_regex(lines, _LINE)
        location = pc.struct_field(parts, "location")
        indexable = pc.equal(pc.struct_field(parts, "indexable"), "1")
        merged = pc.binary_join_element_wise(location, "merged", "#")
        files = pa.table(
            {
                "path": pc.if_else(indexable, location, merged),
                "size": pc.struct_field(parts, "size").cast(pa.int64()),
                "records": pa.nulls(len(lines), pa.int64()),
                "location": location,
                "indexable": indexable,
            }
        )
        return identified(files)

    def changes(self) -> HudiChanges:
        """By Hudi's writer."""
        return HudiChanges(self._spark, self)

    def row_deletes(self, version: TableVersion) -> RowDeletes:
        """Count the file slices that have log files."""
        live = self.live_files(version)
        named = f"{'table' if self.is_named else 'path'} => '{self.name}'"
        return RowDeletes(
            files=live.num_rows,
            marked_files=live.column("indexable").to_pylist().count(False),
            form="log files",
            commands=(f"CALL run_compaction(op => 'scheduleAndExecute', {named})",),
        )

    @property
    def merges_on_read(self) -> bool:
        """Whether row-level commands write log files."""
        return bool(self._call("mergesOnRead", self._leaf()))

    def file_statistics(self, version: TableVersion) -> FileStatistics:  # noqa: ARG002 - of none
        """Nothing is read: values of partitions depend on the table's key generator."""
        return unread_statistics(UNREAD)

    def retained_files(self) -> pa.ChunkedArray:
        """Base files of all file slices that cleaning has left."""
        self.reload()
        with named_errors(self.name):
            bases = self._call("retained", self._leaf())
            return normal_paths(lines_of(parts_of(self._call, "paths", bases)))

    def references(self) -> Sequence[str]:
        """Hudi tables have no branches or tags."""
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
        """Rows of every ``stride``-th selected base file: the keys and ``file``.

        Args:
            version: As for :meth:`Table.raw_rows`, as are the others.
            columns: The key columns.
            split_bytes: Bytes of data files that a task should read.
            stride: Only every ``stride``-th file is read.
            selection: Name of a selection of files; all by default.
        """
        from pyspark.sql import functions as F

        files = self.live_files(version)
        rows = self._read(version.id, **{RAW_READ: raw_read(stride, selection)}).select(
            *keys_of(columns), hadoop_path(F.input_file_name()).alias("file")
        )
        total = pc.sum(files.column("size")).as_py() or 0
        return in_larger_tasks(rows, total_bytes=total / stride, split_bytes=split_bytes)

    def rows(self, version: TableVersion) -> DataFrame:
        """Rows of a version; as for :meth:`SparkTable.rows`."""
        return self._read(version.id)
