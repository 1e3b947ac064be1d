"""The data files that are enough for the distinct keys of a table.

``SELECT DISTINCT k`` and ``count(DISTINCT k)`` need each value of the column once. So data files
may be left out if all of their keys are in other files, which the scan returns whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakesieve.errors import UnsupportedError
from lakesieve.index.needed_rows import NeededRows, counted_files
from lakesieve.index.ordered_keys import OrderedKeys
from lakesieve.index.reasons import READ_FAILURES, Reason, ReasonCode, broken_index
from lakesieve.store import MOST_ROW_GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from lakesieve.format import IndexDefinition
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.predicate import Expr
    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctKeys:
    """Columns of a scan whose query needs each combination of their values at least once.

    The condition of the scan reads no other columns.

    Args:
        paths: For each column, the names from a column of the table down to the field.
        is_counted: Whether the query only counts the values of one column, in all rows.
        live: As for :func:`counted_files`. ``None`` before the engine was asked.
    """

    paths: tuple[tuple[str, ...], ...]
    is_counted: bool = False
    live: Mapping[str, bytes] | None = None

    def needed(
        self,
        columns: Mapping[tuple[str, ...], Column],
        condition: Expr,
        indexes: Sequence[OpenedIndex],
        table_uuid: str,
    ) -> NeededRows:
        """Return data files that have every key, or the index of which the engine has to tell.

        Args:
            columns: The columns of the table, by path.
            condition: The condition of the scan. It decides alike for all rows with a key.
            indexes: The indexes of the table.
            table_uuid: Identity of the table.
        """
        del condition
        index = self._index(columns, indexes, table_uuid)
        if index is None:
            return self._not_used(f"no index has {self._names}")
        if sum(entry.row_groups for entry in index.snapshot.segments) > MOST_ROW_GROUPS:
            return self._not_used(f"the index {index.definition.name} is too large to be read")
        if self.live is None:
            return NeededRows(asks=(index,))
        try:
            complete = counted_files(index, self.live)
            if not complete.any():
                return self._not_used("the scan surely returns all rows of no indexed data file")
            count = self._count(index, complete)
            candidates = index.with_every_key(complete)
        except READ_FAILURES as error:
            return NeededRows(reasons=(broken_index(index.definition.name, error),))
        if candidates is None:
            not_used = self._not_used(
                "most data files are needed for all keys, or the index does not know it: it was "
                "compacted, it has a budget, or an earlier version of lakesieve wrote it"
            )
            return replace(not_used, index=index, distinct_count=count)
        reason = Reason(code=ReasonCode.DISTINCT_KEYS, detail=f"DISTINCT {self._names}")
        return NeededRows(
            index=index, candidates=candidates, distinct_count=count, reasons=(reason,)
        )

    def _count(self, index: OpenedIndex, complete: np.ndarray) -> int | None:
        """Return the number of keys of some files, if the query needs it and the index has it."""
        if not self.is_counted or len(index.definition.columns) > 1:
            return None
        try:
            return OrderedKeys(index, complete).count()
        except UnsupportedError:
            return None

    def _index(
        self,
        columns: Mapping[tuple[str, ...], Column],
        indexes: Sequence[OpenedIndex],
        table_uuid: str,
    ) -> OpenedIndex | None:
        """Return the index with the fewest columns that has all of these columns."""
        if not all(path in columns for path in self.paths):
            return None
        # the scan need not read the other columns of the index
        wanted = {columns[path].field_id for path in self.paths}
        kinds = {each.field_id: (each.kind, each.scale) for each in columns.values()}
        return min(
            (
                index
                for index in indexes
                if index.definition.table_uuid == table_uuid
                and wanted <= _columns_as_read(index.definition, kinds)
            ),
            key=lambda index: (
                len(index.definition.columns),
                sum(entry.size for entry in index.snapshot.segments),
            ),
            default=None,
        )

    @property
    def _names(self) -> str:
        return ", ".join(".".join(path) for path in self.paths)

    def _not_used(self, why: str) -> NeededRows:
        detail = f"DISTINCT {self._names}, as {why}"
        return NeededRows(reasons=(Reason(code=ReasonCode.DISTINCT_NOT_USED, detail=detail),))


def _columns_as_read(definition: IndexDefinition, kinds: Mapping[int, tuple[str, int]]) -> set[int]:
    """Return the field ids of the index columns that still have the type of the index."""
    if definition.expressions:
        return set()
    return {
        column.field_id
        for column in definition.columns
        if kinds.get(column.field_id) == (column.key_kind, column.scale)
    }
