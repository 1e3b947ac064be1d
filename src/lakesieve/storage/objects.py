"""Objects under one root, over obstore, with typed errors."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import AlreadyExistsError, PermissionDeniedError, UnauthenticatedError
from obstore.store import LocalStore, MemoryStore, from_url

from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from lakesieve.storage.location import normalized

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ObjectInfo", "Storage", "open_storage"]

_MEMORY: dict[str, MemoryStore] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    """An object's path, size in bytes, and a text that changes when it is rewritten."""

    path: str
    size: int
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Objects under one root. A value: picklable, opened where and when it is used.

    Args:
        location: Normalized location of the root.
        options: Settings of the object store, such as ``region`` or ``endpoint``.
    """

    location: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def is_local(self) -> bool:
        """True on local disk."""
        return self.location.startswith("/")

    def child(self, name: str) -> Storage:
        """The storage of a folder below this one.

        Raises:
            InvalidInputError: The name leads out of this root.
        """
        return Storage(location=f"{self.location}/{_inside(name)}", options=self.options)

    def get(self, path: str) -> bytes:
        """Read a whole object.

        Raises:
            NotFoundError: It does not exist.
            StorageError: The storage failed.
        """
        key = _inside(path)
        with self._typed(path):
            return bytes(self._store().get(key).bytes())

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from ``start`` on.

        Raises:
            NotFoundError: It does not exist.
            StorageError: The storage failed, or the object is shorter.
        """
        key = _inside(path)
        with self._typed(path):
            return bytes(self._store().get_range(key, start=start, length=length))

    def head(self, path: str) -> ObjectInfo:
        """Size and version of an object.

        Raises:
            NotFoundError: It does not exist.
        """
        key = _inside(path)
        with self._typed(path):
            return _info(self._store().head(key))

    def stamp(self, path: str) -> str:
        """What changes when an object on local disk does; elsewhere nothing, and nothing is asked.

        Raises:
            NotFoundError: It is on local disk and does not exist.
        """
        if not self.is_local:
            return ""
        try:
            # not through the store, whose every call costs more than a warm look-up
            stat = Path(self.location, _inside(path)).stat()
        except FileNotFoundError as error:
            raise _missing(f"{self.location}/{path}") from error
        except OSError as error:
            raise _read_only(f"{self.location}/{path}") from error
        return f"{stat.st_ino} {stat.st_mtime_ns} {stat.st_size}"

    def create(self, path: str, data: bytes) -> None:
        """Write an object that must not exist yet, visible whole or not at all.

        Raises:
            StorageError: ``ALREADY_EXISTS`` when it does, ``READ_ONLY`` or another failure.
        """
        key = _inside(path)
        if self.is_local:
            try:
                Path(self.location).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise _read_only(self.location) from error
        with self._typed(path):
            self._store().put(key, data, mode="create")

    def objects(self, prefix: str) -> list[ObjectInfo]:
        """Objects below a folder, sorted by path; none when there is no such folder."""
        if self.is_local and not Path(self.location).is_dir():
            return []
        with self._typed(prefix):
            found = [_info(meta) for batch in self._store().list(prefix) for meta in batch]
        return sorted(found, key=lambda info: info.path)

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly below a folder."""
        if self.is_local and not Path(self.location).is_dir():
            return []
        with self._typed(prefix):
            told = self._store().list_with_delimiter(prefix or None)
        return sorted(PurePosixPath(path).name for path in told["common_prefixes"])

    def delete(self, path: str) -> None:
        """Delete an object; one that is gone already is no error."""
        key = _inside(path)
        with self._typed(path), contextlib.suppress(FileNotFoundError):
            self._store().delete(key)

    def probe(self) -> None:
        """Check that this storage can be written to and honours exclusive create.

        Raises:
            UnsupportedError: It replaces an object that was to be created.
            StorageError: It cannot be written to.
        """
        path = f"_probe-{uuid.uuid4().hex}"
        self.create(path, b"1")
        try:
            self.create(path, b"2")
        except StorageError as error:
            if error.kind is not ErrorKind.ALREADY_EXISTS:
                raise
        else:
            raise UnsupportedError(
                f"{self.location} replaces objects that are to be created exclusively.",
                kind=ErrorKind.UNSUPPORTED_STORAGE,
                hint="Commits would not be safe there; store the index elsewhere (location=).",
            )
        finally:
            self.delete(path)

    def _store(self) -> Any:
        return _open(self.location, self.options)

    @contextlib.contextmanager
    def _typed(self, path: str) -> Iterator[None]:
        where = f"{self.location}/{path}"
        try:
            yield
        except LakesieveError:
            raise
        except FileNotFoundError as error:
            raise _missing(where) from error
        except AlreadyExistsError as error:
            raise StorageError(f"{where} exists.", kind=ErrorKind.ALREADY_EXISTS) from error
        except (PermissionError, PermissionDeniedError, UnauthenticatedError) as error:
            raise _read_only(where) from error
        except (obstore.exceptions.BaseError, OSError, ValueError) as error:
            if self.is_local and not Path(self.location).is_dir():
                raise _missing(where) from error
            text = str(error).split("\n", 1)[0]
            if any(sign in text for sign in ("os error 13", "os error 30", "Permission denied")):
                raise _read_only(where) from error
            raise StorageError(
                f"{where}: {text}",
                kind=ErrorKind.STORAGE_FAILED,
                hint="Check that the storage is reachable, and try again.",
            ) from error


def open_storage(location: str, options: dict[str, str] | None = None) -> Storage:
    """Name a root by its location; nothing is read or written yet.

    Args:
        location: A local path, ``file:`` or an object store's URL.
        options: Settings of the object store.

    Raises:
        UnsupportedError: The scheme cannot be reached.
    """
    return Storage(location=normalized(location), options=tuple(sorted((options or {}).items())))


@lru_cache(maxsize=64)
def _open(location: str, options: tuple[tuple[str, str], ...]) -> Any:
    if location.startswith("/"):
        return LocalStore(prefix=location)
    if location.startswith("memory:"):
        return _MEMORY.setdefault(location, MemoryStore())
    settings: Any = dict(options)
    return from_url(location, **settings)


def _inside(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or any(part in {"", ".", ".."} for part in parts) or "\0" in path:
        raise InvalidInputError(
            f"The path {path!r} leads out of the index.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="The index names a file outside itself; rebuild it.",
        )
    return path


def _info(meta: Any) -> ObjectInfo:
    return ObjectInfo(
        path=str(meta["path"]),
        size=int(meta["size"]),
        version=str(meta["e_tag"] or meta["last_modified"]),
    )


def _missing(where: str) -> NotFoundError:
    return NotFoundError(
        f"{where} does not exist.",
        kind=ErrorKind.OBJECT_NOT_FOUND,
        hint="If it was part of an index, rebuild the index.",
    )


def _read_only(where: str) -> StorageError:
    return StorageError(
        f"{where} cannot be written or read: permission denied.",
        kind=ErrorKind.READ_ONLY,
        hint="Give the index another place (location=, --location), or grant the right.",
    )
