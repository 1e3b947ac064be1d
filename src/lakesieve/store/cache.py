"""Cache decoded parts of indexes in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.storage import LruCache

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE_BYTES = 192 << 20

IN_ORDER_BYTES = 32 << 20
"""Size of the cache for passes that visit keys in order, so that nothing is decoded twice.

A small cache is faster here: reusing memory costs less than fresh memory.
"""


class BlockCache(LruCache):
    """A cache for decoded parts of indexes that holds at most ``limit`` bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        super().__init__(limit)

    def get(
        self, key: tuple[object, ...], make: Callable[..., tuple[Any, int]], *given: Any
    ) -> Any:
        """Return the value of a key. If it is not cached, ``make`` returns it with its size."""
        cached = self.find(key)
        if cached is not None:
            return cached
        value, size = make(*given)
        self.put(key, value, size)
        return value


_SHARED = BlockCache()


def shared_cache() -> BlockCache:
    """Return the cache that all handles and sessions of this process share."""
    return _SHARED
