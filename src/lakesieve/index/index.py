"""One index of one table, as the user holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.index.find import find
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.result import CommitInfo, Found, IndexInfo
from lakesieve.store import BlockCache, IndexReader, IndexStore

if TYPE_CHECKING:
    from lakesieve.storage import Storage
    from lakesieve.store import Snapshot
    from lakesieve.tables import Table

__all__ = ["Index", "describe"]


class Index:
    """One index of one table.

    Args:
        table: The table it was opened for.
        storage: The index's root.
        timezone: Session time zone, for timestamps written without one.

    Raises:
        NotFoundError: There is no index.
    """

    def __init__(self, table: Table, storage: Storage, *, timezone: str = "UTC") -> None:
        self._table = table
        self._storage = storage
        self._timezone = timezone
        self._store = IndexStore(storage)
        self._cache = BlockCache()
        self._snapshot = self._store.snapshot()

    @property
    def name(self) -> str:
        """The index's name."""
        return self._snapshot.definition.name

    def info(self) -> IndexInfo:
        """What it is and what it costs."""
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
        self._snapshot = self._store.snapshot()
        reader = IndexReader(self._store, self._snapshot, self._cache)
        opened = OpenedIndex(self._snapshot, reader)
        return find(self._table, [opened], [], predicate, version, timezone=self._timezone)

    def explain(self, predicate: str, version: str | int | None = None) -> str:
        """The answer of :meth:`files`, told to a person."""
        return self.files(predicate, version).told()

    def history(self) -> list[CommitInfo]:
        """The index's commits, oldest first, each with the totals after it."""
        told = []
        for commit in self._store.history():
            after = self._store.snapshot(commit.number)
            info = describe(after, self._table.name, self._storage.location)
            told.append(
                CommitInfo(
                    number=commit.number,
                    parent=commit.parent,
                    operation=commit.operation,
                    created_at=commit.created_at,
                    table_version=info.table_version,
                    files=info.files,
                    segments=info.segments,
                    bytes=info.bytes,
                )
            )
        return told

    def drop(self) -> None:
        """Delete the index; the table is not touched and its scans read every file again."""
        self._store.drop()


def describe(snapshot: Snapshot, table: str, location: str) -> IndexInfo:
    """Sum up one state of an index."""
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
    )
