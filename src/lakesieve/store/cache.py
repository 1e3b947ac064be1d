"""Decoded parts of indexes, kept in bounded memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE_BYTES = 192 << 20

IN_ORDER_BYTES = 32 << 20
"""A limit for keys that come in order, so that nothing decoded is needed twice; memory that is
used again costs less than fresh memory."""


class BlockCache:
    """Decoded parts of indexes in ``limit`` bytes, the least recently used dropped; thread-safe."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._held = 0
        self._entries: OrderedDict[tuple[object, ...], tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def resize(self, limit: int) -> None:
        """Set a new limit."""
        with self._lock:
            self._limit = limit
            self._shrink()

    @property
    def held(self) -> int:
        """Bytes that are held."""
        return self._held

    def _shrink(self) -> None:
        while self._held > self._limit and len(self._entries) > 1:
            _, (_, gone) = self._entries.popitem(last=False)
            self._held -= gone

    def __contains__(self, key: tuple[object, ...]) -> bool:
        with self._lock:
            return key in self._entries

    def find(self, key: tuple[object, ...]) -> Any:
        """Return the value of a key if it is held, else ``None``."""
        with self._lock:
            known = self._entries.get(key)
            if known is None:
                return None
            self._entries.move_to_end(key)
            return known[0]

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

    def put(self, key: tuple[object, ...], value: Any, size: int) -> None:
        """Hold a value of ``size`` bytes, in the place of the one that is held."""
        with self._lock:
            _, gone = self._entries.pop(key, (None, 0))
            self._entries[key] = (value, size)
            self._held += size - gone
            self._shrink()


_SHARED = BlockCache()


def shared_cache() -> BlockCache:
    """Return the one cache of this process, for all handles and sessions."""
    return _SHARED
