"""Answer predicates with the indexes of one table: return the files, with coded reasons."""

from __future__ import annotations

from lakesieve.index.distinct_keys import DistinctKeys
from lakesieve.index.find import find
from lakesieve.index.index import Index
from lakesieve.index.judged_files import JudgedFiles, KeepLeaf, KeepNode, KeepTree
from lakesieve.index.key_filters import UsableIndex, on_keys
from lakesieve.index.needed_rows import NeededRows
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.reasons import Reason, ReasonCode, broken_index, uncovered_detail
from lakesieve.index.registry import IndexRegistry, index_storage, roots_of
from lakesieve.index.result import (
    BuildProgress,
    CloneResult,
    CommitInfo,
    CompactionResult,
    FileMatches,
    IndexInfo,
    RefreshResult,
    RowChange,
    TablePruning,
    TradeOffInfo,
    VerifiedRows,
)
from lakesieve.index.row_order import RowOrder
from lakesieve.index.row_ranges import ALL_ROWS, Candidates, RowRanges
from lakesieve.index.scan_decision import (
    ScanDecision,
    column_types,
    keep_tree,
    plan,
    usable_indexes,
)
from lakesieve.index.scan_orders import ScanOrder, ScanOrders
from lakesieve.index.shown import ShownList
from lakesieve.index.some_rows import SomeRows
from lakesieve.index.table_info import TableStatus

__all__ = [
    "ALL_ROWS",
    "BuildProgress",
    "Candidates",
    "CloneResult",
    "CommitInfo",
    "CompactionResult",
    "DistinctKeys",
    "FileMatches",
    "Index",
    "IndexInfo",
    "IndexRegistry",
    "JudgedFiles",
    "KeepLeaf",
    "KeepNode",
    "KeepTree",
    "NeededRows",
    "OpenedIndex",
    "Reason",
    "ReasonCode",
    "RefreshResult",
    "RowChange",
    "RowOrder",
    "RowRanges",
    "ScanDecision",
    "ScanOrder",
    "ScanOrders",
    "ShownList",
    "SomeRows",
    "TablePruning",
    "TableStatus",
    "TradeOffInfo",
    "UsableIndex",
    "VerifiedRows",
    "broken_index",
    "column_types",
    "find",
    "index_storage",
    "keep_tree",
    "on_keys",
    "plan",
    "roots_of",
    "uncovered_detail",
    "usable_indexes",
]
