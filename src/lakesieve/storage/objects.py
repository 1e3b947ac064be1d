"""Objects under one root, over obstore, with typed errors."""

from __future__ import annotations

import contextlib
import re
import uuid
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from lakesieve.errors import ErrorKind, InvalidInputError, StorageError, UnsupportedError, corrupt
from lakesieve.storage.background import all_at_once
from lakesieve.storage.failures import read_only, typed_errors
from lakesieve.storage.hdfs import HDFS, STAGED
from lakesieve.storage.local_disk import check_unlinked, delete_file, delete_staged, stamp_of
from lakesieve.storage.location import normalized
from lakesieve.storage.object_info import ObjectInfo, object_info
from lakesieve.storage.opening import Options, client, fingerprint, with_new_credentials
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Objects under one root. A value: picklable, opened where and when it is used."""

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
        """The storage of a folder below this one.

        Raises:
            InvalidInputError: The name leads out of this root.
        """
        return replace(self, location=f"{self.location}/{_inside(name)}")

    @property
    def parent(self) -> Storage:
        """The storage of the folder that this one lies in."""
        return replace(self, location=self.location.rpartition("/")[0])

    def at(self, location: str) -> Storage:
        """The storage of another root that an index names, reached with the same options.

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
        """Read a whole object.

        Raises:
            NotFoundError: It does not exist.
            CorruptIndexError: It has more bytes.
            StorageError: The storage failed.
        """
        key = _inside(path)
        return self._attempt(path, lambda store: _whole(store.get(key), path, most))

    def get_all(self, paths: Sequence[str], *, most: int | None = None) -> list[bytes]:
        """Read several whole objects, at once where each takes a request.

        Raises:
            NotFoundError: One does not exist.
            CorruptIndexError: One has more bytes.
            StorageError: The storage failed.
        """
        return self.at_once(partial(self.get, most=most), paths)

    def at_once(self, act: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
        """Do something for several objects: in turn, or at once where each takes a request."""
        if self.is_local or self.location.startswith("memory:") or len(items) < 2:
            return [act(item) for item in items]
        # not a pool of the standard library, whose threads keep a process alive at its exit
        return all_at_once([partial(act, item) for item in items], _REQUESTS)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from ``start`` on, fewer where the object ends before.

        Raises:
            NotFoundError: It does not exist.
            StorageError: The storage failed.
        """
        key = _inside(path)
        return self._attempt(
            path, lambda store: bytes(store.get_range(key, start=start, length=length))
        )

    def get_ranges(self, path: str, starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        """Read parts of an object at once, those that lie close together in one request.

        Raises:
            NotFoundError: There is no such object.
        """
        key = _inside(path)
        return self._attempt(
            path,
            lambda store: [
                bytes(data) for data in store.get_ranges(key, starts=starts, lengths=lengths)
            ],
        )

    def head(self, path: str) -> ObjectInfo:
        """Size and version of an object.

        Raises:
            NotFoundError: It does not exist.
        """
        key = _inside(path)
        return self._attempt(path, lambda store: object_info(store.head(key)))

    def stamp(self, path: str) -> tuple[int, ...]:
        """What changes when an object on local disk does; elsewhere nothing, without a request.

        Raises:
            NotFoundError: It is on local disk and does not exist.
        """
        return stamp_of(f"{self.location}/{_inside(path)}") if self.is_local else ()

    def create(self, path: str, data: bytes) -> None:
        """Write an object that must not exist yet, visible whole or not at all.

        Raises:
            StorageError: ``ALREADY_EXISTS`` when it does, ``READ_ONLY`` or another failure.
        """
        self._put(path, data, "create")

    def replace(self, path: str, data: bytes) -> None:
        """Write an object, visible whole or not at all, in place of what may be there.

        Raises:
            StorageError: ``READ_ONLY`` or another failure.
        """
        self._put(path, data, "overwrite")

    def objects(self, prefix: str, *, after: str = "") -> list[ObjectInfo]:
        """Objects below a folder, sorted by path; none when there is no such folder.

        Args:
            prefix: The folder.
            after: Only those whose path is greater; the store does not list the others.
        """
        if self.is_local and not Path(self.location).is_dir():
            return []
        found = self._attempt(
            prefix,
            lambda store: [
                object_info(meta)
                for batch in store.list(prefix, offset=after or None)
                for meta in batch
            ],
        )
        # Azure's lists the others, too
        return sorted((info for info in found if info.path > after), key=lambda info: info.path)

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly below a folder."""
        if self.is_local and not Path(self.location).is_dir():
            return []
        listing = self._attempt(prefix, lambda store: store.list_with_delimiter(prefix or None))
        return sorted(PurePosixPath(path).name for path in listing["common_prefixes"])

    def delete(self, path: str) -> None:
        """Delete an object; a missing one is not an error.

        On local disk nothing is deleted behind a link.

        Raises:
            UnsupportedError: A folder on the way to the object is a symbolic link.
            StorageError: ``READ_ONLY`` or another failure.
        """
        key = _inside(path)

        def act(store: Any) -> None:
            with contextlib.suppress(FileNotFoundError):
                delete_file(self.location, key) if self.is_local else store.delete(key)

        self._attempt(path, act)

    def check_unlinked(self, folder: str) -> None:
        """Check that no folder from the root down to one is a symbolic link on local disk.

        Raises:
            UnsupportedError: One is.
        """
        if self.is_local:
            check_unlinked(self.location, _inside(folder).split("/"))

    def sweep(self, before: datetime, names: re.Pattern[str]) -> int:
        """Delete what writers that were killed left of objects that never appeared.

        On local disk and in HDFS a writer first puts the bytes beside the object, under a name
        with a number sign that no listing shows. Elsewhere nothing is left.

        Args:
            before: Nothing younger is deleted: its writer may be at work.
            names: The paths of the objects that writers write.

        Returns:
            How many there were.
        """
        staged = re.compile(f"(?:{names.pattern}){STAGED.pattern}")
        if self.location.startswith(HDFS):
            return self._attempt("", lambda store: int(store.sweep(before, staged)))
        return delete_staged(self.location, staged, before) if self.is_local else 0

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

    def _put(self, path: str, data: bytes, mode: Literal["create", "overwrite"]) -> None:
        key = _inside(path)
        if self.is_local:
            check_unlinked(self.location, key.split("/")[:-1])
            try:
                Path(self.location).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise read_only(self.location) from error
        self._attempt(path, lambda store: store.put(key, data, mode=mode))

    def _attempt(self, path: str, act: Callable[[Any], _Out]) -> _Out:
        """Ask the store; once more, with what is known now, where it refuses the credentials."""
        location = f"{self.location}/{path}"
        try:
            with typed_errors(location, root=self.location):
                return act(client(self.location, self._options()))
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
        with typed_errors(location, root=self.location):
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
