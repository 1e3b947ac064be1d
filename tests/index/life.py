"""The life of an index, played step by step on real storage: who does what to it, and when.

Two writers take part; what one prepares on a state may be committed long after, when the other one
has made that state an old one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.index.life_build import Builder
from tests.index.life_table import COLUMNS, ModelTable

from lakesieve.errors import CommitConflictError, ErrorKind, InvalidInputError, NotFoundError
from lakesieve.format import IndexDefinition, KeyColumn
from lakesieve.index import IndexRegistry, OpenedIndex
from lakesieve.storage import INDEX_FOLDER, open_storage
from lakesieve.store import (
    BlockCache,
    CompactionPolicy,
    FilesUncovered,
    IndexStore,
    clone,
    compaction_changes,
    vacuum,
    wants_compaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tests.index.life_build import Shape

    from lakesieve.store import Changes, Requirement, Snapshot

CLONES = 2
WRITERS = 2


@dataclass(slots=True, kw_only=True)
class Prepared:
    """What a writer has staged and not committed.

    Args:
        base: The state it was prepared on.
        changes: What is to be committed.
        covers: Data files that the index must cover then.
        requires: What must hold then.
    """

    base: Snapshot
    changes: Changes
    covers: set[str]
    requires: Sequence[Requirement] = ()


@dataclass(slots=True, kw_only=True)
class Copy:
    """A table with its index.

    Args:
        name: Its name in the list of steps.
        location: Root of the table.
        table: The table.
        stores: One for each writer.
        cache: Of all readers, as a session has one.
        registry: Finds the index as queries do.
        prepared: By writer.
        pinned: Indexes opened at some time, which long queries still use.
    """

    name: str
    location: str
    table: ModelTable
    stores: list[IndexStore]
    cache: BlockCache = field(default_factory=BlockCache)
    registry: IndexRegistry = field(default_factory=IndexRegistry)
    prepared: dict[int, Prepared] = field(default_factory=dict)
    pinned: list[OpenedIndex] = field(default_factory=list)

    @property
    def store(self) -> IndexStore:
        """The first writer's."""
        return self.stores[0]

    def opened(self, number: int | None = None) -> OpenedIndex:
        """The index at a commit, by default the last one as a query opens it."""
        if number is None and self.store.storage.is_local:
            (found,), reasons = self.registry.indexes(self.location, "t")
            assert reasons == []
            return found
        state = self.store.snapshot(number)
        return OpenedIndex(self.store, state, self.cache)


class Life:
    """A table with its index, and its clones with theirs.

    Args:
        seed: Decides everything.
        shape: What is indexed.
        root: Where the indexes lie.
    """

    def __init__(self, seed: int, shape: Shape, root: str) -> None:
        self.random = Random(seed)
        self.shape = shape
        self.steps: list[str] = []
        self._root = root
        self._builder = Builder(random=self.random, shape=shape)
        self._counter = itertools.count(1)
        table = ModelTable(random=self.random, counter=self._counter)
        table.start({})
        table.append(self.random.randint(0, 6))
        self.copies = [self._copy("table", table)]
        self.create(self.copies[0])
        plays: dict[Callable[[Copy], str], int] = {
            lambda copy: copy.table.append(self.random.randint(1, 4)): 20,
            lambda copy: copy.table.delete(): 7,
            lambda copy: copy.table.update(): 7,
            lambda copy: copy.table.rewrite(): 7,
            lambda copy: copy.table.branch(): 4,
            lambda copy: copy.table.roll_back(): 3,
            lambda copy: copy.table.expire(): 4,
            self.refresh: 10,
            self.prepare_refresh: 14,
            self.prepare_compaction: 12,
            self.commit: 18,
            self.roll_back: 3,
            self.vacuum: 4,
            self.pin: 3,
            self.clone: 2,
            self.drop: 3,
        }
        self._plays, self._weights = list(plays), list(plays.values())

    def step(self) -> None:
        """Do something somewhere."""
        (play,) = self.random.choices(self._plays, self._weights)
        copy = self.random.choice([self.copies[0], *self.copies])
        name = getattr(play, "__name__", "")
        self.steps.append(f"{copy.name}: {name if name != '<lambda>' else 'table'}")
        self.steps[-1] += f" {play(copy)}"

    def create(self, copy: Copy) -> str:
        """Index all files of the current version."""
        definition = IndexDefinition(
            name="life",
            index_uuid=f"uuid-{next(self._counter)}",
            table_format="iceberg",
            table_uuid="t",
            table_location="/t",
            columns=tuple(
                KeyColumn(
                    field_id=COLUMNS[path].field_id,
                    name=path[0],
                    type="",
                    key_kind=COLUMNS[path].kind,
                )
                for path in self.shape.paths
            ),
            created_at="2026-01-31T00:00:00+00:00",
            absent_hits=self.shape.absent_hits,
            budget=self.shape.budget,
            compaction="2",
        )
        files = list(copy.table.head().files.values())
        changes = self._builder.build(copy.store, definition, files, "create")
        copy.store.create(definition, changes)
        return f"index of {len(files)} files"

    def refresh(self, copy: Copy) -> str:
        """Index what is new and merge deltas when due, as one writer does it undisturbed."""
        writer = self.random.randrange(WRITERS)
        refreshed = [self.prepare_refresh(copy, writer), self.commit(copy, writer)]
        state = copy.stores[writer].snapshot()
        due = wants_compaction(state, CompactionPolicy(deltas=2))
        if due:
            refreshed += [self.prepare_compaction(copy, writer, due), self.commit(copy, writer)]
        return "; ".join(refreshed)

    def prepare_refresh(self, copy: Copy, writer: int | None = None) -> str:
        """Stage the files of some branch that a state does not cover."""
        writer = self.random.randrange(WRITERS) if writer is None else writer
        store = copy.stores[writer]
        base = store.snapshot()
        version = copy.table.head(copy.table.any_branch())
        known = covered(store, base, [entry.id for entry in base.catalogues])
        files = [file for path, file in version.files.items() if path not in known]
        copy.prepared.pop(writer, None)  # what is staged already is left lying
        if files:
            copy.prepared[writer] = Prepared(
                base=base,
                changes=self._builder.build(store, base.definition, files, "refresh"),
                covers={file.path for file in files},
                requires=[FilesUncovered(paths=pa.array([file.path for file in files]))],
            )
        return f"writer {writer} on {base.number}: {[file.path for file in files]}"

    def prepare_compaction(
        self, copy: Copy, writer: int | None = None, catalogues: Sequence[str] | None = None
    ) -> str:
        """Stage the merge of all catalogues, or of some."""
        writer = self.random.randrange(WRITERS) if writer is None else writer
        store = copy.stores[writer]
        base = store.snapshot()
        if catalogues is None and self.random.random() < 0.4:
            catalogues = [entry.id for entry in base.catalogues if self.random.random() < 0.6]
        changes = compaction_changes(
            store,
            base,
            catalogues=catalogues,
            live=pa.array(sorted(copy.table.retained()), pa.string()),
            segment_ordinals=self.random.choice([10, 4_000_000]),
        )
        copy.prepared.pop(writer, None)
        if changes is not None:
            kept = covered(store, base, changes.remove_catalogues) & copy.table.retained().keys()
            copy.prepared[writer] = Prepared(base=base, changes=changes, covers=kept)
        return f"writer {writer} on {base.number}, {catalogues or 'all'}: {changes is not None}"

    def commit(self, copy: Copy, writer: int | None = None) -> str:
        """Commit what a writer has staged, whatever has happened since."""
        waiting = sorted(copy.prepared) if writer is None else [writer]
        if not waiting or waiting[0] not in copy.prepared:
            return "nothing to commit"
        writer = self.random.choice(waiting)
        work = copy.prepared.pop(writer)
        text = f"writer {writer}, {work.changes.operation} on {work.base.number}"
        try:
            after = copy.stores[writer].commit(work.base, work.changes, work.requires)
        except CommitConflictError as error:
            return f"{text}: {error.message}"
        current = covered(copy.store, after, [entry.id for entry in after.catalogues])
        assert after.definition.index_uuid == work.base.definition.index_uuid
        assert work.covers <= current, "files lost their index"
        return f"{text}: {after.number}"

    def roll_back(self, copy: Copy) -> str:
        """Make the index an earlier state of its own again."""
        head = copy.store.snapshot()
        number = self.random.randint(head.retained_from, head.number)
        after = self.random.choice(copy.stores).rollback(number)
        assert set(after.entries) == set(copy.store.snapshot(number).entries)
        return f"to {number}: {after.number}"

    def vacuum(self, copy: Copy) -> str:
        """Delete what no kept state needs; only without any safety age is that much."""
        keep = self.random.randint(1, 5)
        if self.random.random() < 0.3:
            gone = vacuum(copy.store, retain_commits=keep, dry_run=False)
            assert [path for path in gone.paths if not path.startswith("log/")] == []
            return f"keeping {keep} and all that is young"
        # the age must be longer than any build takes, so nobody builds now
        for other in self.copies:
            other.prepared.clear()
        gone = vacuum(copy.store, retain_commits=keep, older_than=timedelta(0), dry_run=False)
        if gone.retained_from:
            with pytest.raises(NotFoundError):
                copy.store.snapshot(gone.retained_from - 1)
        return f"keeping {keep}: {len(gone.paths)} objects, from {gone.retained_from}"

    def pin(self, copy: Copy) -> str:
        """Begin a query that goes on for a while."""
        copy.pinned = [*copy.pinned[-1:], copy.opened()]
        return f"{[index.snapshot.number for index in copy.pinned]}"

    def clone(self, copy: Copy) -> str:
        """Give a zero-copy copy of some version of the table a clone of some state of the index."""
        if len(self.copies) > CLONES:
            return "enough of them"
        version = self.random.choice(list(copy.table.versions.values()))
        table = ModelTable(random=self.random, counter=self._counter)
        table.start(version.files, version.marks)
        new = self._copy(f"clone{next(self._counter)}", table)
        head = copy.store.snapshot()
        number = self.random.randint(head.retained_from, head.number)
        clone(copy.store, new.store.storage, number=number)
        self.copies.append(new)
        return f"of version {version.number} and commit {number}: {new.name}"

    def drop(self, copy: Copy) -> str:
        """Drop a clone; or an index, unless clones need it, to create it again."""
        try:
            copy.store.drop()
        except InvalidInputError as error:
            if error.kind is not ErrorKind.INDEX_BORROWED:
                raise
            return error.message
        assert copy.store.storage.objects("") == []
        if copy is not self.copies[0]:
            self.copies.remove(copy)
            return "the clone"
        # who has prepared something for the one that is gone will learn it
        return f"and made again: {self.create(copy)}"

    def _copy(self, name: str, table: ModelTable) -> Copy:
        location = f"{self._root}/{name}"
        storage = open_storage(f"{location}/{INDEX_FOLDER}/life")
        stores = [IndexStore(storage, sleep=lambda _: None) for _ in range(WRITERS)]
        return Copy(name=name, location=location, table=table, stores=stores)


def covered(store: IndexStore, state: Snapshot, catalogues: Collection[str]) -> set[str]:
    """Paths of the data files in some catalogues of a state."""
    read = store.covered_by(state)
    chosen = (entry for entry in state.catalogues if entry.id in catalogues)
    return {path for entry in chosen for path in read(entry).to_pylist()}
