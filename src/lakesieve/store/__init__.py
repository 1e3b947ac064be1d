"""One index at rest: commits, snapshots, staging, reading."""

from __future__ import annotations

from lakesieve.store.cache import BlockCache
from lakesieve.store.log import Changes, IndexStore, Snapshot
from lakesieve.store.reader import IndexReader
from lakesieve.store.staging import stage_catalogue, stage_segment

__all__ = [
    "BlockCache",
    "Changes",
    "IndexReader",
    "IndexStore",
    "Snapshot",
    "stage_catalogue",
    "stage_segment",
]
