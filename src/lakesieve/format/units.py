"""Units: what the ordinals of a catalogue stand for, whole data files or blocks of their rows.

A *row block* is a fixed number of consecutive rows of a data file, as the file stores them. Each
data file owns a run of consecutive ordinals, one for each of its blocks. The runs follow from the
row counts in the catalogue, so nothing is stored for a block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import numpy as np

from lakesieve.errors import ErrorKind, IndexFormatError

_NAME = re.compile(r"rows:([1-9]\d{0,9})")


@dataclass(frozen=True, slots=True)
class Unit:
    """What one ordinal stands for.

    Args:
        rows: Rows of a block; 0 for whole data files.
    """

    rows: int = 0

    @classmethod
    def parse(cls, name: object) -> Self:
        """Parse the name of a unit, and refuse a unit that only a newer lakesieve knows."""
        if not isinstance(name, str):
            raise ValueError(f"the unit is {name!r}")
        if name == str(cls()):
            return cls()
        match = _NAME.fullmatch(name)
        if match is None:
            raise IndexFormatError(
                f"The index has the unit {name!r}; this version of lakesieve reads only "
                "'data-file' and row blocks such as 'rows:20000'.",
                kind=ErrorKind.TOO_NEW,
                hint="Upgrade lakesieve. Queries read every file until then.",
            )
        return cls(int(match[1]))

    def __str__(self) -> str:
        """Return the name under which catalogues store the unit."""
        return f"rows:{self.rows}" if self.rows else "data-file"

    def most(self, *, files: int, records: int) -> int:
        """Return an upper bound of the units of some data files, from their totals."""
        return files + records // self.rows if self.rows else files

    def first_ordinals(self, records: np.ndarray) -> np.ndarray:
        """Return the first ordinal of each data file, and the number of units at the end.

        Args:
            records: Rows of each data file, int64.

        Returns:
            Ascending int64, one element more than there are files.
        """
        if not self.rows:
            return np.arange(len(records) + 1)
        blocks = -(-records // self.rows)
        return np.concatenate(([0], np.cumsum(blocks, dtype=np.int64)))


DATA_FILE = Unit()
"""Whole data files."""
