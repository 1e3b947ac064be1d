"""Commits to tables of a catalog in SQL.

PyIceberg's own ``commit_table`` takes the properties of a table for settings of its file IO, and
for the name of a class that it loads. A caller who commits could read the server's keys or run code
in it. Here neither the properties of a commit nor those of the table are settings of anything.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.sql import IcebergTables
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import CommitTableRequest
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.update import update_table_metadata
from sqlalchemy import select, update

from lakesieve.errors import (
    CommitConflictError,
    ErrorKind,
    InvalidInputError,
    StorageError,
    UnsupportedError,
)
from lakesieve.storage import is_below

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata
    from sqlalchemy import ColumnElement

    from lakesieve.serve.catalogs import Namespace, ServedTable

HARMLESS_PROPERTIES = (
    "comment",
    "commit.manifest*",
    "commit.retry.*",
    "commit.status-check.*",
    "compatibility.snapshot-id-inheritance.enabled",
    "gc.enabled",
    "history.expire.*",
    "owner",
    "read.*",
    "schema.name-mapping.default",
    "write.avro.*",
    "write.delete.avro.*",
    "write.delete.distribution-mode",
    "write.delete.format.default",
    "write.delete.granularity",
    "write.delete.isolation-level",
    "write.delete.mode",
    "write.delete.orc.*",
    "write.delete.parquet.*",
    "write.delete.target-file-size-bytes",
    "write.distribution-mode",
    "write.format.default",
    "write.merge.*",
    "write.metadata.compression-codec",
    "write.metadata.delete-after-commit.enabled",
    "write.metadata.metrics.*",
    "write.metadata.previous-versions-max",
    "write.object-storage.enabled",
    "write.object-storage.partitioned-paths",
    "write.orc.*",
    "write.parquet.*",
    "write.spark.*",
    "write.summary.partition-limit",
    "write.target-file-size-bytes",
    "write.update.*",
    "write.upsert.enabled",
    "write.wap.enabled",
)
"""Properties that a commit may set; ``*`` stands for any end.

None of them is the name of a class, a location, or a setting of a file IO, because clients also
take the properties of a table for their settings."""

_EXACT = frozenset(name for name in HARMLESS_PROPERTIES if not name.endswith("*"))
_STARTS = tuple(name[:-1] for name in HARMLESS_PROPERTIES if name.endswith("*"))
# errors of PyIceberg for what is no update; pydantic's own error is a ValueError
_NO_COMMIT = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
_VERSION = re.compile(r"(\d{1,9})-")


def is_harmless(name: str) -> bool:
    """Return whether a commit may set a property."""
    return name in _EXACT or name.startswith(_STARTS)


def _row_of(
    catalog: SqlCatalog, namespace: Namespace, table: str
) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a table's row in the database of a catalog."""
    return (
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == ".".join(namespace),
        IcebergTables.table_name == table,
    )


class SqlCommit:
    """One commit to one table of a catalog in SQL."""

    def __init__(self, catalog: SqlCatalog, namespace: Namespace, table: str) -> None:
        self._catalog = catalog
        self._row = _row_of(catalog, namespace, table)
        self._identifier = {"namespace": list(namespace), "name": table}
        self._name = ".".join((*namespace, table))

    def parse(self, body: Any) -> CommitTableRequest:
        """Read a request for a commit.

        Raises:
            InvalidInputError: It is none.
        """
        try:
            return CommitTableRequest.model_validate({**body, "identifier": self._identifier})
        except _NO_COMMIT:
            raise self._wrong(
                "cannot be read", "Send a CommitTableRequest of Iceberg's REST specification."
            ) from None

    def make(self, request: CommitTableRequest, current: ServedTable) -> None:
        """Make the commit.

        Raises:
            InvalidInputError: The updates do not fit the table.
            CommitConflictError: A requirement does not hold, or another commit was first.
            UnsupportedError: An update is not served, or the table is of no known form.
            StorageError: It is not known whether the commit was made.
        """
        base = current.metadata
        if base is None:
            raise UnsupportedError(
                f"{self._name} has a type or a feature that this server does not know.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Commit through the catalog itself.",
            )
        for requirement in request.requirements:
            try:
                requirement.validate(base)
            except CommitFailedException:
                raise self._conflict(f"{requirement.type} does not hold") from None
        for change in request.updates:
            _check_update(base, change)
        changed = self._changed(base, request, current.path)
        if changed is None:
            return
        folder, _, file = current.path.rpartition("/")
        known = _VERSION.match(file)
        version = int(known[1]) + 1 if known else 0
        # next to the current metadata file: no property may say where
        path = f"{folder}/{version:05d}-{uuid.uuid4()}.metadata.json"
        with current.io.new_output(path).create() as stream:
            stream.write(changed.encode())
        self._publish(current, path)

    def _changed(self, base: TableMetadata, request: CommitTableRequest, path: str) -> str | None:
        """Return the document of the changed table; ``None`` if nothing changes."""
        misfit = self._wrong("makes no table", "Send updates that fit the table.")
        try:
            changed = update_table_metadata(base, request.updates, metadata_location=path)
            if changed == base:
                return None
            text = changed.model_dump_json()
            # PyIceberg itself would write a table that nobody can read again
            TableMetadataUtil.parse_raw(text)
        except (*_NO_COMMIT, NotImplementedError):
            raise misfit from None
        return text

    def _publish(self, current: ServedTable, path: str) -> None:
        """Let the catalog name a new metadata file, if it still names the current one."""
        location = IcebergTables.metadata_location
        try:
            with self._catalog.engine.begin() as connection:
                connection.execute(
                    update(IcebergTables)
                    .where(*self._row, location == current.path)
                    .values(metadata_location=path, previous_metadata_location=current.path)
                )
                # not every database says how many rows it has changed
                ours = connection.scalar(select(location).where(*self._row)) == path
        except Exception as error:
            raise StorageError(
                f"The catalog did not say whether the commit to {self._name} was made: {error}",
                kind=ErrorKind.COMMIT_UNKNOWN,
                hint="Load the table, and look for the commit in its history.",
                public_message=f"It is not known whether the commit to {self._name} was made.",
            ) from error
        if not ours:
            _forget(current.io, path)
            raise self._conflict("another commit was first")

    def _wrong(self, why: str, hint: str) -> InvalidInputError:
        return InvalidInputError(
            f"The commit to {self._name} {why}.", kind=ErrorKind.INVALID_ARGUMENT, hint=hint
        )

    def _conflict(self, why: str) -> CommitConflictError:
        return CommitConflictError(
            f"The commit to {self._name} failed: {why}.",
            kind=ErrorKind.CONFLICT,
            hint="Load the table again, and repeat the commit.",
        )


def _check_update(base: TableMetadata, change: Any) -> None:
    """Refuse an update that leads a reader, a writer or this server out of the table's folder."""
    refused = ""
    match change.action:
        case "set-location" if change.location.rstrip("/") != base.location.rstrip("/"):
            refused = "change where a table lies"
        case "assign-uuid" if change.uuid != base.table_uuid:
            refused = "give a table the identity of another"
        case "add-snapshot" if not is_below(change.snapshot.manifest_list, base.location):
            refused = "name a manifest list outside of the table's location"
        case "set-statistics" if not is_below(change.statistics.statistics_path, base.location):
            refused = "name statistics outside of the table's location"
        case "set-partition-statistics" if not is_below(
            change.partition_statistics.statistics_path, base.location
        ):
            refused = "name statistics outside of the table's location"
        case "set-properties":
            names = [
                name
                for name, value in change.updates.items()
                if not is_harmless(name) and base.properties.get(name) != value
            ]
            if names:
                refused = f"set the property {min(names)!r}"
    if refused:
        raise UnsupportedError(
            f"Commits that {refused} are not served.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Commit through the catalog itself.",
        )


def _forget(io: FileIO, path: str) -> None:
    """Delete a metadata file that no catalog names, if that is possible."""
    with contextlib.suppress(Exception):
        io.delete(path)
