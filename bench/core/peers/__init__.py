"""What the index core is compared with: each peer answers which files must be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from bench.core.peers.bitmaps import RoaringBitmaps
from bench.core.peers.bloom import BloomFilters
from bench.core.peers.lance import LanceBTree
from bench.core.peers.sieve import SieveIndex
from bench.core.peers.sorted_parquet import SortedParquet
from bench.core.peers.zone_maps import ZoneMaps

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

    import numpy as np
    import pyarrow as pa

    from bench.core.layouts import Layout

__all__ = ["PEERS", "Peer"]


class Peer(Protocol):
    """An index from keys to files, exact or with files too many, but never with one too few.

    A peer with an attribute ``build_seconds`` has timed the part of ``build`` that counts.
    """

    name: ClassVar[str]

    @classmethod
    def supports(cls, layout: Layout) -> bool:
        """Whether the peer is meant for such keys."""

    @classmethod
    def build(cls, layout: Layout, scratch: Path) -> Self:
        """Index the keys as they lie in the files; ``scratch`` is for what goes to disk."""

    @property
    def size(self) -> int:
        """Bytes stored."""

    def points(self, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files to read for each key: ascending ordinals, and the offsets of each set."""

    def ranges(self, lows: pa.Array, highs: pa.Array) -> tuple[np.ndarray, np.ndarray] | None:
        """The same for closed ranges; None when every range takes all files."""


PEERS: Mapping[str, type[Peer]] = {
    peer.name: peer
    for peer in (ZoneMaps, BloomFilters, SieveIndex, LanceBTree, SortedParquet, RoaringBitmaps)
}
"""Every peer by its name."""
