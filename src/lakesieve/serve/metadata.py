"""Metadata files of tables, read as JSON and by PyIceberg."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from pyiceberg.table.metadata import TableMetadataUtil

from lakesieve.errors import ErrorKind, StorageError
from lakesieve.tables.iceberg.metadata import LARGEST_METADATA, metadata_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata


def parsed(document: Mapping[str, Any]) -> TableMetadata | None:
    """Return the metadata of a table as PyIceberg reads it.

    ``None`` means a type, a version or a feature that PyIceberg does not know.
    """
    try:
        # in documents of version 1 PyIceberg writes
        own = deepcopy(document) if document.get("format-version") == 1 else document
        return TableMetadataUtil.parse_obj(dict(own))
    except Exception:  # noqa: BLE001 - validators of many kinds, over a document from storage
        return None


def planned_by(metadata: TableMetadata | None) -> dict[str, str]:
    """Return the setting of a table that says who plans its scans.

    For clients it comes before the configuration of the catalog. DuckDB takes any setting for
    credentials, so only a table whose scans cannot be planned here has it.
    """
    return {} if metadata is not None else {"scan-planning-mode": "client"}


def read_document(io: FileIO, path: str) -> tuple[dict[str, Any], int]:
    """Return the content of a metadata file, and its size in bytes.

    Raises:
        StorageError: It cannot be read, or is no metadata file of a table.
    """
    try:
        with io.new_input(path).open() as stream:
            data = stream.read(LARGEST_METADATA)
        document = metadata_document(data)
    except Exception as error:
        raise _unreadable(path, f"{type(error).__name__}: {error}") from error
    # a view has versions in the place of snapshots
    if not isinstance(document, dict) or "location" not in document or "view-uuid" in document:
        raise _unreadable(path, "it is not the metadata of a table")
    return document, len(data)


def _unreadable(path: str, why: str) -> StorageError:
    return StorageError(
        f"The metadata file {path} cannot be read: {why}.",
        kind=ErrorKind.STORAGE_FAILED,
        hint="Check that the storage is reachable, and that the file is there.",
        public_message=f"The metadata file {path} cannot be read.",
    )
