"""The first rows that the scan of an engine needs: of ORDER BY with LIMIT, of min and of max.

The engine lists the data files that the scan reads, and knows which of them have deleted rows. So
it tells which files of an index count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.index.first_rows import (
    FILTERED,
    bound_of,
    first_value,
    no_ordered_index,
    order_not_used,
    ordered_index,
    values_of_first_rows,
)
from lakesieve.index.needed_rows import FirstValues, NeededRows, counted_files
from lakesieve.index.reasons import READ_FAILURES, broken_index
from lakesieve.index.scan_decision import column_types
from lakesieve.predicate import any_of, bind, exact_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.index.first_rows import OrderedIndex
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.reasons import Reason
    from lakesieve.index.row_order import RowOrder
    from lakesieve.predicate import Expr, RowFilter
    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOrder:
    """One order of which a scan needs the first rows.

    Args:
        path: Names from a column of the table down to the ordered field.
        order: The order, and how many rows are needed.
        live: As for :func:`counted_files`. ``None`` before the engine was asked.
    """

    path: tuple[str, ...]
    order: RowOrder
    live: Mapping[str, bytes] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOrders:
    """The orders of a scan that needs the first rows of each order, and no other rows.

    Args:
        orders: The orders, at least one.
        is_filtered: Whether only rows that fulfil the scan's condition count.
    """

    orders: tuple[ScanOrder, ...]
    is_filtered: bool

    def needed(
        self,
        columns: Mapping[tuple[str, ...], Column],
        condition: Expr,
        indexes: Sequence[OpenedIndex],
        table_uuid: str,
    ) -> NeededRows:
        """Return a filter of the rows that are needed, or the indexes of which to tell.

        Args:
            columns: The columns of the table, by path.
            condition: The condition of the scan.
            indexes: The indexes of the table.
            table_uuid: Identity of the table.
        """
        rows = {}
        if self.is_filtered:
            known = exact_values(bind(condition, column_types(columns), strict=False))
            if known is None:
                return NeededRows(reasons=(order_not_used(self.orders[0].order, FILTERED),))
            rows = known
        found: list[OrderedIndex] = []
        for each in self.orders:
            index = ordered_index(each.path, columns, rows, indexes, table_uuid)
            if index is None:
                reason = no_ordered_index(each.order, is_filtered=self.is_filtered)
                return NeededRows(reasons=(reason,))
            found.append(index)
        if any(each.live is None for each in self.orders):
            return NeededRows(asks=tuple(each.index for each in found))
        return self._first_rows(found)

    def _first_rows(self, indexes: Sequence[OrderedIndex]) -> NeededRows:
        """Return a filter that accepts the first rows of each order, by an index for each."""
        filters: list[RowFilter] = []
        reasons: list[Reason] = []
        first: list[FirstValues] = []
        for each, ordered in zip(self.orders, indexes, strict=True):
            chosen = counted_files(ordered.index, each.live or {})
            one, reason = values_of_first_rows(each.order, ordered, chosen)
            if one is None:
                return NeededRows(reasons=(reason,))
            filters.append(one)
            reasons.append(reason)
            is_end = not self.is_filtered and each.order.limit == 1
            try:
                value = first_value(each.order, ordered, chosen) if is_end else None
            except READ_FAILURES as error:
                return NeededRows(reasons=(broken_index(ordered.index.definition.name, error),))
            first.append(FirstValues(value=value, bound=bound_of(each.order, ordered, one.ranges)))
        return NeededRows(row_filter=any_of(filters), first=tuple(first), reasons=tuple(reasons))
