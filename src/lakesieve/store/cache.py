"""Decoded parts of indexes, kept in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.storage import LruCache

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE_BYTES = 192 << 20

IN_ORDER_BYTES = 32 << 20
"""A limit for keys that come in order, so that nothing decoded is needed twice; memory that is
used again costs less than fresh memory."""


class BlockCache(LruCache):
    """Decoded parts of indexes in ``limit`` bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        super().__init__(limit)

    def get(
        self, key: tuple[object, ...], make: Callable[..., tuple[Any, int]], *given: Any
    ) -> Any:
        """Return the value of a key, made by ``make(*given)`` with its size if it is not held."""
        known = self.find(key)
        if known is not None:
            return known
        value, size = make(*given)
        self.put(key, value, size)
        return value


_SHARED = BlockCache()


def shared_cache() -> BlockCache:
    """Return the one cache of this process, for all handles and sessions."""
    return _SHARED
