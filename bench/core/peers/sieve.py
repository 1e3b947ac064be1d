"""Sieve, a learned index, from its description: blocks as wide as the trend of the keys allows.

Tong, Liu, Wang, Zhou, He, Zhang, Wang: Sieve: A Learned Data-Skipping Index for Data Analytics.
PVLDB 16(11), 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from bench.core.arrays import group_starts, offsets_of, slices, sorted_pairs, unions

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from bench.core.layouts import Layout

__all__ = ["SieveIndex"]

BLOCK_KEYS = 32
POINTS_OF_TREND = 1 << 16
"""Keys at which the trend is looked at; a segment cannot be finer than their distance."""
BLOCKS_OF_TOLERANCE = 16
"""How far a segment's line may stray from the trend, in changes allowed to a block."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SieveIndex:
    """Segments of the key space, each cut into equally wide blocks with a set of files.

    Args:
        least: The least key of each segment.
        widths: How many keys wide its blocks are, as if every integer were a key.
        first: Its first block, and after the last segment the number of blocks.
        offsets: Where the files of each block begin.
        files: Files of the blocks, ascending in each.
        unit_count: Number of files.
        size: Bytes of all of these, compressed.
    """

    name: ClassVar[str] = "Sieve"
    least: np.ndarray
    widths: np.ndarray
    first: np.ndarray
    offsets: np.ndarray
    files: np.ndarray
    unit_count: int
    size: int

    @classmethod
    def supports(cls, layout: Layout) -> bool:
        """Its lines need numbers."""
        return bool(pa.types.is_int64(layout.keys.type))

    @classmethod
    def build(cls, layout: Layout, scratch: Path, block_keys: float = BLOCK_KEYS) -> Self:  # noqa: ARG003
        """Find the trend of the location sets, its straight segments, and cut these into blocks.

        Args:
            layout: The keys as they lie in the files.
            scratch: Not used.
            block_keys: Distinct keys a block on average, which decides how many false files a
                block may have: wherever the sets change faster than on average, its blocks are
                narrower.
        """
        keys, files = sorted_pairs(layout.keys, layout.ordinals)
        starts = group_starts(keys)
        distinct = keys[starts]
        trend = _trend(starts, files)
        allowed = trend[-1] * block_keys / len(distinct)
        cuts = _cuts(distinct, trend, BLOCKS_OF_TOLERANCE * allowed)
        lasts = np.append(cuts[1:], len(distinct)) - 1
        least = distinct[cuts]
        spans = _distance(distinct[lasts], least) + 1.0
        blocks = np.clip(np.rint((trend[lasts] - trend[cuts]) / allowed), 1, spans)
        widths = np.ceil(spans / blocks).astype(np.uint64)
        first = offsets_of(_distance(distinct[lasts], least) // widths + np.uint64(1))
        owner = np.repeat(np.arange(len(cuts)), lasts - cuts + 1)
        within = _distance(distinct, least[owner]) // widths[owner]
        of_pairs = np.repeat(first[owner] + within.astype(np.int64), _lengths(starts, files))
        packed = np.sort(of_pairs * layout.unit_count + files)
        owners, files = np.divmod(packed[group_starts(packed)], layout.unit_count)
        offsets = offsets_of(np.bincount(owners, minlength=first[-1]))
        segments = [np.diff(least, prepend=0), widths, np.diff(first)]
        return cls(
            least=least,
            widths=widths,
            first=first,
            offsets=offsets,
            files=files.astype(np.int32),
            unit_count=layout.unit_count,
            size=len(_stored(segments, offsets, files, layout.unit_count)),
        )

    def points(self, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files of the block around each key."""
        start, stop = self._blocks(keys.to_numpy(), after=0), self._blocks(keys.to_numpy(), after=1)
        return slices(self.offsets[start], self.offsets[stop], self.files)

    def ranges(self, lows: pa.Array, highs: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files of all blocks that meet the range."""
        start, stop = (
            self._blocks(lows.to_numpy(), after=0),
            self._blocks(highs.to_numpy(), after=1),
        )
        return unions(self.offsets[start], self.offsets[stop], self.files, self.unit_count)

    def _blocks(self, keys: np.ndarray, after: int) -> np.ndarray:
        """The block around each key, or the next one; between segments both are the next."""
        segment = np.searchsorted(self.least, keys, side="right") - 1
        within = _distance(keys, self.least[segment]) // self.widths[segment]
        count = np.diff(self.first)[segment]
        within = np.minimum(within + np.uint64(after), count.astype(np.uint64)).astype(np.int64)
        return np.where(segment < 0, 0, self.first[segment] + within)


def _distance(keys: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Differences that may not fit into a signed word."""
    return keys.view(np.uint64) - least.view(np.uint64)


def _lengths(starts: np.ndarray, files: np.ndarray) -> np.ndarray:
    return np.diff(np.append(starts, len(files)))


def _trend(starts: np.ndarray, files: np.ndarray) -> np.ndarray:
    """How many files, up to each key, came that the key before did not have."""
    ranks = np.repeat(np.arange(len(starts)), _lengths(starts, files))
    # by file; numpy sorts 16-bit words by radix, in linear time
    narrow = files.astype(np.uint16) if files.max() < 1 << 16 else files
    order = np.argsort(narrow, kind="stable")
    ranked, filed = ranks[order], files[order]
    came = np.ones(len(files), np.int64)
    came[order[1:]] = (filed[1:] != filed[:-1]) | (ranked[1:] != ranked[:-1] + 1)
    return np.cumsum(np.add.reduceat(came, starts))


def _cuts(keys: np.ndarray, trend: np.ndarray, tolerance: float) -> np.ndarray:
    """Where segments begin: each continues while a line from its start stays close enough.

    Args:
        keys: The distinct keys.
        trend: The trend at each.
        tolerance: How far a line may be off.
    """
    points = np.unique(np.linspace(0, len(keys) - 1, POINTS_OF_TREND).astype(np.int64))
    xs, ys = keys[points].tolist(), trend[points].tolist()
    cuts, origin = [0], 0
    least, greatest = -math.inf, math.inf
    for i in range(1, len(xs)):
        run, rise = xs[i] - xs[origin], ys[i] - ys[origin]
        low, high = (rise - tolerance) / run, (rise + tolerance) / run
        least, greatest = max(least, low), min(greatest, high)
        if least > greatest:
            origin = i - 1
            cuts.append(origin)
            run, rise = xs[i] - xs[origin], ys[i] - ys[origin]
            least, greatest = (rise - tolerance) / run, (rise + tolerance) / run
    return points[cuts]


def _stored(
    segments: list[np.ndarray], offsets: np.ndarray, files: np.ndarray, unit_count: int
) -> bytes:
    """The index as bytes: a block's files as gaps in a sorted list, or bits where that is less."""
    counts = np.diff(offsets)
    listed = counts * 8 < unit_count
    of_lists = np.repeat(listed, counts)
    rows = np.repeat(np.cumsum(~listed) - 1, counts)[~of_lists]
    bitmaps = np.zeros((np.count_nonzero(~listed), unit_count), bool)
    bitmaps[rows, files[~of_lists]] = True
    gaps = np.diff(files, prepend=0)
    # the first of a list is distinct from zero
    gaps[offsets[:-1][counts > 0]] = files[offsets[:-1][counts > 0]]
    streams = [
        *(_squeezed(column) for column in segments),
        _squeezed(counts),
        min(_squeezed(files[of_lists]), _squeezed(gaps[of_lists]), key=len),
        _squeezed(np.packbits(bitmaps, axis=1)),
    ]
    return np.array([len(s) for s in streams], np.uint64).tobytes() + b"".join(streams)


def _bytes_for(greatest: int) -> int:
    return max(1, -(-int(greatest).bit_length() // 8))


def _squeezed(numbers: np.ndarray) -> bytes:
    """Numbers in as few bytes as they need, first bytes first, as Zstandard likes them."""
    planes = numbers.reshape(-1).astype(np.int64).view(np.uint8).reshape(-1, 8)
    needed = _bytes_for(numbers.max(initial=0)) if numbers.min(initial=0) >= 0 else 8
    codec = pa.Codec("zstd", compression_level=12)
    return bytes(codec.compress(np.ascontiguousarray(planes[:, :needed].T).tobytes()))
