"""Result models that only the command line has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakesieve.index.result import FileMatches, VerifiedRows
    from lakesieve.store import Verified


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An answer to show to a person rather than to use."""

    found: FileMatches


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentKeys:
    """How many of given keys a table lacks."""

    table: str
    index: str
    version: str | None  # the version that was read, if the table has data
    keys: int  # how many keys were given
    absent: int  # how many of them no row has
    confirmed: bool  # whether the others were confirmed by reading rows; else they are possible
    named_files: int  # data files that can hold the others
    files: int  # data files of the version
    uncovered: int  # how many of those the index has not seen
    examples: tuple[tuple[str, ...], ...]  # the first absent keys, each as the texts of its columns


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateKeys:
    """The keys that are in more than one row, as far as they are shown."""

    table: str
    on: tuple[str, ...]
    version: str | None  # the version that was read, if the table has data
    count: int  # how many keys that are
    files_read: int  # data files that were opened to find them
    files: int  # data files of the version
    index: str | None  # the index that left the others out, if any
    # some of them, those of most rows first, each as the texts of its columns
    keys: tuple[tuple[str, ...], ...]
    rows: tuple[int, ...]  # in how many rows each of these is

    @property
    def holds(self) -> bool:
        """Whether all keys are unique."""
        return self.count == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedIndex:
    """An index that was dropped, or would be."""

    table: str
    name: str
    dry_run: bool  # it is still there


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPage:
    """A report that was written."""

    table: str
    path: str
    bytes: int
    indexes: int  # how many indexes it shows


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCheck:
    """What was found wrong with an index."""

    index: str
    table: str
    stored: Verified  # what the checksums said
    rows: VerifiedRows | None  # what data files said that were read again; `None` if none were

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.stored.is_sound and not (self.rows and self.rows.wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCheck:
    """What a client of a running server would see."""

    address: str  # of the server
    table: str
    planned_by: str  # who plans scans, as the server says
    plans: bool  # whether the server says that it can
    files: int  # how many data files the table has
    reasons: tuple[str, ...]  # codes of the plan of a scan of all rows
    milliseconds: float  # how long that took
