"""How the keys of an index lie in the data files: what a picture of the table shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lakesieve.index.opened import OpenedIndex

KEYS = 16_384
"""Keys that are sampled."""

COLUMNS, FILES = 192, 48
"""What a picture has: columns of keys in their order, and rows of data files."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyLayout:
    """Where some keys lie.

    Args:
        keys: Keys that were sampled, evenly spread over the index.
        files: Live data files that the index covers.
        held: For some of those files, evenly spread, in which columns of neighbouring keys each
            holds any: a row a file.
        spans: The first and the last of those columns for each of them, -1 where it holds none.
        files_of_key: For each key, how many data files hold it.
        between: For each key, in how many data files it is between the smallest and the largest
            sampled key, and so what minimum and maximum leave.
    """

    keys: int
    files: int
    held: np.ndarray
    spans: np.ndarray
    files_of_key: np.ndarray
    between: np.ndarray

    @property
    def kept(self) -> float:
        """Data files that hold a key, on average."""
        return float(self.files_of_key.mean())

    @property
    def kept_by_bounds(self) -> float:
        """Data files that minimum and maximum leave for a key, on average."""
        return float(self.between.mean())


def key_layout(index: OpenedIndex, live: np.ndarray) -> KeyLayout | None:
    """Look up a sample of an index's keys.

    Returns:
        What was found; ``None`` for an index without keys.
    """
    codes = index.key_sample(KEYS)
    if codes is None or not live.any():
        return None
    which, numbers = index.points(codes)
    counted = live[numbers]
    which, numbers = which[counted], numbers[counted]
    row = np.cumsum(live) - 1
    files = int(live.sum())
    first, last = np.full(files, len(codes)), np.full(files, -1)
    np.minimum.at(first, row[numbers], which)
    np.maximum.at(last, row[numbers], which)
    steps = np.zeros(len(codes) + 1, np.int64)
    some = last >= 0
    np.add.at(steps, first[some], 1)
    np.add.at(steps, last[some] + 1, -1)
    shown = np.unique(np.linspace(0, files - 1, min(files, FILES)).astype(np.int64))
    place = np.full(files, -1)
    place[shown] = np.arange(len(shown))
    columns = min(COLUMNS, len(codes))
    held = np.zeros((len(shown), columns), bool)
    at = place[row[numbers]]
    held[at[at >= 0], which[at >= 0] * columns // len(codes)] = True
    ends = np.column_stack([first[shown], last[shown]]) * columns // len(codes)
    ends[~some[shown]] = -1
    return KeyLayout(
        keys=len(codes),
        files=files,
        held=held,
        spans=ends,
        files_of_key=np.bincount(which, minlength=len(codes)),
        between=np.cumsum(steps)[:-1],
    )
