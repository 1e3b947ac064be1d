"""Tell Spark which version of an Iceberg table to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, LakesieveError, UnsupportedError
from lakesieve.tables.iceberg.metadata import MAIN
from lakesieve.tables.iceberg.schema import columns_of_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader

    from lakesieve.spark.tables.iceberg.branches import SessionBranches
    from lakesieve.tables import TableVersion
    from lakesieve.tables.iceberg.metadata import IcebergMetadata


def selecting(
    metadata: IcebergMetadata,
    branches: SessionBranches,
    reader: DataFrameReader,
    version: TableVersion,
) -> DataFrameReader:
    """Select a version to read: by its id if possible, else as the head of a branch.

    If Spark reads a snapshot by its id, it uses the schema with which the snapshot was written. If
    columns changed after the last commit, the newest version has another schema, and can only be
    read as the head of its branch. If another commit comes in between, the rows differ from the
    list of live files, which fails the build.

    Raises:
        LakesieveError: ``BUILD_INCONSISTENT``: this version is no longer the head of any branch.
        UnsupportedError: The session's settings prevent Spark from reading it.
    """
    if version.id is None:
        return reader
    has_own_schema = _own_schema(metadata, version) == version.schema
    if has_own_schema and branches.reads_ids(metadata):
        return reader.option("versionAsOf", version.id)
    branch = _branch_of(metadata, branches, version)
    if branch is not None:
        return reader.option("branch", branch)
    if has_own_schema:
        raise UnsupportedError(
            "spark.wap.branch is set, so Spark can read only the heads of the branches of "
            f"{branches.name}.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="Unset spark.wap.branch first, or use Iceberg 1.12 or newer.",
        )
    raise LakesieveError(
        f"{branches.name} was written to while it was being read.",
        kind=ErrorKind.BUILD_INCONSISTENT,
        hint="Nothing was committed. Try again.",
    )


def check_filters(
    metadata: IcebergMetadata, branches: SessionBranches, version: TableVersion
) -> None:
    """Refuse a version on which Iceberg cannot plan a condition.

    Since Iceberg 1.12, a scan of a branch binds conditions to the columns' names at the branch's
    last commit, unless main has the same snapshot. Then a condition on a renamed column raises an
    error in Iceberg, in Spark's SQL as well.

    Raises:
        UnsupportedError: A column of a branch was renamed after the last commit to the branch.
    """
    own = None if version.id is None else _own_schema(metadata, version)
    if own in {None, version.schema} or not branches.pins_snapshots:
        return
    if str(metadata.document.get("current-snapshot-id")) == version.id:
        return
    before = {column.field_id: path for path, column in columns_of_schema(str(own)).items()}
    for path, column in columns_of_schema(version.schema).items():
        old = before.get(column.field_id, path)
        if old != path:
            raise UnsupportedError(
                f"{branches.name}: {'.'.join(old)} was renamed to {'.'.join(path)} since the last "
                "commit to the branch. Iceberg cannot plan conditions on it before the next "
                "commit.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Commit to the branch first, with any INSERT.",
            )


def _own_schema(metadata: IcebergMetadata, version: TableVersion) -> str:
    """Return the schema with which the snapshot of a version was written."""
    return metadata.schema_document(metadata.snapshot(int(str(version.id))))


def _branch_of(
    metadata: IcebergMetadata, branches: SessionBranches, version: TableVersion
) -> str | None:
    """Return a branch whose head is this version, preferably the session's, or ``None``."""
    if metadata.schema_document() != version.schema:
        return None
    references = metadata.references()
    for name in (branches.read_branch(metadata) or MAIN, *references):
        reference = references.get(name, {})
        is_head = str(reference.get("snapshot-id")) == version.id
        if is_head and reference.get("type") == "branch":
            return name
    return None
