"""Change folders on local disk, never through a symbolic link."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, StorageError, UnsupportedError
from lakesieve.storage.store_errors import typed_errors
from lakesieve.storage.trust import INDEX_FOLDER

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence
    from datetime import datetime

# errors of opening a link as a folder, by operating system
_LINKED = (errno.ELOOP, errno.ENOTDIR)


def stamp_of(file: str) -> tuple[int, ...]:
    """Return values that change when a file changes: inode, change time and size."""
    try:
        # os.stat directly, because the store or a Path would take most of the time of a warm
        # look-up
        stat = os.stat(file)  # noqa: PTH116
    except OSError:
        with typed_errors(file, root=""):
            raise
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def check_unlinked(root: str, folders: Sequence[str]) -> None:
    """Check that neither the root of an index nor a folder below it is a symbolic link."""
    place = _first_checked(root)
    for folder in (place, *(place := place / name for name in (*_below(place, root), *folders))):
        if folder.is_symlink():
            raise _linked(str(folder))


def delete_file(root: str, path: str) -> None:
    """Delete a file of an index. A missing file is not an error.

    Each folder is opened from the folder above it, without following symbolic links. So nothing
    outside the index is deleted, even if a folder becomes a link meanwhile.
    """
    *folders, name = path.split("/")
    with contextlib.suppress(FileNotFoundError), _opened(root, folders) as folder:
        os.unlink(name, dir_fd=folder)


def delete_staged(root: str, names: re.Pattern[str], before: datetime) -> int:
    """Delete files that killed writers left behind, and return their number."""
    deleted = 0
    for parent, _, files in os.walk(root):
        for path in (os.path.relpath(Path(parent, file), root) for file in files if "#" in file):
            if names.fullmatch(path) is None:
                continue
            with contextlib.suppress(FileNotFoundError):
                if Path(root, path).lstat().st_mtime <= before.timestamp():
                    delete_file(root, path)
                    deleted += 1
    return deleted


def _first_checked(root: str) -> Path:
    """Return the topmost folder that belongs to an index: the table's index folder, or the root.

    Users choose the folders above it, and these may be links.
    """
    place = Path(root)
    return place.parent if place.parent.name == INDEX_FOLDER else place


def _below(place: Path, root: str) -> tuple[str, ...]:
    return Path(root).relative_to(place).parts


@contextlib.contextmanager
def _opened(root: str, folders: list[str]) -> Iterator[int]:
    """Open a folder below a root as a descriptor, without following links."""
    place = _first_checked(root)
    with contextlib.ExitStack() as descriptors:

        def opened(name: str | Path, flags: int, above: int | None) -> int:
            descriptor = os.open(name, flags | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=above)
            descriptors.callback(os.close, descriptor)
            return descriptor

        folder = opened(place.parent, os.O_RDONLY, None)
        for name in (place.name, *_below(place, root), *folders):
            try:
                folder = opened(name, os.O_RDONLY | os.O_NOFOLLOW, folder)
            except OSError as error:
                if error.errno not in _LINKED:
                    raise
                raise _linked("/".join([root, *folders])) from error
        yield folder


def _linked(folder: str) -> UnsupportedError:
    return UnsupportedError(
        f"{folder} is a symbolic link, or a folder above it is one.",
        kind=ErrorKind.UNSUPPORTED_STORAGE,
        hint="lakesieve changes nothing behind links in an index. Remove the link, or store the "
        "index "
        "elsewhere (location=).",
    )


def write_file(path: Path, content: bytes, *, option: str) -> None:
    """Write a file whole: readers see either the old file or the new one."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}.",
            kind=ErrorKind.STORAGE_FAILED,
            hint=f"Use {option} to name a file in an existing folder.",
        ) from error
