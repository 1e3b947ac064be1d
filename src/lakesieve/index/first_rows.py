"""Which values the first rows of an order can have, by an index of the column.

From the end where the order begins, rows are counted that are surely there: at least one for each
block and unit of an exact segment, at least one for each kept key, and all rows of data files
without keys on the other side. Once there are as many rows as the limit, no row beyond them is
among the first rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.errors import UnsupportedError
from lakesieve.index.definition import key_columns
from lakesieve.index.ordered_keys import has_row_deletes
from lakesieve.index.reasons import READ_FAILURES, Reason, ReasonCode, broken_index
from lakesieve.predicate import ColumnRanges, Ranges
from lakesieve.sieve import code_order
from lakesieve.store import certain_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.row_order import RowOrder
    from lakesieve.tables import Column, TableReader, TableVersion


FILTERED = "which rows fulfil the condition is not known"
"""Why an order is not used below a condition."""


def first_rows(
    table: TableReader,
    version: TableVersion,
    order: RowOrder,
    indexes: Sequence[OpenedIndex],
    *,
    live: pa.ChunkedArray,
    has_condition: bool,
) -> tuple[ColumnRanges | None, Reason]:
    """Return the values of the ordered column that the first rows can have.

    Args:
        table: The table.
        version: The version that is read.
        order: The order, with the number of first rows.
        indexes: The indexes of the table.
        live: The paths of the version's data files.
        has_condition: Whether only some rows count. Then no row is surely among the first.

    Returns:
        The values, or ``None`` if any row can be among the first; and the reason.

    Raises:
        NotFoundError: There is no such column.
    """
    try:
        (column,) = key_columns(table, version, [order.column])
    except UnsupportedError as error:
        return None, order_not_used(order, error.message)
    if has_condition:
        return None, order_not_used(order, FILTERED)
    index = index_of(column, indexes, table.uuid)
    if index is None:
        return None, order_not_used(order, f"no index has the column {order.column} alone")
    try:
        if has_row_deletes(table, version):
            return None, order_not_used(order, "rows of the version may be deleted")
        numbers = index.numbers(live)
        # a row counts once, although several deltas may cover its file
        chosen = np.zeros(len(index.paths()), bool)
        chosen[numbers[numbers >= 0]] = True
    except READ_FAILURES as error:
        return None, broken_index(index.definition.name, error)
    return values_of_first_rows(order, column, index, chosen)


def values_of_first_rows(
    order: RowOrder,
    column: Column,
    index: OpenedIndex,
    chosen: np.ndarray,
) -> tuple[ColumnRanges | None, Reason]:
    """Return the values that the first rows can have, or ``None`` for all; and the reason.

    Args:
        order: The order, with the number of first rows.
        column: The ordered column.
        index: An index of this column alone.
        chosen: Whether the rows of each file of the index are surely among the rows that are read.
            A file that the index lists twice is chosen once.
    """
    try:
        ranges = _FirstRows(order, index, chosen).ranges()
    except READ_FAILURES as error:
        return None, broken_index(index.definition.name, error)
    if ranges is None:
        return None, order_not_used(order, "too few rows are known for certain")
    reason = Reason(code=ReasonCode.FIRST_ROWS, detail=str(order))
    return ColumnRanges(field_id=column.field_id, ranges=ranges), reason


def order_not_used(order: RowOrder, why: str) -> Reason:
    """Return the reason for an order that leaves out no files."""
    return Reason(code=ReasonCode.ORDER_NOT_USED, detail=f"{order}, as {why.rstrip('.')}")


def index_of(column: Column, indexes: Sequence[OpenedIndex], table_uuid: str) -> OpenedIndex | None:
    """Return an index of a table that has this column alone, if there is one."""
    mine = [(column.field_id, column.kind, column.scale)]
    for index in indexes:
        definition = index.definition
        keys = [(key.field_id, key.key_kind, key.scale) for key in definition.columns]
        if definition.table_uuid == table_uuid and keys == mine:
            return index
    return None


class _FirstRows:
    """Counts rows from one end of an index that are surely in a version."""

    def __init__(self, order: RowOrder, index: OpenedIndex, chosen: np.ndarray) -> None:
        self._order, self._index, self._chosen = order, index, chosen

    def ranges(self) -> Ranges | None:
        """Return the values that the first rows can have, or ``None`` for all."""
        wanted = self._order.limit
        nulls = self._index.flagged("has_null") & self._chosen
        if self._order.nulls_first:
            wanted -= int(nulls.sum())
            if wanted <= 0:
                return Ranges(nulls=True)
        cuts = [self._by_index(wanted), self._by_files(wanted, ~nulls)]
        known = [cut for cut in cuts if cut is not None]
        if not known:
            return None
        comparable = map(code_order(known), known)
        cut = max(comparable) if self._order.descending else min(comparable)
        interval = (cut, None) if self._order.descending else (None, cut)
        return Ranges(intervals=(interval,), nulls=self._order.nulls_first)

    def _by_index(self, wanted: int) -> Any:
        """Return the code up to which the index surely has so many rows, or ``None``."""
        return certain_rows(
            self._index.loader,
            self._index.snapshot.segments,
            self._index.units_of_files(self._chosen),
            wanted,
            descending=self._order.descending,
        )

    def _by_files(self, wanted: int, without_null: np.ndarray) -> Any:
        """Return the code up to which whole data files surely have so many rows, or ``None``."""
        bounds = self._index.small_file_bounds()
        if bounds is None:
            return None
        ends = bounds[0] if self._order.descending else bounds[1]
        counted = np.flatnonzero(self._chosen & without_null)
        known = [(end, at) for at in counted.tolist() if (end := ends[at]) is not None]
        in_order = code_order(end for end, _ in known)
        known.sort(key=lambda pair: in_order(pair[0]), reverse=self._order.descending)
        rows = np.cumsum(self._index.records()[[at for _, at in known]])
        enough = int(np.searchsorted(rows, wanted))
        return known[enough][0] if enough < len(rows) else None
