"""The tree of errors: one base class, and a class for each way in which a handler may react.

Every error has a stable ``kind`` (new kinds are only added, never renamed), a message of one
sentence, and a ``hint`` that says what to do next.
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
    """Stable codes of errors. Codes are only ever added."""

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
    COMPOSITE_INDEX = "composite-index"
    UNCOVERED_FILES = "uncovered-files"
    ROW_DELETES = "row-deletes"
    KEYS_NOT_KEPT = "keys-not-kept"
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
    CANCELLED = "cancelled"


class LakesieveError(Exception):
    """Base class of every error that lakesieve raises on purpose.

    Args:
        message: One sentence that says what is wrong, with the names involved.
        kind: The stable code.
        hint: One sentence that says what to do next.
        public_message: The message for callers of a server, without the text of a storage or a
            library.
            Such a text may reveal settings of the server.
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
    """A table, version, column, index or object with this name does not exist."""


class InvalidInputError(LakesieveError, ValueError):
    """An argument is invalid; change the call."""


class UnsupportedError(LakesieveError, NotImplementedError):
    """The input is valid, but this version of lakesieve does not support it."""


class IndexFormatError(LakesieveError, ValueError):
    """A stored index has a newer format than this version of lakesieve reads; upgrade lakesieve."""


class CorruptIndexError(LakesieveError, ValueError):
    """Stored bytes do not match their checksum or contradict each other; build the index again."""


class StorageError(LakesieveError, OSError):
    """The storage refused or failed; ``kind`` tells a missing permission from a temporary fault."""


class CommitConflictError(LakesieveError, RuntimeError):
    """Another writer committed a change on which this commit depends; retry from the new state."""


class SetupError(LakesieveError, RuntimeError):
    """Something is not installed: Java, a package, a jar."""


def corrupt(path: str, what: str) -> CorruptIndexError:
    """Return the error for a damaged object of an index."""
    return CorruptIndexError(
        f"The index file {path} is damaged: {what}.",
        kind=ErrorKind.CORRUPT,
        hint="Drop the index and create it again. Until then, queries read every file.",
    )


def not_installed(need: str, extra: str) -> SetupError:
    """Return the error for a package that is not installed."""
    return SetupError(
        need,
        kind=ErrorKind.DEPENDENCY_MISSING,
        hint=f'Install it: pip install "lakesieve[{extra}]"',
    )
