"""Which values the first rows of an order can have, by an index of the column.

From the end where the order begins, rows are counted that are surely there: at least one for each
block and unit of an exact segment, at least one for each kept key, and all rows of data files
without keys elsewhere. Once there are as many rows as the limit, no row beyond them is among the
first rows.

An index of several columns has the order of a column among the rows that share one value of each
column before it. So ``tenant = 5 ORDER BY time`` counts rows in the index of tenant and time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import UnsupportedError
from lakesieve.index.definition import key_columns
from lakesieve.index.key_filters import component_intervals
from lakesieve.index.ordered_keys import OrderedKeys, has_row_deletes
from lakesieve.index.reasons import READ_FAILURES, Reason, ReasonCode, broken_index
from lakesieve.index.scan_decision import usable_indexes
from lakesieve.predicate import ColumnRanges, Ranges, written_value
from lakesieve.sieve import (
    HIGHEST,
    VALUES,
    code_order,
    component_code,
    leading_code,
    successor,
    unscaled,
)
from lakesieve.store import certain_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lakesieve.index.key_filters import UsableIndex
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.row_order import RowOrder
    from lakesieve.sieve import Code, Interval
    from lakesieve.tables import Column, TableReader, TableVersion


FILTERED = "which rows fulfil the condition is not known"
"""Why an order is not used below a condition."""

_ANY_VALUE = Ranges.everything(nulls=True)
# each range of values is counted for itself, which takes some milliseconds
_MOST_RANGES = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderedIndex:
    """An index that has the rows of a query in the order of one column.

    Args:
        index: The index.
        column: The column of the order.
        stem: What the keys of all these rows begin with, in an index of several columns. ``None``
            for an index of the column alone.
        values: The values that the column may have in these rows, null included.
        others: Conditions on further columns: for each an index of the column alone, and the values
            that the rows may have.
    """

    index: OpenedIndex
    column: Column
    stem: bytes | None
    values: Ranges
    others: tuple[tuple[OpenedIndex, Ranges], ...] = ()

    def nulls(self) -> Interval | None:
        """Return the interval of the keys with null in the column; ``None`` without such keys."""
        if self.stem is None or not self.values.nulls:
            return None
        # a block may begin at the stem, before the first possible key
        return self.stem, self.stem + VALUES[0]

    def keys(self) -> list[Interval]:
        """Return the intervals of the keys with a value in the column, ascending."""
        if self.stem is None:
            return list(self.values.intervals)
        values = Ranges(intervals=self.values.intervals)
        components = component_intervals(self.column.kind, values)
        return [(self.stem + low, self.stem + high) for low, high in components]

    def key_ranges(self) -> Ranges:
        """Return the keys of all these rows, as a look-up takes them."""
        if self.stem is None:
            return self.values
        nulls = self.nulls()
        return Ranges.of([*self.keys(), *([] if nulls is None else [nulls])])

    def value_of(self, code: Code) -> Code | None:
        """Return the code of the column's value in a key, as conditions have it.

        A key may be cut off: the lowest value that such a key can have is returned. ``None`` is
        below all values.
        """
        if self.stem is not None:
            assert isinstance(code, bytes)
            return leading_code(self.column.kind, code[len(self.stem) :])
        if self.column.kind == "decimal" and isinstance(code, bytes):
            return unscaled(code)
        return code

    def whole_files(self) -> np.ndarray:
        """Return files in which every row surely has one of the keys, perhaps not all of them."""
        if self.stem is None:
            return _all_inside(self.index, self.values)
        whole = np.zeros(len(self.index.records()), bool)
        for part in self.key_ranges().intervals[:_MOST_RANGES]:
            whole |= _inside(self.index, part)
        whole &= ~self.index.flagged("has_null")
        return whole

    def surely_fulfilled(self, chosen: np.ndarray) -> np.ndarray:
        """Return those chosen files in which every row fulfils the conditions on other columns."""
        for other, values in self.others:
            numbers = other.numbers(self.index.paths())
            inside = _all_inside(other, values)
            known = np.zeros(len(numbers), bool)
            known[numbers >= 0] = inside[numbers[numbers >= 0]]
            chosen = chosen & known
        return chosen


def ordered_index(
    path: tuple[str, ...],
    columns: Mapping[tuple[str, ...], Column],
    rows: Mapping[int, Ranges],
    indexes: Iterable[OpenedIndex],
    table_uuid: str,
) -> OrderedIndex | None:
    """Return an index in which some rows are in the order of a column, if there is one.

    Args:
        path: Names from a column of the table down to the ordered field.
        columns: The columns of the table, by path.
        rows: By field id, the values that the rows may have: exactly the rows with these values
            count.
        indexes: The indexes of the table.
        table_uuid: Identity of the table.
    """
    column = columns.get(path)
    if column is None:
        return None
    kinds = {each.field_id: (each.kind, each.scale) for each in columns.values()}
    found, _ = usable_indexes(list(indexes), kinds, table_uuid)
    usable = [each for each in found if not each.index.definition.expressions]
    candidates = [_ordered(each, column, rows, usable) for each in usable]
    # an index of the column alone is smaller
    return min(
        (each for each in candidates if each is not None),
        key=lambda each: (len(each.others), each.stem is not None),
        default=None,
    )


def _ordered(
    usable: UsableIndex,
    column: Column,
    rows: Mapping[int, Ranges],
    every: Iterable[UsableIndex],
) -> OrderedIndex | None:
    """Return an index as one in which the rows are in the order of a column, if it is one."""
    names = [key.field_id for key in usable.columns]
    if column.field_id not in names:
        return None
    before = usable.columns[: names.index(column.field_id)]
    components = [_component(key.key_kind, rows.get(key.field_id)) for key in before]
    if None in components:
        return None
    known = {*(key.field_id for key in before), column.field_id}
    alone = {each.columns[0].field_id: each.index for each in every if not each.is_composite}
    if not rows.keys() <= known | alone.keys():
        return None
    return OrderedIndex(
        index=usable.index,
        column=column,
        stem=b"".join(filter(None, components)) if usable.is_composite else None,
        values=rows.get(column.field_id, _ANY_VALUE),
        others=tuple((alone[field], rows[field]) for field in rows if field not in known),
    )


def _component(kind: str, values: Ranges | None) -> bytes | None:
    """Return the component of composite keys for a column that has a single value."""
    if values is None:
        return None
    if not values.intervals:
        return component_code(kind, None) if values.nulls else None
    singles = None if values.nulls else values.singles()
    if singles is None or len(singles) != 1:
        return None
    component = component_code(kind, singles[0])
    # beyond all codes of the column
    return None if component in VALUES else component


def first_rows(
    table: TableReader,
    version: TableVersion,
    order: RowOrder,
    indexes: Sequence[OpenedIndex],
    *,
    live: pa.ChunkedArray,
    rows: Mapping[int, Ranges] | None,
) -> tuple[ColumnRanges | None, Reason]:
    """Return the values of the ordered column that the first rows can have.

    Args:
        table: The table.
        version: The version that is read.
        order: The order, with the number of first rows.
        indexes: The indexes of the table.
        live: The paths of the version's data files.
        rows: As for :func:`ordered_index`. ``None`` if it is not known which rows count.

    Returns:
        The values, or ``None`` if any row can be among the first; and the reason.

    Raises:
        NotFoundError: There is no such column.
    """
    try:
        (column,) = key_columns(table, version, [order.column])
    except UnsupportedError as error:
        return None, order_not_used(order, error.message)
    if rows is None:
        return None, order_not_used(order, FILTERED)
    ordered = ordered_index(column.path, table.columns(version), rows, indexes, table.uuid)
    if ordered is None:
        return None, no_ordered_index(order, is_filtered=bool(rows))
    index = ordered.index
    try:
        if has_row_deletes(table, version):
            return None, order_not_used(order, "rows of the version may be deleted")
        numbers = index.numbers(live)
        # a row counts once, although several deltas may cover its file
        chosen = np.zeros(len(index.paths()), bool)
        chosen[numbers[numbers >= 0]] = True
    except READ_FAILURES as error:
        return None, broken_index(index.definition.name, error)
    return values_of_first_rows(order, ordered, chosen)


def values_of_first_rows(
    order: RowOrder, ordered: OrderedIndex, chosen: np.ndarray
) -> tuple[ColumnRanges | None, Reason]:
    """Return the values that the first rows can have, or ``None`` for all; and the reason.

    Args:
        order: The order, with the number of first rows.
        ordered: The index that has this order.
        chosen: Whether the rows of each file of the index are surely among the rows that are read.
            A file that the index lists twice is chosen once.
    """
    try:
        ranges = _FirstRows(order, ordered, ordered.surely_fulfilled(chosen)).ranges()
    except READ_FAILURES as error:
        return None, broken_index(ordered.index.definition.name, error)
    if ranges is None:
        return None, order_not_used(order, "too few rows are known for certain")
    reason = Reason(code=ReasonCode.FIRST_ROWS, detail=str(order))
    return ColumnRanges(field_id=ordered.column.field_id, ranges=ranges), reason


def first_value(
    order: RowOrder, ordered: OrderedIndex, chosen: np.ndarray
) -> dict[str, Any] | None:
    """Return the first value of an order that is not null, if the index surely knows it.

    Args:
        order: The order. No condition holds for its rows.
        ordered: The index that has this order.
        chosen: Which files of the index are read, each once.

    Returns:
        The value as the protocol writes it. ``None`` if it is not known, or if there is no value.
    """
    column = ordered.column
    if ordered.stem is not None:
        return None
    try:
        keys = OrderedKeys(ordered.index, chosen).from_end(1, descending=order.descending)
    except UnsupportedError:
        # the index does not keep this key
        return None
    return written_value(column.kind, column.scale, keys[0]) if keys else None


def bound_of(order: RowOrder, ordered: OrderedIndex, values: Ranges) -> dict[str, Any] | None:
    """Return the bound of the values that the first rows can have, as the protocol writes it."""
    if len(values.intervals) != 1:
        return None
    low, end = values.intervals[0]
    code = low if order.descending else end
    column = ordered.column
    return None if code is None else written_value(column.kind, column.scale, code)


def order_not_used(order: RowOrder, why: str) -> Reason:
    """Return the reason for an order that leaves out no files."""
    return Reason(code=ReasonCode.ORDER_NOT_USED, detail=f"{order}, as {why.rstrip('.')}")


def no_ordered_index(order: RowOrder, *, is_filtered: bool = False) -> Reason:
    """Return the reason for an order that no index has."""
    why = f"no index begins with the column {order.column}"
    if is_filtered:
        why = f"no index has the rows of the condition in the order of the column {order.column}"
    return order_not_used(order, why)


class _FirstRows:
    """Counts rows from one end of an index that are surely read."""

    def __init__(self, order: RowOrder, ordered: OrderedIndex, chosen: np.ndarray) -> None:
        self._order, self._ordered, self._chosen = order, ordered, chosen
        self._index = ordered.index

    def ranges(self) -> Ranges | None:
        """Return the values that the first rows can have, or ``None`` for all."""
        wanted = self._order.limit
        if self._order.nulls_first:
            wanted -= self._nulls(wanted)
            if wanted <= 0:
                return Ranges(nulls=True)
        parts = self._ordered.keys()
        if self._order.descending:
            parts.reverse()
        for part in parts[:_MOST_RANGES]:
            cut, certain = self._counted(part, wanted)
            if cut is not None:
                return self._up_to(cut)
            wanted -= certain
        return None

    def _nulls(self, wanted: int) -> int:
        """Return how many rows surely have null, up to the wanted number."""
        if self._ordered.stem is None:
            if not self._ordered.values.nulls:
                return 0
            return int((self._index.flagged("has_null") & self._chosen).sum())
        part = self._ordered.nulls()
        return 0 if part is None else self._counted(part, wanted)[1]

    def _up_to(self, cut: Code) -> Ranges:
        """Return the values from the end where the order begins up to a key."""
        value = self._ordered.value_of(cut)
        if self._ordered.stem is not None and not self._order.descending:
            # rows behind the cut may have the same value, and differ in columns that follow it
            value = None if value is None else successor(value)
        interval = (value, None) if self._order.descending else (None, value)
        return Ranges(intervals=(interval,), nulls=self._order.nulls_first)

    def _counted(self, part: Interval, wanted: int) -> tuple[Any, int]:
        """Count certain rows from the end of an interval where the order begins.

        Returns:
            The key up to which there are enough rows, or ``None``; and how many rows there are.
        """
        counts = [self._by_index(part, wanted), self._by_files(part, wanted)]
        cuts = [cut for cut, _ in counts if cut is not None]
        if not cuts:
            return None, max(rows for _, rows in counts)
        in_order = code_order(cuts)
        best = max(cuts, key=in_order) if self._order.descending else min(cuts, key=in_order)
        return best, wanted

    def _by_index(self, part: Interval, wanted: int) -> tuple[Any, int]:
        """Count the rows that the blocks of the index prove."""
        return certain_rows(
            self._index.loader,
            self._index.snapshot.segments,
            self._index.units_of_files(self._chosen),
            wanted,
            descending=self._order.descending,
            within=part,
        )

    def _by_files(self, part: Interval, wanted: int) -> tuple[Any, int]:
        """Count the rows of data files all of whose keys lie in the interval."""
        bounds = self._index.small_file_bounds()
        if bounds is None:
            return None, 0
        inside = bounds.inside(part) & ~self._index.flagged("has_null")
        at = np.flatnonzero(self._chosen & inside)
        descending = self._order.descending
        ends = (bounds.lows if descending else bounds.ends).take(pa.array(at))
        order = pc.array_sort_indices(ends, order="descending" if descending else "ascending")
        rows = np.cumsum(self._index.records()[at[order.to_numpy()]])
        enough = int(np.searchsorted(rows, wanted))
        if enough < len(at):
            end = ends[order[enough].as_py()].as_py()
            # a null is the end of all codes
            return successor(HIGHEST) if end is None else end, wanted
        return None, int(rows[-1]) if len(at) else 0


def _all_inside(index: OpenedIndex, values: Ranges) -> np.ndarray:
    """Return which files of an index surely have only values of a set, null included."""
    # these files have keys, and all of their keys are values of the set
    inside = np.zeros(len(index.records()), bool)
    for part in values.intervals[:_MOST_RANGES]:
        inside |= _inside(index, part)
    if values.nulls:
        inside |= ~index.flagged("has_value")
    else:
        inside &= ~index.flagged("has_null")
    return inside


def _inside(index: OpenedIndex, part: Interval) -> np.ndarray:
    """Return which files of an index surely have keys, all of which lie in an interval."""
    bounds = index.small_file_bounds()
    return np.zeros(len(index.records()), bool) if bounds is None else bounds.inside(part)
