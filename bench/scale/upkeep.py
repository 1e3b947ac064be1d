"""A million refreshes of one index on sizes alone: how often its real policy writes each byte."""

from __future__ import annotations

import random
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bench.measure import Measured, note
from lakesieve.store import CompactionPolicy, wants_compaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["REFRESHES", "SIZES", "Upkeep", "run", "simulate"]

REFRESHES = 1_000_000

BASE = 2_000_000_000
"""Bytes of an index of a large table, as its creation writes them."""

SIZES: dict[str, Callable[[random.Random], int]] = {
    "equal": lambda _: 10_000,
    # from half a kilobyte to megabytes
    "mixed": lambda drawn: 500 + int(drawn.lognormvariate(9, 1.5)),
}
"""Bytes that a refresh adds, by the name of how they are spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What the refreshes and merges came to.

    Args:
        amplification: Bytes written, by refreshes and by merges, over bytes that refreshes wrote.
        most_deltas: Most deltas that there were at a time.
        deltas: How many there were on average.
        merges: How many merges there were.
        largest: Bytes of the largest merge.
    """

    amplification: float
    most_deltas: int
    deltas: float
    merges: int
    largest: int


def simulate(refreshes: int, policy: CompactionPolicy, *, base: int, sizes: str) -> Upkeep:
    """Refresh again and again, and merge when the policy says so.

    What is merged is taken to be as large as its parts are together.

    Args:
        refreshes: How often.
        policy: When to merge what.
        base: Bytes of the index at first; 0 for one of an empty table.
        sizes: One of :data:`SIZES`.
    """
    drawn, draw = random.Random(base), SIZES[sizes]
    catalogues = [SimpleNamespace(id=0, size=base)] if base else []
    added = merged = merges = largest = most = total = 0
    for number in range(1, refreshes + 1):
        size = draw(drawn)
        added += size
        catalogues.append(SimpleNamespace(id=number, size=size))
        state: Any = SimpleNamespace(catalogues=catalogues, segments=())
        taken = len(wants_compaction(state, policy))
        if taken:
            size = sum(entry.size for entry in catalogues[-taken:])
            catalogues[-taken:] = [SimpleNamespace(id=-number, size=size)]
            merges, merged, largest = merges + 1, merged + size, max(largest, size)
        most, total = max(most, len(catalogues) - 1), total + len(catalogues) - 1
    return Upkeep(
        amplification=(added + merged) / added,
        most_deltas=most,
        deltas=total / refreshes,
        merges=merges,
        largest=largest,
    )


def run(refreshes: int) -> Iterator[Measured]:
    """Of a table that grew from nothing, and of one that was large when its index was made.

    Args:
        refreshes: How often the index is refreshed.
    """
    for sizes, base in (("equal", 0), ("mixed", 0), ("mixed", BASE)):
        note(f"{refreshes:,} refreshes of {sizes} sizes")
        done = simulate(refreshes, CompactionPolicy(), base=base, sizes=sizes)
        yield Measured(
            name=f"bytes written over bytes added, {refreshes:,} refreshes of {sizes} sizes "
            + ("behind 2 GB" if base else "from nothing"),
            value=done.amplification,
            unit="x",
            at_most=10,
            details={
                "deltas on average": f"{done.deltas:.1f}",
                "at most": done.most_deltas,
                "merges": f"{done.merges:,}",
                "largest merge": f"{done.largest / 1e6:,.0f} MB",
            },
        )
