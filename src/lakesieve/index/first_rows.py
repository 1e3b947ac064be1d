"""Which values the first rows of an order can have, by an index of the column.

From the end where the order begins, rows are counted that are surely there: at least one for each
block and unit of an exact segment, at least one for each kept key, and all rows of data files whose
bounds lie at this end. Once there are as many rows as the limit, no row beyond is among the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.errors import UnsupportedError
from lakesieve.index.definition import key_columns
from lakesieve.index.ordered_keys import has_row_deletes
from lakesieve.index.reasons import READ_FAILURES, Reason, ReasonCode, broken_index
from lakesieve.predicate import ColumnRanges, Ranges
from lakesieve.sieve import code_order, successor
from lakesieve.store import certain_rows
from lakesieve.tables.contract import HasFileStatistics
from lakesieve.tables.statistics import MOST_FILES, ColumnBounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.row_order import RowOrder
    from lakesieve.sieve import Code
    from lakesieve.tables import Column, TableReader, TableVersion


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
        return None, _not_used(order, error.message)
    if has_condition:
        return None, _not_used(order, "which rows fulfil the condition is not known")
    fitting = [index for index in indexes if _fits(index, table, column)]
    if not fitting:
        return None, _not_used(order, f"no index has the column {order.column} alone")
    try:
        if has_row_deletes(table, version):
            return None, _not_used(order, "rows of the version may be deleted")
        index = fitting[0]
        ranges = _FirstRows(table, version, order, column=column, index=index, live=live).ranges()
    except READ_FAILURES as error:
        return None, broken_index(fitting[0].definition.name, error)
    if ranges is None:
        return None, _not_used(order, "too few rows are known for certain")
    code = ReasonCode.FIRST_ROWS
    return ColumnRanges(field_id=column.field_id, ranges=ranges), Reason(
        code=code, detail=str(order)
    )


def _not_used(order: RowOrder, why: str) -> Reason:
    return Reason(code=ReasonCode.ORDER_NOT_USED, detail=f"{order}, as {why.rstrip('.')}")


def _fits(index: OpenedIndex, table: TableReader, column: Column) -> bool:
    """Return whether an index is of this column alone."""
    definition = index.definition
    keys = [(key.field_id, key.key_kind, key.scale) for key in definition.columns]
    mine = [(column.field_id, column.kind, column.scale)]
    return definition.table_uuid == table.uuid and keys == mine


class _FirstRows:
    """Counts rows from one end of an index that are surely in a version."""

    def __init__(
        self,
        table: TableReader,
        version: TableVersion,
        order: RowOrder,
        *,
        column: Column,
        index: OpenedIndex,
        live: pa.ChunkedArray,
    ) -> None:
        self._table, self._version, self._order = table, version, order
        self._column, self._index, self._live = column, index, live
        numbers = index.numbers(live)
        # a row counts once, although several deltas may cover its file
        self._chosen = np.zeros(len(index.paths()), bool)
        self._chosen[numbers[numbers >= 0]] = True

    def ranges(self) -> Ranges | None:
        """Return the values that the first rows can have, or ``None`` for all."""
        wanted = self._order.limit
        nulls = self._index.flagged("has_null") & self._chosen
        if self._order.nulls_first:
            wanted -= int(nulls.sum())
            if wanted <= 0:
                return Ranges(nulls=True)
        cuts = [self._by_index(wanted), self._by_statistics(wanted, ~nulls)]
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

    def _by_statistics(self, wanted: int, without_null: np.ndarray) -> Any:
        """Return the code up to which whole data files surely have so many rows, or ``None``."""
        if not isinstance(self._table, HasFileStatistics) or len(self._live) > MOST_FILES:
            return None
        statistics = self._table.file_statistics(self._version)
        if statistics is None:
            return None
        field_id, descending = self._column.field_id, self._order.descending
        bounds = statistics.read([field_id])
        parts = (part for part in bounds.parts if isinstance(part, ColumnBounds))
        part = next((part for part in parts if part.field_id == field_id), None)
        if part is None:
            return None
        numbers = self._index.numbers(bounds.paths)
        counts = _first_places(numbers, self._chosen & without_null)
        if not descending:
            # NaN is above all bounds
            counts &= part.has_high & ~part.has_nan
        ends, records = part.low if descending else part.high, self._index.records()
        end = _end_of_rows(ends[counts], records[numbers[counts]], wanted, descending=descending)
        return end if end is None or descending else successor(end)


def _first_places(numbers: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return a mask of the places where each chosen file stands first; -1 is no file."""
    is_first = np.zeros(len(numbers), bool)
    is_first[np.unique(numbers, return_index=True)[1]] = True
    is_first &= numbers >= 0
    is_first[is_first] = chosen[numbers[is_first]]
    return is_first


def _end_of_rows(
    ends: np.ndarray, records: np.ndarray, wanted: int, *, descending: bool
) -> Code | None:
    """Return the end of the files that together have so many rows, or ``None`` if all have fewer.

    No row of a file is beyond its end. Files count from the lowest end on, or from the highest.
    """
    in_order = np.argsort(ends, kind="stable")
    if descending:
        in_order = in_order[::-1]
    enough = int(np.searchsorted(np.cumsum(records[in_order]), wanted))
    if enough == len(in_order):
        return None
    end = ends[in_order[enough]]
    return end if isinstance(end, bytes) else int(end)
