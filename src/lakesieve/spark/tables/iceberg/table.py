"""Apache Iceberg tables through a Spark session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.spark.tables.catalogs import forget_table
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.failures import unlisted
from lakesieve.spark.tables.iceberg.branches import (
    MAIN,
    BranchRules,
    TableSelector,
    selector_of,
)
from lakesieve.spark.tables.iceberg.changes import IcebergChanges
from lakesieve.spark.tables.iceberg.copy import copy_table
from lakesieve.spark.tables.iceberg.loading import is_folder_table, load_identifier, load_path
from lakesieve.spark.tables.iceberg.selecting import check_filters, selecting
from lakesieve.spark.tables.iceberg.statistics import statistics_of_files
from lakesieve.spark.tables.iceberg.unreadable import listable, readable
from lakesieve.spark.tables.jobs import own_jobs
from lakesieve.spark.tables.reading import keys_of, raw_read
from lakesieve.spark.tables.row_deletes import RowDeletes
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import as_python
from lakesieve.spark.versions.spark_versions import arrow_of
from lakesieve.tables import Column, TableVersion
from lakesieve.tables.iceberg.schema import columns_of_schema
from lakesieve.tables.identity import check_identity
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import identified, normal_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from lakesieve.tables.statistics import FileStatistics

_OPEN_COST = 4 << 10
_FILES_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("records", pa.int64())])


def file_io_of(spark: SparkSession, table: Any) -> dict[str, str]:
    """Settings of the file IO of Iceberg's own object of a table, as far as they are of S3.

    Args:
        spark: The session.
        table: Iceberg's ``Table``.
    """
    settings = own_class(spark, "iceberg.IcebergAccess").fileIo(table)
    return dict(as_python(spark, settings))


class IcebergTable:
    """One Iceberg table: a catalog identifier, or the path of a Hadoop table.

    Args:
        spark: The session; its settings may name the branch that is the current version.
        name: The identifier, which may select a branch; or the path.
        path: Whether it is a path.
        branch: The branch that Spark's catalog found in the identifier.
    """

    format = "iceberg"

    def __init__(
        self, spark: SparkSession, name: str, *, path: bool = False, branch: str | None = None
    ) -> None:
        self._spark = spark
        self.is_named = not path
        self.name = name
        self._selector = TableSelector(table=name)
        self._java = self._loaded()
        if not path:
            self._selector = selector_of(name, self._java, branch)
        self.branches = BranchRules(spark, name, self._selector.branch)
        self.uuid = str(self._java.uuid())
        self.location = str(self._java.location())

    @property
    def java(self) -> Any:
        """Iceberg's own object, as loaded when this one was made."""
        return self._java

    @property
    def file_io(self) -> Mapping[str, str]:
        """Settings of the table's file IO, with credentials that its catalog lends."""
        return file_io_of(self._spark, self._java)

    @property
    def read_branch(self) -> str | None:
        """The branch whose head is the current version; ``None`` for ``main``."""
        return self.branches.read_branch(self._java)

    @property
    def write_branch(self) -> str | None:
        """The branch that commits of the session go to; ``None`` for ``main``.

        Raises:
            UnsupportedError: They would be staged, or Iceberg refuses them.
        """
        return self.branches.write_branch(self._java)

    def check_commits(self) -> None:
        """Refuse a session whose commits would be staged, or refused by Iceberg.

        Raises:
            UnsupportedError: They would be.
        """
        self.branches.write_branch(self._java)
        check_filters(self, self.version())

    def head(self, branch: str | None) -> Any:
        """Return the newest snapshot of a branch; that of ``main`` where there is no such branch.

        Args:
            branch: The branch; ``None`` for ``main``.
        """
        reference = None if branch in {None, MAIN} else self._java.refs().get(branch)
        if reference is None:
            return self._java.currentSnapshot()
        return self._java.snapshot(reference.snapshotId())

    def has_transaction(self, names: tuple[str, str], app: str, number: int) -> bool:
        """Return whether the branch that is written to has a transaction, or a later one."""
        self.reload()
        head = self.head(self.write_branch)
        history = own_class(self._spark, "iceberg.IcebergHistory")
        return bool(history.known(self._java, head, *names, app, number))

    def _loaded(self) -> Any:
        if self.is_named:
            return load_identifier(self._spark, self._selector.table)
        return load_path(self._spark, self.name)

    @property
    def reader(self) -> IcebergTable:
        """Reads the table's metadata."""
        return self

    def reload(self) -> None:
        """Read the newest metadata.

        Raises:
            NotFoundError: The table is gone, or its name leads to another one.
        """
        # Iceberg's own object may stay silent about a table that is gone, and take up another one
        # later; that of a folder knows versions by number, which another table there has, too
        if self.is_named and is_folder_table(self._spark, self._java):
            forget_table(self._spark, self._selector.table)
        java = self._loaded()
        check_identity(self.name, self.uuid, str(java.uuid()))
        self._java = java

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve a snapshot id, an ISO timestamp, a branch or a tag.

        Raises:
            NotFoundError: There is no such version.
        """
        self.reload()
        if spec is None:
            branch = self.read_branch
            snapshot = self.head(branch)
            if branch not in {None, MAIN} and branch not in self._java.refs():
                spec, snapshot = branch, None
            elif snapshot is None:
                return TableVersion(id=None, schema=self.schema_json(self._java.schema()))
        else:
            snapshot = self._named_snapshot(str(spec))
        if snapshot is None:
            raise NotFoundError(
                f"{self.name} has no version {spec!r}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="Give a snapshot id, a branch, a tag, or a time such as 2026-01-31T12:00:00; "
                f"SELECT * FROM {self._selector.table}.snapshots lists the snapshots.",
            )
        return TableVersion(
            id=str(snapshot.snapshotId()),
            timestamp_ms=snapshot.timestampMillis(),
            schema=self.schema_json(self._schema_for(spec, snapshot)),
        )

    def _schema_for(self, spec: str | int | None, snapshot: Any) -> Any:
        # as Iceberg reads: the head and branches with the table's schema, all else with its own
        reference = None if spec is None else self._java.refs().get(str(spec))
        if spec is None or (reference is not None and reference.isBranch()):
            return self._java.schema()
        if snapshot.schemaId() is None:
            return self._java.schema()
        return self._java.schemas().get(snapshot.schemaId())

    def schema_json(self, schema: Any) -> str:
        """Return a schema of the table as JSON, with all that decides which values it reads."""
        return str(own_class(self._spark, "iceberg.IcebergFields").document(self._java, schema))

    def _named_snapshot(self, spec: str) -> Any:
        reference = self._java.refs().get(spec)
        if reference is not None:
            return self._java.snapshot(reference.snapshotId())
        if spec.isascii() and spec.isdigit() and int(spec) < 2**63:
            return self._java.snapshot(int(spec))
        limit = millis_of(spec)
        if limit is None:
            return None
        if self._selector.branch is not None:
            raise InvalidInputError(
                f"{self.name} selects a branch, in which a time selects no version.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint=f"Give the id of a snapshot; SELECT * FROM {self._selector.table}.snapshots "
                "lists them.",
            )
        newest = None
        entries = self._java.history().iterator()
        while entries.hasNext():
            entry = entries.next()
            if entry.timestampMillis() <= limit:
                newest = entry
        return None if newest is None else self._java.snapshot(newest.snapshotId())

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """The columns, and the fields of structs outside lists and maps, as of that version."""
        return columns_of_schema(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:
        """Data files of that version, from the ``files`` metadata table."""
        if version.id is None:
            return _FILES_SCHEMA.empty_table()
        columns = ("file_path AS path", "file_size_in_bytes AS size", "record_count AS records")
        return identified(self._data_files(version, *columns).cast(_FILES_SCHEMA))

    def file_statistics(self, version: TableVersion) -> FileStatistics | None:
        """The bounds and partitions that manifests have, as :class:`HasFileStatistics` says."""
        if version.id is None:
            return None
        partitioning = str(own_class(self._spark, "iceberg.IcebergFields").partitioning(self._java))
        list_files = partial(self._data_files, version)
        return statistics_of_files(version.schema, partitioning, list_files)

    def _data_files(self, version: TableVersion, *columns: str) -> pa.Table:
        """Columns of the ``files`` metadata table, one row a live data file of a version."""
        suffix = ".files" if self.is_named else "#files"
        with readable(self.name, version.schema):
            loaded = (
                self._spark.read.format("iceberg")
                .option("versionAsOf", version.id)
                .load(self._selector.table + suffix)
            )
            rows = loaded.where("content = 0").selectExpr(*columns)
        return self._listed(rows)

    def copy_to(self, name: str, version: TableVersion) -> None:
        """Register new metadata that lists one snapshot, under a location of its own.

        Args:
            name: As for :meth:`Table.copy_to`.
            version: As for :meth:`Table.copy_to`.
        """
        if not self.is_named or version.id is None:
            raise UnsupportedError(
                f"{self.name} has no catalog to register a copy in, or no data.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Name a table with data by its catalog identifier.",
            )
        copy_table(self._spark, self._java, self._selector.table, name, int(version.id))

    def changes(self) -> IcebergChanges:
        """By the SQL of Iceberg's extensions, which need an identifier.

        Raises:
            UnsupportedError: It was opened by its path.
        """
        if not self.is_named:
            raise UnsupportedError(
                f"{self.name} is the path of an Iceberg table, by which SQL cannot change it.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Name it by its catalog identifier; CALL catalog.system.register_table gives "
                "it one.",
            )
        return IcebergChanges(self._spark, self)

    def row_deletes(self, version: TableVersion) -> RowDeletes:
        """Count position deletes and deletion vectors; equality deletes are left out."""
        counted = own_class(self._spark, "iceberg.IcebergDeletes").counts(self._java, version.id)
        counts = {"files": 0, **as_python(self._spark, counted)}
        if self.read_branch not in {None, MAIN}:
            # Iceberg's procedures would rewrite main
            return RowDeletes(**counts, commands=())
        catalog, _, name = self._selector.table.partition(".")
        if not self.is_named or not name:
            catalog, name = "CATALOG", self.name
        named = f"table => '{name}'"
        rewrite = f"{named}, options => map('delete-file-threshold', '1')"
        commands = [f"CALL {catalog}.system.rewrite_data_files({rewrite})"]
        if counts.get("delete_files"):
            commands.append(f"CALL {catalog}.system.rewrite_position_delete_files({named})")
        return RowDeletes(**counts, commands=tuple(commands))

    @property
    def merges_on_read(self) -> bool:
        """Whether any of the row-level commands does."""
        modes = (
            self._java.properties().get(f"write.{command}.mode")
            for command in ("delete", "update", "merge")
        )
        return "merge-on-read" in modes

    def retained_files(self) -> pa.ChunkedArray:
        """Data files of all snapshots that metadata still lists."""
        self.reload()
        if self._java.currentSnapshot() is None and not self._java.refs().size():
            return _FILES_SCHEMA.empty_table().column("path")
        suffix = ".all_data_files" if self.is_named else "#all_data_files"
        with listable(self.name):
            loaded = self._spark.read.format("iceberg").load(self._selector.table + suffix)
            rows = loaded.selectExpr("file_path AS path").distinct()
        return normal_paths(self._listed(rows).column("path"))

    def _listed(self, rows: DataFrame) -> pa.Table:
        """Rows of a metadata table.

        Raises:
            StorageError: Manifests cannot be read.
        """
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            with own_jobs(self._spark, f"lakesieve: list the files of {self.name}"):
                return arrow_of(rows)
        except (Py4JJavaError, PySparkException) as error:
            clear = unlisted(self.name, error)
            if clear is None:
                raise
            raise clear from error

    def references(self) -> list[str]:
        """Names of the branches and tags other than the branch of the current version."""
        current = self.read_branch or MAIN
        return sorted(name for name in self._java.refs() if name != current)

    def raw_rows(
        self,
        version: TableVersion,
        columns: Sequence[Column],
        *,
        split_bytes: int,
        stride: int = 1,
        selection: str = "",
    ) -> DataFrame:
        """Rows as written: ``key_0``, ``key_1`` and so on, and ``file``.

        Args:
            version: As for :meth:`Table.raw_rows`, as are the others.
            columns: The key columns.
            split_bytes: Bytes of data files that a task should read.
            stride: Only every ``stride``-th file is read.
            selection: Name of a selection of files; all by default.
        """
        from pyspark.sql import functions as F

        reader = (
            self._spark.read.format("iceberg")
            .option(RAW_READ, raw_read(stride, selection))
            # a few columns of a small file cost next to nothing to open, a task does
            .option("split-size", str(split_bytes))
            .option("file-open-cost", str(_OPEN_COST))
        )
        loaded = self._read(reader, version)
        return loaded.select(*keys_of(columns), F.col("_file").alias("file"))

    def rows(self, version: TableVersion) -> DataFrame:
        """Rows of a version; as for :meth:`SparkTable.rows`."""
        check_filters(self, version)
        return self._read(self._spark.read.format("iceberg"), version)

    def _read(self, reader: DataFrameReader, version: TableVersion) -> DataFrame:
        with readable(self.name, version.schema):
            return selecting(self, reader, version).load(self._selector.table)
