"""The index core as a peer of the others: segments in a store, read back like any index."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar
from unittest import mock

import numpy as np
import pyarrow as pa

from bench.measure import BUILDS, in_turn
from lakesieve.format import IndexDefinition, KeyColumn, catalogue_id, encode_segment
from lakesieve.sieve import blocks_of_pairs, build_budgeted, sort_pairs
from lakesieve.storage import Storage, open_storage
from lakesieve.store import (
    BlockCache,
    Changes,
    IndexReader,
    IndexStore,
    stage_catalogue,
    stage_segment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

    from bench.core.layouts import Layout
    from lakesieve.sieve import Blocks

__all__ = ["Lakesieve", "half_open"]

# arrays of that length come from the heap, not fresh from the system
SEGMENT_PAIRS = 2_000_000
CACHE_BYTES = 2 << 30


class Lakesieve:
    """Exact runs in the default mode, or the budgeted mode.

    Args:
        reader: Reads the stored index.
        size: Bytes of its segments.
        build_seconds: Sorting, cutting and coding, without the disk.
        block_seconds: Sorting and cutting alone.
    """

    name: ClassVar[str] = "lakesieve"

    def __init__(
        self, store: IndexStore, size: int, build_seconds: float, block_seconds: float
    ) -> None:
        self._store = store
        self._snapshot = store.snapshot()
        # what is warm is all decoded, as it is where memory allows
        self.reader = IndexReader(store, self._snapshot, BlockCache(CACHE_BYTES))
        self._size = size
        self.build_seconds = build_seconds
        self.block_seconds = block_seconds

    @classmethod
    def supports(cls, _layout: Layout) -> bool:
        """Every layout."""
        return True

    @classmethod
    def build(cls, layout: Layout, scratch: Path, budget: int | None = None) -> Self:
        """Index the keys as they lie in the files, in at most so many bytes if that is given."""
        keys = layout.keys if layout.keys.type == pa.int64() else layout.keys.cast(pa.binary())
        built: list[Blocks] = []

        def cut() -> None:
            built[:] = (
                _exact(keys, layout.ordinals)
                if budget is None
                else [_budgeted(keys, layout, budget)]
            )

        def code() -> None:
            for blocks in built:
                encode_segment(blocks, unit_count=layout.unit_count)

        # the first time does not count: a fresh process has no memory pages yet
        rounds = BUILDS if budget is None else 1
        times = in_turn({"cut": cut, "code": code}, rounds=rounds, warm_up=budget is None)
        store = IndexStore(open_storage(str(scratch / f"index-{time.time_ns()}")))
        files = _files(layout.unit_count)
        entries = [
            stage_segment(
                store.storage,
                blocks,
                unit_count=layout.unit_count,
                catalogue=catalogue_id(files.column("path")),
            )
            for blocks in built
        ]
        catalogue = stage_catalogue(store.storage, files, segments=entries, definition=_DEFINITION)
        store.create(
            _DEFINITION,
            Changes(operation="create", add_catalogues=(catalogue,), add_segments=tuple(entries)),
        )
        size = sum(entry.size for entry in entries)
        return cls(store, size, sum(times.values()), times["cut"])

    @property
    def size(self) -> int:
        """Bytes stored, without the names of the files."""
        return self._size

    def cold_reads(self, key: int | bytes | str) -> list[int]:
        """Lengths of the ranges that a look-up of one key fetches when nothing is cached."""
        lengths: list[int] = []
        fetch = Storage.get_range

        def counted(storage: Storage, path: str, start: int, length: int) -> bytes:
            lengths.append(length)
            return fetch(storage, path, start, length)

        with mock.patch.object(Storage, "get_range", counted):
            self.fresh_reader().lookup([half_open(key, key)])
        return lengths

    def fresh_reader(self) -> IndexReader:
        """A reader with nothing cached."""
        return IndexReader(self._store, self._snapshot, BlockCache())

    def points(self, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files to read for each key."""
        result = keys if keys.type == pa.int64() else keys.cast(pa.binary())
        order = pa.compute.sort_indices(result).to_numpy()
        found = self.reader.points(result.take(pa.array(order)))
        which, ordinals = next(iter(found.values())) if found else (np.zeros(0, np.int64),) * 2
        rows = order[which]
        by_row = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=len(keys))
        return np.append(0, np.cumsum(counts)), ordinals[by_row]

    def ranges(self, lows: pa.Array, highs: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files to read for each closed range."""
        answers = []
        for low, high in zip(lows.to_pylist(), highs.to_pylist(), strict=True):
            found = self.reader.lookup([half_open(low, high)])
            answers.append(next(iter(found.values())) if found else np.zeros(0, np.int32))
        return np.append(0, np.cumsum([len(a) for a in answers])), np.concatenate(answers)


def _exact(keys: pa.Array, ordinals: np.ndarray) -> Iterator[Blocks]:
    return blocks_of_pairs(keys, ordinals, max_pairs=SEGMENT_PAIRS)


def _budgeted(keys: pa.Array, layout: Layout, budget: int) -> Blocks:
    return build_budgeted(
        *sort_pairs(keys, layout.ordinals),
        unit_count=layout.unit_count,
        measure=lambda blocks: len(encode_segment(blocks, unit_count=layout.unit_count)[0]),
        size=budget,
    )


def half_open(
    low: int | bytes | str, high: int | bytes | str
) -> tuple[int, int] | tuple[bytes, bytes]:
    """The interval that look-ups take for a closed range."""
    if isinstance(low, int) and isinstance(high, int):
        return low, high + 1
    start, end = (k if isinstance(k, bytes) else str(k).encode() for k in (low, high))
    return start, end + b"\0"


def _files(count: int) -> pa.Table:
    return pa.table(
        {
            "path": [f"file-{number}" for number in range(count)],
            "size": [1] * count,
            "records": [1] * count,
            "has_null": [False] * count,
            "has_value": [True] * count,
        }
    )


_DEFINITION = IndexDefinition(
    name="bench",
    index_uuid="bench",
    table_format="none",
    table_uuid="bench",
    table_location="none",
    columns=(KeyColumn(field_id=1, name="key", type="key", key_kind="string"),),
    created_at="2026-01-01T00:00:00+00:00",
)
