"""What minimum and maximum leave of data files: how tables without an index are pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lakesieve.index import OpenedIndex
from lakesieve.sieve import wide_code

if TYPE_CHECKING:
    from lakesieve.predicate import Ranges
    from lakesieve.sieve import Code
    from lakesieve.store import IndexStore, Snapshot


class BoundsOfFiles(OpenedIndex):
    """An index that answers by minimum and maximum alone.

    Args:
        store: The index.
        snapshot: Its state.
    """

    def __init__(self, store: IndexStore, snapshot: Snapshot) -> None:
        super().__init__(store, snapshot)
        lows, highs = self.file_bounds()
        self._is_bytewise = any(isinstance(code, bytes) for code in lows)
        self._has = np.array([code is not None for code in lows], bool)
        # of Python's numbers, as an end may be above all codes
        self._lows = np.array([self._code(code) for code in lows], object)
        self._highs = np.array([self._code(code) for code in highs], object)

    def _code(self, code: Code | None) -> Code:
        if code is None:
            return b"" if self._is_bytewise else 0
        return wide_code(code) if self._is_bytewise and isinstance(code, int) else code

    def may_match(self, ranges: Ranges) -> np.ndarray | None:
        """Whether each file's minimum and maximum leave room for a value of the ranges."""
        mask = np.zeros(len(self._has), bool)
        if ranges.nulls:
            mask |= self.flagged("has_null")
        for low, high in ranges.intervals:
            found = self._has.copy()
            if low is not None:
                found &= np.asarray(self._highs > self._code(low), bool)
            if high is not None:
                found &= np.asarray(self._lows < self._code(high), bool)
            mask |= found
        return mask
