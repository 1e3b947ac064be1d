"""Read the states of one index in storage, and commit new states."""

from __future__ import annotations

import contextlib
import random
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakesieve.errors import (
    CommitConflictError,
    CorruptIndexError,
    ErrorKind,
    IndexFormatError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from lakesieve.format import Commit
from lakesieve.store.index_references import references_to, remove_references
from lakesieve.store.log import (
    CHECKPOINT_INTERVAL,
    FOLDERS,
    OBJECT_NAMES,
    CommitLog,
    checkpoint_path,
    commit_path,
    is_object,
    note_change,
)
from lakesieve.store.requirements import HeadIs, Retained, conflicts, implied
from lakesieve.store.segment_loader import read_catalogue
from lakesieve.store.snapshot import Changes, Replay, Snapshot, root_storage
from lakesieve.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from lakesieve.format import CatalogueEntry, IndexDefinition
    from lakesieve.storage import Storage
    from lakesieve.store.requirements import Conflict, Requirement

WRITER = f"lakesieve {__version__}"

_ATTEMPTS = 60
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 1.0


class IndexStore:
    """One index in storage.

    Args:
        sleep: Waits some seconds between two attempts to commit.
    """

    def __init__(self, storage: Storage, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.storage = storage
        self.log = CommitLog(storage)
        self._sleep = sleep

    def exists(self) -> bool:
        """Return whether the index has a first commit."""
        return bool(self.log.listing().commits)

    def create(self, definition: IndexDefinition, changes: Changes) -> Snapshot:
        """Create the index with a first commit that adds all objects at once.

        Readers see the complete index or no index.
        """
        commit = _commit(None, changes, definition)
        commit = replace(commit, metrics=Replay(commit).snapshot().totals())
        if not self.log.land(commit):
            raise InvalidInputError(
                f"An index already exists at {self.storage.location}.",
                kind=ErrorKind.INDEX_EXISTS,
                hint="Choose another name, or drop the existing index first.",
            )
        return Replay(commit).snapshot()

    def replace(self, definition: IndexDefinition, changes: Changes) -> Snapshot:
        """Put another index into the place of this one, which may not exist.

        Readers see the old index until the new one is complete. What was prepared on the old index
        can no longer be committed, as its uuid is another one.
        """
        for _ in range(_ATTEMPTS):
            listing = self.log.listing()
            number = max((*listing.commits, *listing.checkpoints), default=-1) + 1
            commit = replace(_commit(None, changes, definition), number=number)
            state = Replay(commit).snapshot()
            if self.log.land(replace(commit, metrics=state.totals())):
                # readers begin here, whatever became of the log before
                self.log.write_checkpoint(state)
                return state
        raise CommitConflictError(
            f"Other writers committed to the index at {self.storage.location} during each of "
            f"{_ATTEMPTS} attempts.",
            kind=ErrorKind.CONFLICT,
            hint="Try again when fewer writers commit at the same time.",
        )

    def commit(
        self, base: Snapshot, changes: Changes, requires: Sequence[Requirement] = ()
    ) -> Snapshot:
        """Make a commit that was prepared on a snapshot.

        If other writers committed since, the changes are applied on top of their commits, provided
        that all requirements still hold. The changes imply requirements of their own: for example,
        the objects that they remove must still be part of the index.
        """
        requirements = (*implied(base, changes), *requires)
        head = base if self.log.holds(base.number, base.write_id) else self.log.latest()
        between: list[Commit] = []
        for attempt in range(_ATTEMPTS):
            broken = conflicts(
                requirements, base=base, head=head, between=between, covered=self.covered_by(head)
            )
            if broken:
                raise _conflict(changes, base, broken)
            commit = _commit(head, changes)
            state = Replay(head).apply(commit).snapshot()
            commit = replace(commit, metrics=state.totals())
            if self.log.land(commit):
                if self.log.is_linked(commit):
                    return self._checkpointed(state)
                self.storage.delete(commit_path(commit.number))
                head = self.log.latest()
                continue
            newer = self.log.since(head.number)
            replay = Replay(head)
            for other in newer:
                replay.apply(other)
            head = replay.snapshot()
            between += newer
            longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 1.5**attempt)
            self._sleep(random.uniform(0, longest))
        raise CommitConflictError(
            f"Commit {head.number + 1} ({changes.operation}) was overtaken by other writers "
            f"{_ATTEMPTS} times.",
            kind=ErrorKind.CONFLICT,
            hint="Try again when fewer writers commit at the same time.",
        )

    def snapshot(self, number: int | None = None) -> Snapshot:
        """Return the state after a commit, by default after the last one."""
        head = self.log.latest()
        if number is None or number == head.number:
            return head
        if not head.retained_from <= number <= head.number:
            available = f"; it keeps {head.retained_from} to {head.number}"
            raise NotFoundError(
                f"The index has no commit {number}{available}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="lakesieve history lists its commits.",
            )
        return self.log.at(number, head.retained_from)

    def history(self) -> Iterator[tuple[Commit, Snapshot]]:
        """Yield the stored commits, oldest first, each with the state after it."""
        head = self.log.latest()
        yield from self.log.states(head.retained_from, head.number)

    def mark(self, number: int) -> tuple[object, object]:
        """Return a value that changes with each commit, and when the index is created anew."""
        return self._version(number), self._version(number + 1)

    def rollback(self, number: int) -> Snapshot:
        """Return the index to its state after an earlier commit, by making a new commit.

        Nothing is lost. The commits in between stay in the history. Queries read the data files
        that the earlier state does not cover, until the next refresh.
        """
        for attempts_left in reversed(range(_ATTEMPTS)):
            head = self.snapshot()
            earlier = self.snapshot(number)
            try:
                return self.commit(
                    head,
                    difference(head, earlier, operation="rollback"),
                    (HeadIs(number=head.number), Retained(number=number)),
                )
            except CommitConflictError:
                if not attempts_left:
                    raise
        raise AssertionError("unreachable")

    def drop(self, *, force: bool = False) -> None:
        """Delete every object of the index, beginning with the log.

        Readers do not find an index without a log. The last state stays readable until the log is
        gone. Files that lakesieve did not write stay.
        """
        for folder in FOLDERS:
            self.storage.check_unlinked(folder)
        using = [] if force else references_to(self.storage)
        if using:
            raise InvalidInputError(
                f"{self.storage.location} has objects that other indexes use: {using[0].location}"
                f"{f' and {len(using) - 1} others' if len(using) > 1 else ''}.",
                kind=ErrorKind.INDEX_BORROWED,
                hint="Drop those clones first, or compact and vacuum them until they need none.",
            )
        last = None
        with contextlib.suppress(CorruptIndexError, IndexFormatError, NotFoundError):
            last = self.log.latest()
        if last is not None:
            self._drop_log(last)
        for folder in FOLDERS:
            for info in self.storage.objects(f"{folder}/"):
                if is_object(info.path):
                    self.storage.delete(info.path)
        self.storage.sweep(datetime.now(UTC), OBJECT_NAMES)
        note_change()

    def _drop_log(self, last: Snapshot) -> None:
        """Delete the log, but the last state at the end: earlier states may lack objects."""
        try:
            self.log.write_checkpoint(replace(last, retained_from=last.number), hint=False)
        except StorageError as error:
            # the checkpoint only lets readers go on until the log is gone; a full disk can do
            # without
            if error.kind is not ErrorKind.STORAGE_FULL:
                raise
        ends = (commit_path(last.number), checkpoint_path(last.number))
        for info in self.storage.objects("log/"):
            if info.path not in ends and is_object(info.path):
                self.storage.delete(info.path)
        remove_references(self.storage, last.definition)
        for path in ends:
            self.storage.delete(path)

    def covered_by(self, snapshot: Snapshot) -> Callable[[CatalogueEntry], pa.ChunkedArray]:
        """Return a function that reads the paths of the data files that a catalogue covers."""

        def paths(entry: CatalogueEntry) -> pa.ChunkedArray:
            storage = root_storage(self.storage, snapshot.definition, entry.root)
            return read_catalogue(storage, entry).column("path")

        return paths

    def _checkpointed(self, state: Snapshot) -> Snapshot:
        due = state.number % CHECKPOINT_INTERVAL == 0
        # a writer that ended before it wrote its checkpoint leaves that to the next writer
        late = state.number - state.checkpoint >= 2 * CHECKPOINT_INTERVAL
        if not due and not late:
            return state
        try:
            self.log.write_checkpoint(state)
        except StorageError:
            return state  # the commit is valid, and the next one writes a checkpoint
        return replace(state, checkpoint=state.number)

    def _version(self, number: int) -> object:
        try:
            if self.storage.is_local:
                return self.storage.stamp(commit_path(number))
            return self.storage.head(commit_path(number)).version
        except NotFoundError:
            return ""


def difference(head: Snapshot, wanted: Snapshot, operation: str) -> Changes:
    """Return the changes that turn one state into another."""
    had, want = set(head.catalogues), set(wanted.catalogues)
    # a compaction may write a catalogue of the same files anew: then its segments go with it
    rewritten = {entry.id for entry in had - want} & {entry.id for entry in want - had}
    held = {entry for entry in head.segments if entry.catalogue not in rewritten}
    hold = {entry for entry in wanted.segments if entry.catalogue not in rewritten}
    return Changes(
        operation=operation,
        table_version=wanted.table_version,
        add_catalogues=tuple(entry for entry in wanted.catalogues if entry not in had),
        add_segments=tuple(entry for entry in wanted.segments if entry not in held),
        remove_segments=tuple(entry.path for entry in head.segments if entry not in hold),
        remove_catalogues=tuple(entry.id for entry in head.catalogues if entry not in want),
    )


def _commit(
    parent: Snapshot | None, changes: Changes, definition: IndexDefinition | None = None
) -> Commit:
    return Commit(
        number=0 if parent is None else parent.number + 1,
        operation=changes.operation,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        writer=WRITER,
        write_id=uuid.uuid4().hex,
        parent_id="" if parent is None else parent.write_id,
        definition=definition,
        table_version=changes.table_version,
        add_catalogues=changes.add_catalogues,
        add_segments=changes.add_segments,
        remove_segments=changes.remove_segments,
        remove_catalogues=changes.remove_catalogues,
        retained_from=changes.retained_from,
    )


def _conflict(changes: Changes, base: Snapshot, broken: Sequence[Conflict]) -> CommitConflictError:
    first = broken[0]
    other = first.commit
    by = ""
    if other is not None:
        by = f" after {other.number} ({other.operation} by {other.writer} at {other.created_at})"
    return CommitConflictError(
        f"The operation {changes.operation}, prepared on commit {base.number}, "
        f"cannot be committed{by}: {first.detail}.",
        kind=ErrorKind.CONFLICT,
        hint="Try again; it then starts from the latest state.",
    )
