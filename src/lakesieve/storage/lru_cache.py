"""Values in bounded memory, the least recently used dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any


class LruCache:
    """Values of ``limit`` bytes together, the least recently used dropped first; thread-safe."""

    def __init__(self, limit: int) -> None:
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

    def put(self, key: tuple[object, ...], value: Any, size: int) -> None:
        """Hold a value of ``size`` bytes, in the place of the one that is held."""
        with self._lock:
            _, gone = self._entries.pop(key, (None, 0))
            self._entries[key] = (value, size)
            self._held += size - gone
            self._shrink()
