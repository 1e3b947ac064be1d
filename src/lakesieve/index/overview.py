"""A table and its indexes at a glance: what they cost, cover and leave, for a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import LakesieveError
from lakesieve.format import encode_segment
from lakesieve.index.index import Index
from lakesieve.index.opened import OpenedIndex
from lakesieve.predicate import ColumnType, value_text
from lakesieve.sieve import leading_code, trade_offs, unscaled
from lakesieve.tables.contract import CountsDeletes

if TYPE_CHECKING:
    from lakesieve.index.access import TableAccess
    from lakesieve.index.result import CommitInfo, IndexInfo
    from lakesieve.sieve import Blocks
    from lakesieve.store import IndexStore
    from lakesieve.tables import TableReader
    from lakesieve.tables.contract import DeleteCounts

KEYS = 16_384
"""Keys that are sampled."""

COLUMNS, FILES = 192, 48
"""What a picture has: columns of keys in their order, and rows of data files."""

# keys that are written below a picture
_TICKS = 4
# a row group of so many blocks takes a second
_BLOCKS = 65_536


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyLayout:
    """Where some keys lie.

    Args:
        keys: Keys that were sampled, evenly spread over the index.
        files: Live data files that the index covers.
        held: For some of those files, evenly spread, in which columns of neighbouring keys each
            holds any: a row a file.
        spans: The first and the last of those columns for each of them, -1 where it holds none.
        files_of_key: For each key, how many data files hold it. A text may have none, because the
            index shortens texts, and then it is no key.
        between: For each key, in how many data files it is between the smallest and the largest
            sampled key, and so what minimum and maximum leave.
        axis: Some keys from the smallest to the largest, as texts; of several columns the first.
    """

    keys: int
    files: int
    held: np.ndarray
    spans: np.ndarray
    files_of_key: np.ndarray
    between: np.ndarray
    axis: tuple[str, ...] = ()

    @property
    def kept(self) -> float:
        """Data files that hold a key, on average over the keys that some live file holds."""
        held = self.files_of_key[self.files_of_key > 0]
        return float(held.mean()) if len(held) else 0.0

    @property
    def kept_by_bounds(self) -> float:
        """Data files that minimum and maximum leave for a key, on average."""
        return float(self.between.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPoint:
    """One point of the curve.

    Args:
        size: What the index would take, of what it takes now.
        false_units: Data files, or row blocks, that a point query would read in vain, on average.
    """

    size: float
    false_units: float


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
    """An overview of the current version of a table.

    Args:
        table: Name of the table.
        format: Format of the table.
        location: Location of the table.
        version: The current version; ``None`` for a table without data.
        timestamp_ms: Commit time of the version; ``None`` if the format does not record it.
        files: Number of live data files.
        rows: Number of rows in these files; ``None`` if the format does not record it.
        bytes: Size of these files in bytes; ``None`` if the format does not record it.
        deletes: Row-level deletes that readers must apply; ``None`` if the format does not count
            them.
        indexes: The indexes of the table, sorted by name.
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


def key_layout(index: OpenedIndex, live: np.ndarray) -> KeyLayout | None:
    """Look up a sample of an index's keys.

    Returns:
        What was found; ``None`` for an index without keys.
    """
    codes = index.key_sample(KEYS)
    if codes is None or not live.any():
        return None
    which, numbers = index.points(codes)
    counted = live[numbers]
    which, numbers = which[counted], numbers[counted]
    row = np.cumsum(live) - 1
    files = int(live.sum())
    first, last = np.full(files, len(codes)), np.full(files, -1)
    np.minimum.at(first, row[numbers], which)
    np.maximum.at(last, row[numbers], which)
    steps = np.zeros(len(codes) + 1, np.int64)
    some = last >= 0
    np.add.at(steps, first[some], 1)
    np.add.at(steps, last[some] + 1, -1)
    shown = np.unique(np.linspace(0, files - 1, min(files, FILES)).astype(np.int64))
    place = np.full(files, -1)
    place[shown] = np.arange(len(shown))
    columns = min(COLUMNS, len(codes))
    held = np.zeros((len(shown), columns), bool)
    at = place[row[numbers]]
    held[at[at >= 0], which[at >= 0] * columns // len(codes)] = True
    ends = np.column_stack([first[shown], last[shown]]) * columns // len(codes)
    ends[~some[shown]] = -1
    return KeyLayout(
        keys=len(codes),
        files=files,
        held=held,
        spans=ends,
        files_of_key=np.bincount(which, minlength=len(codes)),
        between=np.cumsum(steps)[:-1],
        axis=_axis(index, codes),
    )


def _axis(index: OpenedIndex, codes: pa.Array) -> tuple[str, ...]:
    """Return the texts of keys that are evenly spread over a sample."""
    columns = index.definition.columns
    first = columns[0]
    at = np.unique(np.linspace(0, len(codes) - 1, _TICKS).astype(np.int64))
    shown = codes.take(pa.array(at)).to_pylist()
    if len(columns) > 1:
        shown = [leading_code(first.key_kind, code) for code in shown]
    elif first.key_kind == "decimal":
        shown = [unscaled(code) if isinstance(code, bytes) else code for code in shown]
    kind = ColumnType(field_id=first.field_id, kind=first.key_kind, scale=first.scale)
    return tuple("null" if code is None else value_text(code, kind) for code in shown)


def budget_curve(index: OpenedIndex) -> list[BudgetPoint]:
    """Try all budgets on the keys of one row group, about in the middle of an index.

    Returns:
        By increasing size, only points that no other one beats in both; nothing for an index
        without keys, or one that has a budget already.
    """
    segments = index.snapshot.segments
    if index.definition.budget or not segments:
        return []
    entry = max(segments, key=lambda one: one.blocks)
    loader = index.loader
    opened = loader.segment(entry)
    ((_, blocks),) = loader.row_groups(opened, [entry.row_groups // 2])
    sizes = np.diff(blocks.offsets)[:_BLOCKS]
    if not sizes.sum():
        return []
    at = np.repeat(np.arange(len(sizes)), sizes)
    ordinals = blocks.ordinals[: len(at)]
    units = opened.footer.unit_count

    def measure(tried: Blocks) -> int:
        return len(encode_segment(tried, unit_count=units)[0])

    keys = blocks.keys.take(pa.array(at))
    found = trade_offs(keys, ordinals, unit_count=units, measure=measure)
    exact = found[0].size
    points = sorted((point.size / exact, point.false_units) for point in found)
    best: list[BudgetPoint] = []
    for size, false in points:
        if not best or false < best[-1].false_units:
            best.append(BudgetPoint(size=size, false_units=false))
    return best
