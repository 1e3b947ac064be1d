"""Rows that are enough for a query, by what an index surely knows of the rows that a scan reads.

Such an answer depends on the rows that the scan returns. So the engine first tells which data files
of an index it reads whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.index.judged_files import KeepLeaf, KeepNode, KeepTree
from lakesieve.index.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.row_ranges import Candidates
    from lakesieve.predicate import RowFilter

# what a tree says if the condition of the scan leaves out nothing
_WITHOUT_CONDITION = {ReasonCode.NO_USABLE_PREDICATE, ReasonCode.NOT_SELECTIVE}


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstValues:
    """What an index surely knows of the values of the first rows of an order.

    Args:
        value: The first value that is not null, as the protocol writes it, or ``None``.
        bound: The first rows with a value have at least this value if the order is descending, and
            a lower value if it is ascending. ``None`` if there is no bound.
    """

    value: dict[str, Any] | None
    bound: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeededRows:
    """What an engine has to tell, or the rows of a scan that are enough for its query.

    Args:
        asks: The indexes of which the engine has to tell which data files it reads whole. Then
            nothing else is known yet.
        row_filter: A filter that accepts every row that is needed.
        first: For each order, what is known of the values of its first rows.
        distinct_count: The number of distinct keys of the files that count, if it is known.
        index: The index whose rows are enough, or that knows the number of keys, if there is one.
        candidates: The data files and rows of this index that are enough.
        reasons: Coded reasons.
    """

    asks: tuple[OpenedIndex, ...] = ()
    row_filter: RowFilter | None = None
    first: tuple[FirstValues, ...] = ()
    distinct_count: int | None = None
    index: OpenedIndex | None = None
    candidates: Candidates | None = None
    reasons: tuple[Reason, ...] = ()

    def narrowed(self, tree: KeepTree) -> KeepTree:
        """Return a tree that keeps of the files of the index only those that are enough, too."""
        if self.index is None or self.candidates is None:
            return tree
        leaf = KeepLeaf.of_index(len(tree.indexes), self.candidates)
        name = self.index.definition.name
        reasons = [reason for reason in tree.reasons if reason.code not in _WITHOUT_CONDITION]
        if name not in tree.used:
            reasons.append(Reason(code=ReasonCode.INDEX_USED, detail=name))
        return replace(
            tree,
            indexes=(*tree.indexes, self.index),
            keep=KeepNode(every=True, args=(tree.keep, leaf)),
            used=tuple(dict.fromkeys([*tree.used, name])),
            reasons=tuple(reasons),
        )


def counted_files(index: OpenedIndex, live: Mapping[str, bytes]) -> np.ndarray:
    """Return which files of an index count. Those of other catalogues do not.

    Args:
        index: The index.
        live: A bit for each data file of a catalogue, by the catalogue's id, as the engine packed
            them: whether the scan returns every row of the file. A file is marked in one catalogue
            only.
    """
    parts = [np.zeros(0, bool)]
    for name, files in index.files():
        packed = np.frombuffer(live.get(name, b""), np.uint8)
        part = np.zeros(files, bool)
        # another size is of another catalogue
        if len(packed) == (files + 7) // 8:
            part[:] = np.unpackbits(packed, count=files, bitorder="little")
        parts.append(part)
    return np.concatenate(parts)
