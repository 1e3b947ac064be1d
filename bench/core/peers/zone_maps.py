"""Zone maps: the least and the greatest key of each file, which every table format keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.core.arrays import batches, comparable, sets_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

    from bench.core.layouts import Layout

__all__ = ["ZoneMaps"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ZoneMaps:
    """The bounds of every file that has rows.

    Args:
        files: Ordinals of these files.
        least: The least key of each.
        greatest: The greatest key of each.
        size: Bytes as Parquet.
    """

    name: ClassVar[str] = "zone maps"
    files: np.ndarray
    least: np.ndarray
    greatest: np.ndarray
    size: int

    @classmethod
    def supports(cls, layout: Layout) -> bool:  # noqa: ARG003
        """Any keys will do."""
        return True

    @classmethod
    def build(cls, layout: Layout, scratch: Path) -> Self:  # noqa: ARG003
        """Group by file."""
        rows = pa.table({"file": layout.ordinals, "key": layout.keys})
        bounds = rows.group_by("file").aggregate([("key", "min"), ("key", "max")])
        bounds = bounds.sort_by("file").combine_chunks()
        sink = pa.BufferOutputStream()
        pq.write_table(bounds, sink, compression="zstd", compression_level=19)
        greatest = comparable(bounds["key_max"].combine_chunks())
        return cls(
            files=bounds["file"].to_numpy(),
            least=comparable(bounds["key_min"].combine_chunks(), like=greatest),
            greatest=greatest,
            size=sink.getvalue().size,
        )

    def points(self, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Files with the key between their bounds."""
        return self.ranges(keys, keys)

    def ranges(self, lows: pa.Array, highs: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Files whose bounds meet the range."""
        low, high = comparable(lows, like=self.least), comparable(highs, like=self.least)

        def matrices() -> Iterator[np.ndarray]:
            for batch in batches(np.full(len(low), len(self.files))):
                yield (self.least <= high[batch, None]) & (low[batch, None] <= self.greatest)

        offsets, indices = sets_in(matrices())
        return offsets, self.files[indices]
