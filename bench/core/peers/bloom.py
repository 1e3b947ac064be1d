"""A Bloom filter of each file's distinct keys, one false answer in a hundred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bench.core.arrays import batches, comparable, offsets_of, sets_in, sorted_pairs, words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

    import pyarrow as pa

    from bench.core.layouts import Layout

__all__ = ["BloomFilters"]

BITS_PER_KEY = 9.6
HASHES = 7
LENGTH_BYTES = 4
"""What it takes to store the length of a file's filter."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BloomFilters:
    """The filters of all files one after another.

    Args:
        bits: The bits, packed, each filter starting with a byte of its own.
        starts: First bit of each file's filter.
        lengths: Bits of each; none for a file without rows.
        like: A key, for the width of those that are hashed.
    """

    name: ClassVar[str] = "Bloom filters"
    bits: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    like: np.ndarray

    @classmethod
    def supports(cls, layout: Layout) -> bool:  # noqa: ARG003
        """Any keys will do."""
        return True

    @classmethod
    def build(cls, layout: Layout, scratch: Path) -> Self:  # noqa: ARG003
        """Count the distinct keys of each file, then set their bits, file after file."""
        keys, files = sorted_pairs(layout.keys, layout.ordinals)
        counts = np.bincount(files, minlength=layout.unit_count)
        lengths = np.ceil(counts * BITS_PER_KEY / 8).astype(np.int64) * 8
        starts = offsets_of(lengths)
        # file after file, the bits set lie close together
        order = np.argsort(files, kind="stable")
        hashes, files = _hashes(keys)[order], files[order]
        bits = np.zeros(starts[-1], bool)
        for i in range(HASHES):
            bits[starts[files] + _bit_positions(hashes, i, lengths[files])] = True
        return cls(
            bits=np.packbits(bits, bitorder="little"),
            starts=starts[:-1],
            lengths=lengths,
            like=keys[:1],
        )

    @property
    def size(self) -> int:
        """Bytes of the filters and of their lengths."""
        return self.bits.nbytes + LENGTH_BYTES * len(self.lengths)

    def points(self, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Files whose filter has all bits of the key."""
        hashes = _hashes(comparable(keys, like=self.like))

        def matrices() -> Iterator[np.ndarray]:
            for batch in batches(np.full(len(hashes), len(self.lengths))):
                yield self._found(hashes[batch])

        return sets_in(matrices())

    def ranges(self, lows: pa.Array, highs: pa.Array) -> None:  # noqa: ARG002
        """Filters know nothing of ranges."""
        return

    def _found(self, hashes: np.ndarray) -> np.ndarray:
        """Which files may have each of some keys; a pair that lacks a bit is done."""
        probes, files = np.broadcast_to(
            self.lengths > 0, (len(hashes), len(self.lengths))
        ).nonzero()
        for i in range(HASHES):
            positions = self.starts[files] + _bit_positions(hashes[probes], i, self.lengths[files])
            hit = self.bits[positions >> 3] >> (positions & 7).astype(np.uint8) & 1 == 1
            probes, files = probes[hit], files[hit]
        found = np.zeros((len(hashes), len(self.lengths)), bool)
        found[probes, files] = True
        return found


def _bit_positions(hashes: np.ndarray, i: int, lengths: np.ndarray) -> np.ndarray:
    """The bit that the i-th hash function names: double hashing, with a cubic term.

    Without that term, the filters of small files would err more often.
    """
    step = hashes >> np.uint64(32)
    position = (hashes & np.uint64(0xFFFFFFFF)) + step * np.uint64(i) + np.uint64((i**3 - i) // 6)
    return (position % lengths.astype(np.uint64)).astype(np.int64)


def _hashes(keys: np.ndarray) -> np.ndarray:
    """64-bit hashes of comparable keys: splitmix64 over their words."""
    hashes = np.zeros(len(keys), np.uint64)
    for word in words(keys):
        hashes = (hashes ^ word) + np.uint64(0x9E3779B97F4A7C15)
        hashes = (hashes ^ hashes >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        hashes = (hashes ^ hashes >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        hashes ^= hashes >> np.uint64(31)
    return hashes
