"""List data files of Iceberg tables whose manifests only the session can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.errors import LakesieveError, SetupError, StorageError, UnsupportedError
from lakesieve.spark.tables.jobs import own_jobs
from lakesieve.spark.versions.spark_versions import arrow_of
from lakesieve.tables.iceberg.manifests import FILES_SCHEMA
from lakesieve.tables.iceberg.table import IcebergReader
from lakesieve.tables.paths import identified, normal_paths

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.tables.contract import TableVersion

_COLUMNS = ("file_path AS path", "file_size_in_bytes AS size", "record_count AS records")
_UNREAD = (SetupError, StorageError, UnsupportedError)


class SessionReader(IcebergReader):
    """Lists data files with Spark jobs over metadata tables if Python cannot read the manifests.

    Only the session may have the classes of a file IO, the credentials, or the keys of an encrypted
    table.

    Args:
        spark: The session.
        metadata_tables: The common beginning of the names of the table's metadata tables.
        *others: As for :class:`IcebergReader`.
    """

    def __init__(self, spark: SparkSession, metadata_tables: str, *others: Any) -> None:
        super().__init__(*others)
        self._spark = spark
        self._metadata_tables = metadata_tables
        self._is_out_of_reach = False

    def live_files(self, version: TableVersion) -> pa.Table:
        """As for :meth:`TableReader.live_files`."""
        if self._is_out_of_reach and version.id is not None:
            return identified(self._list("files", version))
        try:
            return super().live_files(version)
        except _UNREAD as error:
            return identified(self._list("files", version, error))

    def retained_files(self) -> pa.ChunkedArray:
        """As for :meth:`TableReader.retained_files`."""
        # reload first, because the name may lead to another table by now
        self.reload()
        try:
            return super().retained_files()
        except _UNREAD as error:
            paths = self._list("all_data_files", None, error).column("path")
            return normal_paths(paths).unique()

    def _list(
        self, files: str, version: TableVersion | None, known: LakesieveError | None = None
    ) -> pa.Table:
        """List the data files of a metadata table.

        Raises:
            LakesieveError: The known error, if the session cannot read the manifests either.
        """
        frame = self._spark.read.format("iceberg")
        if version is not None:
            frame = frame.option("versionAsOf", version.id)
        try:
            with own_jobs(self._spark, f"lakesieve: list the files of {self.name}"):
                rows = frame.load(self._metadata_tables + files).where("content = 0")
                files_listed = arrow_of(rows.selectExpr(*_COLUMNS)).cast(FILES_SCHEMA)
        except Exception:
            if known is None:
                raise
            raise known from None
        self._is_out_of_reach = True
        return files_listed
