"""Blocks: runs of adjacent keys that lie in the same units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["Blocks"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """An ordered list of blocks, each a separator and the set of units of its keys.

    Block ``i`` covers the codes from ``keys[i]`` up to, not including, ``keys[i + 1]``; the last
    one up to and including ``max_key``. Exact for keys that are present: their set is exactly the
    units that hold them. An absent key between two present ones gets the set of the lower one.

    Args:
        keys: First key of every block, strictly ascending, ``int64`` or ``binary``.
        offsets: Where each block's set starts in ``ordinals``, int64, one more than blocks.
        ordinals: The sets one after the other, each ascending, int32.
        max_key: The last key.
        key_count: Distinct keys.
        pair_count: Distinct (key, ordinal) pairs.
    """

    keys: pa.Array
    offsets: np.ndarray
    ordinals: np.ndarray
    max_key: int | bytes
    key_count: int
    pair_count: int

    def __len__(self) -> int:
        return len(self.keys)
