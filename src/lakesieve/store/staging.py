"""Writing segments and catalogues before the commit that makes them part of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, StorageError
from lakesieve.format import encode_catalogue, encode_segment

if TYPE_CHECKING:
    import pyarrow as pa

    from lakesieve.format import CatalogueEntry, SegmentEntry
    from lakesieve.sieve import Blocks
    from lakesieve.storage import Storage

__all__ = ["stage_catalogue", "stage_segment"]


def stage_segment(storage: Storage, blocks: Blocks, *, unit_count: int) -> SegmentEntry:
    """Write blocks as a segment file; nobody sees it before a commit names it.

    Args:
        storage: The index's root.
        blocks: At least one block.
        unit_count: Units that the ordinals count.

    Returns:
        The segment's entry, its catalogue still unnamed.

    Raises:
        StorageError: The place cannot be written to.
    """
    data, entry = encode_segment(blocks, unit_count=unit_count)
    _create(storage, entry.path, data)
    return entry


def stage_catalogue(storage: Storage, files: pa.Table) -> CatalogueEntry:
    """Write a file catalogue; nobody sees it before a commit names it.

    Raises:
        StorageError: The place cannot be written to.
    """
    data, entry = encode_catalogue(files)
    _create(storage, entry.path, data)
    return entry


def _create(storage: Storage, path: str, data: bytes) -> None:
    try:
        storage.create(path, data)
    except StorageError as error:
        # named by its content: a file that is there already is this one, unless it was damaged
        if error.kind is not ErrorKind.ALREADY_EXISTS:
            raise
        if storage.get(path) != data:
            storage.delete(path)
            storage.create(path, data)
