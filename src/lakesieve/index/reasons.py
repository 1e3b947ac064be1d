"""Stable codes for why a file was kept, and why an index was or was not used."""

from __future__ import annotations

import shlex
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
    SESSION_DIFFERS = "session-differs"
    SPARK_UNSUITED = "spark-unsuited"
    STATISTICS_UNREAD = "statistics-unread"
    WHOLE_FILES = "whole-files"
    ROW_GROUPS = "row-groups"
    FIRST_ROWS = "first-rows"
    ORDER_NOT_USED = "order-not-used"
    DISTINCT_KEYS = "distinct-keys"
    DISTINCT_NOT_USED = "distinct-not-used"
    ENOUGH_ROWS = "enough-rows"
    FROM_INDEX = "from-index"
    REFRESH_FAILED = "refresh-failed"
    INTERNAL_ERROR = "internal-error"


# each code in words, and what a person does about it; nothing where nothing is wrong
_WORDS: dict[ReasonCode, tuple[str, str]] = {
    ReasonCode.INDEX_USED: ("data files were left out by the index", ""),
    ReasonCode.UNCOVERED_FILES: (
        "data files that are not indexed yet are always read",
        "Refresh the index: lakesieve refresh TABLE.",
    ),
    ReasonCode.NO_INDEX: (
        "there is no index to use",
        (
            "Create one on a column of the condition: lakesieve create TABLE COLUMN. An index "
            "that is stored elsewhere needs enable(spark, locations=[...]) or --location."
        ),
    ),
    ReasonCode.NO_USABLE_PREDICATE: (
        "no index can answer the condition",
        (
            "Compare an indexed column itself with constants, or create an index on the "
            "expression: lakesieve create TABLE EXPRESSION."
        ),
    ),
    ReasonCode.NOT_SELECTIVE: (
        "every indexed data file can hold a match",
        "Nothing to do: these values are in all files. A narrower condition reads fewer.",
    ),
    ReasonCode.LOOK_UP_TOO_LARGE: (
        "so many keys would read most of the index, which takes longer than it saves",
        "Ask for fewer keys at once, or use idx.locate().",
    ),
    ReasonCode.TYPE_CHANGED: (
        "a column has another type than when the index was built",
        "Drop the index and create it again.",
    ),
    ReasonCode.OTHER_TABLE: (
        "the index belongs to a table that was at this location before",
        "Drop the index and create it again.",
    ),
    ReasonCode.INDEX_CORRUPT: (
        "a file of the index is damaged",
        "Run lakesieve repair TABLE INDEX.",
    ),
    ReasonCode.INDEX_MISSING_FILE: (
        "a file of the index is missing",
        "Wait if its first build is still running; else run lakesieve repair TABLE INDEX.",
    ),
    ReasonCode.INDEX_TOO_NEW: (
        "a later version of lakesieve wrote the index",
        "Upgrade lakesieve.",
    ),
    ReasonCode.INDEX_UNREADABLE: (
        "the index cannot be read",
        "Check access to its storage; then run lakesieve verify TABLE INDEX.",
    ),
    ReasonCode.INDEX_UNTRUSTED: (
        "the index shares files with an index outside of its warehouse",
        (
            "If both are yours, add that location to spark.lakesieve.trusted.roots; else drop the "
            "index."
        ),
    ),
    ReasonCode.JOIN_KEYS: ("the keys of the other side of the join were looked up", ""),
    ReasonCode.JOIN_TOO_LARGE: (
        "the other side of the join is too large to be looked up",
        "Raise spark.lakesieve.join.rows, .bytes or .seconds.",
    ),
    ReasonCode.JOIN_UNSUPPORTED: (
        "no index can answer the join",
        (
            "Join on equality of an indexed column. All rows of the outer side of an outer join, "
            "and of WHEN NOT MATCHED BY SOURCE, are always read."
        ),
    ),
    ReasonCode.DELETES_JOINED: (
        "the equality deletes would not fit in memory and were joined instead",
        "Run lakesieve deletes convert TABLE: then reads are fast.",
    ),
    ReasonCode.DELETES_LEFT: (
        "the equality deletes may not fit in memory, and this scan cannot join them",
        "Run lakesieve deletes convert TABLE.",
    ),
    ReasonCode.COMPANION_FAILED: (
        "the process that looks up indexes for this session does not run",
        "Set spark.lakesieve.python to a Python that has the same version of lakesieve as the jar.",
    ),
    ReasonCode.INVALID_SETTING: (
        "a setting of the session cannot be used",
        "Correct the setting; other sessions are not affected.",
    ),
    ReasonCode.PLANNING_TIMEOUT: (
        "the index did not answer in time",
        "Check its storage, or raise spark.lakesieve.planning.seconds.",
    ),
    ReasonCode.PROTOCOL_MISMATCH: (
        "the jar and the Python package of lakesieve have different versions",
        "Install the same version of both.",
    ),
    ReasonCode.SCAN_UNSUPPORTED: (
        "files are not skipped in this kind of scan",
        "Read the table by its name, without a schema or options of the read.",
    ),
    ReasonCode.SESSION_DIFFERS: (
        "the expression of an index may have another value in this session",
        (
            "Use the same settings as for the build, or create another index with the settings of "
            "this session."
        ),
    ),
    ReasonCode.SPARK_UNSUITED: (
        "this version of Spark lacks something that lakesieve needs",
        "Use a version of Spark that lakesieve was tested with, or a later lakesieve.",
    ),
    ReasonCode.STATISTICS_UNREAD: (
        "minimum and maximum of the data files were not read, so more files are listed",
        "Nothing to do: the answer is right. Spark itself reads fewer files.",
    ),
    ReasonCode.WHOLE_FILES: (
        "data files are read whole, although an index names the rows that can match",
        "Nothing to do: the answer is right. The text says what these files or columns have.",
    ),
    ReasonCode.ROW_GROUPS: (
        "row groups of data files are read whole, although an index names the rows that can match",
        "Nothing to do: the answer is right. The text says what these files or columns have.",
    ),
    ReasonCode.FIRST_ROWS: ("data files that cannot hold one of the first rows were left out", ""),
    ReasonCode.ORDER_NOT_USED: (
        "the order of the rows leaves out no data files",
        (
            "Nothing to do: the answer is right. The order helps if an index has this column "
            "alone, without a condition and without row-level deletes."
        ),
    ),
    ReasonCode.DISTINCT_KEYS: (
        "data files were left out all of whose keys are in other data files",
        "",
    ),
    ReasonCode.DISTINCT_NOT_USED: (
        "the distinct keys leave out no data files",
        (
            "Nothing to do: the answer is right. It helps if an index has these columns, and "
            "if each key is in several data files."
        ),
    ),
    ReasonCode.ENOUGH_ROWS: (
        "data files were left out, because other data files surely have enough rows",
        "",
    ),
    ReasonCode.FROM_INDEX: ("the index has the answer, so no data file was read", ""),
    ReasonCode.REFRESH_FAILED: (
        "the rows are committed, but the index was not refreshed",
        "Run lakesieve refresh TABLE.",
    ),
    ReasonCode.INTERNAL_ERROR: (
        "an unexpected error, so every file was read",
        "Please report it with this text.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One coded reason.

    Args:
        detail: What the reason is about: names, counts, the condition.
    """

    code: ReasonCode
    detail: str

    @property
    def sentence(self) -> str:
        """The reason in words."""
        words = _WORDS[self.code][0]
        text = f"{words}: {self.detail}" if self.detail else words
        return text[:1].upper() + text[1:].rstrip(".") + "."

    def next_step(self, table: str = "") -> str:
        """Return what to do about it, with the table's name as a shell takes it.

        The text is empty if nothing is wrong, or if the detail says what to do.
        """
        known = "lakesieve " in self.detail
        name = shlex.quote(table) if table else "TABLE"
        return "" if known else _WORDS[self.code][1].replace("TABLE", name)

    def text(self, table: str = "") -> str:
        """Return the code, the sentence and the next step, in one line."""
        return f"{self.code}: {self.sentence} {self.next_step(table)}".rstrip()

    def __str__(self) -> str:
        return self.text()


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
    """Return a number of data files in words, for the detail of a reason."""
    return f"{files:,} data file{'' if files == 1 else 's'}"
