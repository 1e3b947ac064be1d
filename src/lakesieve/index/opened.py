"""One opened index: which of the data files it covers can hold a value of given ranges."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.index.shared_keys import KeyRanges
from lakesieve.predicate.ranges import successor
from lakesieve.sieve import VALUES, wide_code
from lakesieve.store import (
    IN_ORDER_BYTES,
    BlockCache,
    IndexReader,
    file_bounds,
    shared_cache,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakesieve.format import IndexDefinition
    from lakesieve.predicate import Ranges
    from lakesieve.predicate.ranges import Code
    from lakesieve.storage import Storage
    from lakesieve.store import IndexStore, Snapshot

# commands ask the same twice, and to read much of an index takes longer than to remember an answer
_MANY_RANGES = 256


class OpenedIndex:
    """An index at one of its commits, ready to answer.

    Covered files are numbered 0..n-1, catalogue after catalogue.

    Args:
        snapshot: The state of the index.
        reader: Reads its segments and catalogues.
    """

    def __init__(self, snapshot: Snapshot, reader: IndexReader) -> None:
        self.snapshot = snapshot
        self.reader = reader

    @classmethod
    def at(cls, store: IndexStore, snapshot: Snapshot, *, in_order: bool = False) -> Self:
        """An index at one of its commits; what is decoded of it is kept for others, too."""
        cache = BlockCache(IN_ORDER_BYTES) if in_order else shared_cache()
        return cls(snapshot, IndexReader(store, snapshot, cache))

    @property
    def definition(self) -> IndexDefinition:
        """What is indexed: the table, the columns, the key types."""
        return self.snapshot.definition

    @property
    def storage(self) -> Storage:
        """The index's root, by which workers open the same state."""
        return self.reader.storage

    @property
    def identity(self) -> str:
        """Names this state of this index, as one caller reaches it, among all others.

        Everything but the location and the fingerprint is the storage's own claim: an index
        elsewhere can have the same identity and write id.
        """
        place = ":".join(self.storage.identity)
        return f"{place}:{self.definition.index_uuid}@{self.snapshot.write_id}"

    def _catalogues(self) -> pa.Table:
        # through the reader each time: on local disk it notices a file that was changed
        tables = [self.reader.catalogue(entry) for entry in self.snapshot.catalogues]
        if not tables:
            return pa.table({"path": pa.array([], pa.string())})
        return pa.concat_tables(tables)

    @cached_property
    def _offsets(self) -> dict[str, int]:
        """First covered file of each catalogue."""
        ends = np.cumsum([entry.files for entry in self.snapshot.catalogues], dtype=np.int64)
        starts = [0, *ends[:-1].tolist()] if len(ends) else []
        return {
            entry.id: int(start)
            for entry, start in zip(self.snapshot.catalogues, starts, strict=True)
        }

    def paths(self) -> pa.ChunkedArray:
        """Paths of the covered files, in their numbering."""
        return self._catalogues().column("path")

    def numbers(self, paths: pa.Array | pa.ChunkedArray) -> np.ndarray:
        """The numbers of files among those that are covered, -1 for one that is not."""
        found = pc.index_in(paths, value_set=self.paths())
        numbers: np.ndarray = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)
        return numbers

    def files(self) -> list[tuple[str, int]]:
        """The catalogues in the order of the numbering: the name of each, and its files."""
        return [(entry.id, entry.files) for entry in self.snapshot.catalogues]

    def digests(self, catalogue: str, secret: bytes) -> np.ndarray:
        """Digests of the paths of one catalogue."""
        entry = next(entry for entry in self.snapshot.catalogues if entry.id == catalogue)
        return self.reader.digests(entry, secret)

    def may_match(self, ranges: Ranges) -> np.ndarray | None:
        """Whether each covered file can hold a value of the ranges.

        Returns:
            A boolean array, one element a covered file; ``None`` where more of the index would have
            to be read than is worth it.
        """
        self.check()
        mask = np.zeros(sum(files for _, files in self.files()), dtype=bool)
        if not len(mask):
            return mask
        if ranges.nulls:
            mask |= self.flagged("has_null")
        if ranges.intervals == ((None, None),):
            mask |= self.flagged("has_value")
            return mask
        if ranges.intervals:
            many = len(ranges.intervals) >= _MANY_RANGES
            found = self._remembered(ranges) if many else self._holding(ranges)
            if found is None:
                return None
            mask[found] = True
        return mask

    def check(self) -> None:
        """Check the catalogues, which on local disk may have been changed or deleted."""
        for entry in self.snapshot.catalogues:
            self.reader.flags(entry)

    def _remembered(self, ranges: Ranges) -> np.ndarray | None:
        """The answer, kept: a state never changes, and so neither does what it answers."""

        def make() -> tuple[np.ndarray | None, int]:
            found = self._holding(ranges)
            return found, 1000 + 200 * len(ranges.intervals) + (
                0 if found is None else found.nbytes
            )

        held: np.ndarray | None = self.reader.remembered((self.identity, ranges), make)
        return held

    def _holding(self, ranges: Ranges) -> np.ndarray | None:
        """The covered files that can hold a code of the intervals; ``None`` as in the look-up."""
        found = self.reader.lookup(ranges.intervals)
        if found is None:
            return None
        nothing = np.zeros(0, np.int64)
        return np.concatenate([nothing, *(self._offsets[name] + n for name, n in found.items())])

    def key_sample(self, count: int) -> pa.Array | None:
        """Codes of some keys, ascending and evenly spread; ``None`` where there are none."""
        return self.reader.key_sample(count)

    def file_bounds(self) -> tuple[list[Code | None], list[Code | None]]:
        """The lowest key code of each covered file, and one above its highest.

        There is no key of any file between the highest and that; ``None`` where a file has no keys.
        """
        files = sum(count for _, count in self.files())
        lows: list[Code | None] = [None] * files
        highs: list[Code | None] = [None] * files
        for entry in self.snapshot.segments:
            first = self._offsets[entry.catalogue]
            for ordinals, low, high in file_bounds(self.reader.loader, entry):
                parts = (ordinals.tolist(), low.to_pylist(), high.to_pylist())
                for ordinal, lowest, end in zip(*parts, strict=True):
                    at = first + ordinal
                    lows[at] = _less(lows[at], lowest)
                    above = successor(end) if end == entry.key_max else end
                    highs[at] = _less(highs[at], above, most=True)
        return lows, highs

    def points(self, codes: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The covered files that can hold each of many keys.

        Returns:
            Which key and one file that can hold it, in their numberings, int64, in any order.
        """
        return self._numbered(self.reader.points(codes))

    def prefixes(self, codes: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The covered files that can hold a composite key that begins with each of many prefixes.

        Args:
            codes: Components of leading columns, ``binary``, ascending, without nulls.

        Returns:
            As :meth:`points`.
        """
        end = pa.scalar(VALUES[1], pa.binary())
        ends = pc.binary_join_element_wise(codes, end, pa.scalar(b"", pa.binary()))
        return self._numbered(self.reader.spans(codes, ends))

    def shared_keys(self, segment: int, live: np.ndarray) -> Iterator[tuple[KeyRanges, np.ndarray]]:
        """The keys of a segment that several covered files can hold, part by part.

        Yields:
            Ranges of key codes, and the files that can hold one of them, in their numbering.
        """
        entry = self.snapshot.segments[segment]
        first = self._offsets[entry.catalogue]
        own = live[first : first + dict(self.files())[entry.catalogue]]
        for lows, highs, ordinals in self.reader.shared(entry, own):
            yield KeyRanges(lows=lows, highs=highs), ordinals.astype(np.int64) + first

    def _numbered(
        self, found: dict[str, tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        nothing = np.zeros(0, np.int64)
        which = [nothing, *(keys for keys, _ in found.values())]
        files = [nothing, *(self._offsets[name] + units for name, (_, units) in found.items())]
        return np.concatenate(which), np.concatenate(files)

    def flagged(self, column: str) -> np.ndarray:
        """Which covered files hold a null, a value, or perhaps a key in several rows.

        Args:
            column: ``has_null``, ``has_value`` or ``repeats``.
        """
        tables = [self.reader.flags(entry) for entry in self.snapshot.catalogues]
        # where it is not known, a key may repeat
        flags: np.ndarray = pc.fill_null(pa.concat_tables(tables).column(column), True).to_numpy()
        return flags


def _less(one: Code | None, other: Code, *, most: bool = False) -> Code:
    """The lower of two codes, or the higher one; integers among byte strings as those."""
    if one is None:
        return other
    if isinstance(one, int) != isinstance(other, int):
        one, other = (wide_code(c) if isinstance(c, int) else c for c in (one, other))
    return max(one, other) if most else min(one, other)
