"""Normalize locations, which table formats spell in different ways."""

from __future__ import annotations

import re
from pathlib import Path

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?!\\)")
_SAME = {
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "abfs": "abfss",
    "wasbs": "abfss",
    "wasb": "abfss",
}
_BLOBS, _FILE_SYSTEM = ".blob.core.windows.net", ".dfs.core.windows.net"
_REMOTE = frozenset({"s3", "gs", "az", "abfss", "adl", "azure", "hdfs", "memory"})


def normalized(location: str) -> str:
    """Return the one spelling of a location: an absolute local path, or ``scheme://...``.

    Args:
        location: A local path, ``file:/path``, ``file:///path`` or an object store's URL. Like in
            Hadoop, nothing in a path is percent-decoded.

    Raises:
        InvalidInputError: The location is empty, or does not name its file system.
        UnsupportedError: The scheme is not supported.
    """
    text = location.strip()
    if not text:
        raise InvalidInputError(
            "The location is empty.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a path, or a URL such as s3://bucket/prefix.",
        )
    match = _SCHEME.match(text)
    if match is None:
        return str(Path(text).absolute())
    scheme, rest = match.group(1).lower(), text[match.end() :]
    scheme = _SAME.get(scheme, scheme)
    if scheme == "file":
        return str(Path("/" + rest.lstrip("/")))
    if scheme == "hdfs" and not re.match("//[^/]", rest):
        raise InvalidInputError(
            f"{location} does not name its file system.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Write the whole location, as hdfs://NAMESERVICE/folder or "
            "hdfs://HOST:PORT/folder.",
        )
    if scheme in _REMOTE and rest.startswith("//"):
        if scheme.startswith("abfs"):
            # one account has two host names, one for blobs and one for its file system
            rest = rest.replace(_BLOBS, _FILE_SYSTEM, 1)
        return f"{scheme}:{rest.rstrip('/')}"
    raise UnsupportedError(
        f"Indexes cannot be stored at {location}.",
        kind=ErrorKind.UNSUPPORTED_STORAGE,
        hint="Give a location on local disk, s3://, gs://, abfss:// or hdfs://.",
    )


def local_path(location: str) -> Path:
    """Return the local folder of a location."""
    path = normalized(location)
    if not path.startswith("/"):
        raise UnsupportedError(
            f"{location} is not on local disk.",
            kind=ErrorKind.UNSUPPORTED_STORAGE,
            hint="Give a local path.",
        )
    return Path(path)
