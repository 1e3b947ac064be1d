"""Stage objects: write segments and catalogues before a commit makes them part of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.format import encode_catalogue, encode_segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from lakesieve.format import CatalogueEntry, IndexDefinition, SegmentEntry
    from lakesieve.sieve import Blocks
    from lakesieve.storage import Storage


def stage_segment(
    storage: Storage, blocks: Blocks, *, unit_count: int, catalogue: str
) -> SegmentEntry:
    """Write blocks as a segment file. It is invisible until a commit names it.

    ``catalogue`` is the id (``catalogue_id``) of the catalogue to which its ordinals refer.
    """
    data, entry = encode_segment(blocks, unit_count=unit_count, catalogue=catalogue)
    # The name is the hash of the content, so an existing object is the same, or it is damaged.
    # Writing it again also makes it young, so that no vacuum deletes it as a leftover.
    storage.replace(entry.path, data)
    return entry


def stage_catalogue(
    storage: Storage,
    files: pa.Table,
    *,
    segments: Sequence[SegmentEntry],
    definition: IndexDefinition,
) -> CatalogueEntry:
    """Write a file catalogue. It is invisible until a commit names it.

    ``files`` has the schema ``CATALOGUE_SCHEMA`` and unique paths.
    """
    data, entry = encode_catalogue(files, segments=segments, definition=definition)
    storage.replace(entry.path, data)
    return entry
