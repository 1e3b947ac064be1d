"""All pairs of key and file, sorted, in the smallest Parquet file that they fit into."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.core.arrays import comparable, offsets_of, slices, sorted_pairs, unions

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from bench.core.layouts import Layout

__all__ = ["SortedParquet"]

DICTIONARY = "RLE_DICTIONARY"
INTEGERS = ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", DICTIONARY, "PLAIN")
TEXTS = ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", DICTIONARY, "PLAIN")
EQUALLY_LONG = ("DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT", DICTIONARY, "PLAIN")
LEVELS = (3, 9, 19)
WORTH_A_LEVEL = 0.98
"""What a higher level must bring the size down to: the highest takes twenty times as long."""
SAMPLES = 8
SAMPLE_ROWS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SortedParquet:
    """The file, and what it holds as arrays.

    Args:
        keys: The key of each pair, comparable.
        files: Its file.
        unit_count: Number of files.
        settings: Encoding and Zstandard level of both columns.
        build_seconds: How long it took to sort and write, but not to find the settings.
        size: Bytes of the Parquet file.
    """

    name: ClassVar[str] = "sorted Parquet"
    keys: np.ndarray
    files: np.ndarray
    unit_count: int
    settings: dict[str, tuple[str, int]]
    build_seconds: float
    size: int

    @classmethod
    def supports(cls, layout: Layout) -> bool:  # noqa: ARG003
        """Any keys will do."""
        return True

    @classmethod
    def build(cls, layout: Layout, scratch: Path) -> Self:
        """Sort, choose how to write each column by a sample of it, and write."""
        start = time.perf_counter()
        keys, files = sorted_pairs(layout.keys, layout.ordinals)
        sorting = time.perf_counter() - start
        pairs = pa.table({"key": _arrow_of(keys, layout.keys), "file": files})
        offsets = np.linspace(0, max(0, len(files) - SAMPLE_ROWS), SAMPLES).astype(int)
        sample = pa.concat_tables([pairs.slice(offset, SAMPLE_ROWS) for offset in offsets])
        settings = {name: _best(sample.select([name])) for name in pairs.column_names}
        path = scratch / "sorted.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        _write(pairs, path, settings)
        return cls(
            keys=keys,
            files=files,
            unit_count=layout.unit_count,
            settings=settings,
            build_seconds=sorting + time.perf_counter() - start,
            size=path.stat().st_size,
        )

    def points(self, keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files of the pairs with each key."""
        probes = comparable(keys, like=self.keys)
        starts = np.searchsorted(self.keys, probes, side="left")
        return slices(starts, np.searchsorted(self.keys, probes, side="right"), self.files)

    def ranges(self, lows: pa.Array, highs: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The files of the pairs in each range."""
        starts = np.searchsorted(self.keys, comparable(lows, like=self.keys), side="left")
        stops = np.searchsorted(self.keys, comparable(highs, like=self.keys), side="right")
        return unions(starts, stops, self.files, self.unit_count)


def _arrow_of(keys: np.ndarray, like: pa.Array) -> pa.Array:
    """Comparable keys as Arrow has them, those of equal length in a type that says so."""
    if keys.dtype.kind == "i":
        return pa.array(keys)
    matrix = keys.view(np.uint8).reshape(len(keys), -1)
    bounds = pc.min_max(pc.binary_length(like)).as_py()
    if bounds["min"] == bounds["max"]:
        data = pa.py_buffer(np.ascontiguousarray(matrix[:, : bounds["max"]]))
        return pa.Array.from_buffers(pa.binary(bounds["max"]), len(keys), [None, data])
    lengths = np.strings.str_len(keys)
    data = pa.py_buffer(matrix[np.arange(matrix.shape[1]) < lengths[:, None]])
    offsets = pa.py_buffer(offsets_of(lengths).astype(np.int32))
    return pa.Array.from_buffers(like.type, len(keys), [None, offsets, data])


def _best(column: pa.Table) -> tuple[str, int]:
    """The encoding and level that make one column smallest."""
    name, of_type = column.schema.names[0], column.schema.types[0]
    encodings = TEXTS
    if pa.types.is_integer(of_type):
        encodings = INTEGERS
    elif pa.types.is_fixed_size_binary(of_type):
        encodings = EQUALLY_LONG
    chosen, smallest = (encodings[0], LEVELS[0]), np.inf
    for level in LEVELS:
        sizes = {}
        for encoding in encodings:
            sink = pa.BufferOutputStream()
            _write(column, sink, {name: (encoding, level)})
            sizes[encoding] = sink.getvalue().size
        best = min(sizes, key=sizes.__getitem__)
        if sizes[best] < smallest * WORTH_A_LEVEL:
            chosen, smallest = (best, level), sizes[best]
    return chosen


def _write(
    table: pa.Table, target: Path | pa.NativeFile, settings: dict[str, tuple[str, int]]
) -> None:
    encodings = {name: encoding for name, (encoding, _) in settings.items()}
    pq.write_table(
        table,
        target,
        compression="zstd",
        compression_level={name: level for name, (_, level) in settings.items()},
        use_dictionary=[name for name in encodings if encodings[name] == DICTIONARY],
        column_encoding={n: e for n, e in encodings.items() if e != DICTIONARY} or None,
        row_group_size=len(table),
        write_statistics=False,
        store_schema=False,
    )
