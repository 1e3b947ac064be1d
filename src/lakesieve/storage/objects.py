"""Read and write objects under one root through obstore, with typed errors."""

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

# replacement settings, by the store, the settings that it refused, and the function that renews
# them
_renewed: dict[tuple[str, Options, Renewal | None], Options] = {}
_MAX_RENEWED = 1000
_REQUESTS = 16
_READ_AHEAD = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    """What a listing says about an object."""

    path: str
    size: int
    version: str  # changes when the object is rewritten
    modified: datetime  # time of the last write


def _object_info(meta: Any) -> ObjectInfo:
    """Convert a store's metadata of an object."""
    return ObjectInfo(
        path=str(meta["path"]),
        size=int(meta["size"]),
        version=str(meta["e_tag"] or meta["last_modified"]),
        modified=meta["last_modified"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Objects under one root. The value can be pickled, and opens its client on first use.

    Methods that ask the store raise ``NotFoundError`` if an object does not exist. Other failures
    raise ``StorageError``, whose ``kind`` tells a missing permission from a temporary fault.
    """

    location: str  # normalized location of the root
    # settings of the object store, such as `region` or `endpoint`, and the trusted roots; never
    # printed, because they may contain secrets
    options: Options = field(default=(), repr=False)
    # returns the current settings of a location when the store refuses the known ones; it is not
    # pickled
    renew: Renewal | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(Storage, location=self.location, options=self.options), ()

    @property
    def identity(self) -> tuple[str, str]:
        """The location, and a fingerprint of the endpoint and credentials.

        Cache keys begin with it. It stays the same when credentials are renewed, which never
        changes the endpoint.
        """
        return self.location, fingerprint(self.options)

    @property
    def is_local(self) -> bool:
        """True if the root is on local disk."""
        return self.location.startswith("/")

    def child(self, name: str) -> Storage:
        """Return the storage of a folder below this root."""
        return replace(self, location=f"{self.location}/{_inside(name)}")

    @property
    def parent(self) -> Storage:
        """The storage of the parent folder."""
        return replace(self, location=self.location.rpartition("/")[0])

    def at(self, location: str) -> Storage:
        """Return the storage of another root that an index names, with the same options.

        Raises:
            UnsupportedError: The root is in another kind of store, or not in a trusted location.
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
        """Read a whole object.

        An object of more than ``most`` bytes raises ``CorruptIndexError``.
        """
        return self._attempt(_inside(path), lambda store: _whole(store.get(path), path, most))

    def get_all(self, paths: Sequence[str], *, most: int | None = None) -> list[bytes]:
        """Read several whole objects, in parallel if each takes a request."""
        return self.at_once(partial(self.get, most=most), paths)

    def at_once(self, act: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
        """Call ``act`` for several objects, in parallel if each takes a request, else in turn."""
        if self.is_local or self.location.startswith("memory:") or len(items) < 2:
            return [act(item) for item in items]
        # threads of a pool of the standard library would keep the process alive at its exit
        return all_at_once([partial(act, item) for item in items], _REQUESTS)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from ``start`` on, or fewer if the object ends earlier."""

        def read(store: Any) -> bytes:
            return bytes(store.get_range(path, start=start, length=length))

        return self._attempt(_inside(path), read)

    def get_ranges(self, path: str, starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        """Read several parts of an object. Parts that lie close together share a request."""

        def read(store: Any) -> list[bytes]:
            return [bytes(part) for part in store.get_ranges(path, starts=starts, lengths=lengths)]

        return self._attempt(_inside(path), read)

    def head(self, path: str) -> ObjectInfo:
        """Return an object's size and version."""
        return self._attempt(_inside(path), lambda store: _object_info(store.head(path)))

    def stamp(self, path: str) -> tuple[int, ...]:
        """Return values that change when a local object changes. In other stores, it is empty."""
        return stamp_of(f"{self.location}/{_inside(path)}") if self.is_local else ()

    def create(self, path: str, data: bytes) -> None:
        """Create an object that must not exist yet. It appears whole or not at all."""
        self._put(path, data, "create")

    def replace(self, path: str, data: bytes) -> None:
        """Write an object in place of an earlier one. It appears whole or not at all."""
        self._put(path, data, "overwrite")

    def objects(self, prefix: str, *, after: str = "") -> list[ObjectInfo]:
        """List the objects below a folder whose paths are greater than ``after``, sorted by path.

        A folder that does not exist has no objects.
        """
        if self.is_local and not Path(self.location).is_dir():
            return []

        def read(store: Any) -> list[ObjectInfo]:
            listed = store.list(prefix, offset=after or None)
            return [_object_info(meta) for batch in listed for meta in batch]

        infos = self._attempt(prefix, read)
        # Azure also lists paths up to ``after``
        return sorted((info for info in infos if info.path > after), key=lambda info: info.path)

    def folders(self, prefix: str) -> list[str]:
        """Return the names of the folders directly below a folder."""
        if self.is_local and not Path(self.location).is_dir():
            return []
        listing = self._attempt(prefix, lambda store: store.list_with_delimiter(prefix or None))
        return sorted(PurePosixPath(path).name for path in listing["common_prefixes"])

    def delete(self, path: str) -> None:
        """Delete an object. A missing object is not an error.

        On local disk, nothing is deleted behind a link: that raises ``UnsupportedError``.
        """

        def act(store: Any) -> None:
            with contextlib.suppress(FileNotFoundError):
                delete_file(self.location, path) if self.is_local else store.delete(path)

        self._attempt(_inside(path), act)

    def check_unlinked(self, folder: str) -> None:
        """Check that no folder on the way from the root to ``folder`` is a link on local disk."""
        if self.is_local:
            check_unlinked(self.location, _inside(folder).split("/"))

    def sweep(self, before: datetime, names: re.Pattern[str]) -> int:
        """Delete the staged files that killed writers left behind, and return their number.

        On local disk and in HDFS, a writer first writes a staged file next to the object. No
        listing shows a staged file, because its name has a number sign. Other stores have no staged
        files. Files younger than ``before`` stay, because their writer may still be at work.
        ``names`` matches the paths of the objects that writers create.
        """
        staged = re.compile(f"(?:{names.pattern}){STAGED.pattern}")
        if self.location.startswith(HDFS):
            return self._attempt("", lambda store: int(store.sweep(before, staged)))
        return delete_staged(self.location, staged, before) if self.is_local else 0

    def probe(self) -> None:
        """Check that this storage can be written to and honours an exclusive create."""
        path = f"_probe-{uuid.uuid4().hex}"
        self.create(path, b"1")
        try:
            self.create(path, b"2")
        except StorageError as error:
            if error.kind is not ErrorKind.ALREADY_EXISTS:
                raise
        else:
            raise UnsupportedError(
                f"{self.location} overwrites an object when it should refuse to create it again.",
                kind=ErrorKind.UNSUPPORTED_STORAGE,
                hint="Commits would not be safe there. Store the index elsewhere (location=).",
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
        """Call the store.

        If it refuses the credentials, call it once more with the current ones.
        """
        try:
            return self._ask(path, act)
        except StorageError as error:
            if error.kind is not ErrorKind.CREDENTIALS:
                raise
        # a client reads the environment only when it is made
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
        # Buckets may have their own settings, which are equal only by chance. And a caller who
        # knows refused credentials must not get the new credentials of somebody else.
        store, mark, path = self.location.partition("://")
        return store + mark + path.partition("/")[0], self.options, self.renew


def open_storage(
    location: str, options: dict[str, str] | None = None, *, renew: Renewal | None = None
) -> Storage:
    """Return the storage of a root by its location. Nothing is read or written yet.

    Raises:
        UnsupportedError: The scheme is not supported.
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
            hint="The index refers to a file outside its folder. Build the index again.",
        )
    return path


def _whole(result: Any, path: str, most: int | None) -> bytes:
    size = int(result.meta["size"])
    if most is not None and size > most:
        raise corrupt(path, f"its size of {size} bytes exceeds the limit of {most}")
    return bytes(result.bytes())


def elsewhere(storage: Storage, location: str) -> Storage:
    """Return the storage of a folder that a table names, with the table's options."""
    return replace(storage, location=normalized(location))


def open_object(storage: Storage, path: str) -> io.BufferedReader:
    """Open an object as a file."""
    if storage.is_local:
        name = f"{storage.location}/{_inside(path)}"
        with typed_errors(name, root=storage.location):
            return Path(name).open("rb")
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
