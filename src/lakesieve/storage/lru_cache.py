"""A cache with bounded memory that drops the least recently used values first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any


class LruCache:
    """A thread-safe cache of at most ``limit`` bytes that drops the least recently used values."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._entries: OrderedDict[tuple[object, ...], tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def resize(self, limit: int) -> None:
        """Set a new limit in bytes."""
        with self._lock:
            self._limit = limit
            self._shrink()

    @property
    def limit(self) -> int:
        """The most bytes that the cache holds."""
        return self._limit

    @property
    def held(self) -> int:
        """Bytes of all cached values."""
        return self._held

    def _shrink(self) -> None:
        while self._held > self._limit and len(self._entries) > 1:
            _, (_, freed) = self._entries.popitem(last=False)
            self._held -= freed

    def __contains__(self, key: tuple[object, ...]) -> bool:
        with self._lock:
            return key in self._entries

    def find(self, key: tuple[object, ...]) -> Any:
        """Return the cached value of a key, or ``None``."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: tuple[object, ...], value: Any, size: int) -> None:
        """Cache a value of ``size`` bytes, in place of the key's earlier value."""
        with self._lock:
            _, freed = self._entries.pop(key, (None, 0))
            self._entries[key] = (value, size)
            self._held += size - freed
            self._shrink()
