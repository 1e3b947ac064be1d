"""One index of one table: files for a predicate, with coded reasons."""

from __future__ import annotations

from lakesieve.index.find import find
from lakesieve.index.index import Index, describe
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.planner import Plan, Universe, plan_files, usable_indexes
from lakesieve.index.reasons import Reason, ReasonCode, uncovered_detail
from lakesieve.index.registry import FOLDER, IndexRegistry, index_storage, roots_of
from lakesieve.index.result import BuildProgress, CommitInfo, Found, IndexInfo, TablePruning

__all__ = [
    "FOLDER",
    "BuildProgress",
    "CommitInfo",
    "Found",
    "Index",
    "IndexInfo",
    "IndexRegistry",
    "OpenedIndex",
    "Plan",
    "Reason",
    "ReasonCode",
    "TablePruning",
    "Universe",
    "describe",
    "find",
    "index_storage",
    "plan_files",
    "roots_of",
    "uncovered_detail",
    "usable_indexes",
]
