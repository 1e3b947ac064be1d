"""JSON documents with a format version and a checksum."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any

from lakesieve.errors import ErrorKind, IndexFormatError, corrupt

FORMAT_VERSION = 1
"""Format version of everything stored. A reader refuses newer versions."""

MAX_DOCUMENT_BYTES = 64 << 20

_PLAIN: dict[str, Any] = {
    "int": int,
    "str": str,
    "float": float,
    "dict[str, Any]": dict,
    "tuple[str, ...]": list,
}


def pack(body: dict[str, Any]) -> bytes:
    """Serialize a document: its body, the format version and a SHA-256 of both."""
    versioned = {"format_version": FORMAT_VERSION, **body}
    document = {**versioned, "sha256": _digest(versioned)}
    return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"


def unpack(data: bytes, path: str) -> dict[str, Any]:
    """Parse a document and check it; ``path`` is used in errors."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise corrupt(path, f"its size of {len(data)} bytes exceeds the limit")
    try:
        document = json.loads(data)
        if not isinstance(document, dict):
            raise TypeError("not an object")
    except (ValueError, TypeError, RecursionError) as error:
        raise corrupt(path, "it is not a JSON object") from error
    check_version(document, path)
    checksum = document.pop("sha256", None)
    if checksum != _digest(document):
        raise corrupt(path, "its checksum does not match")
    del document["format_version"]
    return document


def check_version(document: dict[str, Any], path: str) -> None:
    """Refuse a document of a newer format version."""
    version = document.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise corrupt(path, "it has no valid format version")
    if version > FORMAT_VERSION:
        raise IndexFormatError(
            f"The index file {path} has format {version}, but "
            f"this version of lakesieve reads formats up to {FORMAT_VERSION}.",
            kind=ErrorKind.TOO_NEW,
            hint="Upgrade lakesieve. Queries read every file until then.",
        )


def _digest(document: dict[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def checked(cls: type, document: dict[str, Any], skip: set[str] | None = None) -> dict[str, Any]:
    """Return a dataclass's fields from JSON, all of them known, present and of the right type."""
    expected = {f.name: f.type for f in fields(cls) if f.name not in (skip or ())}
    if set(document) != set(expected):
        raise ValueError(f"fields {sorted(set(document) ^ set(expected))} of {cls.__name__}")
    out: dict[str, Any] = {}
    for name, value in document.items():
        kind = _PLAIN[str(expected[name])]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{name} is {value!r}")
        if kind is int and name not in {"scale", "field_id"} and value < 0:
            raise ValueError(f"{name} is negative")
        if kind is list and not all(isinstance(item, str) for item in value):
            raise ValueError(f"{name} contains a value that is not text")
        out[name] = tuple(value) if kind is list else value
    return out
