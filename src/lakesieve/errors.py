"""The whole error tree: one base, categories by what a handler would do about them.

Every error carries a stable ``kind`` (append-only, never renamed), a one-sentence message, and a
``hint`` that says what to do next.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial

__all__ = [
    "CommitConflictError",
    "CorruptIndexError",
    "ErrorKind",
    "IndexFormatError",
    "InvalidInputError",
    "LakesieveError",
    "NotFoundError",
    "SetupError",
    "StorageError",
    "UnsupportedError",
    "corrupt",
    "not_installed",
]


class ErrorKind(StrEnum):
    """Stable codes of what went wrong; codes are only ever added."""

    # not found
    TABLE_NOT_FOUND = "table-not-found"
    VERSION_NOT_FOUND = "version-not-found"
    COLUMN_NOT_FOUND = "column-not-found"
    INDEX_NOT_FOUND = "index-not-found"
    OBJECT_NOT_FOUND = "object-not-found"
    TABLE_REPLACED = "table-replaced"
    # invalid input
    INVALID_ARGUMENT = "invalid-argument"
    INVALID_PREDICATE = "invalid-predicate"
    NOT_A_TABLE = "not-a-table"
    INDEX_EXISTS = "index-exists"
    INDEX_BORROWED = "index-borrowed"
    # unsupported
    UNSUPPORTED_TYPE = "unsupported-type"
    UNSUPPORTED_TABLE = "unsupported-table"
    UNSUPPORTED_SESSION = "unsupported-session"
    UNSUPPORTED_STORAGE = "unsupported-storage"
    UNTRUSTED_ROOT = "untrusted-root"
    # stored index
    CORRUPT = "corrupt"
    TOO_NEW = "too-new"
    # storage
    STORAGE_FAILED = "storage-failed"
    STORAGE_FULL = "storage-full"
    READ_ONLY = "read-only"
    ALREADY_EXISTS = "already-exists"
    CREDENTIALS = "credentials"
    # commits
    CONFLICT = "conflict"
    COMMIT_UNKNOWN = "commit-unknown"
    # environment
    JAVA_MISSING = "java-missing"
    DEPENDENCY_MISSING = "dependency-missing"
    BUILD_INCONSISTENT = "build-inconsistent"
    BUILD_FAILED = "build-failed"


class LakesieveError(Exception):
    """Base of every error that lakesieve raises on purpose.

    Args:
        message: One sentence saying what is wrong, with the names involved.
        kind: The stable code.
        hint: What to do next, one sentence.
        public_message: The message without the words of a storage or a library, for callers of a
            server: such words may repeat settings of the server.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind,
        hint: str = "",
        public_message: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hint = hint
        self.public_message = public_message

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        make = partial(type(self), kind=self.kind, hint=self.hint)
        return partial(make, self.message, public_message=self.public_message), ()


class NotFoundError(LakesieveError, LookupError):
    """A table, version, column, index or object that was named does not exist."""


class InvalidInputError(LakesieveError, ValueError):
    """What the caller passed cannot mean anything here; change the call."""


class UnsupportedError(LakesieveError, NotImplementedError):
    """The input is well-formed, but this version of lakesieve does not handle it."""


class IndexFormatError(LakesieveError, ValueError):
    """A stored index is written in a version newer than this reader; upgrade lakesieve."""


class CorruptIndexError(LakesieveError, ValueError):
    """Stored bytes fail their checksum or contradict themselves; rebuild the index."""


class StorageError(LakesieveError, OSError):
    """The storage refused or failed; ``kind`` tells a missing right from a passing fault."""


class CommitConflictError(LakesieveError, RuntimeError):
    """Another writer committed something this commit depends on; retry from fresh state."""


class SetupError(LakesieveError, RuntimeError):
    """The machine lacks something: Java, a package, a jar."""


def corrupt(path: str, what: str) -> CorruptIndexError:
    """Return the error for an object of an index that is not what was written."""
    return CorruptIndexError(
        f"The index file {path} is damaged: {what}.",
        kind=ErrorKind.CORRUPT,
        hint="Scans read every file meanwhile; drop the index and create it again.",
    )


def not_installed(need: str, extra: str) -> SetupError:
    """Return the error for a package that is missing."""
    return SetupError(
        need,
        kind=ErrorKind.DEPENDENCY_MISSING,
        hint=f'Install it: pip install "lakesieve[{extra}]"',
    )
