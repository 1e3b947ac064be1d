"""Load a table and its metadata as Iceberg's own Java object, as a session does."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.tables.catalogs import forget_table, named_errors
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import as_python, java_class
from lakesieve.tables.iceberg.catalogs import LoadedTable
from lakesieve.tables.iceberg.metadata import IcebergMetadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPERATED = "org.apache.iceberg.HasTableOperations"
_METADATA_TABLE = "org.apache.iceberg.BaseMetadataTable"
_BY_FOLDER = "org.apache.iceberg.hadoop.HadoopTableOperations"


def file_io_of(spark: SparkSession, table: Any) -> dict[str, str]:
    """Return the S3 settings of the file IO of an Iceberg ``Table``, a Java object."""
    settings = own_class(spark, "iceberg.IcebergAccess").fileIo(table)
    return dict(as_python(spark, settings))


class TableLoader:
    """Loads one table with its newest metadata, by its identifier or by the path of its folder."""

    def __init__(self, spark: SparkSession, name: str, *, is_path: bool) -> None:
        self._name = name
        self._spark = spark
        self._is_path = is_path
        self._java: Any = None
        self._file: tuple[str, ...] = ()
        self._metadata: IcebergMetadata | None = None

    @property
    def java(self) -> Any:
        """Iceberg's own object, as loaded last."""
        return self._java

    def load(self) -> LoadedTable:
        """Load the newest metadata.

        Raises:
            NotFoundError: The table does not exist.
            UnsupportedError: It is a metadata table.
        """
        # Iceberg's object may not notice that the table was dropped, and later read a new table of
        # the same name. In a folder, versions are only numbers, which a new table reuses.
        if not self._is_path and self._is_kept_in_folder():
            forget_table(self._spark, self._name)
        java = self._from_folder() if self._is_path else self._from_catalog()
        if self._is(java, _METADATA_TABLE) or not self._is(java, _OPERATED):
            raise UnsupportedError(
                f"{self._name} is a metadata table.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Name the table itself.",
            )
        self._java = java
        return LoadedTable(
            metadata=self._read_metadata(), file_io=partial(file_io_of, self._spark, java)
        )

    def _from_catalog(self) -> Any:
        from py4j.protocol import Py4JJavaError

        load = java_class(self._spark, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable
        with named_errors(self._name):
            try:
                table = load(self._spark._jsparkSession, self._name)
                table.refresh()
            except Py4JJavaError:
                # the catalog may have cached a table that no longer exists
                forget_table(self._spark, self._name)
                table = load(self._spark._jsparkSession, self._name)
        return table

    def _from_folder(self) -> Any:
        hadoop = self._spark._jsparkSession.sessionState().newHadoopConf()
        with named_errors(self._name):
            tables = java_class(self._spark, "org.apache.iceberg.hadoop.HadoopTables")(hadoop)
            return tables.load(self._name)

    def _read_metadata(self) -> IcebergMetadata:
        """Read the metadata that Iceberg has in memory, which is what the session sees.

        Python may be unable to reach the metadata file, and some catalogs do not write one.
        """
        current = self._java.operations().current()
        # a new table in the same folder has files with the same names
        file = tuple(map(str, (current.metadataFileLocation(), current.uuid())))
        if self._metadata is None or self._file != file or file[0] == "None":
            parser = java_class(self._spark, "org.apache.iceberg.TableMetadataParser")
            self._metadata = IcebergMetadata(json.loads(parser.toJson(current)))
            self._file = file
        return self._metadata

    def _is_kept_in_folder(self) -> bool:
        """Return whether the loaded table is in a folder of a catalog without a metastore."""
        if self._java is None:
            return False
        return str(self._java.operations().getClass().getName()) == _BY_FOLDER

    def _is(self, java: Any, kind: str) -> bool:
        types = java_class(self._spark, "py4j.reflection.TypeUtil")
        return bool(types.isInstanceOf(kind, java))
