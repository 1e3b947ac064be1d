"""Apache Iceberg tables through a Spark session."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError, UnsupportedError
from lakesieve.spark.tables.catalogs import forget_table, named_errors
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.failures import unlisted
from lakesieve.spark.tables.iceberg.changes import IcebergChanges
from lakesieve.spark.tables.iceberg.copy import copy_table
from lakesieve.spark.tables.jobs import own_jobs
from lakesieve.spark.tables.reading import keys_of, raw_read
from lakesieve.spark.tables.row_deletes import RowDeletes
from lakesieve.spark.versions.janino import JavaSources, as_python
from lakesieve.spark.versions.java_classes import java_class
from lakesieve.spark.versions.spark_versions import arrow_of
from lakesieve.tables import Column, TableVersion
from lakesieve.tables.iceberg.schema import columns_of_schema, fields_of_type
from lakesieve.tables.identity import check_identity
from lakesieve.tables.moments import millis_of
from lakesieve.tables.paths import identified, normal_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

__all__ = ["IcebergTable", "file_io_of"]

_OPERATED = "org.apache.iceberg.HasTableOperations"
_BY_FOLDER = "org.apache.iceberg.hadoop.HadoopTableOperations"
_OPEN_COST = 4 << 10
_CONFLICTING = re.compile(r"Conflicting partition fields: \[[^\]\n]*\]")
_FILES_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("records", pa.int64())])
_FIELDS = JavaSources("spark/tables/iceberg/IcebergFields")
_ACCESS = JavaSources("spark/tables/iceberg/IcebergAccess")
_DELETES = JavaSources("spark/tables/iceberg/IcebergDeletes")


def file_io_of(spark: SparkSession, table: Any) -> dict[str, str]:
    """Settings of the file IO of Iceberg's own object of a table, as far as they are of S3.

    Args:
        spark: The session.
        table: Iceberg's ``Table``.
    """
    settings: dict[str, str] = as_python(spark, _ACCESS.call(spark, "fileIo", table))
    return settings


class IcebergTable:
    """One Iceberg table: a catalog identifier, or the path of a Hadoop table."""

    format = "iceberg"

    def __init__(self, spark: SparkSession, name: str, *, path: bool = False) -> None:
        self._spark = spark
        self.is_named = not path
        self.name = name
        self._java = self._loaded()
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

    def _loaded(self) -> Any:
        if self.is_named:
            return _load_identifier(self._spark, self.name)
        return _load_path(self._spark, self.name)

    def reload(self) -> None:
        """Read the newest metadata.

        Raises:
            NotFoundError: The table is gone, or its name leads to another one.
        """
        # Iceberg's own object may stay silent about a table that is gone, and take up another one
        # later; that of a folder knows versions by number, which another table there has, too
        if self.is_named and self._is_folder():
            forget_table(self._spark, self.name)
        java = self._loaded()
        check_identity(self.name, self.uuid, str(java.uuid()))
        self._java = java

    def _is_folder(self) -> bool:
        """Whether the table is what is in a folder, in a catalog of such tables."""
        types = java_class(self._spark, "py4j.reflection.TypeUtil")
        if not types.isInstanceOf(_OPERATED, self._java):
            return False
        return str(self._java.operations().getClass().getName()) == _BY_FOLDER

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve a snapshot id, an ISO timestamp, a branch or a tag.

        Raises:
            NotFoundError: There is no such version.
        """
        self.reload()
        java = self._java
        if spec is None:
            snapshot = java.currentSnapshot()
            if snapshot is None:
                return TableVersion(id=None, schema=self._schema_json(java.schema()))
        else:
            snapshot = self._named_snapshot(str(spec))
        if snapshot is None:
            raise NotFoundError(
                f"{self.name} has no version {spec!r}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="Give a snapshot id, a branch, a tag, or a time such as 2026-01-31T12:00:00; "
                f"SELECT * FROM {self.name}.snapshots lists the snapshots.",
            )
        return TableVersion(
            id=str(snapshot.snapshotId()),
            timestamp_ms=snapshot.timestampMillis(),
            schema=self._schema_json(self._schema_for(spec, snapshot)),
        )

    def _schema_for(self, spec: str | int | None, snapshot: Any) -> Any:
        # as Iceberg reads: the head and branches with the table's schema, all else with its own
        reference = None if spec is None else self._java.refs().get(str(spec))
        if spec is None or (reference is not None and reference.isBranch()):
            return self._java.schema()
        if snapshot.schemaId() is None:
            return self._java.schema()
        return self._java.schemas().get(snapshot.schemaId())

    def _schema_json(self, schema: Any) -> str:
        return str(_FIELDS.call(self._spark, "document", self._java, schema))

    def _named_snapshot(self, spec: str) -> Any:
        reference = self._java.refs().get(spec)
        if reference is not None:
            return self._java.snapshot(reference.snapshotId())
        if spec.isascii() and spec.isdigit() and int(spec) < 2**63:
            return self._java.snapshot(int(spec))
        limit = millis_of(spec)
        if limit is None:
            return None
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
        suffix = ".files" if self.is_named else "#files"
        with self._readable(version):
            loaded = (
                self._spark.read.format("iceberg")
                .option("versionAsOf", version.id)
                .load(self.name + suffix)
            )
            rows = loaded.where("content = 0").selectExpr(
                "file_path AS path", "file_size_in_bytes AS size", "record_count AS records"
            )
        return identified(self._listed(rows).cast(_FILES_SCHEMA))

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
        copy_table(self._spark, self._java, self.name, name, int(version.id))

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
        """Count position deletes and deletion vectors; equality deletes are left out.

        Args:
            version: The version.
        """
        counted = _DELETES.call(self._spark, "counts", self._java, version.id)
        counts = {"files": 0, **as_python(self._spark, counted)}
        catalog, _, name = self.name.partition(".")
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
        with self._partitioned():
            loaded = self._spark.read.format("iceberg").load(self.name + suffix)
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
        """Names of the branches and tags other than ``main``."""
        return sorted(name for name in self._java.refs() if name != "main")

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
        """Rows of a version; as for :meth:`IndexableTable.rows`."""
        return self._read(self._spark.read.format("iceberg"), version)

    def _read(self, reader: DataFrameReader, version: TableVersion) -> DataFrame:
        if version.id is not None and self._has_own_schema(version):
            reader = reader.option("versionAsOf", version.id)
        with self._readable(version):
            return reader.load(self.name)

    def _has_own_schema(self, version: TableVersion) -> bool:
        """Whether a version is read under the schema that its snapshot was written with.

        A snapshot that is given by its id always is. So when columns changed after the last
        commit, the newest version can only be read as such; a commit that comes in between makes
        the rows differ from the list of live files, which fails the build.

        Raises:
            LakesieveError: ``BUILD_INCONSISTENT``: it is neither.
        """
        java = self._java
        schema_id = java.snapshot(int(str(version.id))).schemaId()
        schema = java.schema() if schema_id is None else java.schemas().get(schema_id)
        if self._schema_json(schema) == version.schema:
            return True
        if str(java.currentSnapshot().snapshotId()) != version.id:
            raise LakesieveError(
                f"{self.name} was written to while it was being read.",
                kind=ErrorKind.BUILD_INCONSISTENT,
                hint="Nothing was committed; try again.",
            )
        return False

    @contextmanager
    def _partitioned(self) -> Iterator[None]:
        """What Iceberg says of a table whose partitions it cannot tell apart, as one of our errors.

        Tables of format version 1 may number different partition fields alike; their metadata
        tables, and their columns such as ``_file``, cannot be read.
        """
        from py4j.protocol import Py4JJavaError

        try:
            yield
        except Py4JJavaError as error:
            conflict = _CONFLICTING.search(str(error))
            if conflict is None:
                raise
            raise UnsupportedError(
                f"Iceberg cannot list the files of {self.name}: {conflict[0]}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="A table of format version 1 gave one number to several partition fields; "
                "copy it into a new table: CREATE TABLE ... AS SELECT.",
            ) from error

    @contextmanager
    def _readable(self, version: TableVersion) -> Iterator[None]:
        """What Spark says of a table that has columns it knows no type for, as one of our errors.

        One such column makes the whole table unreadable, its metadata tables included.
        """
        from pyspark.errors import UnsupportedOperationException

        try:
            with self._partitioned():
                yield
        except UnsupportedOperationException as error:
            message = str(error).splitlines()[0]
            culprits = fields_of_type(version.schema, set(re.findall(r"\w+", message)))
            raise UnsupportedError(
                f"Spark cannot read {self.name} because of its column "
                f"{', '.join(culprits) or '(unknown)'}: {message}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="No query of this Spark version can read the table; drop or convert the "
                "column first.",
            ) from error


def _load_identifier(spark: SparkSession, name: str) -> Any:
    from py4j.protocol import Py4JJavaError

    load = java_class(spark, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable
    with named_errors(name):
        try:
            table = load(spark._jsparkSession, name)
            table.refresh()
        except Py4JJavaError:
            # the catalog may have kept one that is not there any more
            forget_table(spark, name)
            table = load(spark._jsparkSession, name)
    return table


def _load_path(spark: SparkSession, path: str) -> Any:
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    with named_errors(path):
        return java_class(spark, "org.apache.iceberg.hadoop.HadoopTables")(hadoop).load(path)
