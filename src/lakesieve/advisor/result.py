"""Result models of the advisor. ``report`` renders them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lakesieve.index.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence


class Verdict(StrEnum):
    """The advice on a key. Codes are only ever added."""

    INDEX = "index"
    EXISTS = "exists"
    CLUSTERED = "clustered"
    IN_EVERY_FILE = "in-every-file"
    LITTLE_SAVED = "little-saved"
    COVERED = "covered"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A predicted figure with its bounds. Files have 95 % bounds."""

    value: float
    low: float  # lower bound
    high: float  # upper bound

    @classmethod
    def exact(cls, value: float) -> Estimate:
        """Return a figure that was measured, not predicted."""
        return cls(value=value, low=value, high=value)

    @property
    def is_exact(self) -> bool:
        """True if both bounds are equal."""
        return self.low == self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAdvice(Shown):
    """What an index on some columns, or on another key, would do.

    Args:
        columns: The columns, in order, or another key as the only one, such as ``words(message)``.
        verdict: Whether to index them; if not, why.
        why: The verdict in a sentence.
        queries: How many queries the index would serve.
        files_now: Data files that these queries read now, on average.
        files_then: Data files that they would read, on average.
        seconds_saved: Seconds of reading that the index saves each day.
        index_bytes: Size of the index.
        build_seconds: Time to build it alone.
        refresh_seconds: Time to refresh it after one more data file.
        payback_days: Days until it has saved its build time; ``None`` if never.
        name: The name that the index would have, if it is advised.
        command: The command that creates it, if it is advised.

    Examples:
        >>> orders = ls.table("lake.shop.orders", spark=spark)
        >>> orders.advise(queries=["dashboards.sql"]).columns[0].verdict.value
        'exists'
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
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceCheck:
    """Predictions compared with an existing index."""

    columns: tuple[str, ...]
    index: str
    files_predicted: Estimate  # total data files that the queries would read
    files_measured: int  # total data files that the index leaves to them
    bytes_predicted: Estimate  # size of the index
    bytes_measured: int  # size of the index

    def __str__(self) -> str:
        """Return the comparison in one line."""
        files = f"files {self.files_predicted.value:.0f} of {self.files_measured}"
        sizes = f"bytes {self.bytes_predicted.value:.0f} of {self.bytes_measured}"
        return f"{self.index}: {files}, {sizes}"

    @property
    def files_error(self) -> float:
        """Error of the predicted files, as a share."""
        return abs(self.files_predicted.value / max(self.files_measured, 1) - 1)

    @property
    def bytes_error(self) -> float:
        """Error of the predicted bytes, as a share."""
        return abs(self.bytes_predicted.value / max(self.bytes_measured, 1) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAdvice(Shown):
    """Which columns of a table to index, and which not.

    Args:
        table: The table's name.
        files: Data files of the table.
        rows: Rows of these data files.
        sampled_files: Data files whose keys were read.
        sampled_rows: Rows of the sampled data files.
        queries: Number of queries that read the table.
        days: Days that the logs cover; 1 if there are only statements.
        columns: The tried columns and other keys, best first.
        unqueried: Columns that no query restricts.
        checks: Predictions compared with existing indexes, if requested.
        problems: What could not be read, and why.

    Examples:
        >>> orders = ls.table("lake.shop.orders", spark=spark)
        >>> orders.advise(queries=["dashboards.sql"]).table
        'lake.shop.orders'
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
        """The advised indexes, best first."""
        return [column for column in self.columns if column.verdict is Verdict.INDEX]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEstimate(Shown):
    """What an index would cost and gain, found by trials before it is built.

    Args:
        table: The table's name.
        columns: The columns, in order, or another key as the only one.
        budget: What the index may cost or how wrong it may be; empty for an exact index.
        files: Data files of the table.
        rows: Rows of the table, or about as many.
        sampled_files: Data files over which trial indexes were built.
        sampled_rows: Rows of those data files.
        index_bytes: Bytes that the index would take.
        build_seconds: How long the build would take.
        refresh_seconds: How long a refresh would take after one more data file.
        files_now: Data files in which minimum and maximum leave one key, on average. They are all
            files if the key is no column.
        files_then: Data files that the index would leave for one key, on average. If a row may have
            many keys, one of them is an element, an entry or a word.
        rows_per_block: Rows of a block; ``None`` for an index of whole data files.
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
    rows_per_block: int | None = None
