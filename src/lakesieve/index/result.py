"""The result models: what the index layer tells, rendered by ``report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakesieve.index.reasons import Reason

__all__ = ["BuildProgress", "CommitInfo", "Found", "IndexInfo", "TablePruning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The data files of one table version that can hold a match.

    Args:
        paths: Data files to read, as the table format names them.
        total: Live data files of the version.
        uncovered: How many of ``paths`` are there because no index has seen them.
        reasons: Coded reasons.
        version: The version asked about, or ``None`` for a table without data.
        table: The table's name.
        predicate: The predicate as given.
        indexes: Names of the indexes that were used.
    """

    paths: list[str]
    total: int
    uncovered: int
    reasons: tuple[Reason, ...]
    version: str | None
    table: str
    predicate: str
    indexes: tuple[str, ...]

    def told(self) -> str:
        """The answer in a few lines for a person."""
        used = ", ".join(self.indexes) or "none"
        lines = [
            f"{self.table} at version {self.version}: {self.predicate}",
            f"read {len(self.paths)} of {self.total} data files (index used: {used})",
        ]
        lines += [f"  {reason}" for reason in self.reasons]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """What an index is and what it costs.

    Args:
        files: Data files covered.
        rows: Rows of those files.
        keys: Distinct keys, summed over segments.
        pairs: Distinct (key, file) pairs.
        bytes: Bytes of its segments and file catalogues.
        bits_per_row: ``bytes`` in bits over ``rows``; 0 for no rows.
        table_version: The table version that was indexed last.
    """

    name: str
    table: str
    table_format: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    location: str
    commit: int
    created_at: str
    files: int
    rows: int
    keys: int
    pairs: int
    blocks: int
    segments: int
    bytes: int
    bits_per_row: float
    table_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """One commit of an index's history, with the totals after it."""

    number: int
    parent: int | None
    operation: str
    created_at: str
    table_version: str
    files: int
    segments: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePruning:
    """What the latest query did to one scan of a table.

    Args:
        table: The table's name in the plan.
        files_total: Data files after the format's own skipping.
        files_read: Data files left to open.
        uncovered: How many of those no index has seen.
        indexes: Names of the indexes that were used.
        reasons: Coded reasons.
        predicate: The part of the filter that was understood.
    """

    table: str
    files_total: int
    files_read: int
    uncovered: int
    indexes: tuple[str, ...]
    reasons: tuple[Reason, ...]
    predicate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProgress:
    """How far a build is.

    Args:
        phase: What is being done now.
        seconds: Since the build began.
    """

    phase: str
    rows_done: int
    rows_total: int
    files_done: int
    files_total: int
    seconds: float
