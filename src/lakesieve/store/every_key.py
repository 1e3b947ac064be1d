"""Choose few units of an index that together have every key."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.sieve import hitting_units
from lakesieve.store.reader import key_array, segment_points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.sieve import Code
    from lakesieve.store.segment_loader import SegmentLoader

MOST_ROW_GROUPS = 256
"""Number of row groups of an index that are read to choose units with every key."""

# share of the units: if more are needed, the answer is not worth the time of finding it
_MOST_UNITS = 0.75

# pairs of a key and a unit that are looked at one by one, of all segments together
_MOST_PAIRS = 1 << 22


def units_with_every_key(
    loader: SegmentLoader,
    segments: Sequence[SegmentEntry],
    complete: Mapping[str, np.ndarray],
    chosen: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray] | None:
    """Choose units so that each key of complete units is in a complete unit that is chosen.

    A key that has no complete unit for certain keeps all units that can hold it.

    - In an exact segment, every key of a block is in every unit of the block's set. So one complete
      unit of each set is enough.
    - Where exact segments list all of their keys, each key is looked at by itself. Then a unit of
      any of these segments is enough, although it is in another catalogue.
    - Of all other segments, all units are chosen.

    Args:
        loader: Reads the segments.
        segments: All segments of the index, with at most :data:`MOST_ROW_GROUPS` row groups.
        complete: For each unit of each catalogue, whether all of its rows are surely read.
        chosen: For each unit of each catalogue, whether it is chosen already.

    Returns:
        For each unit of each catalogue, whether it is chosen. ``None`` if most complete units are
        needed.
    """
    search = _Search(loader, complete, chosen)
    listed: list[SegmentEntry] = []
    left = _MOST_PAIRS
    for entry in segments:
        ends = loader.segment(entry).footer.ends
        if ends is None or not ends.is_exact:
            search.choose_all(entry.catalogue)
            continue
        pairs = len(ends.first) * len(complete[entry.catalogue])
        if ends.is_complete and pairs <= left:
            listed.append(entry)
            left -= pairs
        else:
            search.hit_blocks(entry)
        if search.needs_most:
            return None
    search.hit_keys(listed)
    return None if search.needs_most else search.result()


class _Search:
    """The choice of units so far. The units of all catalogues have numbers in common."""

    def __init__(
        self,
        loader: SegmentLoader,
        complete: Mapping[str, np.ndarray],
        chosen: Mapping[str, np.ndarray],
    ) -> None:
        self._loader = loader
        self._names = list(complete)
        nothing = np.zeros(0, bool)
        ends = np.cumsum([0, *(len(complete[name]) for name in self._names)]).tolist()
        self._units = {
            name: slice(*pair)
            for name, pair in zip(self._names, itertools.pairwise(ends), strict=True)
        }
        self._complete = np.concatenate([nothing, *(complete[name] for name in self._names)])
        self._chosen = np.concatenate([nothing, *(chosen[name] for name in self._names)])
        self._most = _MOST_UNITS * int(self._complete.sum())

    @property
    def needs_most(self) -> bool:
        """Whether most complete units are chosen."""
        return int((self._chosen & self._complete).sum()) > self._most

    def result(self) -> dict[str, np.ndarray]:
        """Return for each unit of each catalogue whether it is chosen."""
        return {name: self._chosen[units] for name, units in self._units.items()}

    def choose_all(self, catalogue: str) -> None:
        """Choose all units of a catalogue."""
        self._chosen[self._units[catalogue]] = True

    def hit_blocks(self, entry: SegmentEntry) -> None:
        """Choose units so that each block of an exact segment has one, until most are needed."""
        units = self._units[entry.catalogue]
        complete = self._complete[units]
        if not complete.any():
            self.choose_all(entry.catalogue)
            return
        opened = self._loader.segment(entry)
        for _, blocks in self._loader.row_groups(opened, range(len(opened.firsts))):
            self._chosen[units] = hitting_units(
                blocks.offsets, blocks.ordinals, complete, self._chosen[units]
            )
            if self.needs_most:
                return

    def hit_keys(self, entries: Sequence[SegmentEntry]) -> None:
        """Choose units so that each key of exact segments that list all of their keys has one."""
        numbers: dict[Code, int] = {}
        nothing = np.zeros(0, np.int64)
        keys, units = [nothing], [nothing]
        for entry in entries:
            ends = self._loader.segment(entry).footer.ends
            first = () if ends is None else ends.first
            own = np.array([numbers.setdefault(key, len(numbers)) for key in first], np.int64)
            points = segment_points(self._loader, entry, key_array(entry, first))
            for at, offsets, ordinals in points:
                keys.append(np.repeat(own[at], np.diff(offsets)))
                units.append(ordinals + np.int64(self._units[entry.catalogue].start))
        of_key = np.concatenate(keys)
        held = np.concatenate(units)[np.argsort(of_key, kind="stable")]
        offsets = np.cumsum([0, *np.bincount(of_key, minlength=len(numbers))])
        self._chosen = hitting_units(offsets, held, self._complete, self._chosen)
