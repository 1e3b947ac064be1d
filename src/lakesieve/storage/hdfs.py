"""Files of a folder in HDFS, with the calls that obstore has for the objects of a store."""

from __future__ import annotations

import contextlib
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypedDict

from obstore.exceptions import AlreadyExistsError

from lakesieve.errors import not_installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hdfs_native import Client, FileStatus

HDFS = "hdfs:"
"""How its locations begin."""

STAGED = re.compile(r"(\.[0-9a-f]{32})?#\d+$")
"""How the name of a file ends that its writer has not yet renamed; obstore's on a disk, too."""

_DENIED = "AccessControlException"


class _Meta(TypedDict):
    path: str
    size: int
    e_tag: str
    last_modified: datetime


class _Listing(TypedDict):
    common_prefixes: list[str]
    objects: list[_Meta]


@dataclass(frozen=True, slots=True)
class _Result:
    meta: dict[str, int]
    data: Any

    def bytes(self) -> bytes:
        """The whole file."""
        with _errors():
            return bytes(self.data.read())


class HdfsStore:
    """Files below a folder of HDFS, through its own protocol, without Java.

    A file is written beside its place and renamed to it, which the NameNode does at once and, for
    an exclusive create, only where nothing is: a writer that dies leaves nothing that is visible.

    Raises:
        SetupError: The package that speaks the protocol is not installed.
    """

    def __init__(self, location: str, settings: Mapping[str, str]) -> None:
        host, _, folder = location.removeprefix(HDFS).lstrip("/").partition("/")
        self._root = f"/{folder}"
        self._client = _client(f"hdfs://{host}", tuple(sorted(settings.items())))

    def get(self, key: str) -> _Result:
        """A file that is opened, with its size."""
        with _errors():
            reader = self._client.read(self._path(key))
            return _Result({"size": len(reader)}, reader)

    def get_range(self, key: str, *, start: int, length: int) -> bytes:
        """Part of a file, less where it ends before.

        Raises:
            OSError: The file ends before the first byte.
        """
        (data,) = self.get_ranges(key, starts=[start], lengths=[length])
        return data

    def get_ranges(self, key: str, *, starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        """Parts of a file.

        Raises:
            OSError: The file ends before the first byte of one.
        """
        with _errors():
            reader = self._client.read(self._path(key))
            parts = []
            for start, length in zip(starts, lengths, strict=True):
                if start >= len(reader):
                    raise OSError(f"the range begins at {start}, the file has {len(reader)} bytes")
                parts.append(bytes(reader.read_range(start, min(length, len(reader) - start))))
            return parts

    def head(self, key: str) -> _Meta:
        """Size, version and time of a file."""
        with _errors():
            status = self._client.get_file_info(self._path(key))
        if status.isdir:
            raise FileNotFoundError(f"{key} is a folder")
        return self._meta(status)

    def list(self, prefix: str | None, *, offset: str | None = None) -> Iterator[Sequence[_Meta]]:
        """The files below a folder."""
        found = [self._meta(status) for status in self._below(prefix) if not status.isdir]
        yield [meta for meta in found if meta["path"] > (offset or "")]

    def list_with_delimiter(self, prefix: str | None) -> _Listing:
        """The folders and files directly in a folder."""
        found = list(self._below(prefix, recursive=False))
        return {
            "common_prefixes": [self._key(status) for status in found if status.isdir],
            "objects": [self._meta(status) for status in found if not status.isdir],
        }

    def put(self, key: str, data: bytes, *, mode: str) -> None:
        """Write a file, visible whole or not at all.

        Raises:
            AlreadyExistsError: It is there and was to be created.
        """
        from hdfs_native import WriteOptions

        path = self._path(key)
        # two machines may write one object at once
        staged = f"{path}.{uuid.uuid4().hex}#0"
        with _errors():
            try:
                options = WriteOptions(create_parent=True)
                with self._client.create(staged, options) as writer:
                    writer.write(data)
                self._client.rename(staged, path, overwrite=mode != "create")
            except BaseException:
                with contextlib.suppress(Exception):
                    self._client.delete(staged)
                raise

    def delete(self, key: str) -> None:
        """Delete a file; a missing one is not an error."""
        with _errors():
            self._client.delete(self._path(key))

    def sweep(self, before: datetime, names: re.Pattern[str]) -> int:
        """Delete staged files that are older than a time, and tell how many there were."""
        gone = 0
        for status in self._below(None, staged=True):
            if names.fullmatch(self._key(status)) and _time(status) <= before:
                with _errors():
                    gone += self._client.delete(status.path)
        return gone

    def _below(
        self, prefix: str | None, *, recursive: bool = True, staged: bool = False
    ) -> Iterator[FileStatus]:
        folder = f"{self._root}/{prefix or ''}".rstrip("/") or "/"
        with _errors():
            try:
                for status in self._client.list_status(folder, recursive):
                    if status.isdir or bool(STAGED.search(status.path)) is staged:
                        yield status
            except FileNotFoundError:
                return

    def _path(self, key: str) -> str:
        return f"{self._root.rstrip('/')}/{key}"

    def _key(self, status: FileStatus) -> str:
        return status.path.removeprefix(self._root).lstrip("/")

    def _meta(self, status: FileStatus) -> _Meta:
        return {
            "path": self._key(status),
            "size": status.length,
            "e_tag": f"{status.modification_time:x}-{status.length:x}",
            "last_modified": _time(status),
        }


# the folders of one file system share its connection
@lru_cache(maxsize=16)
def _client(url: str, settings: tuple[tuple[str, str], ...]) -> Client:
    try:
        from hdfs_native import Client
    except ImportError as error:
        need = "Locations in HDFS need the package hdfs-native."
        raise not_installed(need, "hdfs") from error
    with _errors():
        return Client(url, dict(settings))


def _time(status: FileStatus) -> datetime:
    return datetime.fromtimestamp(status.modification_time / 1000, UTC)


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Errors as obstore has them; of those from the NameNode, which end in its stack, the start."""
    try:
        yield
    except FileExistsError as error:
        raise AlreadyExistsError(_first_line(error)) from error
    except FileNotFoundError as error:
        raise FileNotFoundError(_first_line(error)) from error
    except OSError:
        raise
    except Exception as error:
        if _DENIED in str(error):
            raise PermissionError(_first_line(error)) from error
        raise OSError(_first_line(error)) from error
    except BaseException as error:
        # a panic of the client is no Exception, and would end its caller instead of failing open
        if type(error).__name__ != "PanicException":
            raise
        raise OSError(_first_line(error)) from error


def _first_line(error: BaseException) -> str:
    return re.split(r"\\n|\n", str(error), maxsplit=1)[0]
