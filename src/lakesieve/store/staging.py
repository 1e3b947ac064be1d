"""Writing segments and catalogues before the commit that makes them part of an index."""

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
    """Write blocks as a segment file; nobody sees it before a commit names it.

    ``catalogue`` is the id of the catalogue that its ordinals count in, from ``catalogue_id``.
    """
    data, entry = encode_segment(blocks, unit_count=unit_count, catalogue=catalogue)
    # named by its content: one that is there already is this one, unless it was damaged; written
    # again it is young again, so that no vacuum takes it for a leftover
    storage.replace(entry.path, data)
    return entry


def stage_catalogue(
    storage: Storage,
    files: pa.Table,
    *,
    segments: Sequence[SegmentEntry],
    definition: IndexDefinition,
) -> CatalogueEntry:
    """Write a file catalogue; nobody sees it before a commit names it.

    The files are as ``CATALOGUE_SCHEMA``, with unique paths.
    """
    data, entry = encode_catalogue(files, segments=segments, definition=definition)
    storage.replace(entry.path, data)
    return entry
