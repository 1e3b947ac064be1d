"""Keys as numpy arrays, and sets of units as one array with offsets, for peers and layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "batches",
    "comparable",
    "group_starts",
    "offsets_of",
    "sets_in",
    "slices",
    "sorted_pairs",
    "unions",
    "words",
]

BATCH = 1 << 24
"""Cells that a step on many sets at once may take."""


def comparable(keys: pa.Array, like: np.ndarray | None = None) -> np.ndarray:
    """Keys as numpy compares and searches them: int64, or bytes filled up with zeros.

    There is room for one byte more than the longest key has, so that longer keys that are cut to
    the same width still sort as they should and equal none.

    Args:
        keys: int64, text or bytes; bytes must not end with zeros unless all are equally long.
        like: Keys whose type the result has.
    """
    if pa.types.is_integer(keys.type):
        integers: np.ndarray = keys.to_numpy()
        return integers
    window = slice(keys.offset, keys.offset + len(keys) + 1)
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[window]
    lengths = np.diff(offsets)
    # whole words, for sorting and hashing
    width = like.itemsize if like is not None else (lengths.max(initial=0) // 8 + 1) * 8
    padded = np.zeros((len(keys), width), np.uint8)
    data = np.frombuffer(keys.buffers()[2], np.uint8)
    if lengths.max(initial=0) > width:
        indices = offsets[:-1, None] + np.arange(width)
        inside = np.arange(width) < lengths[:, None]
        padded[inside] = data[indices[inside]]
    else:
        padded[np.arange(width) < lengths[:, None]] = data[offsets[0] : offsets[-1]]
    return padded.reshape(-1).view(f"S{width}")


def words(keys: np.ndarray) -> list[np.ndarray]:
    """Comparable keys as columns of unsigned words, of which the first decides the order."""
    if keys.dtype.kind == "i":
        return [keys.view(np.uint64) ^ np.uint64(1 << 63)]
    columns = keys.view(">u8").reshape(len(keys), -1)
    return [columns[:, i].astype(np.uint64) for i in range(columns.shape[1])]


def sorted_pairs(keys: pa.Array, ordinals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs of comparable key and unit, sorted by key, then unit."""
    columns = words(plain := comparable(keys))
    unit_bits = int(ordinals.max(initial=0)).bit_length()
    least = columns[0].min() if len(plain) else np.uint64(0)
    if len(columns) == 1 and int(columns[0].max(initial=0) - least) >> (64 - unit_bits) == 0:
        # one word holds both: sorting words is several times faster than sorting by two columns
        packed = columns[0] - least << np.uint64(unit_bits) | ordinals.astype(np.uint64)
        packed.sort()
        packed = packed[group_starts(packed)]
        units = packed & np.uint64((1 << unit_bits) - 1)
        restored = (packed >> np.uint64(unit_bits)) + least ^ np.uint64(1 << 63)
        return restored.view(np.int64), units.astype(np.int32)
    telling = [column for column in columns if column.min() != column.max()]
    order = np.lexsort((ordinals, *reversed(telling)))
    plain, units = plain[order], ordinals[order]
    new = np.ones(len(plain), bool)
    new[1:] = (plain[1:] != plain[:-1]) | (units[1:] != units[:-1])
    return plain[new], units[new]


def group_starts(values: np.ndarray) -> np.ndarray:
    """Where in a sorted array each of its distinct values begins."""
    new = np.ones(len(values), bool)
    new[1:] = values[1:] != values[:-1]
    return np.flatnonzero(new)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Where each of some parts begins when they lie one after another, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def slices(
    starts: np.ndarray, stops: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The slices of an array one after another, with their offsets."""
    lengths = stops - starts
    offsets = offsets_of(lengths)
    taken = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return offsets, units[taken]


def unions(
    starts: np.ndarray, stops: np.ndarray, units: np.ndarray, unit_count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The set of units in each slice of an array of units."""
    stops = np.maximum(starts, stops)

    def matrices() -> Iterator[np.ndarray]:
        for batch in batches(stops - starts + unit_count):
            offsets, taken = slices(starts[batch], stops[batch], units)
            found = np.zeros((len(offsets) - 1, unit_count), bool)
            found[np.repeat(np.arange(len(found)), np.diff(offsets)), taken] = True
            yield found

    return sets_in(matrices())


def batches(costs: np.ndarray) -> Iterator[slice]:
    """Slices of consecutive probes whose costs add up to about one batch."""
    number = np.cumsum(costs, dtype=np.int64) // BATCH
    starts = group_starts(number)
    for start, stop in zip(starts, [*starts[1:], len(costs)], strict=True):
        yield slice(start, stop)


def sets_in(matrices: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The columns that are true in each row, of all matrices one after another."""
    lengths, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for matrix in matrices:
        lengths.append(np.count_nonzero(matrix, axis=1))
        columns.append(matrix.nonzero()[1].astype(np.int32))
    return offsets_of(np.concatenate(lengths)), np.concatenate(columns)
