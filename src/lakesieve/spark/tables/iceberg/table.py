"""Apache Iceberg tables through a Spark session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.tables.contract import RAW_READ
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.iceberg.branches import SessionBranches, TableSelector
from lakesieve.spark.tables.iceberg.changes import IcebergChanges
from lakesieve.spark.tables.iceberg.copy import copy_table
from lakesieve.spark.tables.iceberg.listing import SessionReader
from lakesieve.spark.tables.iceberg.loading import TableLoader
from lakesieve.spark.tables.iceberg.selecting import check_filters, selecting
from lakesieve.spark.tables.iceberg.unreadable import readable
from lakesieve.spark.tables.reading import raw_columns
from lakesieve.spark.tables.row_deletes import RowDeletes
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import as_python

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from lakesieve.spark.tables.contract import RawRead
    from lakesieve.tables import TableVersion
    from lakesieve.tables.iceberg.metadata import IcebergMetadata
    from lakesieve.tables.iceberg.table import IcebergReader

_OPEN_COST = 4 << 10


class IcebergTable:
    """One Iceberg table: a catalog identifier, or the path of a Hadoop table.

    Args:
        spark: The session. Its settings may name the branch that is the current version.
        name: The identifier, which may select a branch; or the path.
        path: True if the name is a path.
        selector: The table and the branch that the identifier names.
    """

    row_positions = True
    reads_row_blocks = True

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        *,
        path: bool = False,
        selector: TableSelector | None = None,
    ) -> None:
        selector = selector or TableSelector(table=name)
        self._spark = spark
        self.is_named = not path
        self.name = name
        self._source = selector.table
        self._loader = TableLoader(spark, self._source, is_path=path)
        self.branches = SessionBranches(spark, name, selector.branch)
        self.reader: IcebergReader = SessionReader(
            spark,
            self._source + ("#" if path else "."),
            name,
            self._loader.load,
            partial(storage_options, spark),
            self.branches.resolve,
        )

    @property
    def java(self) -> Any:
        """Iceberg's own object, as loaded last."""
        return self._loader.java

    @property
    def metadata(self) -> IcebergMetadata:
        """Metadata that was loaded last."""
        return self.reader.metadata

    @property
    def read_branch(self) -> str | None:
        """Branch whose head is the current version, or ``None`` for ``main``."""
        return self.branches.read_branch(self.metadata)

    @property
    def write_branch(self) -> str | None:
        """Branch to which the session commits, or ``None`` for ``main``.

        Raises:
            UnsupportedError: Commits would only be staged, or Iceberg refuses them.
        """
        return self.branches.write_branch(self.metadata)

    def check_commits(self) -> None:
        """Refuse a session whose commits would only be staged, or that Iceberg refuses.

        Raises:
            UnsupportedError: That is the case.
        """
        self.branches.write_branch(self.metadata)
        self._check_filters(self.reader.version())

    def _check_filters(self, version: TableVersion) -> None:
        check_filters(self.metadata, self.branches, version)

    def copy_to(self, name: str, version: TableVersion) -> None:
        """Register new metadata that lists one snapshot, in a folder of its own."""
        if not self.is_named or version.id is None:
            raise UnsupportedError(
                f"{self.name} cannot be copied: it is not in a catalog, or it has no snapshot.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the catalog identifier of a table with at least one snapshot.",
            )
        copy_table(self._spark, self.java, self._source, name, int(version.id))

    def changes(self) -> IcebergChanges:
        """Change rows with the SQL of Iceberg's extensions, which needs an identifier.

        Raises:
            UnsupportedError: The table was opened by its path.
        """
        if not self.is_named:
            raise UnsupportedError(
                f"{self.name} is the path of an Iceberg table. SQL cannot change a table by its "
                "path.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Use the table's catalog identifier. CALL catalog.system.register_table gives "
                "it one.",
            )
        return IcebergChanges(self._spark, self)

    def row_deletes(self, version: TableVersion) -> RowDeletes:
        """Count position deletes and deletion vectors. Equality deletes are left out."""
        counted = own_class(self._spark, "iceberg.IcebergDeletes").counts(self.java, version.id)
        counts = {"files": 0, **as_python(self._spark, counted)}
        if self.read_branch is not None:
            # Iceberg's procedures would rewrite the branch main
            return RowDeletes(**counts, commands=())
        catalog, _, name = self._source.partition(".")
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
        """True if any row-level command writes deletes."""
        modes = (f"write.{command}.mode" for command in ("delete", "update", "merge"))
        return any(self.metadata.properties.get(mode) == "merge-on-read" for mode in modes)

    def raw_rows(self, version: TableVersion, read: RawRead) -> DataFrame:
        """Return rows as written: ``key_0``, ``key_1`` and so on, and ``file``."""
        from pyspark.sql import functions as F

        reader = (
            self._spark.read.format("iceberg")
            .option(RAW_READ, read.option)
            # opening a small file for a few columns costs almost nothing, but a task does
            .option("split-size", str(read.split_bytes))
            .option("file-open-cost", str(_OPEN_COST))
        )
        with readable(self.name, version.schema):
            loaded = self._load(reader, version)
            return loaded.select(*raw_columns(loaded, read, "_pos", F.col("_file")))

    def names_in_rows(self, paths: pa.ChunkedArray) -> Sequence[pa.ChunkedArray]:
        """As for :meth:`SparkTable.names_in_rows`."""
        return (paths,)

    def rows(self, version: TableVersion) -> DataFrame:
        """Return the rows of a version. As for :meth:`SparkTable.rows`."""
        self._check_filters(version)
        with readable(self.name, version.schema):
            return self._load(self._spark.read.format("iceberg"), version)

    def _load(self, reader: DataFrameReader, version: TableVersion) -> DataFrame:
        return selecting(self.metadata, self.branches, reader, version).load(self._source)
