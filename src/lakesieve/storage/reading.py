"""Objects as files that are read where a library of another format needs them."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from lakesieve.storage.location import normalized

if TYPE_CHECKING:
    from lakesieve.storage.objects import Storage

_AHEAD = 1 << 20


def elsewhere(storage: Storage, location: str) -> Storage:
    """The storage of a folder that a table names, reached with the options of the table's own.

    Raises:
        UnsupportedError: The store cannot be reached.
    """
    return replace(storage, location=normalized(location))


def open_object(storage: Storage, path: str) -> io.BufferedReader:
    """Open an object.

    Raises:
        NotFoundError: It does not exist.
        StorageError: The storage failed; reading raises it as well.
    """
    return io.BufferedReader(_Object(storage, path), _AHEAD)


class _Object(io.RawIOBase):
    def __init__(self, storage: Storage, path: str) -> None:
        self._storage = storage
        self._path = path
        self._size = storage.head(path).size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        data = self._storage.get_range(self._path, self._at, length)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
