"""One index of one table, as the user holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, UnsupportedError
from lakesieve.index.access import needs_session, without_engine
from lakesieve.index.definition import indexed_columns
from lakesieve.index.expressions import refuse_expressions
from lakesieve.index.find import find
from lakesieve.index.given_keys import GivenKeys
from lakesieve.index.keys_in_order import KeysInOrder
from lakesieve.index.many_keys import contained
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.registry import index_storage
from lakesieve.index.result import (
    CloneResult,
    CommitInfo,
    CompactionResult,
    FileMatches,
    IndexInfo,
    RefreshResult,
    VerifiedRows,
)
from lakesieve.index.shown import ShownList
from lakesieve.index.upkeep import Upkeep
from lakesieve.store import (
    RETAIN_COMMITS,
    SAFETY_AGE,
    IndexStore,
    clone,
    vacuum,
    verify,
)

if TYPE_CHECKING:
    from datetime import timedelta

    from lakesieve.index.access import TableAccess
    from lakesieve.index.key_results import KeyPresence
    from lakesieve.index.many_keys import KeyReader
    from lakesieve.storage import Storage
    from lakesieve.store import Vacuumed, Verified
    from lakesieve.tables import Column, TableReader, TableVersion


class Index(KeysInOrder):
    """One index of one table.

    Args:
        table: The table it was opened for.
        storage: The index's root.
        access: How other tables are reached, and the zone of timestamps written without one; by
            default without a session, and UTC.
        commit: The commit whose state is read; ``None`` follows the last one.
        key_reader: Reads key columns of data files, for what is to be confirmed.

    Raises:
        NotFoundError: There is no index, or no such commit.

    Examples:
        >>> ls.open_index("lake.shop.orders", "customer")
        <Index customer of lake.shop.orders: 10 data files>
    """

    def __init__(
        self,
        table: TableReader,
        storage: Storage,
        *,
        access: TableAccess | None = None,
        commit: int | None = None,
        key_reader: KeyReader | None = None,
    ) -> None:
        self._table = table
        self._storage = storage
        self._access = access or without_engine()
        self._store = IndexStore(storage)
        self._commit = commit
        self._key_reader = key_reader
        self._snapshot = self._store.snapshot(commit)
        self._upkeep = Upkeep(table=table, store=self._store)

    @property
    def name(self) -> str:
        """The index's name."""
        return self._snapshot.definition.name

    def __repr__(self) -> str:
        covered = self._snapshot.totals()["files"]
        return f"<{type(self).__name__} {self.name} of {self._table.name}: {covered:,} data files>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return self.info()._repr_html_()

    def info(self) -> IndexInfo:
        """Return what the index is and what it costs.

        Examples:
            >>> index.info().columns
            ('customer',)
        """
        if self._commit is None:
            self._snapshot = self._store.snapshot()
        return IndexInfo.of(self._snapshot, self._table.name, self._storage.location)

    def files(self, predicate: str | Any, version: str | int | None = None) -> FileMatches:
        """Return data files that can hold a row for which the predicate is true.

        Args:
            predicate: SQL text, such as ``l_orderkey BETWEEN 5 AND 9``, or an expression of
                PyIceberg, Polars or Arrow.
            version: Snapshot id, time, tag or branch; ``None`` is the current version.

        Raises:
            InvalidInputError: The predicate cannot be understood.
            NotFoundError: An unknown column or version.

        Examples:
            >>> matches = index.files("customer IN (4711, 4712)")
            >>> len(matches.paths), matches.total, matches.uncovered
            (2, 10, 0)
        """
        opened = self._opened()
        return find(self._table, [opened], [], predicate, version, access=self._access)

    def explain(self, predicate: str | Any, version: str | int | None = None) -> str:
        """Return the answer of :meth:`files`, as text for a person.

        Args:
            predicate: As for :meth:`files`, as is the version.
            version: The version.

        Examples:
            >>> print(index.explain("customer = 4711"))
            lake.shop.orders at version ...: customer = 4711
            read 1 of 10 data files...
        """
        return str(self.files(predicate, version))

    def contains(
        self, keys: Any, version: str | int | None = None, *, confirm: bool = False
    ) -> KeyPresence:
        """Tell which of many keys no row of a version has.

        ``absent`` is exact. All other keys are possible, with the data files that can hold them:
        row-level deletes are ignored. Nulls are keys like others.

        Args:
            keys: An Arrow table or batch whose columns are named like the index's, or like the
                first few of them; an Arrow array or a list of values of its first column; a frame
                of Polars or pandas; or the path of a Parquet file, or of a CSV file with a header
                line, of which other columns are ignored.
            version: Snapshot id, time, tag or branch; ``None`` is the current version.
            confirm: Read the key columns of the files that can hold the keys, row-level deletes
                applied, so that the other answer is exact as well.

        Raises:
            InvalidInputError: Values of another type or no key, or the index belongs to a table
                that was here before.
            NotFoundError: A key column is missing, or there is no such version.
            UnsupportedError: The key columns are not in that version, or the rows cannot be read.
            CorruptIndexError: The index cannot be read.

        Examples:
            >>> index.contains([4711, 99_999]).absent.to_pylist()
            [False, True]
        """
        refuse_expressions(self._snapshot.definition, "contains")
        self._upkeep.check_table()
        table_version = self._table.version(version)
        columns = self._columns(table_version)
        given = GivenKeys(keys, columns, self._table.name)
        reader = self._key_reader if confirm else None
        if confirm and reader is None:
            raise UnsupportedError(
                f"This index cannot read rows of {self._table.name}, so it cannot confirm keys.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Open the index with lakesieve.open_index.",
            )
        opened = self._opened()
        return contained(given, opened, table=self._table, version=table_version, reader=reader)

    def refresh(
        self, *, all_refs: bool = False, dry_run: bool = False, progress: Any = None
    ) -> RefreshResult:
        """Index the data files that are new, which takes Spark; see :meth:`SparkIndex.refresh`.

        Examples:
            >>> index.refresh()
            Traceback (most recent call last):
            lakesieve.errors.UnsupportedError: This needs Spark, but ...
        """
        del all_refs, dry_run, progress
        raise needs_session(self._table.name)

    def verify_rows(self, *, files: int | None = 10, progress: Any = None) -> VerifiedRows:
        """Look up keys of data files again, by Spark; see :meth:`SparkIndex.verify_rows`.

        Examples:
            >>> index.verify_rows()
            Traceback (most recent call last):
            lakesieve.errors.UnsupportedError: This needs Spark, but ...
        """
        del files, progress
        raise needs_session(self._table.name)

    def locate(self, keys: Any, version: str | int | None = None) -> Any:
        """Name the data files of many keys, by Spark; see :meth:`SparkIndex.locate`.

        Examples:
            >>> index.locate([4711])
            Traceback (most recent call last):
            lakesieve.errors.UnsupportedError: This needs Spark, but ...
        """
        del keys, version
        raise needs_session(self._table.name)

    def _opened(self) -> OpenedIndex:
        """Return the state that is read now."""
        if self._commit is None:
            self._snapshot = self._store.snapshot()
        return OpenedIndex(self._store, self._snapshot)

    def _columns(self, version: TableVersion) -> tuple[Column, ...]:
        """Return the key columns, with the names and types that they have in a version."""
        definition = self._snapshot.definition
        return indexed_columns(definition, self._table, version, strict=True) or ()

    def history(self) -> list[CommitInfo]:
        """Return the index's commits that are kept, oldest first, each with the totals after it.

        Examples:
            >>> index.history()[0].operation
            'create'
        """
        return ShownList(CommitInfo.of(*both) for both in self._store.history())

    def at(self, commit: int) -> Index:
        """Return the index after an earlier commit, for look-ups; it does not follow new commits.

        Args:
            commit: The commit's number.

        Raises:
            NotFoundError: There is no such commit, or its state is not kept.

        Examples:
            >>> index.at(0).info().commit
            0
        """
        return Index(
            self._table,
            self._storage,
            access=self._access,
            commit=commit,
            key_reader=self._key_reader,
        )

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

        Examples:
            >>> index.rollback(0).files
            10
        """
        self._check_index()
        self._snapshot = self._store.rollback(commit)
        return self.info()

    def compact(self, *, dry_run: bool = False) -> CompactionResult:
        """Merge all segments, from the index alone, without files that no table version keeps.

        Args:
            dry_run: Do all but the commit.

        Raises:
            InvalidInputError: The index belongs to a table that was here before.
            CommitConflictError: Others compact all the time.
            StorageError: The location cannot be written to.

        Examples:
            >>> index.compact(dry_run=True).segments_before
            1
        """
        self._upkeep.check_table()
        base = self._store.snapshot()
        before = base.totals()
        files, after = self._upkeep.kept_files(base), None
        if not dry_run:
            after = self._upkeep.compacted().totals()
        return CompactionResult(
            index=self.name,
            table=self._table.name,
            files_before=before["files"],
            files=after["files"] if after else files,
            segments_before=before["segments"],
            segments=after["segments"] if after else None,
            bytes_before=before["bytes"],
            bytes=after["bytes"] if after else None,
            commit=self._store.snapshot().number,
            dry_run=dry_run,
        )

    def clone(
        self, table: str, *, name: str | None = None, commit: int | None = None
    ) -> CloneResult:
        """Give a table that shares data files with this one its index, without building anything.

        Args:
            table: The other table, such as an Iceberg snapshot of this one or a copy registered
                under another name. Its columns must be those of this table, by field id.
            name: The clone's name; by default this index's.
            commit: The commit whose state is taken; by default the last one.

        Raises:
            NotFoundError: No such table or commit.
            InvalidInputError: The table has the index already, or shares no data file.
            UnsupportedError: Its columns are others, or it lies in another kind of store.

        Examples:
            >>> index = ls.open_index("lake.shop.orders", "customer", spark=spark)
            >>> copies = ls.clone_table("lake.shop.orders", "lake.shop.copy", spark=spark)
            >>> index.clone("lake.shop.copy", name="by_customer").shared
            10
        """
        self._upkeep.check_table()
        other = self._access.open_table(table)
        version = other.version()
        indexed_columns(self._snapshot.definition, other, version, strict=True)
        state = self._store.snapshot(commit)
        live = other.live_files(version).column("path")
        shared = int(pc.sum(pc.is_in(live, value_set=self._upkeep.covered(state))).as_py() or 0)
        if not shared:
            raise InvalidInputError(
                f"{table} shares no data file with {self._table.name}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Create an index of its own for it.",
            )
        roots = self._access.roots(other)
        target = index_storage(roots[0], name or self.name)
        made = clone(
            self._store,
            target,
            number=commit,
            name=name,
            table_uuid=other.uuid,
            table_location=other.location,
        )
        return CloneResult(
            index=made.definition.name,
            table=table,
            origin=self._table.name,
            location=target.location,
            files=len(live),
            shared=shared,
        )

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

        Examples:
            >>> index.vacuum().paths
            ()
        """
        self._check_index()
        return vacuum(
            self._store, retain_commits=retain_commits, older_than=older_than, dry_run=dry_run
        )

    def verify(self) -> Verified:
        """Check every checksum of the log and of the objects of the last commit.

        Examples:
            >>> index.verify().is_sound
            True
        """
        return verify(self._store)

    def drop(self, *, force: bool = False) -> None:
        """Delete the index; the table is not touched and its scans read every file again.

        Args:
            force: Also when clones still use its objects, and become unusable.

        Raises:
            InvalidInputError: Clones still use its objects.

        Examples:
            >>> index = ls.create_index("lake.shop.orders", "tenant", spark=spark)
            >>> index.drop()
        """
        self._check_index()
        self._store.drop(force=force)

    def _check_index(self) -> None:
        """Check that the stored index still belongs to the table that it was opened for.

        Raises:
            InvalidInputError: An index of another table has replaced it.
        """
        try:
            definition = self._store.snapshot().definition
        except LakesieveError:
            # a user can drop a damaged index, so this check does not raise
            return
        if definition.table_uuid != self._snapshot.definition.table_uuid:
            raise InvalidInputError(
                f"Another table has replaced {self._table.name}, and the index "
                f"{definition.name} now belongs to that table.",
                kind=ErrorKind.TABLE_REPLACED,
                hint="Open the index again by the table's name.",
            )
