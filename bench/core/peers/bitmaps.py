"""A Roaring bitmap of files for each distinct key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from bench.core.arrays import comparable, group_starts, offsets_of, sorted_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Self

    from bench.core.layouts import Layout

__all__ = ["RoaringBitmaps"]

KEYS_AT_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoaringBitmaps:
    """The distinct keys, sorted, and their bitmaps.

    Args:
        keys: The keys, comparable.
        bitmaps: The files of each.
        size: Bytes of both, each bitmap after its length, compressed if that helps.
    """

    name: ClassVar[str] = "Roaring bitmaps"
    keys: np.ndarray
    bitmaps: list[BitMap]
    size: int

    @classmethod
    def supports(cls, layout: Layout) -> bool:
        """Only few distinct keys, which is what bitmaps are for."""
        return bool(pc.count_distinct(layout.keys).as_py() <= KEYS_AT_MOST)

    @classmethod
    def build(cls, layout: Layout, scratch: Path) -> Self:  # noqa: ARG003
        """Sort the pairs and make each key's files a bitmap."""
        pairs, files = sorted_pairs(layout.keys, layout.ordinals)
        starts = group_starts(pairs)
        keys = pairs[starts]
        bitmaps = [BitMap(chunk) for chunk in np.split(files, starts[1:])]
        for bitmap in bitmaps:
            bitmap.run_optimize()
        bitmaps_bytes = [bitmap.serialize() for bitmap in bitmaps]
        lengths = np.array([len(chunk) for chunk in bitmaps_bytes], np.uint32)
        plain = b"".join([keys.tobytes(), lengths.tobytes(), *bitmaps_bytes])
        squeezed = pa.Codec("zstd", compression_level=19).compress(plain, asbytes=True)
        return cls(keys=keys, bitmaps=bitmaps, size=min(len(plain), len(squeezed)))

    def points(self, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The bitmap of each key, if it has one."""
        return self.ranges(keys, keys)

    def ranges(self, lows: pa.Array, highs: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The union of the bitmaps in each range."""
        starts = np.searchsorted(self.keys, comparable(lows, like=self.keys), side="left")
        stops = np.searchsorted(self.keys, comparable(highs, like=self.keys), side="right")
        spans = zip(starts.tolist(), stops.tolist(), strict=True)
        return _sets(BitMap().union(*self.bitmaps[start:stop]) for start, stop in spans)


def _sets(bitmaps: Iterable[BitMap]) -> tuple[np.ndarray, np.ndarray]:
    sets = [np.array(bitmap.to_array(), np.int32) for bitmap in bitmaps]
    lengths = np.array([len(found) for found in sets], np.int64)
    return offsets_of(lengths), np.concatenate([np.zeros(0, np.int32), *sets])
