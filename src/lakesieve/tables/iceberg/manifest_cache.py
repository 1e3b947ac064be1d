"""What was read of metadata files, kept in bounded memory: such a file never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_THREADS = 8

Key = tuple[object, ...]


class ContentCache:
    """Content by keys that name it for ever, the least recently used dropped first.

    It is safe between threads.

    Args:
        limit: Bytes that may be held.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[Key, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()
        # a lock for each key: what makes one entry may ask for another
        self._making: dict[Key, threading.Lock] = {}
        self.held = 0
        """Bytes that are held."""

    def find(self, key: Key) -> Any:
        """Return the content of a key, or ``None`` where it is not held."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Key, content: Any, size: int) -> None:
        """Hold content of ``size`` bytes in the place of what is held for the key."""
        with self._lock:
            self.held += size - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = (content, size)
            while self.held > self._limit and len(self._entries) > 1:
                self.held -= self._entries.popitem(last=False)[1][1]

    def get(self, key: Key, make: Callable[[], tuple[Any, int]]) -> Any:
        """Return the content of a key; one thread makes it, with its size, where it is not held."""
        content = self.find(key)
        if content is not None:
            return content
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                content = self.find(key)
                if content is None:
                    content, size = make()
                    self.put(key, content, size)
        finally:
            with self._lock:
                self._making.pop(key, None)
        return content

    def get_all(self, wanted: Sequence[tuple[Key, Callable[[], tuple[Any, int]]]]) -> list[Any]:
        """Return the content of several keys; several threads make what is not held."""
        missing = sum(key not in self._entries for key, _ in wanted)
        if missing < 2:
            return [self.get(key, make) for key, make in wanted]
        with ThreadPoolExecutor(min(_THREADS, missing)) as pool:
            return list(pool.map(lambda one: self.get(*one), wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestCache:
    """What is kept of manifests, in two tiers with memory of their own.

    Args:
        small: What every plan needs: manifest lists, delete files, and some bytes a data file.
        large: The data files with their statistics, some hundred bytes each, which a plan needs of
            the files that it keeps.
    """

    small: ContentCache
    large: ContentCache

    @classmethod
    def of(cls, limit: int) -> ManifestCache:
        """Divide memory between the tiers."""
        small = limit // 4
        return cls(small=ContentCache(small), large=ContentCache(limit - small))

    @property
    def held(self) -> int:
        """Bytes that are held."""
        return self.small.held + self.large.held
