"""Result models that only the command line has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakesieve.index.result import Found, VerifiedRows
    from lakesieve.store import Verified


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """An answer to show to a person rather than to use.

    Args:
        found: The answer.
    """

    found: Found


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysFound:
    """How many of given keys a table lacks.

    Args:
        table: The table's name.
        index: The index's name.
        version: The version that was read, if the table has data.
        keys: How many keys were given.
        absent: How many of them no row has.
        confirmed: Whether the others were confirmed by reading rows; else they are possible.
        named_files: Data files that can hold the others.
        files: Data files of the version.
        uncovered: How many of those the index has not seen.
        examples: The first absent keys, each as the texts of its columns.
    """

    table: str
    index: str
    version: str | None
    keys: int
    absent: int
    confirmed: bool
    named_files: int
    files: int
    uncovered: int
    examples: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateKeys:
    """The keys that are in more than one row, as far as they are shown.

    Args:
        table: The table's name.
        on: The key columns.
        version: The version that was read, if the table has data.
        count: How many keys that are.
        files_read: Data files that were opened to find them.
        files: Data files of the version.
        index: The index that left the others out, if any.
        keys: Some of them, those of most rows first, each as the texts of its columns.
        rows: In how many rows each of these is.
    """

    table: str
    on: tuple[str, ...]
    version: str | None
    count: int
    files_read: int
    files: int
    index: str | None
    keys: tuple[tuple[str, ...], ...]
    rows: tuple[int, ...]

    @property
    def holds(self) -> bool:
        """Whether all keys are unique."""
        return self.count == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """An index that was dropped, or would be.

    Args:
        table: The table's name.
        name: The index's name.
        dry_run: It is still there.
    """

    table: str
    name: str
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWritten:
    """A report that was written.

    Args:
        table: The table's name.
        path: The file.
        bytes: Its size.
        indexes: How many indexes it shows.
    """

    table: str
    path: str
    bytes: int
    indexes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found wrong with an index.

    Args:
        index: The index's name.
        table: The table's name.
        stored: What the checksums said.
        rows: What data files said that were read again; ``None`` if none were.
    """

    index: str
    table: str
    stored: Verified
    rows: VerifiedRows | None

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.stored.is_sound and not (self.rows and self.rows.wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCheck:
    """What a client of a running server would see.

    Args:
        address: Of the server.
        table: The table's name.
        planned_by: Who plans scans, as the server says.
        plans: Whether the server says that it can.
        files: How many data files the table has.
        reasons: Codes of the plan of a scan of all rows.
        milliseconds: How long that took.
    """

    address: str
    table: str
    planned_by: str
    plans: bool
    files: int
    reasons: tuple[str, ...]
    milliseconds: float
