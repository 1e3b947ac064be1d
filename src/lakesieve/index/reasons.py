"""Stable codes for why a file was kept, and why an index was or was not used."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from lakesieve.errors import ErrorKind, LakesieveError

READ_FAILURES = (
    *(LakesieveError, pa.ArrowException, OSError),
    *(ValueError, TypeError, ArithmeticError, LookupError),
)
"""Errors that damaged bytes of an index can cause."""


class ReasonCode(StrEnum):
    """Codes that ``explain``, ``last_pruning`` and reports print. Codes are only ever added."""

    INDEX_USED = "index-used"
    UNCOVERED_FILES = "uncovered-files"
    NO_INDEX = "no-index"
    NO_USABLE_PREDICATE = "no-usable-predicate"
    NOT_SELECTIVE = "not-selective"
    LOOK_UP_TOO_LARGE = "look-up-too-large"
    TYPE_CHANGED = "type-changed"
    OTHER_TABLE = "other-table"
    INDEX_CORRUPT = "index-corrupt"
    INDEX_MISSING_FILE = "index-missing-file"
    INDEX_TOO_NEW = "index-too-new"
    INDEX_UNREADABLE = "index-unreadable"
    INDEX_UNTRUSTED = "index-untrusted"
    JOIN_KEYS = "join-keys"
    JOIN_TOO_LARGE = "join-too-large"
    JOIN_UNSUPPORTED = "join-unsupported"
    DELETES_JOINED = "deletes-joined"
    DELETES_LEFT = "deletes-left"
    COMPANION_FAILED = "companion-failed"
    INVALID_SETTING = "invalid-setting"
    PLANNING_TIMEOUT = "planning-timeout"
    PROTOCOL_MISMATCH = "protocol-mismatch"
    SCAN_UNSUPPORTED = "scan-unsupported"
    SPARK_UNSUITED = "spark-unsuited"
    STATISTICS_UNREAD = "statistics-unread"
    REFRESH_FAILED = "refresh-failed"
    INTERNAL_ERROR = "internal-error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One coded reason.

    Args:
        detail: A sentence for people that names the table, index or column.
    """

    code: ReasonCode
    detail: str

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else str(self.code)


_BROKEN = {
    ErrorKind.OBJECT_NOT_FOUND: ReasonCode.INDEX_MISSING_FILE,
    ErrorKind.CORRUPT: ReasonCode.INDEX_CORRUPT,
    ErrorKind.TOO_NEW: ReasonCode.INDEX_TOO_NEW,
    ErrorKind.UNTRUSTED_ROOT: ReasonCode.INDEX_UNTRUSTED,
}


def broken_index(name: str, error: Exception) -> Reason:
    """Return the coded reason for an index that cannot be read."""
    if not isinstance(error, LakesieveError):
        return Reason(code=ReasonCode.INDEX_UNREADABLE, detail=f"{name}: {error}")
    code = _BROKEN.get(error.kind, ReasonCode.INDEX_UNREADABLE)
    return Reason(code=code, detail=f"{name}: {error.message}")


def uncovered_detail(files: int) -> str:
    """Return the text of the reason ``UNCOVERED_FILES``."""
    return f"{files} file{'' if files == 1 else 's'} that no index has seen"
