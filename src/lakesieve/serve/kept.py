"""What is read of storage once, however many requests need it at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.store import BlockCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    @property
    def held(self) -> int:
        """Bytes that are held."""
        return self._cache.held

    def find(self, key: Key) -> Any:
        """The thing of a key if it is held, else ``None``."""
        return self._cache.find(key)

    def put(self, key: Key, thing: Any, size: int) -> None:
        """Hold a thing.

        Args:
            key: Names it.
            thing: The thing.
            size: Its number of bytes.
        """
        self._cache.put(key, thing, size)

    def get(self, key: Key, make: Callable[[], tuple[Any, int]]) -> Any:
        """The thing of a key; made, with its number of bytes, by one thread alone."""
        found = self._cache.find(key)
        if found is not None:
            return found
        with self._locks[hash(key) % _STRIPES]:
            return self._cache.get(key, make)

    def all(self, wanted: Sequence[tuple[Key, Callable[[], tuple[Any, int]]]]) -> list[Any]:
        """Several things, those that are not held made by several threads."""
        missing = sum(key not in self._cache for key, _ in wanted)
        if missing < 2:
            return [self.get(key, make) for key, make in wanted]
        with ThreadPoolExecutor(min(_THREADS, missing)) as pool:
            return list(pool.map(lambda one: self.get(*one), wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """What is kept of the manifests of tables.

    Args:
        small: What every plan needs: lists, deletes, and some bytes a file.
        large: What is needed of the files that are in a plan.
    """

    small: Kept
    large: Kept

    @classmethod
    def of(cls, limit: int) -> Tiers:
        """Divide memory between the two."""
        small = limit // 4
        return cls(small=Kept(small), large=Kept(limit - small))
