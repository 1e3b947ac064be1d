"""Choose a few units, so that each set of units has at least one chosen unit."""

from __future__ import annotations

import numpy as np

from lakesieve.sieve.blocks import slice_indices
from lakesieve.sieve.lookup import chosen_units

# bounds the time of a call to some tenths of a second
_COMPARISONS = 1 << 26


def hitting_units(
    offsets: np.ndarray,
    ordinals: np.ndarray,
    usable: np.ndarray,
    chosen: np.ndarray,
    *,
    comparisons: int = _COMPARISONS,
) -> np.ndarray:
    """Choose units so that each set has a usable unit that is chosen.

    The choice is greedy: next comes the unit that is in most sets without a chosen unit. It is not
    the smallest possible choice. The work is bounded: with very many units, the last sets get one
    unit each.

    Args:
        offsets: The start of each set among the ordinals, and the end of the last set.
        ordinals: The units of the sets, one set after the other.
        usable: For each unit, whether it may stand for a set. A set without a usable unit gets all
            of its units.
        chosen: For each unit, whether it is chosen already.
        comparisons: How often units may be compared. Each choice compares all units.

    Returns:
        For each unit, whether it is chosen. Units that were chosen stay chosen.
    """
    chosen = chosen.copy()
    sizes = np.diff(offsets)
    held = chosen_units(usable, offsets, ordinals)
    chosen[ordinals[np.repeat(held == 0, sizes)]] = True
    # the only usable unit of a set has to be chosen
    chosen[ordinals[np.repeat(held == 1, sizes) & usable[ordinals]]] = True
    is_open = (held > 1) & (chosen_units(chosen & usable, offsets, ordinals) == 0)
    if is_open.any():
        pairs = np.repeat(is_open, sizes) & usable[ordinals]
        most = comparisons // max(1, len(chosen))
        chosen[_greedy(held[is_open], ordinals[pairs], len(chosen), most)] = True
    return chosen


def _greedy(sizes: np.ndarray, units: np.ndarray, unit_count: int, most: int) -> np.ndarray:
    """Return units so that each set has one of them.

    Args:
        sizes: The number of units of each set, at least 1.
        units: The units of the sets, one set after the other.
        unit_count: Number of all units.
        most: How many units are chosen one by one.
    """
    starts = np.cumsum(sizes) - sizes
    sets = np.repeat(np.arange(len(sizes)), sizes)
    by_unit = sets[np.argsort(units, kind="stable")]
    counts = np.bincount(units, minlength=unit_count)
    unit_starts = np.concatenate(([0], np.cumsum(counts)))
    is_open = np.ones(len(sizes), bool)
    left = len(sizes)
    picked: list[int] = []
    while left and len(picked) < most:
        best = int(np.argmax(counts))
        picked.append(best)
        hit = by_unit[unit_starts[best] : unit_starts[best + 1]]
        hit = hit[is_open[hit]]
        is_open[hit] = False
        left -= len(hit)
        _, at = slice_indices(starts[hit], sizes[hit])
        counts -= np.bincount(units[at], minlength=unit_count)
    rest = np.flatnonzero(is_open[sets])
    # of each set that is left, the unit that is in most of these sets
    best_first = rest[np.lexsort((-counts[units[rest]], sets[rest]))]
    _, firsts = np.unique(sets[best_first], return_index=True)
    return np.concatenate([np.array(picked, np.int64), units[best_first[firsts]]])
