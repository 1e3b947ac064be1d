"""The keys at both ends of a list of blocks, with which an index answers in the order of its keys.

Blocks say where keys may lie, but not which keys there are. So some keys are kept as they are: the
first and the last, or all if there are few.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.sieve.keys import successor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from lakesieve.sieve.keys import Code

MOST_END_KEYS = 128
"""Most distinct keys of a segment that are all kept."""

END_KEYS = 32
"""Number of keys that a segment with more keys keeps at each end."""

END_KEY_BYTES = 4096
"""Most bytes of byte strings that are kept at each end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndKeys:
    """The lowest and the highest distinct keys of a list of blocks.

    Args:
        first: The lowest keys, ascending. No key between two of them is missing.
        last: The highest keys, ascending. No key between two of them is missing. Empty if ``first``
            has all keys.
        count: Number of distinct keys; ``None`` if it is not known.
        is_exact: True if each block with units has a key, and each key is in every unit of its
            block. Otherwise, a key is in at least one unit of its block.
    """

    first: tuple[Any, ...] = ()
    last: tuple[Any, ...] = ()
    count: int | None = None
    is_exact: bool = False

    @property
    def is_complete(self) -> bool:
        """True if ``first`` has all keys."""
        return self.count == len(self.first)

    def unknown(self, low: Code, high: Code) -> tuple[Any, Any] | None:
        """Return the half-open interval whose keys are not known, or ``None`` if there is none.

        Args:
            low: A lower bound of all key codes.
            high: An upper bound of all key codes.
        """
        if self.is_complete:
            return None
        start = successor(self.first[-1]) if self.first else low
        return start, self.last[0] if self.last else successor(high)

    @classmethod
    def of(cls, first: pa.Array, last: pa.Array, count: int) -> EndKeys:
        """Return the end keys of exact blocks.

        Args:
            first: The first distinct keys: :data:`MOST_END_KEYS`, or all if there are fewer.
            last: The last distinct keys, as many as in ``first``.
            count: Number of distinct keys.
        """
        if count <= MOST_END_KEYS:
            every = _limited(first.to_pylist())
            if len(every) == count:
                return cls(first=tuple(every), count=count, is_exact=True)
        # the two ends of a few long keys must not overlap
        most = min(END_KEYS, count // 2)
        highest = last[len(last) - most :].to_pylist()
        return cls(
            first=tuple(_limited(first[:most].to_pylist())),
            last=tuple(_limited(highest[::-1])[::-1]),
            count=count,
            is_exact=True,
        )


def _limited(keys: list[Any]) -> list[Any]:
    """Return as many of the keys, from the first on, as the limit of bytes allows."""
    if not keys or not isinstance(keys[0], bytes):
        return keys
    sizes = np.cumsum([len(key) for key in keys])
    return keys[: int(np.searchsorted(sizes, END_KEY_BYTES, side="right"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKeys:
    """What is known of the keys of several lists of blocks together.

    Args:
        keys: Keys that are there, ascending and distinct.
        unknown: Half-open intervals that may hold more keys.
    """

    keys: Sequence[Any]
    unknown: Sequence[tuple[Any, Any]]

    @classmethod
    def joined(cls, parts: Iterable[KnownKeys]) -> KnownKeys:
        """Return what is known of the keys of all parts together."""
        every = list(parts)
        return cls(
            keys=sorted({key for part in every for key in part.keys}),
            unknown=[pair for part in every for pair in part.unknown],
        )

    def first(self) -> Sequence[Any]:
        """Return the keys below all intervals that may hold more keys."""
        if not self.unknown:
            return self.keys
        return self.keys[: bisect.bisect_left(self.keys, min(low for low, _ in self.unknown))]

    def last(self) -> Sequence[Any]:
        """Return the keys above all intervals that may hold more keys."""
        if not self.unknown:
            return self.keys
        return self.keys[bisect.bisect_left(self.keys, max(end for _, end in self.unknown)) :]

    def within(self, low: Code, end: Code) -> EndKeys:
        """Return the end keys of merged blocks, whose keys lie in ``[low, end)``."""
        start, behind = (bisect.bisect_left(self.keys, code) for code in (low, end))
        here = KnownKeys(
            keys=self.keys[start:behind],
            unknown=[pair for pair in self.unknown if pair[0] < end and pair[1] > low],
        )
        count = None if here.unknown else len(here.keys)
        if count is not None and count <= MOST_END_KEYS:
            every = _limited(list(here.keys))
            if len(every) == count:
                return EndKeys(first=tuple(every), count=count)
        most = END_KEYS if count is None else min(END_KEYS, count // 2)
        first, last = list(here.first())[:most], list(here.last())[::-1][:most]
        return EndKeys(first=tuple(_limited(first)), last=tuple(_limited(last)[::-1]), count=count)
