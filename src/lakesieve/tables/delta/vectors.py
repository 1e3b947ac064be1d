"""Read deletion vectors of Delta tables, which say which rows of a data file are deleted."""

from __future__ import annotations

import base64
import re
import struct
import uuid
import zlib
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.errors import ErrorKind, StorageError, not_installed
from lakesieve.storage import elsewhere

if TYPE_CHECKING:
    from lakesieve.storage import Storage

_LOGGED = re.compile(r"(?P<kind>[uip])(?P<text>(?s:.*?))(?:@(?P<offset>\d+))?")
_MAGIC = 1681511377
_LARGEST = 1 << 30
_UUID_CHARACTERS = 20
# Z85 and the base 85 of RFC 1924 differ only in their digits
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_FROM_Z85 = str.maketrans(_Z85, _B85)


def deleted_rows(vector: str, table: Storage, name: str) -> np.ndarray:
    """Return the ascending positions of the rows that a deletion vector deletes.

    Raises:
        SetupError: The package ``pyroaring`` is not installed.
        StorageError: The vector cannot be read, or is damaged.
    """
    try:
        from pyroaring import BitMap64
    except ImportError as error:
        need = f"Reading {name}, which has deletion vectors, needs the package pyroaring."
        raise not_installed(need, "delta") from error
    try:
        data = _contents(vector, table)
        (magic,) = struct.unpack_from("<i", data)
        if magic != _MAGIC:
            raise ValueError(f"its kind {magic} is unknown")
        return np.array(BitMap64.deserialize(data[4:]), np.int64)
    except (ValueError, struct.error) as error:
        raise StorageError(
            f"A deletion vector of {name} cannot be read: {error}.",
            kind=ErrorKind.STORAGE_FAILED,
            hint="Other readers cannot read it either. Restore the vector, or an older version of "
            "the table.",
        ) from error


def _contents(vector: str, table: Storage) -> bytes:
    match = _LOGGED.fullmatch(vector)
    if match is None:
        raise ValueError(f"{vector!r} does not name a deletion vector")
    if match["kind"] == "i":
        return _decoded(match["text"])
    storage, path = table, ""
    if match["kind"] == "u":
        prefix, text = match["text"][:-_UUID_CHARACTERS], match["text"][-_UUID_CHARACTERS:]
        file = f"deletion_vector_{uuid.UUID(bytes=_decoded(text))}.bin"
        path = f"{prefix}/{file}" if prefix else file
    else:
        folder, _, path = match["text"].rpartition("/")
        storage = elsewhere(table, folder)
    start = int(match["offset"] or 1)
    (size,) = struct.unpack(">i", storage.get_range(path, start, 4))
    if not 4 <= size <= _LARGEST:
        raise ValueError(f"its size of {size} bytes is wrong")
    whole = storage.get_range(path, start + 4, size + 4)
    data, (checksum,) = whole[:size], struct.unpack(">I", whole[size:])
    if zlib.crc32(data) != checksum:
        raise ValueError("its checksum does not match")
    return data


def _decoded(text: str) -> bytes:
    return base64.b85decode(text.translate(_FROM_Z85))
