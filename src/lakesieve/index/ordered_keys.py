"""The keys of a table version from one end, as far as an index surely knows them.

An index names the units that *can* hold a key. For an answer such as the lowest key that is not
enough: the key must be in a row of the version. So only keys that segments keep are answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.index.expressions import refuse_many_keys
from lakesieve.sieve import EndKeys, KnownKeys, chosen_units, code_order
from lakesieve.store import known_keys
from lakesieve.tables.contract import KnowsRowDeletes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.tables import TableReader, TableVersion


def has_row_deletes(table: TableReader, version: TableVersion) -> bool:
    """Return whether a version may have row-level deletes; true if that is not known."""
    return not isinstance(table, KnowsRowDeletes) or table.has_row_deletes(version)


class OrderedKeys:
    """The keys of some data files, in the order of an index.

    Args:
        index: An index of one column.
        files: Which files of the index they are.
    """

    def __init__(self, index: OpenedIndex, files: np.ndarray) -> None:
        self._index = index
        self._live = index.units_of_files(files)
        # segments of dropped files are never read
        self._segments = [
            entry for entry in index.snapshot.segments if self._live[entry.catalogue].any()
        ]
        self._in_order = code_order(entry.key_min for entry in self._segments)

    @classmethod
    def of_version(
        cls, index: OpenedIndex, table: TableReader, version: TableVersion
    ) -> OrderedKeys:
        """Check that an index can return the keys of a table version, and return them.

        Raises:
            UnsupportedError: The index has several columns, or several keys for a row. Or a data
                file is not indexed. Or the version may have row-level deletes.
        """
        name = index.definition.name
        refuse_many_keys(index.definition, "an answer in the order of the keys")
        if len(index.definition.columns) > 1:
            raise UnsupportedError(
                f"The index {name} has several columns, so it does not keep the values of one.",
                kind=ErrorKind.COMPOSITE_INDEX,
                hint="Create an index on this column alone, or ask Spark.",
            )
        live = table.live_files(version).column("path")
        uncovered = int((index.numbers(live) < 0).sum())
        if uncovered:
            raise UnsupportedError(
                f"{uncovered:,} of {len(live):,} data files of {table.name} are not in the index "
                f"{name}.",
                kind=ErrorKind.UNCOVERED_FILES,
                hint="Refresh the index, or ask Spark.",
            )
        if has_row_deletes(table, version):
            raise UnsupportedError(
                f"{table.name} has row-level deletes, of which the index {name} knows nothing.",
                kind=ErrorKind.ROW_DELETES,
                hint="Compact the table and refresh the index, or ask Spark.",
            )
        # all places where a file is listed, should several deltas cover it
        return cls(index, pc.is_in(index.paths(), value_set=live).to_numpy())

    def from_end(self, limit: int | None, *, descending: bool = False) -> list[Any]:
        """Return the lowest distinct key codes ascending, or the highest descending.

        Only segments that can hold one of them are read.

        Args:
            limit: How many; ``None`` for all.
            descending: Whether the highest are wanted.

        Raises:
            UnsupportedError: The segments do not keep so many keys.
        """

        def near(entry: SegmentEntry) -> Any:
            return self._in_order(entry.key_max if descending else entry.key_min)

        entries = sorted(self._segments, key=near, reverse=descending)
        known = KnownKeys(keys=(), unknown=())
        for entry in entries:
            certain, bound = _certain(known, descending), near(entry)
            if limit is not None and len(certain) >= limit:
                # keys are distinct, and no key of this segment is before its bound
                last = certain[limit - 1]
                if last >= bound if descending else last <= bound:
                    break
            if known.unknown and not _is_reached(known, bound, descending):
                break
            known = KnownKeys.joined([known, self._known(entry, descending)])
        certain = _certain(known, descending)
        if known.unknown and (limit is None or len(certain) < limit):
            raise self._not_kept()
        return certain if limit is None else certain[:limit]

    def count(self) -> int:
        """Return the number of distinct keys.

        Raises:
            UnsupportedError: The segments do not keep it.
        """
        ends = {entry.path: self._ends(entry) for entry in self._segments}

        def extent(entry: SegmentEntry) -> tuple[Any, Any]:
            mine = ends[entry.path]
            low = mine.first[0] if mine.first else entry.key_min
            high = (mine.first if mine.is_complete else mine.last) or (entry.key_max,)
            return self._in_order(low), self._in_order(high[-1])

        total = 0
        cluster: list[SegmentEntry] = []
        reach: Any = None
        for entry in sorted(self._segments, key=lambda entry: extent(entry)[0]):
            low, high = extent(entry)
            if cluster and low > reach:
                total += self._count_of(cluster)
                cluster, reach = [], None
            cluster.append(entry)
            reach = high if reach is None else max(reach, high)
        return total + (self._count_of(cluster) if cluster else 0)

    def _count_of(self, cluster: Sequence[SegmentEntry]) -> int:
        """Return the number of distinct keys of segments that overlap."""
        known = KnownKeys.joined(self._known(entry, None) for entry in cluster)
        if not known.unknown:
            return len(known.keys)
        ends = self._ends(cluster[0])
        if len(cluster) > 1 or ends.count is None or not self._has_all_keys(cluster[0], ends):
            raise self._not_kept()
        return ends.count

    def _has_all_keys(self, entry: SegmentEntry, ends: EndKeys) -> bool:
        """Return whether surely each key of a segment is in a live unit."""
        live = self._live[entry.catalogue]
        if live.all():
            return True
        if not ends.is_exact:
            return False
        opened = self._index.loader.segment(entry)
        for _, blocks in self._index.loader.row_groups(opened, range(len(opened.firsts))):
            held = chosen_units(live, blocks.offsets, blocks.ordinals)
            if ((np.diff(blocks.offsets) > 0) & (held == 0)).any():
                return False
        return True

    def _ends(self, entry: SegmentEntry) -> EndKeys:
        return self._index.loader.segment(entry).footer.ends or EndKeys()

    def _known(self, entry: SegmentEntry, descending: bool | None) -> KnownKeys:
        """Return what is known of the keys of a segment at one end, or at both for ``None``."""
        known = known_keys(
            self._index.loader,
            entry,
            self._live[entry.catalogue],
            first=descending is not True,
            last=descending is not False,
        )
        return KnownKeys(
            keys=[self._in_order(key) for key in known.keys],
            unknown=[(self._in_order(low), self._in_order(end)) for low, end in known.unknown],
        )

    def _not_kept(self) -> UnsupportedError:
        definition = self._index.definition
        why = (
            "it has a budget"
            if definition.budget
            else "it keeps a few keys at the ends of its segments, and data files or segments have "
            "been replaced or merged, or more keys are wanted"
        )
        return UnsupportedError(
            f"The index {definition.name} does not know these keys for certain: {why}.",
            kind=ErrorKind.KEYS_NOT_KEPT,
            hint="Ask Spark. An index without a budget that is dropped and created again keeps the "
            "keys at both ends.",
        )


def _certain(known: KnownKeys, descending: bool) -> list[Any]:
    """Return the keys that are certain from one end, in their order from there."""
    return list(known.last())[::-1] if descending else list(known.first())


def _is_reached(known: KnownKeys, bound: Any, descending: bool) -> bool:
    """Return whether a segment that begins at a bound can have keys before the unknown ones."""
    if descending:
        return bool(bound >= max(end for _, end in known.unknown))
    return bool(bound < min(low for low, _ in known.unknown))
