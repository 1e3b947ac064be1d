"""What is read of storage once, however many requests need it at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lakesieve.store import BlockCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Kept"]

_THREADS = 8
_STRIPES = 64

Key = tuple[object, ...]


class Kept:
    """Things by keys that name them for ever, the least recently used dropped first.

    Args:
        limit: Bytes that may be held.
    """

    def __init__(self, limit: int) -> None:
        self._cache = BlockCache(limit)
        self._locks = [threading.Lock() for _ in range(_STRIPES)]

    def get(self, key: Key, make: Callable[[], tuple[Any, int]]) -> Any:
        """The thing of a key; made, with its number of bytes, by one thread alone.

        Args:
            key: Names it.
            make: Makes it; it may not need this cache.
        """
        if key in self._cache:
            return self._cache.get(key, make)
        with self._locks[hash(key) % _STRIPES]:
            return self._cache.get(key, make)

    def all(self, wanted: Sequence[tuple[Key, Callable[[], tuple[Any, int]]]]) -> list[Any]:
        """Several things, those that are not held made by several threads.

        Args:
            wanted: The key of each, and what makes it.
        """
        missing = sum(key not in self._cache for key, _ in wanted)
        if missing < 2:
            return [self.get(key, make) for key, make in wanted]
        with ThreadPoolExecutor(min(_THREADS, missing)) as pool:
            return list(pool.map(lambda one: self.get(*one), wanted))
