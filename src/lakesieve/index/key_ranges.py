"""Keys that several data files hold, as ranges of key codes, found from the index alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve import HIGHEST

if TYPE_CHECKING:
    from collections.abc import Iterable

# average buckets of a range
_BUCKETS = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyRanges:
    """Half-open ranges of key codes, ascending and disjoint.

    Args:
        lows: Start of each range, ``int64`` or ``binary``.
        highs: End of each range; null is above all codes.
    """

    lows: pa.Array
    highs: pa.Array

    @classmethod
    def joined(cls, parts: Iterable[KeyRanges]) -> KeyRanges | None:
        """Join parts in order. Return ``None`` if there are none or if their types differ."""
        present = [part for part in parts if len(part.lows)]
        if not present or len({part.lows.type for part in present}) > 1:
            return None
        lows = pa.concat_arrays([part.lows for part in present])
        order = pc.sort_indices(lows)
        highs = pa.concat_arrays([part.highs for part in present])
        return cls(lows=lows.take(order), highs=highs.take(order))

    def holds(self, codes: pa.Array) -> np.ndarray:
        """Return which of some codes lie in one of the ranges.

        Returns:
            A boolean array.
        """
        at = self._last_not_above(codes)
        highs = self.highs.take(pa.array(np.maximum(at, 0)))
        below = pc.fill_null(pc.less(codes, highs), True)
        inside = pc.and_(below, codes.is_valid())
        is_inside: np.ndarray = inside.to_numpy(zero_copy_only=False) & (at >= 0)
        return is_inside

    def buckets(self) -> tuple[int, pa.Table] | None:
        """Split the ranges into buckets by the high bits of their codes, for a join by equality.

        Returns:
            The number of low bits left out, and a table with one row for each bucket of each range:
            ``bucket``, ``first`` and ``last`` (included). ``None`` if codes are bytes.
        """
        if self.lows.type != pa.int64() or not len(self.lows):
            return None
        first = self.lows.to_numpy()
        # an end that is null is above all codes
        last = pc.fill_null(pc.subtract(self.highs, 1), HIGHEST).to_numpy()
        for shift in range(64):
            low, high = first >> shift, last >> shift
            counts = high - low + 1
            # differences of distant codes overflow
            if (counts > 0).all() and counts.sum(dtype=float) <= _BUCKETS * len(first):
                break
        at = np.repeat(np.arange(len(first)), counts)
        within = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns = {"bucket": low[at] + within, "first": first[at], "last": last[at]}
        return shift, pa.table(columns)

    def _last_not_above(self, codes: pa.Array) -> np.ndarray:
        """Return the index of the last range that begins at or before each code, or -1."""
        if codes.type == pa.int64():
            values = codes.fill_null(0).to_numpy()
            at: np.ndarray = np.searchsorted(self.lows.to_numpy(), values, side="right") - 1
            return at
        values = pa.concat_arrays([self.lows, codes])
        is_code = np.arange(len(values)) >= len(self.lows)
        both = pa.table({"value": values, "code": is_code})
        # a range that begins at a code sorts before this code
        keys = [("value", "ascending"), ("code", "ascending")]
        order = pc.sort_indices(both, sort_keys=keys).to_numpy().astype(np.int64)
        before = np.empty(len(values), np.int64)
        before[order] = np.cumsum(~is_code[order]) - 1
        return before[len(self.lows) :]
