"""Files of a folder in HDFS, behind the methods that obstore has for object stores."""

from __future__ import annotations

import contextlib
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lakesieve.errors import LakesieveError, not_installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hdfs_native import Client, FileStatus

HDFS = "hdfs:"
"""The beginning of locations in HDFS."""

STAGED = re.compile(r"(\.[0-9a-f]{32})?#\d+$")
"""End of the names of staged files, which their writer has not renamed yet.

obstore uses the same ending on local disk.
"""


@dataclass(frozen=True, slots=True)
class _File:
    meta: dict[str, int]
    reader: Any

    def bytes(self) -> bytes:
        return bytes(self.reader.read())


class HdfsStore:
    """Files below a folder of HDFS, through its own protocol, without Java.

    A file is written under a temporary name and renamed to its final name. The NameNode renames at
    once, and for an exclusive create only if no file has that name. So a writer that dies leaves
    nothing visible. ``settings`` are Hadoop settings, which take precedence over those in
    ``HADOOP_CONF_DIR``. Errors are the client's own; :func:`hdfs_errors` translates them.
    """

    def __init__(self, location: str, settings: Mapping[str, str]) -> None:
        host, _, folder = location.removeprefix(HDFS).lstrip("/").partition("/")
        self._root = f"/{folder}"
        self._client = _client(f"hdfs://{host}", tuple(sorted(settings.items())))

    def get(self, key: str) -> _File:
        """Open a file."""
        reader = self._client.read(self._path(key))
        return _File({"size": len(reader)}, reader)

    def get_range(self, key: str, *, start: int, length: int) -> bytes:
        """Read a part of a file. The result is shorter if the file ends earlier."""
        return self.get_ranges(key, starts=[start], lengths=[length])[0]

    def get_ranges(self, key: str, *, starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        """Read several parts of a file."""
        reader = self._client.read(self._path(key))
        parts = []
        for start, length in zip(starts, lengths, strict=True):
            if start >= len(reader):
                raise OSError(f"the range begins at {start}, but the file has {len(reader)} bytes")
            parts.append(bytes(reader.read_range(start, min(length, len(reader) - start))))
        return parts

    def head(self, key: str) -> dict[str, Any]:
        """Return a file's size, version and modification time."""
        status = self._client.get_file_info(self._path(key))
        if status.isdir:
            raise FileNotFoundError(f"{key} is a folder, not a file")
        return self._meta(status)

    def list(
        self, prefix: str | None, *, offset: str | None = None
    ) -> Iterator[Sequence[dict[str, Any]]]:
        """List the files below a folder."""
        objects = [self._meta(status) for status in self._below(prefix) if not status.isdir]
        yield [meta for meta in objects if meta["path"] > (offset or "")]

    def list_with_delimiter(self, prefix: str | None) -> dict[str, Sequence[str]]:
        """List the folders directly below a folder."""
        statuses = self._below(prefix, recursive=False)
        return {"common_prefixes": [self._key(status) for status in statuses if status.isdir]}

    def put(self, key: str, data: bytes, *, mode: str) -> None:
        """Write a file so that it appears whole or not at all.

        ``create`` refuses to replace a file.
        """
        from hdfs_native import WriteOptions

        path = self._path(key)
        # two machines may write the same object at once, so each has its own temporary name
        staged = f"{path}.{uuid.uuid4().hex}#0"
        try:
            with self._client.create(staged, WriteOptions(create_parent=True)) as writer:
                writer.write(data)
            self._client.rename(staged, path, overwrite=mode != "create")
        except BaseException:
            with contextlib.suppress(Exception):
                self._client.delete(staged)
            raise

    def delete(self, key: str) -> None:
        """Delete a file. A missing file is not an error."""
        self._client.delete(self._path(key))

    def sweep(self, before: datetime, names: re.Pattern[str]) -> int:
        """Delete staged files that are older than a time, and return their number."""
        return sum(
            self._client.delete(status.path)
            for status in self._below(None, staged=True)
            if names.fullmatch(self._key(status)) and _time(status) <= before
        )

    def _below(
        self, prefix: str | None, *, recursive: bool = True, staged: bool = False
    ) -> Iterator[FileStatus]:
        folder = f"{self._root}/{prefix or ''}".rstrip("/") or "/"
        with contextlib.suppress(FileNotFoundError):
            for status in self._client.list_status(folder, recursive):
                if status.isdir or bool(STAGED.search(status.path)) is staged:
                    yield status

    def _path(self, key: str) -> str:
        return f"{self._root.rstrip('/')}/{key}"

    def _key(self, status: FileStatus) -> str:
        return status.path.removeprefix(self._root).lstrip("/")

    def _meta(self, status: FileStatus) -> dict[str, Any]:
        return {
            "path": self._key(status),
            "size": status.length,
            "e_tag": f"{status.modification_time:x}-{status.length:x}",
            "last_modified": _time(status),
        }


# the folders of one file system share one connection
@lru_cache(maxsize=16)
def _client(url: str, settings: tuple[tuple[str, str], ...]) -> Client:
    try:
        from hdfs_native import Client
    except ImportError as error:
        need = "Locations in HDFS need the Python package hdfs-native."
        raise not_installed(need, "hdfs") from error
    return Client(url, dict(settings))


def _time(status: FileStatus) -> datetime:
    return datetime.fromtimestamp(status.modification_time / 1000, UTC)


@contextlib.contextmanager
def hdfs_errors() -> Iterator[None]:
    """Translate the client's errors to operating-system errors, without the NameNode's stack."""
    try:
        yield
    except (FileExistsError, FileNotFoundError) as error:
        raise type(error)(_first_line(error)) from error
    except (LakesieveError, OSError):
        raise
    except Exception as error:
        kind = PermissionError if "AccessControlException" in str(error) else OSError
        raise kind(_first_line(error)) from error
    except BaseException as error:
        # a panic of the client is not an Exception; unhandled, it would end the caller
        if type(error).__name__ != "PanicException":
            raise
        raise OSError(_first_line(error)) from error


def _first_line(error: BaseException) -> str:
    return re.split(r"\\n|\n", str(error), maxsplit=1)[0]
