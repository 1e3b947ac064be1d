"""JSON documents with a version and a checksum."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from lakesieve.errors import ErrorKind, IndexFormatError, corrupt

FORMAT_VERSION = 1
"""Version of everything stored; a reader refuses what is newer."""

MAX_DOCUMENT_BYTES = 64 << 20


def pack(body: dict[str, Any]) -> bytes:
    """Write a document: its body, the format's version and a SHA-256 of both."""
    versioned = {"format_version": FORMAT_VERSION, **body}
    document = {**versioned, "sha256": _digest(versioned)}
    return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"


def unpack(data: bytes, path: str) -> dict[str, Any]:
    """Read a document and check it; ``path`` is for the error."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise corrupt(path, f"it has {len(data)} bytes")
    try:
        document = json.loads(data)
        if not isinstance(document, dict):
            raise TypeError("not an object")
    except (ValueError, TypeError, RecursionError) as error:
        raise corrupt(path, "it is not a JSON object") from error
    check_version(document, path)
    checksum = document.pop("sha256", None)
    if checksum != _digest(document):
        raise corrupt(path, "it fails the checksum")
    del document["format_version"]
    return document


def check_version(document: dict[str, Any], path: str) -> None:
    """Refuse a document that a later version wrote."""
    version = document.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise corrupt(path, "it has no format version")
    if version > FORMAT_VERSION:
        raise IndexFormatError(
            f"The index file {path} is written in format {version}; "
            f"this lakesieve reads up to {FORMAT_VERSION}.",
            kind=ErrorKind.TOO_NEW,
            hint="Upgrade lakesieve; scans read every file meanwhile.",
        )


def _digest(document: dict[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
