"""A table and its indexes at a glance: what they cost, cover and leave, for a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import LakesieveError
from lakesieve.index.budget_curve import budget_curve
from lakesieve.index.index import Index
from lakesieve.index.layout import key_layout
from lakesieve.index.opened import OpenedIndex
from lakesieve.tables.contract import CountsDeletes

if TYPE_CHECKING:
    from lakesieve.index.access import TableAccess
    from lakesieve.index.budget_curve import BudgetPoint
    from lakesieve.index.layout import KeyLayout
    from lakesieve.index.result import CommitInfo, IndexInfo
    from lakesieve.store import IndexStore
    from lakesieve.tables import TableReader
    from lakesieve.tables.contract import DeleteCounts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndexOverview:
    """One index of the table.

    Args:
        info: What it is and what it costs.
        commits: Its commits that are kept, oldest first.
        uncovered: Live data files that it has not seen.
        gone: Data files that it covers and that the current version has not.
        layout: How its keys lie in the files; ``None`` where it has no keys or cannot be read.
        curve: What coarser forms of it would take and cost.
        error: Why it cannot be read.
    """

    info: IndexInfo
    commits: tuple[CommitInfo, ...]
    uncovered: int
    gone: int
    layout: KeyLayout | None
    curve: tuple[BudgetPoint, ...]
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableOverview:
    """A table, as of its current version.

    Args:
        table: Its name.
        format: Its format.
        location: Where it lies.
        version: The version, or ``None`` for a table without data.
        timestamp_ms: When that was committed, if the format says so.
        files: Its live data files.
        rows: Their rows, if the format says so.
        bytes: Their bytes, if the format says so.
        deletes: Row-level deletes that readers must apply, where the format counts them.
        indexes: Its indexes, by name.
    """

    table: str
    format: str
    location: str
    version: str | None
    timestamp_ms: int | None
    files: int
    rows: int | None
    bytes: int | None
    deletes: DeleteCounts | None
    indexes: tuple[IndexOverview, ...]


def table_overview(access: TableAccess, table: str, location: str | None) -> TableOverview:
    """Look at a table and at all of its indexes; no data file is read."""
    opened = access.open_table(table)
    version = opened.version()
    live = opened.live_files(version)
    stores = access.stores(opened, location)
    paths = live.column("path")
    return TableOverview(
        table=opened.name,
        format=opened.format,
        location=opened.location,
        version=version.id,
        timestamp_ms=version.timestamp_ms,
        files=live.num_rows,
        rows=_sum(live, "records"),
        bytes=_sum(live, "size"),
        deletes=opened.delete_counts(version) if isinstance(opened, CountsDeletes) else None,
        indexes=tuple(_index(opened, stores[name], paths) for name in sorted(stores)),
    )


def _sum(live: pa.Table, column: str) -> int | None:
    if column not in live.column_names or live.column(column).null_count:
        return None
    return int(pc.sum(live.column(column)).as_py() or 0)


def _index(table: TableReader, store: IndexStore, live: pa.ChunkedArray) -> IndexOverview:
    handle = Index(table, store.storage)
    state = store.snapshot()
    covered, layout, error = np.zeros(0, bool), None, None
    seen, curve = 0, []
    try:
        index = OpenedIndex.at(store, state)
        numbers = index.numbers(live)
        seen = int((numbers >= 0).sum())
        covered = np.zeros(len(index.paths()), bool)
        covered[numbers[numbers >= 0]] = True
        layout = key_layout(index, covered)
        curve = budget_curve(index)
    except LakesieveError as failure:
        error = str(failure)
    return IndexOverview(
        info=handle.info(),
        commits=tuple(handle.history()),
        uncovered=len(live) - seen,
        gone=int(len(covered) - covered.sum()),
        layout=layout,
        curve=tuple(curve),
        error=error,
    )
