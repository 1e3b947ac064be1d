"""The public functions that look things up, and the objects that hold a catalog or a table."""

from __future__ import annotations

from lakesieve.api.lake import Lake, connect, table
from lakesieve.api.look_ups import (
    find_files,
    last_pruning,
    list_indexes,
    open_index,
    recent_queries,
    repair_index,
    table_overview,
    write_report,
)
from lakesieve.api.table_deletes import TableDeletes
from lakesieve.api.table_methods import Table

__all__ = [
    "Lake",
    "Table",
    "TableDeletes",
    "connect",
    "find_files",
    "last_pruning",
    "list_indexes",
    "open_index",
    "recent_queries",
    "repair_index",
    "table",
    "table_overview",
    "write_report",
]
