"""What was read of metadata files, kept in bounded memory: such a file never changes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.storage import LruCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_THREADS = 8

Key = tuple[object, ...]


class ContentCache(LruCache):
    """Content in ``limit`` bytes, by keys that name it for ever."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        # a lock for each key: what makes one entry may ask for another
        self._making: dict[Key, threading.Lock] = {}

    def get(self, key: Key, make: Callable[[], tuple[Any, int]]) -> Any:
        """Return the cached content of a key. If it is missing, one thread makes it."""
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
        """Return the cached content of several keys. Several threads make the missing content."""
        missing = sum(key not in self._entries for key, _ in wanted)
        if missing < 2:
            return [self.get(key, make) for key, make in wanted]
        with ThreadPoolExecutor(min(_THREADS, missing)) as pool:
            return list(pool.map(lambda one: self.get(*one), wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestCache:
    """What is kept of manifests, in two tiers with a memory limit each."""

    # what every plan needs: manifest lists, delete files, and a few bytes for each data file
    small: ContentCache
    # data files with their statistics, some hundred bytes each; a plan needs those that it keeps
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
