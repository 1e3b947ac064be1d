"""The log of one index: commits made by exclusive create, snapshots made by replay."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lakesieve.errors import (
    CommitConflictError,
    CorruptIndexError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from lakesieve.format import Commit, pack, unpack

if TYPE_CHECKING:
    from lakesieve.format import CatalogueEntry, IndexDefinition, SegmentEntry
    from lakesieve.storage import Storage

__all__ = ["Changes", "IndexStore", "Snapshot"]

WRITER = "lakesieve 0.1.0"
_COMMIT = re.compile(r"log/(\d{20})\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of an index after one of its commits.

    Args:
        number: The commit's number.
        definition: What is indexed.
        table_version: The table version that was indexed last.
        catalogues: Live file catalogues, oldest first.
        segments: Live segments, oldest first.
    """

    number: int
    definition: IndexDefinition
    table_version: dict[str, Any]
    catalogues: tuple[CatalogueEntry, ...]
    segments: tuple[SegmentEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a commit does; the objects it adds are staged already."""

    operation: str
    table_version: dict[str, Any] = field(default_factory=dict)
    add_catalogues: tuple[CatalogueEntry, ...] = ()
    add_segments: tuple[SegmentEntry, ...] = ()
    remove_segments: tuple[str, ...] = ()
    remove_catalogues: tuple[str, ...] = ()


class IndexStore:
    """One index at rest.

    Args:
        storage: The index's root.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def exists(self) -> bool:
        """Whether a first commit has been made here."""
        return bool(self.storage.objects("log/"))

    def create(self, definition: IndexDefinition, changes: Changes) -> Snapshot:
        """Make the first commit, with all that it covers: the index appears whole or not at all.

        Raises:
            InvalidInputError: There is an index already.
            StorageError: The place cannot be written to.
        """
        commit = _commit(0, definition, changes)
        if not self._land(commit):
            raise InvalidInputError(
                f"There is an index at {self.storage.location} already.",
                kind=ErrorKind.INDEX_EXISTS,
                hint="Choose another name, or drop it first.",
            )
        return _replayed([commit])

    def commit(self, base: Snapshot, changes: Changes) -> Snapshot:
        """Make the next commit after a snapshot.

        Raises:
            CommitConflictError: Another writer committed after ``base``.
            StorageError: The place cannot be written to.
        """
        commit = _commit(base.number + 1, None, changes)
        if not self._land(commit):
            other = self._read(commit.number)
            raise CommitConflictError(
                f"Commit {commit.number} ({changes.operation}) lost to {other.operation} "
                f"by {other.writer} at {other.created_at}.",
                kind=ErrorKind.CONFLICT,
                hint="Try again from the new state.",
            )
        return self.snapshot(commit.number)

    def snapshot(self, number: int | None = None) -> Snapshot:
        """The state after a commit, by default the last one.

        Raises:
            NotFoundError: There is no index, or no such commit.
            CorruptIndexError: The log is damaged.
            IndexFormatError: The log is too new.
        """
        return _replayed(self.history(number))

    def history(self, upto: int | None = None) -> list[Commit]:
        """All commits up to one, oldest first.

        Raises:
            NotFoundError: There is no index, or no such commit.
            CorruptIndexError: The log is damaged.
            IndexFormatError: The log is too new.
        """
        numbers = sorted(self._numbers())
        if not numbers:
            raise NotFoundError(
                f"There is no index at {self.storage.location}.",
                kind=ErrorKind.INDEX_NOT_FOUND,
                hint="lakesieve list TABLE names those that are there.",
            )
        if numbers != list(range(len(numbers))):
            gap = next(n for n in range(len(numbers)) if n != numbers[n])
            raise CorruptIndexError(
                f"The log of {self.storage.location} has no commit log/{gap:020d}.json.",
                kind=ErrorKind.CORRUPT,
                hint="Drop the index and create it again.",
            )
        last = numbers[-1] if upto is None else upto
        if not 0 <= last < len(numbers):
            raise NotFoundError(
                f"The index has no commit {upto}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="lakesieve history lists its commits.",
            )
        return [self._read(number) for number in range(last + 1)]

    def drop(self) -> None:
        """Delete every object of the index, the log first, newest commit first.

        Without its log nobody finds the rest, and at any moment in between the index is either a
        shorter one or none.
        """
        for prefix in ("log/", "segments/", "files/"):
            for info in reversed(self.storage.objects(prefix)):
                self.storage.delete(info.path)

    def _numbers(self) -> list[int]:
        found = (_COMMIT.fullmatch(info.path) for info in self.storage.objects("log/"))
        return [int(match.group(1)) for match in found if match]

    def _read(self, number: int) -> Commit:
        path = f"log/{number:020d}.json"
        commit = Commit.from_json(unpack(self.storage.get(path), path), path)
        if commit.number != number or (commit.definition is None) != (number > 0):
            raise CorruptIndexError(
                f"The index file {path} is damaged: it is commit {commit.number}.",
                kind=ErrorKind.CORRUPT,
                hint="Drop the index and create it again.",
            )
        return commit

    def _land(self, commit: Commit) -> bool:
        """Create the commit's file; false when another writer was first."""
        path = f"log/{commit.number:020d}.json"
        try:
            self.storage.create(path, pack(commit.to_json()))
        except StorageError as error:
            # a create whose answer was lost may have landed: only the file itself can tell
            if error.kind not in {ErrorKind.ALREADY_EXISTS, ErrorKind.STORAGE_FAILED}:
                raise
            try:
                landed = self._read(commit.number).write_id == commit.write_id
            except NotFoundError:
                raise error from None
            return landed
        return True


def _commit(number: int, definition: IndexDefinition | None, changes: Changes) -> Commit:
    return Commit(
        number=number,
        operation=changes.operation,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        writer=WRITER,
        write_id=uuid.uuid4().hex,
        definition=definition,
        table_version=changes.table_version,
        add_catalogues=changes.add_catalogues,
        add_segments=changes.add_segments,
        remove_segments=changes.remove_segments,
        remove_catalogues=changes.remove_catalogues,
    )


def _replayed(commits: list[Commit]) -> Snapshot:
    definition = commits[0].definition
    catalogues: dict[str, CatalogueEntry] = {}
    segments: dict[str, SegmentEntry] = {}
    for commit in commits:
        for removed in commit.remove_segments:
            segments.pop(removed, None)
        for removed in commit.remove_catalogues:
            catalogues.pop(removed, None)
        catalogues.update((entry.id, entry) for entry in commit.add_catalogues)
        segments.update((entry.path, entry) for entry in commit.add_segments)
    last = commits[-1]
    if definition is None or not all(s.catalogue in catalogues for s in segments.values()):
        raise CorruptIndexError(
            f"The log is damaged: commit {last.number} names a catalogue that is not there.",
            kind=ErrorKind.CORRUPT,
            hint="Drop the index and create it again.",
        )
    return Snapshot(
        number=last.number,
        definition=definition,
        table_version=last.table_version,
        catalogues=tuple(catalogues.values()),
        segments=tuple(segments.values()),
    )
