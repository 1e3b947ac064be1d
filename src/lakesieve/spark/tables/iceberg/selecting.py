"""How Spark is told which version of an Iceberg table to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, LakesieveError, UnsupportedError
from lakesieve.spark.tables.iceberg.branches import MAIN
from lakesieve.tables.iceberg.schema import columns_of_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader

    from lakesieve.spark.tables.iceberg.table import IcebergTable
    from lakesieve.tables import TableVersion


def selecting(
    table: IcebergTable, reader: DataFrameReader, version: TableVersion
) -> DataFrameReader:
    """Have a version read: by its id where possible, else as the head of a branch.

    Spark reads a snapshot that is given by its id under the schema that the snapshot was written
    with. When columns changed after the last commit, the newest version has another schema, and can
    only be read as the head of its branch. A commit that comes in between makes the rows differ
    from the list of live files, which fails the build.

    Raises:
        LakesieveError: ``BUILD_INCONSISTENT``: no branch has this version as its head any more.
        UnsupportedError: The session's settings keep Spark from reading it.
    """
    if version.id is None:
        return reader
    has_own_schema = _own_schema(table, version) == version.schema
    if has_own_schema and table.branches.reads_ids(table.java):
        return reader.option("versionAsOf", version.id)
    branch = _branch_of(table, version)
    if branch is not None:
        return reader.option("branch", branch)
    if has_own_schema:
        raise UnsupportedError(
            f"With spark.wap.branch set, Spark reads no version of {table.name} but the heads of "
            "its branches.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="Unset spark.wap.branch first, or use Iceberg 1.12 or newer.",
        )
    raise LakesieveError(
        f"{table.name} was written to while it was being read.",
        kind=ErrorKind.BUILD_INCONSISTENT,
        hint="Nothing was committed; try again.",
    )


def check_filters(table: IcebergTable, version: TableVersion) -> None:
    """Refuse a version on which Iceberg cannot plan a condition.

    Since Iceberg 1.12 a scan of a branch binds its conditions to the names that the columns had at
    the branch's last commit, unless main has the same snapshot. A condition on a renamed column
    ends in an error of Iceberg then, also in Spark's SQL.

    Raises:
        UnsupportedError: A column of a branch was renamed since the last commit to the branch.
    """
    own = None if version.id is None else _own_schema(table, version)
    if own in {None, version.schema} or not table.branches.pins_snapshots:
        return
    current = table.java.currentSnapshot()
    if current is not None and str(current.snapshotId()) == version.id:
        return
    before = {column.field_id: path for path, column in columns_of_schema(str(own)).items()}
    for path, column in table.columns(version).items():
        old = before.get(column.field_id, path)
        if old != path:
            raise UnsupportedError(
                f"{table.name}: {'.'.join(old)} was renamed to {'.'.join(path)} since the last "
                "commit to the branch, and Iceberg plans no condition on it before the next.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Commit to the branch first, by any INSERT.",
            )


def _own_schema(table: IcebergTable, version: TableVersion) -> str:
    """Return the schema that the snapshot of a version was written with."""
    schema_id = table.java.snapshot(int(str(version.id))).schemaId()
    written = None if schema_id is None else table.java.schemas().get(schema_id)
    return table.schema_json(table.java.schema() if written is None else written)


def _branch_of(table: IcebergTable, version: TableVersion) -> str | None:
    """Return a branch whose head is this version, the main branch first, or None."""
    if table.schema_json(table.java.schema()) != version.schema:
        return None
    references = table.java.refs()
    for name in (table.read_branch or MAIN, *references):
        reference = references.get(name)
        is_head = reference is not None and str(reference.snapshotId()) == version.id
        if is_head and reference.isBranch():
            return str(name)
    return None
