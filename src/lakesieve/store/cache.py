"""Decoded parts of indexes, kept in bounded memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["IN_ORDER_BYTES", "BlockCache", "shared_cache"]

CACHE_BYTES = 192 << 20

IN_ORDER_BYTES = 32 << 20
"""A limit where keys come in order, so that no part of an index is needed twice; memory that is
used again costs less than fresh."""


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

    def resize(self, limit: int) -> None:
        """Hold no more than so many bytes from now on.

        Args:
            limit: Bytes that may be held.
        """
        with self._lock:
            self._limit = limit
            self._shrink()

    @property
    def held(self) -> int:
        """Bytes that are held."""
        return self._held

    def _shrink(self) -> None:
        while self._held > self._limit and len(self._parts) > 1:
            _, (_, gone) = self._parts.popitem(last=False)
            self._held -= gone

    def __contains__(self, key: tuple[object, ...]) -> bool:
        with self._lock:
            return key in self._parts

    def get(
        self, key: tuple[object, ...], make: Callable[..., tuple[Any, int]], *given: Any
    ) -> Any:
        """The part under a key; made of what is given, with its bytes, where it is not held.

        Args:
            key: Names the part among those of all indexes.
            make: Makes the part and tells its bytes; called where it is not held.
            *given: Arguments for it.
        """
        with self._lock:
            known = self._parts.get(key)
            if known is not None:
                self._parts.move_to_end(key)
                return known[0]
        part, size = make(*given)
        with self._lock:
            if key not in self._parts:
                self._parts[key] = (part, size)
                self._held += size
            self._shrink()
        return part


_SHARED = BlockCache()


def shared_cache() -> BlockCache:
    """The one cache of this process, for all handles and sessions."""
    return _SHARED
