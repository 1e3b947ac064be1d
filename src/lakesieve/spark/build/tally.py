"""What a build counts of each data file, and what its second stage gives of one index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.format import SegmentEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

_COUNTS = ("rows", "nulls", "repeats")


def tally_of(table: pa.Table, unit_count: int) -> bytes:
    """The counts of all tasks of the first stage, added up.

    Args:
        table: ``ordinal`` of a data file, and its counts in a task.
        unit_count: How many data files there are.
    """
    ordinals = table.column("ordinal").to_numpy()
    sums = np.zeros((len(_COUNTS), unit_count), np.int64)
    for at, name in enumerate(_COUNTS):
        np.add.at(sums[at], ordinals, table.column(name).to_numpy())
    return sums.tobytes()


def collected(
    parts: Iterable[tuple[str, bytes]], unit_count: int
) -> tuple[tuple[SegmentEntry, ...], np.ndarray]:
    """What the second stage gave for one index.

    Args:
        parts: ``kind`` and ``body`` of its rows.
        unit_count: How many data files there are.

    Returns:
        The written segments; and by data file how many rows and nulls it has, and whether a key is
        in several of its rows: three rows of int64.
    """
    segments = []
    tally = np.zeros((len(_COUNTS), unit_count), np.int64)
    for kind, body in parts:
        if kind == "tally":
            tally += np.frombuffer(body, np.int64).reshape(tally.shape)
        elif kind == "repeats":
            tally[2] += np.unpackbits(np.frombuffer(body, np.uint8), count=unit_count)
        else:
            segments.append(SegmentEntry.from_json(json.loads(body)))
    return tuple(segments), tally
