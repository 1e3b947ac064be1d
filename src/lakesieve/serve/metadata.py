"""Metadata files of tables: as they are written, and as PyIceberg has them."""

from __future__ import annotations

import gzip
import json
from copy import deepcopy
from io import BytesIO
from typing import TYPE_CHECKING, Any

from pyiceberg.table.metadata import TableMetadataUtil

from lakesieve.errors import ErrorKind, StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata

_LARGEST = 1 << 30


def parsed(document: Mapping[str, Any]) -> TableMetadata | None:
    """The metadata of a table as PyIceberg has it.

    Returns:
        The metadata; ``None`` if the table has a type, a version or a feature that PyIceberg does
        not know.
    """
    try:
        # in documents of version 1 PyIceberg writes
        own = deepcopy(document) if document.get("format-version") == 1 else document
        return TableMetadataUtil.parse_obj(dict(own))
    except Exception:  # noqa: BLE001 - validators of many kinds, over a document from storage
        return None


def planned_by(metadata: TableMetadata | None) -> dict[str, str]:
    """What the settings of a table say of who plans its scans.

    Clients read it before what the configuration of the catalog says. DuckDB takes any setting
    for credentials, so only a table that cannot be planned here has one.

    Args:
        metadata: The table's metadata, as :func:`parsed` returns it.
    """
    return {} if metadata is not None else {"scan-planning-mode": "client"}


def read_document(io: FileIO, path: str) -> tuple[dict[str, Any], int]:
    """Read a metadata file.

    Returns:
        Its document, and how many bytes that has.

    Raises:
        StorageError: It cannot be read, or is no metadata file of a table.
    """
    try:
        with io.new_input(path).open() as stream:
            data = stream.read(_LARGEST)
        if data[:2] == b"\x1f\x8b":
            data = _unpacked(data)
        document = json.loads(data)
    except Exception as error:
        raise _unreadable(path, f"{type(error).__name__}: {error}") from error
    # a view has versions in the place of snapshots
    if not isinstance(document, dict) or "location" not in document or "view-uuid" in document:
        raise _unreadable(path, "it is no metadata of a table")
    return document, len(data)


def _unpacked(data: bytes) -> bytes:
    with gzip.open(BytesIO(data)) as unpacked:
        return unpacked.read(_LARGEST)


def _unreadable(path: str, why: str) -> StorageError:
    return StorageError(
        f"The metadata file {path} cannot be read: {why}.",
        kind=ErrorKind.STORAGE_FAILED,
        hint="Check that the storage is reachable, and that the file is there.",
        public_message=f"The metadata file {path} cannot be read.",
    )
