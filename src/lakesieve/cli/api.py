"""What the commands call: the public functions of ``lakesieve``, or a test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lakesieve.index.result import BuildProgress, CommitInfo, Found, IndexInfo

__all__ = ["Api", "OpenIndex", "Session"]

Session: TypeAlias = Any
"""A Spark session, which the command line only hands on."""


class OpenIndex(Protocol):
    """What the commands need of an index."""

    def info(self) -> IndexInfo:
        """What it is and what it costs."""

    def history(self) -> list[CommitInfo]:
        """Its commits, oldest first."""

    def drop(self) -> None:
        """Delete it."""


class Api(Protocol):
    """The functions of the package ``lakesieve`` that the commands call."""

    def local_session(
        self, warehouse: str = ..., *, conf: Mapping[str, str] | None = None
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
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> OpenIndex:
        """Build an index."""

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
