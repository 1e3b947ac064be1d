"""One index in storage: commits, snapshots, staging, reading, and maintenance."""

from __future__ import annotations

from lakesieve.defaults import COMPACTION, RETAIN_COMMITS, SAFETY_AGE
from lakesieve.store.cache import IN_ORDER_BYTES, BlockCache, shared_cache
from lakesieve.store.certain_rows import certain_rows, certain_rows_by_unit
from lakesieve.store.clone import clone
from lakesieve.store.compact import CompactionPolicy, compaction_changes, wants_compaction
from lakesieve.store.every_key import MOST_ROW_GROUPS, units_with_every_key
from lakesieve.store.index_references import IndexReference, references_to
from lakesieve.store.index_store import IndexStore
from lakesieve.store.known_keys import known_keys
from lakesieve.store.log import changes_made
from lakesieve.store.reader import IndexReader
from lakesieve.store.repair import Repaired, repair
from lakesieve.store.requirements import (
    CataloguesLive,
    Conflict,
    FilesUncovered,
    HeadIs,
    NoOtherSegments,
    Requirement,
    Retained,
    SameIndex,
    SegmentsLive,
    conflicts,
)
from lakesieve.store.segment_loader import DIGEST_BYTES
from lakesieve.store.segment_scans import file_bounds, key_sample, shared_keys
from lakesieve.store.snapshot import Changes, Snapshot
from lakesieve.store.staging import stage_catalogue, stage_segment
from lakesieve.store.vacuum import Vacuumed, vacuum
from lakesieve.store.verify import Damage, Verified, verify

__all__ = [
    "COMPACTION",
    "DIGEST_BYTES",
    "IN_ORDER_BYTES",
    "MOST_ROW_GROUPS",
    "RETAIN_COMMITS",
    "SAFETY_AGE",
    "BlockCache",
    "CataloguesLive",
    "Changes",
    "CompactionPolicy",
    "Conflict",
    "Damage",
    "FilesUncovered",
    "HeadIs",
    "IndexReader",
    "IndexReference",
    "IndexStore",
    "NoOtherSegments",
    "Repaired",
    "Requirement",
    "Retained",
    "SameIndex",
    "SegmentsLive",
    "Snapshot",
    "Vacuumed",
    "Verified",
    "certain_rows",
    "certain_rows_by_unit",
    "changes_made",
    "clone",
    "compaction_changes",
    "conflicts",
    "file_bounds",
    "key_sample",
    "known_keys",
    "references_to",
    "repair",
    "shared_cache",
    "shared_keys",
    "stage_catalogue",
    "stage_segment",
    "units_with_every_key",
    "vacuum",
    "verify",
    "wants_compaction",
]
