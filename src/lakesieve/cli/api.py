"""What the commands call: the public functions of ``lakesieve``, or a test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

    from lakesieve.deletes.result import Conversion, ConversionProgress, DeleteStatus
    from lakesieve.index.result import (
        BuildProgress,
        Cloned,
        CommitInfo,
        Compacted,
        Found,
        IndexInfo,
        Refreshed,
        RowChange,
        TableStatus,
        TradeOffInfo,
        VerifiedRows,
    )
    from lakesieve.store import Repaired, Vacuumed, Verified

__all__ = ["Api", "DeletesApi", "OpenIndex", "Session"]

Session: TypeAlias = Any
"""A Spark session, which the command line only hands on."""


class OpenIndex(Protocol):
    """What the commands need of an index."""

    def info(self) -> IndexInfo:
        """What it is and what it costs."""

    def history(self) -> list[CommitInfo]:
        """Its commits, oldest first."""

    def drop(self, *, force: bool = False) -> None:
        """Delete it."""

    def refresh(
        self,
        *,
        all_refs: bool = False,
        dry_run: bool = False,
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> Refreshed:
        """Index what is not covered."""

    def compact(self, *, dry_run: bool = False) -> Compacted:
        """Merge its segments."""

    def clone(self, table: str, *, name: str | None = None, commit: int | None = None) -> Cloned:
        """Share it with another table."""

    def rollback(self, commit: int) -> IndexInfo:
        """Go back to an earlier commit."""

    def vacuum(
        self, *, retain_commits: int = ..., older_than: timedelta = ..., dry_run: bool = True
    ) -> Vacuumed:
        """Delete what no kept commit needs."""

    def verify(self) -> Verified:
        """Check its checksums."""

    def verify_rows(
        self, *, files: int | None = 10, progress: Callable[[BuildProgress], None] | None = None
    ) -> VerifiedRows:
        """Read data files again and look up their keys."""


class DeletesApi(Protocol):
    """The functions of ``lakesieve.deletes`` that the commands call."""

    def status(
        self,
        table: str,
        *,
        spark: Session,
        version: str | int | None = None,
        count_keys: bool = True,
    ) -> DeleteStatus:
        """Tell what a table's deletes cost."""

    def convert(
        self,
        table: str,
        *,
        spark: Session,
        branch: str | None = None,
        location: str | None = None,
        dry_run: bool = False,
        partial_progress: bool = False,
        attempts: int = ...,
        progress: Callable[[ConversionProgress], None] | None = None,
    ) -> Conversion:
        """Replace equality deletes."""


class Api(Protocol):
    """The functions of the package ``lakesieve`` that the commands call."""

    @property
    def deletes(self) -> DeletesApi:
        """What is done about equality deletes."""

    def local_session(
        self,
        warehouse: str = ...,
        *,
        formats: Sequence[str] = ...,
        conf: Mapping[str, str] | None = None,
    ) -> Session:
        """Start the embedded session."""

    def create_index(
        self,
        table: str,
        columns: Sequence[str],
        *,
        spark: Session,
        name: str | None = None,
        location: str | None = None,
        budget: str | None = None,
        absent_hits: float = ...,
        compaction: str = ...,
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> OpenIndex:
        """Build an index."""

    def create_indexes(
        self,
        table: str,
        columns: Sequence[Sequence[str]],
        *,
        spark: Session,
        location: str | None = None,
        budget: str | None = None,
        absent_hits: float = ...,
        compaction: str = ...,
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> Sequence[OpenIndex]:
        """Build several indexes in one scan."""

    def refresh_indexes(
        self,
        table: str,
        names: Sequence[str] | None = None,
        *,
        spark: Session,
        location: str | None = None,
        all_refs: bool = False,
        dry_run: bool = False,
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> list[Refreshed]:
        """Refresh several indexes, or all."""

    def trade_offs(
        self,
        table: str,
        columns: Sequence[str],
        *,
        spark: Session,
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> list[TradeOffInfo]:
        """Try budgets."""

    def clone_table(
        self,
        table: str,
        target: str,
        *,
        spark: Session,
        version: str | int | None = None,
        location: str | None = None,
    ) -> list[Cloned]:
        """Make a zero-copy table with its indexes."""

    def repair_index(
        self,
        table: str,
        name: str,
        *,
        spark: Session,
        location: str | None = None,
        dry_run: bool = True,
    ) -> Repaired:
        """Save what is left of an index."""

    def open_index(
        self, table: str, name: str, *, spark: Session, location: str | None = None
    ) -> OpenIndex:
        """Open an index by name."""

    def list_indexes(
        self, table: str, *, spark: Session, location: str | None = None
    ) -> list[IndexInfo]:
        """List a table's indexes."""

    def find_files(
        self,
        table: str,
        predicate: str,
        *,
        spark: Session,
        version: str | int | None = None,
        location: str | None = None,
    ) -> Found:
        """Find the files that can hold a match."""

    def upsert(
        self,
        rows: str,
        table: str,
        *,
        on: Sequence[str],
        spark: Session,
        refresh: str | None = ...,
        txn: tuple[str, int] | None = None,
        location: str | None = None,
        dry_run: bool = False,
    ) -> RowChange:
        """Update rows by key, and insert those that are not there."""

    def delete(
        self,
        keys: str,
        table: str,
        *,
        on: Sequence[str],
        spark: Session,
        refresh: str | None = ...,
        txn: tuple[str, int] | None = None,
        location: str | None = None,
        dry_run: bool = False,
    ) -> RowChange:
        """Delete rows by key."""

    def status(
        self,
        table: str,
        *,
        spark: Session,
        version: str | int | None = None,
        threshold: float = ...,
    ) -> TableStatus:
        """Tell how much of a table waits for upkeep."""
