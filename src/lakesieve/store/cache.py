"""Decoded parts of indexes, kept in bounded memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BlockCache"]

CACHE_BYTES = 256 << 20


class BlockCache:
    """Decoded parts of indexes, the least recently used dropped first; safe between threads.

    Args:
        limit: Bytes that may be held.
    """

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._held = 0
        self._parts: OrderedDict[tuple[object, ...], tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: tuple[object, ...]) -> bool:
        with self._lock:
            return key in self._parts

    def held(self, key: tuple[object, ...]) -> Any:
        """The part under a key, ``None`` where it is not held."""
        with self._lock:
            known = self._parts.get(key)
            if known is None:
                return None
            self._parts.move_to_end(key)
            return known[0]

    def get(self, key: tuple[object, ...], make: Callable[[], tuple[Any, int]]) -> Any:
        """The part under a key, made (with its size in bytes) where it is not held."""
        known = self.held(key)
        if known is not None:
            return known
        part, size = make()
        with self._lock:
            if key not in self._parts:
                self._parts[key] = (part, size)
                self._held += size
            while self._held > self._limit and len(self._parts) > 1:
                _, (_, gone) = self._parts.popitem(last=False)
                self._held -= gone
        return part
