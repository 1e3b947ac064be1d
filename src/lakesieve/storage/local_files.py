"""Files on this machine that a command writes for its user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, StorageError

if TYPE_CHECKING:
    from pathlib import Path


def write_file(path: Path, content: bytes, *, option: str) -> None:
    """Write a file whole: whoever reads it sees the one before, or this one.

    Raises:
        StorageError: It cannot be written.
    """
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
            hint=f"Name a file in a folder that is there with {option}.",
        ) from error
