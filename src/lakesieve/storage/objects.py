"""Objects under one root, over obstore, with typed errors."""

from __future__ import annotations

import contextlib
import io
import re
import uuid
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from lakesieve.errors import ErrorKind, InvalidInputError, StorageError, UnsupportedError, corrupt
from lakesieve.storage.background import all_at_once
from lakesieve.storage.clients import Options, client, fingerprint, with_new_credentials
from lakesieve.storage.hdfs import HDFS, STAGED, hdfs_errors
from lakesieve.storage.local_disk import check_unlinked, delete_file, delete_staged, stamp_of
from lakesieve.storage.location import normalized
from lakesieve.storage.store_errors import read_only, typed_errors
from lakesieve.storage.trust import TRUSTED_ROOTS, check_trusted, trusted_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    Renewal = Callable[[str], dict[str, str]]

_In = TypeVar("_In")
_Out = TypeVar("_Out")

# by the store, the settings that it refused, and who renews them: the settings that replaced them
_renewed: dict[tuple[str, Options, Renewal | None], Options] = {}
_MAX_RENEWED = 1000
_REQUESTS = 16
_READ_AHEAD = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    """An object as a listing tells it."""

    path: str
    size: int
    version: str  # a text that changes when it is rewritten
    modified: datetime  # when it was written


def _object_info(meta: Any) -> ObjectInfo:
    """Return what a store's metadata of an object says."""
    return ObjectInfo(
        path=str(meta["path"]),
        size=int(meta["size"]),
        version=str(meta["e_tag"] or meta["last_modified"]),
        modified=meta["last_modified"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Objects under one root. A value: picklable, opened where and when it is used.

    What asks the store raises ``NotFoundError`` where an object does not exist, and else
    ``StorageError``, whose ``kind`` tells a missing right from a passing fault.
    """

    location: str  # normalized location of the root
    # settings of the object store, such as `region` or `endpoint`, and the roots that are trusted;
    # may hold secrets and is therefore never printed
    options: Options = field(default=(), repr=False)
    # tells the settings of a location as they are now, when those that are known are refused. It
    # stays in this process
    renew: Renewal | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(Storage, location=self.location, options=self.options), ()

    @property
    def identity(self) -> tuple[str, str]:
        """The location, and a fingerprint of the endpoint and credentials that it is reached with.

        Keys of caches begin with it. It stays the same when credentials are renewed, which never
        changes the endpoint.
        """
        return self.location, fingerprint(self.options)

    @property
    def is_local(self) -> bool:
        """True on local disk."""
        return self.location.startswith("/")

    def child(self, name: str) -> Storage:
        """Return the storage of a folder below this one."""
        return replace(self, location=f"{self.location}/{_inside(name)}")

    @property
    def parent(self) -> Storage:
        """The storage of the folder that this one lies in."""
        return replace(self, location=self.location.rpartition("/")[0])

    def at(self, location: str) -> Storage:
        """Return the storage of another root that an index names, reached with the same options.

        Raises:
            UnsupportedError: It is in a store of another kind, or not in a trusted location.
        """
        if _scheme(location) != _scheme(self.location):
            raise UnsupportedError(
                f"{location} is not in the same kind of store as {self.location}.",
                kind=ErrorKind.UNSUPPORTED_STORAGE,
                hint="Objects can be shared within one store only.",
            )
        trusted = dict(self.options).get(TRUSTED_ROOTS, "")
        check_trusted(location, self.location, trusted_folders(trusted))
        return replace(self, location=location)

    def get(self, path: str, *, most: int | None = None) -> bytes:
        """Read a whole object; one of more than ``most`` bytes is a ``CorruptIndexError``."""
        return self._attempt(_inside(path), lambda store: _whole(store.get(path), path, most))

    def get_all(self, paths: Sequence[str], *, most: int | None = None) -> list[bytes]:
        """Read several whole objects, at once where each takes a request."""
        return self.at_once(partial(self.get, most=most), paths)

    def at_once(self, act: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
        """Do something for several objects: in turn, or at once where each takes a request."""
        if self.is_local or self.location.startswith("memory:") or len(items) < 2:
            return [act(item) for item in items]
        # not a pool of the standard library, whose threads keep a process alive at its exit
        return all_at_once([partial(act, item) for item in items], _REQUESTS)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from ``start`` on, fewer where the object ends before."""

        def read(store: Any) -> bytes:
            return bytes(store.get_range(path, start=start, length=length))

        return self._attempt(_inside(path), read)

    def get_ranges(self, path: str, starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        """Read parts of an object at once, those that lie close together in one request."""

        def read(store: Any) -> list[bytes]:
            return [bytes(part) for part in store.get_ranges(path, starts=starts, lengths=lengths)]

        return self._attempt(_inside(path), read)

    def head(self, path: str) -> ObjectInfo:
        """Return size and version of an object."""
        return self._attempt(_inside(path), lambda store: _object_info(store.head(path)))

    def stamp(self, path: str) -> tuple[int, ...]:
        """Return what changes when an object on local disk does; nothing elsewhere."""
        return stamp_of(f"{self.location}/{_inside(path)}") if self.is_local else ()

    def create(self, path: str, data: bytes) -> None:
        """Write an object that must not exist yet, visible whole or not at all."""
        self._put(path, data, "create")

    def replace(self, path: str, data: bytes) -> None:
        """Write an object, visible whole or not at all, in place of what may be there."""
        self._put(path, data, "overwrite")

    def objects(self, prefix: str, *, after: str = "") -> list[ObjectInfo]:
        """List the objects below a folder whose paths are greater than ``after``, sorted by path.

        There are none where there is no such folder.
        """
        if self.is_local and not Path(self.location).is_dir():
            return []

        def read(store: Any) -> list[ObjectInfo]:
            listed = store.list(prefix, offset=after or None)
            return [_object_info(meta) for batch in listed for meta in batch]

        found = self._attempt(prefix, read)
        # Azure's lists the others, too
        return sorted((info for info in found if info.path > after), key=lambda info: info.path)

    def folders(self, prefix: str) -> list[str]:
        """Return the names of the folders directly below a folder."""
        if self.is_local and not Path(self.location).is_dir():
            return []
        listing = self._attempt(prefix, lambda store: store.list_with_delimiter(prefix or None))
        return sorted(PurePosixPath(path).name for path in listing["common_prefixes"])

    def delete(self, path: str) -> None:
        """Delete an object; a missing one is not an error.

        On local disk nothing is deleted behind a link: that raises ``UnsupportedError``.
        """

        def act(store: Any) -> None:
            with contextlib.suppress(FileNotFoundError):
                delete_file(self.location, path) if self.is_local else store.delete(path)

        self._attempt(_inside(path), act)

    def check_unlinked(self, folder: str) -> None:
        """Insist that no folder from the root down to one is a symbolic link on local disk."""
        if self.is_local:
            check_unlinked(self.location, _inside(folder).split("/"))

    def sweep(self, before: datetime, names: re.Pattern[str]) -> int:
        """Delete what killed writers left of objects that never appeared; return how many.

        On local disk and in HDFS a writer first puts the bytes beside the object, under a name
        with a number sign that no listing shows. Elsewhere nothing is left. What is younger than
        ``before`` stays: its writer may be at work. ``names`` are the paths that writers write.
        """
        staged = re.compile(f"(?:{names.pattern}){STAGED.pattern}")
        if self.location.startswith(HDFS):
            return self._attempt("", lambda store: int(store.sweep(before, staged)))
        return delete_staged(self.location, staged, before) if self.is_local else 0

    def probe(self) -> None:
        """Insist that this storage can be written to and honours exclusive create."""
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

    def _put(self, path: str, data: bytes, mode: Literal["create", "overwrite"]) -> None:
        if self.is_local:
            check_unlinked(self.location, _inside(path).split("/")[:-1])
            try:
                Path(self.location).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise read_only(self.location) from error
        self._attempt(_inside(path), lambda store: store.put(path, data, mode=mode))

    def _attempt(self, path: str, act: Callable[[Any], _Out]) -> _Out:
        """Ask the store; once more, with what is known now, where it refuses the credentials."""
        try:
            return self._ask(path, act)
        except StorageError as error:
            if error.kind is not ErrorKind.CREDENTIALS:
                raise
        # a client has read the environment when it was made
        client.cache_clear()
        if self.renew is not None:
            current = self.renew(self.location)
            _renewed[self._refused()] = with_new_credentials(self.options, current)
            for oldest in list(_renewed)[:-_MAX_RENEWED]:
                _renewed.pop(oldest, None)
        return self._ask(path, act)

    def _ask(self, path: str, act: Callable[[Any], _Out]) -> _Out:
        of_client = hdfs_errors() if self.location.startswith(HDFS) else contextlib.nullcontext()
        with typed_errors(f"{self.location}/{path}", root=self.location), of_client:
            return act(client(self.location, self._options()))

    def _options(self) -> Options:
        return _renewed.get(self._refused(), self.options)

    def _refused(self) -> tuple[str, Options, Renewal | None]:
        # buckets may have settings of their own, which are the same only for now; and whoever
        # knows refused credentials must not be given those of somebody else
        store, mark, path = self.location.partition("://")
        return store + mark + path.partition("/")[0], self.options, self.renew


def open_storage(
    location: str, options: dict[str, str] | None = None, *, renew: Renewal | None = None
) -> Storage:
    """Name a root by its location; nothing is read or written yet.

    Raises:
        UnsupportedError: The scheme cannot be reached.
    """
    settings = tuple(sorted((options or {}).items()))
    return Storage(location=normalized(location), options=settings, renew=renew)


def _scheme(location: str) -> str:
    return location.partition("://")[0] if "://" in location else ""


@lru_cache(maxsize=4096)
def _inside(path: str) -> str:
    names = path.split("/")
    if path.startswith("/") or any(name in {"", ".", ".."} for name in names) or "\0" in path:
        raise InvalidInputError(
            f"The path {path!r} leads out of the index.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="The index names a file outside itself; rebuild it.",
        )
    return path


def _whole(result: Any, path: str, most: int | None) -> bytes:
    size = int(result.meta["size"])
    if most is not None and size > most:
        raise corrupt(path, f"it has {size} bytes, and may have {most}")
    return bytes(result.bytes())


def elsewhere(storage: Storage, location: str) -> Storage:
    """Return the storage of a folder that a table names, reached with the options of the table."""
    return replace(storage, location=normalized(location))


def open_object(storage: Storage, path: str) -> io.BufferedReader:
    """Open an object as a file."""
    return io.BufferedReader(_Object(storage, path), _READ_AHEAD)


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
