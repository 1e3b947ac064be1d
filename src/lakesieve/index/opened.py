"""An opened index, which answers which data files, and which rows, may hold a value of ranges."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import corrupt
from lakesieve.index.key_ranges import KeyRanges
from lakesieve.index.row_ranges import ALL_ROWS, Candidates, RowRanges
from lakesieve.sieve import VALUES, CodeBounds, distinct
from lakesieve.store import (
    IN_ORDER_BYTES,
    BlockCache,
    IndexReader,
    file_bounds,
    key_sample,
    shared_cache,
    shared_keys,
    units_with_every_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakesieve.format import CatalogueEntry, IndexDefinition
    from lakesieve.predicate import Ranges
    from lakesieve.sieve import WordPart
    from lakesieve.storage import Storage
    from lakesieve.store import IndexStore, Snapshot

    UnitsOfKeys = Mapping[str, tuple[np.ndarray, np.ndarray]]
    """By catalogue: positions of keys, ascending, and ordinals of units that may hold them."""

MANY_UNITS = 4_000_000
"""With more row blocks than this, an answer names whole files."""

# commands ask the same question twice, and remembering an answer is cheaper than reading again
_MANY_RANGES = 256

# bytes and files of an index whose bounds of files are read as a whole
_SMALL = 32 << 20
_MANY_FILES = 100_000


class OpenedIndex:
    """An index at one of its commits, ready to answer.

    The covered data files are numbered 0..n-1, catalogue after catalogue. A file of the index that
    is damaged raises ``CorruptIndexError``, a missing one ``NotFoundError``, and one of a newer
    format ``IndexFormatError``.

    Args:
        store: The index.
        snapshot: The state that answers.
        cache: The cache of decoded parts. By default, all sessions of the process share one.
    """

    def __init__(
        self, store: IndexStore, snapshot: Snapshot, cache: BlockCache | None = None
    ) -> None:
        self.snapshot = snapshot
        self.reader = IndexReader(store, snapshot, cache or shared_cache())
        self.loader = self.reader.loader

    @classmethod
    def at(cls, store: IndexStore, snapshot: Snapshot, *, in_order: bool = False) -> Self:
        """Open an index for many look-ups. ``in_order`` says that their keys ascend."""
        return cls(store, snapshot, BlockCache(IN_ORDER_BYTES) if in_order else None)

    @property
    def definition(self) -> IndexDefinition:
        """Definition of the index: the table, the columns, the key types."""
        return self.snapshot.definition

    @property
    def storage(self) -> Storage:
        """Root of the index, with which workers open the same state."""
        return self.loader.storage

    @property
    def identity(self) -> str:
        """Key that identifies this state of this index for one caller.

        Only the location and the fingerprint are certain. All else is the storage's own claim: an
        index elsewhere can have the same identity and write id.
        """
        place = ":".join(self.storage.identity)
        return f"{place}:{self.definition.index_uuid}@{self.snapshot.write_id}"

    @cached_property
    def _catalogues(self) -> dict[str, CatalogueEntry]:
        return {entry.id: entry for entry in self.snapshot.catalogues}

    @cached_property
    def _offsets(self) -> dict[str, int]:
        """Number of the first data file of each catalogue."""
        starts, end = {}, 0
        for entry in self.snapshot.catalogues:
            starts[entry.id] = end
            end += entry.files
        return starts

    def paths(self) -> pa.ChunkedArray:
        """Return the paths of the covered files, by number."""
        # always through the loader, which notices files that changed on local disk
        tables = [self.loader.catalogue(entry) for entry in self.snapshot.catalogues]
        chunks = [chunk for table in tables for chunk in table.column("path").chunks]
        return pa.chunked_array(chunks, pa.string())

    def numbers(self, paths: pa.Array | pa.ChunkedArray) -> np.ndarray:
        """Return the numbers of files, or -1 for files that are not covered."""
        rows = pc.index_in(paths, value_set=self.paths())
        numbers: np.ndarray = pc.fill_null(rows, -1).to_numpy(zero_copy_only=False)
        return numbers

    def records(self) -> np.ndarray:
        """Return the rows of each covered file, by number."""
        parts = [self.loader.records(entry) for entry in self.snapshot.catalogues]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def files(self) -> list[tuple[str, int]]:
        """Return the id and number of files of each catalogue, in the order of the numbering."""
        return [(entry.id, entry.files) for entry in self.snapshot.catalogues]

    def digests(self, catalogue: str, secret: bytes) -> np.ndarray:
        """Return digests of the paths of one catalogue."""
        return self.loader.digests(self._catalogues[catalogue], secret)

    def may_match(self, ranges: Ranges) -> Candidates | None:
        """Return which covered files, and which of their rows, may hold a value of the ranges.

        The result is ``None`` if the look-up would read too much of the index.
        """
        self.check()
        if ranges.intervals == ((None, None),):
            mask = self.flagged("has_value")
            return Candidates(keep=mask | self.flagged("has_null") if ranges.nulls else mask)
        parts: list[Candidates] = []
        if ranges.intervals:
            many = len(ranges.intervals) >= _MANY_RANGES
            matches = self._remembered(ranges) if many else self._holding(ranges)
            if matches is None:
                return None
            parts.append(matches)
        if ranges.nulls:
            # the catalogue knows of each file whether it has a null, but not in which rows
            parts.append(Candidates(keep=self.flagged("has_null")))
        if not parts:
            return Candidates(keep=np.zeros(sum(self.loader.files.values()), bool))
        return Candidates.joined(parts, every=False)

    def may_contain(self, part: WordPart, within: Ranges | None = None) -> Candidates | None:
        """Return which covered files and rows may have a key with a part, in some ranges of keys.

        The keys of the index are words. All keys of the ranges are read. The result is ``None`` if
        these are too many.
        """
        self.check()
        intervals = None if within is None else within.intervals
        ordinals_by_catalogue = self.reader.units_of_words(part, intervals)
        return None if ordinals_by_catalogue is None else self._candidates(ordinals_by_catalogue)

    def check(self) -> None:
        """Check that the catalogues on local disk have not been changed or deleted."""
        for entry in self.snapshot.catalogues:
            self.loader.flags(entry)

    def _remembered(self, ranges: Ranges) -> Candidates | None:
        """Answer from the cache if possible. A state never changes, so its answers never change."""

        def make() -> tuple[Candidates | None, int]:
            matches = self._holding(ranges)
            size = 0 if matches is None else matches.keep.nbytes
            if matches is not None and matches.rows is not None:
                size += matches.rows.starts.nbytes + matches.rows.ends.nbytes
            return matches, 1000 + 200 * len(ranges.intervals) + size

        held: Candidates | None = self.loader.cache.get((self.identity, ranges), make)
        return held

    def _holding(self, ranges: Ranges) -> Candidates | None:
        """Return the covered files and rows that may hold a code of the intervals."""
        ordinals_by_catalogue = self.reader.lookup(ranges.intervals)
        return None if ordinals_by_catalogue is None else self._candidates(ordinals_by_catalogue)

    def _candidates(self, ordinals_by_catalogue: Mapping[str, np.ndarray]) -> Candidates:
        """Return the files and rows of distinct ordinals, by catalogue."""
        keep = np.zeros(sum(self.loader.files.values()), bool)
        rows = self.definition.rows_per_block
        nothing = np.zeros(0, np.int64)
        blocks: list[tuple[np.ndarray, ...]] = [(nothing, nothing, nothing)]
        for name, ordinals in ordinals_by_catalogue.items():
            files = self._files_of(name, ordinals)
            keep[files] = True
            if rows:
                firsts = self._first_ordinals(name)
                at = files - self._offsets[name]
                starts = (ordinals - firsts[at]) * rows
                # the last block has all rows to the end of its file
                is_last = ordinals + 1 == firsts[at + 1]
                blocks.append((files, starts, np.where(is_last, ALL_ROWS, starts + rows)))
        if not rows or sum(len(files) for files, *_ in blocks) > MANY_UNITS:
            return Candidates(keep=keep)
        numbers, starts, ends = map(np.concatenate, zip(*blocks, strict=True))
        if starts.max(initial=0) > ALL_ROWS - rows:
            # more rows in one file than a range can name
            return Candidates(keep=keep)
        return Candidates.of_rows(RowRanges.of(numbers, starts, ends), len(keep))

    def _first_ordinals(self, catalogue: str) -> np.ndarray:
        """Return the first ordinal of each data file of a catalogue, and the end of the last."""
        return self.loader.first_ordinals(self._catalogues[catalogue])

    def _files_of(self, catalogue: str, ordinals: np.ndarray) -> np.ndarray:
        """Return the number of each ordinal's data file."""
        first = self._offsets[catalogue]
        if not self.definition.rows_per_block:
            return first + ordinals.astype(np.int64)
        firsts = self._first_ordinals(catalogue)
        if ordinals.max(initial=-1) >= firsts[-1]:
            raise corrupt("segments/", "an ordinal is not in the catalogue")
        files: np.ndarray = first + np.searchsorted(firsts, ordinals, side="right") - 1
        return files

    def key_sample(self, count: int) -> pa.Array | None:
        """Return a sample of ascending, evenly spread key codes, or ``None`` without keys."""
        return key_sample(self.loader, self.snapshot.segments, count)

    def file_bounds(self) -> CodeBounds:
        """Return for each covered file the range from its lowest to its highest key code.

        No file has a key between the highest code and the end of the range.
        """
        files = sum(self.loader.files.values())
        parts = [
            (self._files_of(entry.catalogue, ordinals), bounds)
            for entry in self.snapshot.segments
            for ordinals, bounds in file_bounds(self.loader, entry)
        ]
        return CodeBounds.united(files, parts)

    def small_file_bounds(self) -> CodeBounds | None:
        """Return the bounds of :meth:`file_bounds`, or ``None`` if the index is large.

        An index is small where data files follow one another in the order of the keys. Elsewhere,
        the bounds of files say little.
        """
        size = sum(entry.size for entry in self.snapshot.segments)
        if size > _SMALL or sum(self.loader.files.values()) > _MANY_FILES:
            return None
        self.check()

        def make() -> tuple[CodeBounds, int]:
            bounds = self.file_bounds()
            return bounds, 1000 + bounds.nbytes

        held: CodeBounds = self.loader.cache.get((self.identity, "bounds"), make)
        return held

    def points(self, codes: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the covered files that may hold each of many keys, see :meth:`pairs`."""
        return self.pairs(self.units_of_keys(codes))

    def units_of_keys(self, codes: pa.Array, *, is_prefix: bool = False) -> UnitsOfKeys:
        """Look up many keys, for :meth:`pairs` and :meth:`candidates`.

        Args:
            codes: Key codes, ascending, without nulls. If ``is_prefix``, components of the leading
                columns, ``binary``.
            is_prefix: Whether the index has more columns than the keys.
        """
        if not is_prefix:
            return self.reader.points(codes)
        end = pa.scalar(VALUES[1], pa.binary())
        ends = pc.binary_join_element_wise(codes, end, pa.scalar(b"", pa.binary()))
        return self.reader.spans(codes, ends)

    def unit_pairs(self, units: UnitsOfKeys) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that may hold each key of a look-up.

        Returns:
            Two arrays (int64, in any order): positions of keys, and numbers of units.
        """
        first_units = self.first_units()
        nothing = np.zeros(0, np.int64)
        which, numbers = [nothing], [nothing]
        for name, (keys, ordinals) in units.items():
            which.append(keys)
            numbers.append(first_units[self._offsets[name]] + ordinals)
        return np.concatenate(which), np.concatenate(numbers)

    def candidates(self, units: UnitsOfKeys) -> Candidates:
        """Return the covered files and rows that may hold one of the keys of a look-up."""
        return self._candidates({name: distinct(ordinals) for name, (_, ordinals) in units.items()})

    def shared_keys(self, segment: int, live: np.ndarray) -> Iterator[tuple[KeyRanges, np.ndarray]]:
        """Yield the keys of a segment that several units of live files may hold, part by part.

        Yields:
            Ranges of key codes, and the ordinals of the units that may hold one of them. They count
            the units of the segment's catalogue.
        """
        entry = self.snapshot.segments[segment]
        name = entry.catalogue
        own = self._units_of_files(name, live)
        for lows, highs, ordinals in shared_keys(self.loader, entry, own):
            yield KeyRanges(lows=lows, highs=highs), ordinals

    def units_of_files(self, chosen: np.ndarray) -> dict[str, np.ndarray]:
        """Return for each unit of each catalogue whether its data file is chosen, by number."""
        return {name: self._units_of_files(name, chosen) for name in self._offsets}

    def first_units(self) -> np.ndarray:
        """Return the number of each covered file's first unit, and the number of all units.

        Units are numbered 0..n-1, in the order of the covered files.
        """
        firsts = [self._first_ordinals(entry.id) for entry in self.snapshot.catalogues]
        counts = np.concatenate([np.zeros(1, np.int64), *map(np.diff, firsts)])
        numbers: np.ndarray = np.cumsum(counts)
        return numbers

    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each unit's data file, and the unit's rows, in all catalogues."""
        records = self.records()
        first_units = self.first_units()
        files = np.repeat(np.arange(len(records)), np.diff(first_units))
        rows = self.definition.rows_per_block
        if not rows:
            return files, records
        starts = (np.arange(len(files)) - first_units[files]) * rows
        return files, np.minimum(records[files] - starts, rows)

    def units_of_rows(self, files: np.ndarray, positions: np.ndarray | None) -> np.ndarray:
        """Return the number of each row's unit.

        Args:
            files: The number of each row's data file.
            positions: The number of each row in its file. An index of data files needs none.
        """
        if not self.definition.rows_per_block:
            return files
        assert positions is not None
        first_units = self.first_units()
        blocks = first_units[files] + positions // self.definition.rows_per_block
        # as in scans, the last block has all rows to the end of its file
        units: np.ndarray = np.minimum(blocks, first_units[files + 1] - 1)
        return units

    def candidates_of_units(self, chosen: np.ndarray) -> Candidates:
        """Return the covered files and rows of chosen units, in the order of :meth:`units`."""
        ordinals = {}
        start = 0
        for entry in self.snapshot.catalogues:
            end = start + int(self._first_ordinals(entry.id)[-1])
            ordinals[entry.id] = np.flatnonzero(chosen[start:end])
            start = end
        return self._candidates(ordinals)

    def _units_of_files(self, catalogue: str, chosen: np.ndarray) -> np.ndarray:
        first = self._offsets[catalogue]
        own = chosen[first : first + self.loader.files[catalogue]]
        if self.definition.rows_per_block:
            own = np.repeat(own, np.diff(self._first_ordinals(catalogue)))
        return own

    def with_every_key(self, complete: np.ndarray) -> Candidates | None:
        """Return covered files and rows that together hold every key of the index.

        If a row of a covered file has the key null, the files and rows hold null, too.

        Args:
            complete: For each covered file, by number, whether the scan surely returns all of its
                rows. If several catalogues list a file, only one of its numbers is marked.

        Returns:
            The files and rows. If no complete file surely holds a key, all files that can hold the
            key are among them. ``None`` if most files are needed.
        """
        self.check()
        chosen = np.zeros(len(complete), bool)
        nulls = np.flatnonzero(self.flagged("has_null"))
        sure = nulls[complete[nulls]]
        if len(sure):
            # null is one value, so one file is enough
            chosen[sure[np.argmin(self.records()[sure])]] = True
        else:
            chosen[nulls] = True
        units = units_with_every_key(
            self.loader,
            self.snapshot.segments,
            self.units_of_files(complete),
            self.units_of_files(chosen),
        )
        if units is None:
            return None
        kept = self._candidates({name: np.flatnonzero(one) for name, one in units.items()})
        return None if kept.rows is None and kept.keep.all() else kept

    def pairs(self, units: UnitsOfKeys) -> tuple[np.ndarray, np.ndarray]:
        """Return the covered files that may hold each key of a look-up.

        Returns:
            Two arrays (int64, in any order): positions of keys, and numbers of files that may hold
            them.
        """
        nothing = np.zeros(0, np.int64)
        which = [nothing]
        files = [nothing]
        for name, (keys, ordinals) in units.items():
            numbers = self._files_of(name, ordinals)
            if self.definition.rows_per_block:
                # the blocks of a file follow one another, so its pairs with a key are adjacent
                again = (keys[1:] == keys[:-1]) & (numbers[1:] == numbers[:-1])
                is_new = np.concatenate(([True] * bool(len(keys)), ~again))
                keys, numbers = keys[is_new], numbers[is_new]  # noqa: PLW2901 - the same pairs
            which.append(keys)
            files.append(numbers)
        return np.concatenate(which), np.concatenate(files)

    def flagged(self, column: str) -> np.ndarray:
        """Return which covered files have a flag.

        Args:
            column: ``has_null``, ``has_value`` or ``repeats``. A file with ``repeats`` may have a
                key in several rows of one unit.
        """
        parts = [self.loader.flags(entry).column(column) for entry in self.snapshot.catalogues]
        # an index of an empty table has no catalogue
        known = pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.bool_())
        # if it is unknown, a key may repeat
        flags: np.ndarray = pc.fill_null(known, True).to_numpy()
        return flags
