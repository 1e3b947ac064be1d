"""The equality deletes of a table version, and the data files that they reach.

Iceberg's own planning in the JVM finds them. This module converts them to Python types.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.iceberg.table import IcebergTable
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import as_python, java_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ALL = -1
"""Used in place of a unit's number: all units."""

EVERY_FILE = -2
"""Used in place of a unit's number: every delete file, including those that reach nothing."""

NUMBER = "__lakesieve_number"
GROUP = "__lakesieve_group"
SEQUENCE = "__lakesieve_sequence"

_JAVA = "deletes.DeletePlan"
_FILES_TYPE = f"{NUMBER} int, file string"
# this takes about 30 MB in each process
_BROADCAST_RECORDS = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumn:
    """A column that equality deletes compare: its path of names and its field id."""

    path: tuple[str, ...]
    field_id: int
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteKind:
    """The equality delete files that compare the same columns. One join can apply them.

    ``everywhere`` is true if they apply to every partition. ``reaching`` counts the delete files
    that may reach a data file.
    """

    number: int
    columns: tuple[KeyColumn, ...]
    everywhere: bool
    files: int
    records: int
    reaching: int


class VersionDeletes:
    """The equality deletes of a table version, and the data files that they reach.

    A unit is a set of data files that share delete files, directly or through other data files.
    ``table`` is Iceberg's own object, ``java`` the Java ``DeletePlan``.
    """

    def __init__(self, spark: SparkSession, name: str, table: Any, java: Any) -> None:
        self._spark = spark
        self._table_name = name
        self.table = table
        self.java = java
        self._relations = java.relations(spark._jsparkSession)
        self.summary: dict[str, Any] = as_python(spark, java.summary())
        self.kinds = tuple(_kind(n, document) for n, document in enumerate(self.summary["kinds"]))

    @property
    def columns(self) -> tuple[str, ...]:
        """Top-level columns of the version's schema."""
        return tuple(self.summary["columns"])

    @property
    def snapshot(self) -> str | None:
        """Id of the snapshot, or ``None`` for a table without data."""
        snapshot_id = self.summary["snapshot"]
        return None if snapshot_id is None else str(snapshot_id)

    @property
    def format_version(self) -> int:
        """Version of the table format."""
        return int(self.summary["format_version"])

    @property
    def reached_files(self) -> int:
        """Number of data files that an equality delete may reach."""
        return int(self.summary["reached_files"])

    @property
    def units(self) -> int:
        """Number of units, which share no delete file."""
        return int(self.summary["units"])

    def extent(self, unit: int, *, dangling: bool) -> tuple[int, int, int, int]:
        """Count a unit's delete files and their records, and the data files and rows to search.

        With ``dangling``, delete files that reach nothing are counted, too.
        """
        removed, records, files, rows = map(int, self.java.extent(unit, dangling))
        return removed, records, files, rows

    def untouched(self) -> DataFrame:
        """Return the rows of the data files that no equality delete reaches."""
        return self._frame(self._relations.untouched(self._name("untouched")))

    def touched(self) -> DataFrame:
        """Return the rows of the data files that an equality delete may reach.

        The equality deletes are not applied. Each row has the columns of the table, and the number,
        group and data sequence number of its file.
        """
        return self._frame(self._relations.touched(self._name("touched")))

    def touched_unit(self, unit: int) -> DataFrame:
        """Return the rows of ``touched`` in one unit, for a query without filters."""
        return self._frame(self._relations.touchedUnit(self._name("unit"), unit))

    def touched_files(self, unit: int = ALL) -> DataFrame:
        """Return the reached data files of a unit: number and ``file``, the path."""
        types = java_class(self._spark, "org.apache.spark.sql.types.StructType")
        return self._frame(self._relations.touchedFiles(types.fromDDL(_FILES_TYPE), unit))

    def delete_rows(self, kind: DeleteKind, unit: int = ALL) -> DataFrame:
        """Return the rows of a kind's delete files that reach a data file of a unit.

        Besides the compared columns, each row has its file's group and sequence number.
        """
        name = self._name(f"deletes {kind.number}")
        return self._frame(self._relations.deletes(name, kind.number, unit))

    def kinds_of(self, unit: int = ALL) -> tuple[DeleteKind, ...]:
        """Return the kinds of delete files that reach a data file of a unit."""
        if unit == ALL:
            return tuple(kind for kind in self.kinds if kind.reaching)
        return tuple(k for k in self.kinds if k.reaching and self.java.reaching(k.number, unit))

    def is_small(self, kind: DeleteKind) -> bool:
        """Return whether a kind's deletes may be broadcast, if the session broadcasts at all."""
        threshold = self._spark.conf.get("spark.sql.autoBroadcastJoinThreshold") or ""
        return kind.records <= _BROADCAST_RECORDS and not threshold.startswith("-")

    def _name(self, what: str) -> str:
        return f"{self._table_name} ({what}, {uuid.uuid4().hex})"

    def _frame(self, java: Any) -> DataFrame:
        from pyspark.sql import DataFrame

        return DataFrame(java, self._spark)


def opened_iceberg(spark: SparkSession, table: str) -> IcebergTable:
    """Open a table that can have equality deletes.

    Raises:
        NotFoundError: The table does not exist.
        UnsupportedError: It is not an Iceberg table, or the session is a Connect session.
    """
    opened = open_table(spark, table)
    if not isinstance(opened, IcebergTable):
        raise _unsupported(
            f"{table} is a table of format {opened.reader.format}, which has no equality deletes.",
            "Only Iceberg tables have equality deletes.",
        )
    return opened


def deletes_of_version(
    spark: SparkSession, table: str, version: str | int | None = None
) -> VersionDeletes:
    """Load a table, and find the equality deletes of one of its versions.

    Raises:
        NotFoundError: The table or the version does not exist.
        UnsupportedError: It is not an Iceberg table, or it has equality deletes by a field that was
            dropped from a struct, or the session is a Connect session.
    """
    opened = opened_iceberg(spark, table)
    spec = opened.read_branch if version is None else str(version)
    snapshot = None if spec is None else opened.reader.version(version).id
    try:
        java = own_class(spark, _JAVA)(opened.java, spec, snapshot)
    except Exception as error:
        if "UnsupportedOperationException: field" in str(error):
            raise _unsupported(
                f"{table} has equality deletes by a field that was dropped from its struct.",
                "Rewrite its data files with Iceberg's rewrite_data_files.",
            ) from error
        raise
    return VersionDeletes(spark, table, opened.java, java)


def deletes_of_scan(spark: SparkSession, scan: Any) -> VersionDeletes:
    """Find the equality deletes that apply to one scan of a query, a Java ``QueryScan``."""
    java = own_class(spark, _JAVA)(scan)
    return VersionDeletes(spark, str(scan.name()), scan.table(), java)


def _unsupported(message: str, hint: str) -> UnsupportedError:
    return UnsupportedError(message, kind=ErrorKind.UNSUPPORTED_TABLE, hint=hint)


def _kind(number: int, document: dict[str, Any]) -> DeleteKind:
    columns = tuple(
        KeyColumn(path=tuple(c["path"]), field_id=c["id"], type=c["type"])
        for c in document["columns"]
    )
    return DeleteKind(number=number, **{**document, "columns": columns})
