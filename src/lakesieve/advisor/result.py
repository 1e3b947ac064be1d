"""The result models of the advisor, rendered by ``report``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lakesieve.index.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence


class Verdict(StrEnum):
    """What is advised of a column; codes are only ever added."""

    INDEX = "index"
    EXISTS = "exists"
    CLUSTERED = "clustered"
    IN_EVERY_FILE = "in-every-file"
    LITTLE_SAVED = "little-saved"
    COVERED = "covered"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure that was predicted, and between which it lies: files at 95 %."""

    value: float
    low: float  # not less than that
    high: float  # not more than that

    @classmethod
    def exact(cls, value: float) -> Estimate:
        """Return a figure that was measured, not predicted."""
        return cls(value=value, low=value, high=value)

    @property
    def is_exact(self) -> bool:
        """Whether there is nothing between its bounds."""
        return self.low == self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAdvice(Shown):
    """What an index on some columns would do.

    Args:
        columns: The columns, in order.
        verdict: Whether to index them; if not, why.
        why: The same in a sentence.
        queries: How many queries it would serve.
        files_now: Data files that these read, on average.
        files_then: Data files that they would read, on average.
        seconds_saved: Seconds of reading that it saves a day.
        index_bytes: What it would take.
        build_seconds: How long it takes to build, alone.
        refresh_seconds: How long it takes to refresh it after one more data file.
        payback_days: After how many days building it is paid; ``None`` if never.
        command: The command that makes it, where it is advised.
    """

    columns: tuple[str, ...]
    verdict: Verdict
    why: str
    queries: int
    files_now: Estimate
    files_then: Estimate
    seconds_saved: Estimate
    index_bytes: Estimate
    build_seconds: Estimate
    refresh_seconds: Estimate
    payback_days: Estimate | None
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceCheck:
    """Predictions beside an index that exists."""

    columns: tuple[str, ...]
    index: str
    files_predicted: Estimate  # data files that the queries would read, in all
    files_measured: int  # data files that it leaves to them, in all
    bytes_predicted: Estimate  # what it would take
    bytes_measured: int  # what it takes

    def __str__(self) -> str:
        """In one line."""
        files = f"files {self.files_predicted.value:.0f} of {self.files_measured}"
        taken = f"bytes {self.bytes_predicted.value:.0f} of {self.bytes_measured}"
        return f"{self.index}: {files}, {taken}"

    @property
    def files_error(self) -> float:
        """How far the files were off, as a share."""
        return abs(self.files_predicted.value / max(self.files_measured, 1) - 1)

    @property
    def bytes_error(self) -> float:
        """How far the bytes were off, as a share."""
        return abs(self.bytes_predicted.value / max(self.bytes_measured, 1) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAdvice(Shown):
    """Which columns of a table to index, and which not.

    Args:
        table: The table's name.
        files: Its data files.
        rows: Rows of them.
        sampled_files: Data files whose keys were read for it.
        sampled_rows: Rows of them.
        queries: Queries that read the table and that were found.
        days: How much time the logs cover; a day where there are only statements.
        columns: What was tried, best first.
        unqueried: Columns by which no query asks.
        checks: Predictions beside indexes that exist, where that was wanted.
        problems: What could not be read, and why.
    """

    table: str
    files: int
    rows: int
    sampled_files: int
    sampled_rows: int
    queries: int
    days: float
    columns: Sequence[ColumnAdvice]
    unqueried: Sequence[str]
    checks: Sequence[AdviceCheck] = ()
    problems: Sequence[str] = ()

    @property
    def advised(self) -> list[ColumnAdvice]:
        """The indexes to make, best first."""
        return [column for column in self.columns if column.verdict is Verdict.INDEX]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEstimate(Shown):
    """What an index would cost and gain, found by trials before it is built.

    Args:
        table: The table's name.
        columns: The columns, in order.
        budget: What the index may cost or how wrong it may be; empty for an exact index.
        files: Data files of the table.
        rows: Rows of the table, or about as many.
        sampled_files: Data files over which trial indexes were built.
        sampled_rows: Rows of those data files.
        index_bytes: Bytes that the index would take.
        build_seconds: How long the build would take.
        refresh_seconds: How long a refresh would take after one more data file.
        files_now: Data files in which minimum and maximum leave one key, on average.
        files_then: Data files that the index would leave for one key, on average.
    """

    table: str
    columns: tuple[str, ...]
    budget: str
    files: int
    rows: int
    sampled_files: int
    sampled_rows: int
    index_bytes: Estimate
    build_seconds: Estimate
    refresh_seconds: Estimate
    files_now: float
    files_then: float
