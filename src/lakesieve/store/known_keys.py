"""What an index surely knows of its keys: which keys at the ends of segments are in live units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.sieve import EndKeys, KnownKeys, chosen_units, successor
from lakesieve.store.reader import key_array, segment_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.store.segment_loader import SegmentLoader


def known_keys(
    loader: SegmentLoader,
    entry: SegmentEntry,
    live: np.ndarray,
    *,
    first: bool = True,
    last: bool = True,
) -> KnownKeys:
    """Return which keys of a segment are in live units, as far as its footer keeps its keys.

    Args:
        loader: Reads the segment: its footer and, if some of its units are not live, the row groups
            of the keys.
        entry: The segment.
        live: For each unit of its catalogue, whether it is live.
        first: Whether the lowest keys are wanted.
        last: Whether the highest keys are wanted.
    """
    if not live.any():
        return KnownKeys(keys=(), unknown=())
    ends = loader.segment(entry).footer.ends or EndKeys()
    interval = ends.unknown(entry.key_min, entry.key_max)
    keys: list[Any] = []
    if first or ends.is_complete:
        keys += ends.first
    if last:
        keys += ends.last
    unknown = [] if interval is None else [interval]
    if not first and interval is not None:
        unknown = [(entry.key_min, interval[1])]
    elif not last and interval is not None:
        unknown = [(interval[0], successor(entry.key_max))]
    if live.all() or not keys:
        return KnownKeys(keys=keys, unknown=unknown)
    held, total = _live_units(loader, entry, keys, live)
    # of an inexact set, a unit may be live that does not have the key
    is_sure = (held == total) | (held == 0) | ends.is_exact
    unknown += [
        (key, successor(key)) for key, sure in zip(keys, is_sure.tolist(), strict=True) if not sure
    ]
    is_held = (is_sure & (held > 0)).tolist()
    return KnownKeys(
        keys=[key for key, one in zip(keys, is_held, strict=True) if one], unknown=unknown
    )


def _live_units(
    loader: SegmentLoader, entry: SegmentEntry, keys: Sequence[Any], live: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of live units, and of all units, in the set of each ascending key."""
    held, total = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    for at, offsets, ordinals in segment_points(loader, entry, key_array(entry, keys)):
        held[at] = chosen_units(live, offsets, ordinals)
        total[at] = np.diff(offsets)
    return held, total
