"""The plan of a table version's equality deletes: which there are and which files they reach.

The planning itself is done in the JVM by Iceberg's own code; here it is given Python's types.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, SetupError, UnsupportedError
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.iceberg.table import IcebergTable
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import as_python, has_class, java_class
from lakesieve.spark.versions.spark_versions import check_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ALL = -1
"""Instead of the number of a unit: all of them."""

EVERY_FILE = -2
"""Instead of the number of a unit: every delete file, also those that reach nothing."""

NUMBER = "__lakesieve_number"
GROUP = "__lakesieve_group"
SEQUENCE = "__lakesieve_sequence"
DELETE_SEQUENCE = "__lakesieve_delete_sequence"

_PLAN = "deletes.DeletePlan"
_FILES_TYPE = f"{NUMBER} int, file string"
# about 30 MB in each process
_BROADCAST_RECORDS = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumn:
    """A column that equality deletes compare.

    Args:
        path: Names from the top-level column down to the field.
        field_id: Iceberg's identity of the field.
        type: Its type as Iceberg prints it.
    """

    path: tuple[str, ...]
    field_id: int
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Equality delete files that one join can apply.

    Args:
        number: Its number in the plan.
        columns: The columns they compare.
        everywhere: They apply to every partition.
        files: Delete files.
        records: Rows of them.
        reaching: Delete files that may reach a data file.
    """

    number: int
    columns: tuple[KeyColumn, ...]
    everywhere: bool
    files: int
    records: int
    reaching: int


class DeletePlan:
    """Which equality deletes a version of a table has, and which data files they reach.

    Args:
        spark: The session.
        name: What relations of the plan are called.
        table: Iceberg's object of the table, as loaded.
        java: The plan itself.
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
        """The top-level columns of the version's schema."""
        return tuple(self.summary["columns"])

    @property
    def snapshot(self) -> str | None:
        """Id of the snapshot, ``None`` of a table without data."""
        snapshot_id = self.summary["snapshot"]
        return None if snapshot_id is None else str(snapshot_id)

    @property
    def reached_files(self) -> int:
        """Data files that an equality delete may reach."""
        return int(self.summary["reached_files"])

    def read_files(self, unit: int = ALL) -> int:
        """Those of a unit that must be searched for deleted rows."""
        return int(self.java.extent(unit, False)[2])

    @property
    def units(self) -> int:
        """Parts of the table that share no delete file."""
        return int(self.summary["units"])

    def untouched(self) -> DataFrame:
        """Rows of the data files that no equality delete reaches."""
        return self._frame(self._relations.untouched(self._name("untouched")))

    def touched(self) -> DataFrame:
        """Rows of the reached data files as if there were no equality deletes.

        Beside the table's columns each row has its file's number, group and sequence number.
        """
        return self._frame(self._relations.touched(self._name("touched")))

    def touched_unit(self, unit: int) -> DataFrame:
        """Those of one unit, for a query without filters."""
        return self._frame(self._relations.touchedUnit(self._name("unit"), unit))

    def touched_files(self, unit: int = ALL) -> DataFrame:
        """The reached data files of a unit: number and ``file``, the path."""
        type_ = java_class(self._spark, "org.apache.spark.sql.types.StructType").fromDDL(
            _FILES_TYPE
        )
        return self._frame(self._relations.touchedFiles(type_, unit))

    def deletes(self, kind: Kind, unit: int = ALL) -> DataFrame:
        """Rows of a kind's delete files that reach a data file of a unit.

        Beside the columns compared each row has its file's group and sequence number.
        """
        name = self._name(f"deletes {kind.number}")
        return self._frame(self._relations.deletes(name, kind.number, unit))

    def kinds_of(self, unit: int = ALL) -> tuple[Kind, ...]:
        """The kinds of delete files that reach a data file of a unit."""
        if unit == ALL:
            return tuple(kind for kind in self.kinds if kind.reaching)
        return tuple(k for k in self.kinds if k.reaching and self.java.reaching(k.number, unit))

    def is_small(self, kind: Kind) -> bool:
        """Whether a kind's deletes may be broadcast, in a session that broadcasts at all."""
        threshold = self._spark.conf.get("spark.sql.autoBroadcastJoinThreshold") or ""
        return kind.records <= _BROADCAST_RECORDS and not threshold.startswith("-")

    def commit(self) -> Any:
        """The Java object that commits the work on this plan."""
        return own_class(self._spark, "deletes.DeleteCommit")(self.java)

    def _name(self, what: str) -> str:
        return f"{self._table_name} ({what}, {uuid.uuid4().hex})"

    def _frame(self, java: Any) -> DataFrame:
        from pyspark.sql import DataFrame

        return DataFrame(java, self._spark)


def opened_iceberg(spark: SparkSession, table: str) -> IcebergTable:
    """Open a table that can have equality deletes.

    Raises:
        NotFoundError: There is no such table.
        UnsupportedError: It is no Iceberg table, or the session has no classic Spark.
        SetupError: Iceberg's runtime is not on the class path.
    """
    _check_session(spark)
    opened = open_table(spark, table)
    if not isinstance(opened, IcebergTable):
        raise _unsupported(
            f"{table} is a table of the format {opened.reader.format}, "
            "which has no equality deletes.",
            "Equality deletes are a matter of Iceberg tables.",
        )
    return opened


def plan_deletes(spark: SparkSession, table: str, version: str | int | None = None) -> DeletePlan:
    """Load a table and plan one of its versions.

    Raises:
        NotFoundError: There is no such table or version.
        UnsupportedError: It is no Iceberg table, or compares a field dropped
            from a struct, or the session has no classic Spark.
        SetupError: Iceberg's runtime is not on the class path.
    """
    opened = opened_iceberg(spark, table)
    spec = opened.read_branch if version is None else str(version)
    snapshot = None if spec is None else opened.version(version).id
    try:
        java = own_class(spark, _PLAN)(opened.java, spec, snapshot)
    except Exception as error:
        if "UnsupportedOperationException: field" in str(error):
            raise _unsupported(
                f"{table} has equality deletes by a field that its struct has no more.",
                "Rewrite its data files with Iceberg's rewrite_data_files.",
            ) from error
        raise
    return DeletePlan(spark, table, opened.java, java)


def plan_scan(spark: SparkSession, scan: Any) -> DeletePlan:
    """Plan what one scan of a query reads.

    Args:
        spark: The session.
        scan: A Java ``QueryScan``.
    """
    java = own_class(spark, _PLAN)(scan)
    return DeletePlan(spark, str(scan.name()), scan.table(), java)


def _check_session(spark: SparkSession) -> None:
    check_session(spark)
    if not has_class(spark, "org.apache.iceberg.spark.source.SparkTable"):
        raise SetupError(
            "Iceberg's Spark runtime is not on the class path of this session.",
            kind=ErrorKind.DEPENDENCY_MISSING,
            hint="Start it with spark.jars.packages, or use ls.local_session().",
        )


def _unsupported(message: str, hint: str) -> UnsupportedError:
    return UnsupportedError(message, kind=ErrorKind.UNSUPPORTED_TABLE, hint=hint)


def _kind(number: int, document: dict[str, Any]) -> Kind:
    columns = tuple(
        KeyColumn(path=tuple(c["path"]), field_id=c["id"], type=c["type"])
        for c in document["columns"]
    )
    return Kind(
        number=number,
        columns=columns,
        everywhere=document["everywhere"],
        files=document["files"],
        records=document["records"],
        reaching=document["reaching"],
    )
