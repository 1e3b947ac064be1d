"""The data files that are enough for LIMIT without ORDER BY, below a condition.

Such a query needs any rows that fulfil its condition, and only so many. So data files may be left
out if the others surely hold enough of these rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.index.first_rows import ordered_index
from lakesieve.index.needed_rows import NeededRows, counted_files
from lakesieve.index.reasons import READ_FAILURES, Reason, ReasonCode, broken_index
from lakesieve.index.row_ranges import Candidates
from lakesieve.index.scan_decision import column_types
from lakesieve.predicate import bind, exact_values
from lakesieve.store import certain_rows_by_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.index.first_rows import OrderedIndex
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.predicate import Expr
    from lakesieve.tables import Column

# each interval of keys is compared with blocks for itself
_MOST_INTERVALS = 16
# bytes of an index that is read as a whole. A query with a limit is often small
_SMALL = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeRows:
    """Any rows that fulfil the condition of a scan, if the query needs only so many of them.

    Args:
        limit: The number of rows.
        live: As for :func:`counted_files`. ``None`` before the engine was asked.
    """

    limit: int
    live: Mapping[str, bytes] | None = None

    def needed(
        self,
        columns: Mapping[tuple[str, ...], Column],
        condition: Expr,
        indexes: Sequence[OpenedIndex],
        table_uuid: str,
    ) -> NeededRows:
        """Return data files that surely have enough rows, or the index of which to tell.

        Args:
            columns: The columns of the table, by path.
            condition: The condition of the scan, which is the whole condition of the query.
            indexes: The indexes of the table.
            table_uuid: Identity of the table.
        """
        rows = exact_values(bind(condition, column_types(columns), strict=False))
        if not rows:
            return NeededRows()
        paths = [path for path, column in columns.items() if column.field_id in rows]
        found = (ordered_index(path, columns, rows, indexes, table_uuid) for path in paths)
        usable = [ordered for ordered in found if ordered is not None and _is_quick(ordered)]
        if not usable:
            return NeededRows()
        broken: list[Reason] = []
        for ordered in sorted(usable, key=lambda one: (len(one.others), one.stem is not None)):
            try:
                candidates = self._enough(ordered)
            except READ_FAILURES as error:
                broken.append(broken_index(ordered.index.definition.name, error))
                continue
            if candidates is None:
                continue
            if self.live is None:
                # the engine is only asked if the answer can leave out files
                return NeededRows(asks=(ordered.index,))
            reason = Reason(code=ReasonCode.ENOUGH_ROWS, detail=f"LIMIT {self.limit}")
            return NeededRows(index=ordered.index, candidates=candidates, reasons=(reason,))
        # DataFrame.show() sets a limit, too: a reason for each would be noise
        return NeededRows(reasons=tuple(broken))

    def _enough(self, ordered: OrderedIndex) -> Candidates | None:
        """Return files and rows with enough rows by one index, see :func:`_enough_rows`."""
        ordered.index.check()
        complete = np.ones(len(ordered.index.records()), bool)
        if self.live is not None:
            complete = counted_files(ordered.index, self.live)
        return _enough_rows(ordered, ordered.surely_fulfilled(complete), self.limit)


def _is_small(index: OpenedIndex) -> bool:
    return sum(entry.size for entry in index.snapshot.segments) <= _SMALL


def _is_quick(ordered: OrderedIndex) -> bool:
    """Return whether only small indexes have to be read as a whole for the other conditions."""
    return all(_is_small(index) for index, _ in ordered.others)


def _enough_rows(ordered: OrderedIndex, chosen: np.ndarray, wanted: int) -> Candidates | None:
    """Return covered files and rows with so many rows that surely have keys of the condition.

    Args:
        ordered: The index. The rows that fulfil the condition are those with its keys.
        chosen: Whether all rows of a file are read, and fulfil all conditions on other columns.
        wanted: The number of rows.

    Returns:
        The files and rows. ``None`` if too few rows are certain, or if the condition alone leaves
        out as much.
    """
    index = ordered.index
    files, rows = _certain_rows(ordered, chosen)
    total = np.bincount(files, weights=rows, minlength=len(chosen))
    # few files, and of each file few units
    order = np.lexsort((-rows, files, -total[files]))
    order = order[rows[order] > 0]
    enough = int(np.searchsorted(np.cumsum(rows[order]), wanted))
    if enough >= len(order):
        return None
    picked = np.zeros(len(rows), bool)
    picked[order[: enough + 1]] = True
    candidates = index.candidates_of_units(picked)
    matches = index.may_match(ordered.key_ranges())
    if matches is None:
        return candidates
    both = Candidates.joined([matches, candidates], every=True)
    return candidates if _rows_of(index, both) < _rows_of(index, matches) else None


def _certain_rows(ordered: OrderedIndex, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the data file of each unit, and how many of its rows surely fulfil the condition."""
    index = ordered.index
    files, records = index.units()
    by_catalogue = certain_rows_by_unit(
        index.loader,
        index.snapshot.segments,
        index.units_of_files(chosen),
        ordered.key_ranges().intervals[:_MOST_INTERVALS],
    )
    rows = np.concatenate([np.zeros(0, np.int64), *by_catalogue.values()])
    if ordered.stem is None and ordered.values.nulls and not index.definition.rows_per_block:
        # which row block has the null is not known
        rows += index.flagged("has_null") & chosen
    if _is_small(index):
        whole = ordered.whole_files() & chosen
        rows = np.where(whole[files], records, rows)
    return files, rows


def _rows_of(index: OpenedIndex, candidates: Candidates) -> int:
    return int(candidates.row_ranges.lengths(index.records()).sum())
