"""The first rows that the scan of an engine needs: of ORDER BY with LIMIT, of min and of max.

The engine lists the data files that the scan reads, and knows which of them have deleted rows. So
it tells which files of an index count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.index.first_rows import (
    FILTERED,
    no_ordered_index,
    order_not_used,
    ordered_index,
    values_of_first_rows,
)
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
        live: A bit for each data file of a catalogue, by the catalogue's id, as the engine packed
            them: whether the scan returns every row of the file. A file is marked in one catalogue
            only. ``None`` before the engine was asked.
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

    def indexes(
        self,
        columns: Mapping[tuple[str, ...], Column],
        condition: Expr,
        indexes: Sequence[OpenedIndex],
        table_uuid: str,
    ) -> list[OrderedIndex] | Reason:
        """Return an index for each order, or the reason why an order is not used.

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
                return order_not_used(self.orders[0].order, FILTERED)
            rows = known
        found: list[OrderedIndex] = []
        for each in self.orders:
            index = ordered_index(each.path, columns, rows, indexes, table_uuid)
            if index is None:
                return no_ordered_index(each.order, is_filtered=self.is_filtered)
            found.append(index)
        return found

    def is_answered(self) -> bool:
        """Return whether the engine has said which files count."""
        return all(each.live is not None for each in self.orders)

    def row_filter(self, indexes: Sequence[OrderedIndex]) -> tuple[RowFilter | None, list[Reason]]:
        """Return a filter that accepts all rows that are needed, and the reasons.

        Args:
            indexes: An index for each order, from :meth:`indexes`.
        """
        filters: list[RowFilter] = []
        reasons: list[Reason] = []
        for each, ordered in zip(self.orders, indexes, strict=True):
            chosen = _files(ordered.index, each.live or {})
            one, reason = values_of_first_rows(each.order, ordered, chosen)
            if one is None:
                return None, [reason]
            filters.append(one)
            reasons.append(reason)
        return any_of(filters), reasons


def _files(index: OpenedIndex, live: Mapping[str, bytes]) -> np.ndarray:
    """Return which files of an index count. Those of other catalogues do not."""
    parts = [np.zeros(0, bool)]
    for name, files in index.files():
        packed = np.frombuffer(live.get(name, b""), np.uint8)
        part = np.zeros(files, bool)
        # another size is of another catalogue
        if len(packed) == (files + 7) // 8:
            part[:] = np.unpackbits(packed, count=files, bitorder="little")
        parts.append(part)
    return np.concatenate(parts)
