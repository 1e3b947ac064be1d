"""One index of one table, as the user holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError
from lakesieve.index.find import find
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.result import CommitInfo, Found, IndexInfo
from lakesieve.store import (
    RETAIN_COMMITS,
    SAFETY_AGE,
    IndexReader,
    IndexStore,
    shared_cache,
    vacuum,
    verify,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from lakesieve.storage import Storage
    from lakesieve.store import Snapshot, Vacuumed, Verified
    from lakesieve.tables import TableReader

__all__ = ["Index", "describe"]


class Index:
    """One index of one table.

    Args:
        table: The table it was opened for.
        storage: The index's root.
        timezone: Returns the current session time zone, for timestamps written without one.
        commit: The commit whose state is read; ``None`` follows the last one.

    Raises:
        NotFoundError: There is no index, or no such commit.
    """

    def __init__(
        self,
        table: TableReader,
        storage: Storage,
        *,
        timezone: Callable[[], str] = lambda: "UTC",
        commit: int | None = None,
    ) -> None:
        self._table = table
        self._storage = storage
        self._timezone = timezone
        self._store = IndexStore(storage)
        self._cache = shared_cache()
        self._commit = commit
        self._snapshot = self._store.snapshot(commit)

    @property
    def name(self) -> str:
        """The index's name."""
        return self._snapshot.definition.name

    def info(self) -> IndexInfo:
        """What it is and what it costs."""
        if self._commit is None:
            self._snapshot = self._store.snapshot()
        return describe(self._snapshot, self._table.name, self._storage.location)

    def files(self, predicate: str, version: str | int | None = None) -> Found:
        """Data files that can hold a row for which the predicate is true.

        Args:
            predicate: SQL text, such as ``l_orderkey BETWEEN 5 AND 9``.
            version: Snapshot id, time, tag or branch; ``None`` is the current version.

        Raises:
            InvalidInputError: The predicate cannot be understood.
            NotFoundError: An unknown column or version.
        """
        if self._commit is None:
            self._snapshot = self._store.snapshot()
        reader = IndexReader(self._store, self._snapshot, self._cache)
        opened = OpenedIndex(self._snapshot, reader)
        return find(self._table, [opened], [], predicate, version, timezone=self._timezone())

    def explain(self, predicate: str, version: str | int | None = None) -> str:
        """The answer of :meth:`files`, as text for a person.

        Args:
            predicate: SQL, as in WHERE.
            version: As for :meth:`files`.
        """
        return str(self.files(predicate, version))

    def history(self) -> list[CommitInfo]:
        """The index's commits that are kept, oldest first, each with the totals after it."""
        commits = []
        for commit, after in self._store.history():
            totals = after.totals()
            commits.append(
                CommitInfo(
                    number=commit.number,
                    parent=commit.parent,
                    operation=commit.operation,
                    created_at=commit.created_at,
                    table_version=str(after.table_version.get("id", "")),
                    files=totals["files"],
                    segments=totals["segments"],
                    blocks=totals["blocks"],
                    bytes=totals["bytes"],
                )
            )
        return commits

    def at(self, commit: int) -> Index:
        """The index as it was after an earlier commit, for look-ups; it does not follow new ones.

        Args:
            commit: The commit's number.

        Raises:
            NotFoundError: There is no such commit, or its state is not kept.
        """
        return Index(self._table, self._storage, timezone=self._timezone, commit=commit)

    def rollback(self, commit: int) -> IndexInfo:
        """Make the index what it was after an earlier commit, by a new commit.

        Data files that the earlier state did not cover are read by every query until they are
        indexed again.

        Args:
            commit: The commit's number.

        Returns:
            What the index is now.

        Raises:
            NotFoundError: There is no such commit, or its state is not kept.
            CommitConflictError: Other writers commit all the time.
        """
        self._check_index()
        self._snapshot = self._store.rollback(commit)
        return self.info()

    def vacuum(
        self,
        *,
        retain_commits: int = RETAIN_COMMITS,
        older_than: timedelta = SAFETY_AGE,
        dry_run: bool = True,
    ) -> Vacuumed:
        """Delete objects that no kept commit needs, leftovers of dead builds, and old log entries.

        Args:
            retain_commits: Number of last commits whose states are kept.
            older_than: Nothing younger is deleted, and states that were current within it are kept:
                longer than any build and any query takes.
            dry_run: Only report what would be deleted.

        Raises:
            InvalidInputError: No commit would be kept, or the age is negative.
            CorruptIndexError: The index is damaged; repair it first.
        """
        self._check_index()
        return vacuum(
            self._store, retain_commits=retain_commits, older_than=older_than, dry_run=dry_run
        )

    def verify(self) -> Verified:
        """Check every checksum of the log and of the objects of the last commit."""
        return verify(self._store)

    def drop(self, *, force: bool = False) -> None:
        """Delete the index; the table is not touched and its scans read every file again.

        Args:
            force: Also when clones still use its objects, and become unusable.

        Raises:
            InvalidInputError: Clones still use its objects.
        """
        self._check_index()
        self._store.drop(force=force)

    def _check_index(self) -> None:
        """Check that the stored index still belongs to the table that it was opened for.

        Raises:
            InvalidInputError: It was replaced by an index of another table.
        """
        try:
            definition = self._store.snapshot().definition
        except LakesieveError:
            # damaged ones can be dropped, too
            return
        if definition.table_uuid != self._snapshot.definition.table_uuid:
            raise InvalidInputError(
                f"The index {definition.name} is of another table now, which replaced "
                f"{self._table.name}.",
                kind=ErrorKind.TABLE_REPLACED,
                hint="Open it again, by the table's name.",
            )


def describe(snapshot: Snapshot, table: str, location: str) -> IndexInfo:
    """Sum up one state of an index.

    Args:
        snapshot: The state.
        table: Name of the table.
        location: Root of the index.
    """
    definition = snapshot.definition
    rows = sum(entry.records for entry in snapshot.catalogues)
    size = sum(entry.size for entry in snapshot.catalogues)
    size += sum(entry.size for entry in snapshot.segments)
    return IndexInfo(
        name=definition.name,
        table=table,
        table_format=definition.table_format,
        columns=tuple(column.name for column in definition.columns),
        types=tuple(column.type for column in definition.columns),
        location=location,
        commit=snapshot.number,
        created_at=definition.created_at,
        files=sum(entry.files for entry in snapshot.catalogues),
        rows=rows,
        keys=sum(entry.keys for entry in snapshot.segments),
        pairs=sum(entry.pairs for entry in snapshot.segments),
        blocks=sum(entry.blocks for entry in snapshot.segments),
        segments=len(snapshot.segments),
        bytes=size,
        bits_per_row=8 * size / rows if rows else 0.0,
        table_version=str(snapshot.table_version.get("id", "")),
        budget=definition.budget,
        compaction=definition.compaction,
    )
