"""The B-tree index of a Lance dataset: from keys to rows, and from these to files."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.core.arrays import offsets_of
from bench.measure import BUILDS, bytes_below, in_turn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Self

    from bench.core.layouts import Layout

__all__ = ["LanceBTree"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LanceBTree:
    """A dataset with a column of keys, indexed, and one of files.

    Args:
        dataset: The dataset.
        build_seconds: How long it took to create the index once the dataset was there, a median.
        size: Bytes of the index alone.
    """

    name: ClassVar[str] = "Lance BTREE"
    dataset: lance.LanceDataset
    build_seconds: float
    size: int

    @classmethod
    def supports(cls, layout: Layout) -> bool:  # noqa: ARG003
        """Any keys will do."""
        return True

    @classmethod
    def build(cls, layout: Layout, scratch: Path) -> Self:
        """Write the rows, then index them."""
        directory = scratch / "lance"
        shutil.rmtree(directory, ignore_errors=True)
        rows = pa.table({"key": layout.keys, "file": layout.ordinals})
        dataset = lance.write_dataset(rows, directory)
        build = partial(dataset.create_scalar_index, "key", "BTREE")
        seconds = in_turn({"build": build}, rounds=BUILDS)["build"]
        # those that were replaced are still there
        newest = max((directory / "_indices").iterdir(), key=lambda index: index.stat().st_mtime)
        return cls(
            dataset=dataset,
            build_seconds=seconds,
            size=bytes_below(newest),
        )

    def points(self, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files of the rows with each key."""
        return self._files(pc.field("key") == key for key in keys)

    def ranges(self, lows: pa.Array, highs: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files of the rows in each range."""
        key = pc.field("key")
        return self._files(
            (key >= low) & (key <= high) for low, high in zip(lows, highs, strict=True)
        )

    def _files(self, filters: Iterable[pc.Expression]) -> tuple[np.ndarray, np.ndarray]:
        tables = (self.dataset.to_table(columns=["file"], filter=one) for one in filters)
        sets = [np.unique(table["file"].to_numpy()) for table in tables]
        units = np.concatenate([np.zeros(0, np.int32), *sets])
        return offsets_of(np.array([len(found) for found in sets], np.int64)), units
