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
from lakesieve.index import FOLDER, IndexRegistry, OpenedIndex
from lakesieve.storage import open_storage
from lakesieve.store import (
    BlockCache,
    CompactionPolicy,
    FilesUncovered,
    IndexReader,
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
class Place:
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
        return OpenedIndex(state, IndexReader(self.store, state, self.cache))


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
        self.places = [self._place("table", table)]
        self.create(self.places[0])
        plays: dict[Callable[[Place], str], int] = {
            lambda place: place.table.append(self.random.randint(1, 4)): 20,
            lambda place: place.table.delete(): 7,
            lambda place: place.table.update(): 7,
            lambda place: place.table.rewrite(): 7,
            lambda place: place.table.branch(): 4,
            lambda place: place.table.roll_back(): 3,
            lambda place: place.table.expire(): 4,
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
        place = self.random.choice([self.places[0], *self.places])
        name = getattr(play, "__name__", "")
        self.steps.append(f"{place.name}: {name if name != '<lambda>' else 'table'}")
        self.steps[-1] += f" {play(place)}"

    def create(self, place: Place) -> str:
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
        files = list(place.table.head().files.values())
        changes = self._builder.build(place.store, definition, files, "create")
        place.store.create(definition, changes)
        return f"index of {len(files)} files"

    def refresh(self, place: Place) -> str:
        """Index what is new and merge deltas when due, as one writer does it undisturbed."""
        writer = self.random.randrange(WRITERS)
        refreshed = [self.prepare_refresh(place, writer), self.commit(place, writer)]
        state = place.stores[writer].snapshot()
        due = wants_compaction(state, CompactionPolicy(deltas=2))
        if due:
            refreshed += [self.prepare_compaction(place, writer, due), self.commit(place, writer)]
        return "; ".join(refreshed)

    def prepare_refresh(self, place: Place, writer: int | None = None) -> str:
        """Stage the files of some branch that a state does not cover."""
        writer = self.random.randrange(WRITERS) if writer is None else writer
        store = place.stores[writer]
        base = store.snapshot()
        version = place.table.head(place.table.any_branch())
        known = covered(store, base, [entry.id for entry in base.catalogues])
        files = [file for path, file in version.files.items() if path not in known]
        place.prepared.pop(writer, None)  # what is staged already is left lying
        if files:
            place.prepared[writer] = Prepared(
                base=base,
                changes=self._builder.build(store, base.definition, files, "refresh"),
                covers={file.path for file in files},
                requires=[FilesUncovered(paths=pa.array([file.path for file in files]))],
            )
        return f"writer {writer} on {base.number}: {[file.path for file in files]}"

    def prepare_compaction(
        self, place: Place, writer: int | None = None, catalogues: Sequence[str] | None = None
    ) -> str:
        """Stage the merge of all catalogues, or of some."""
        writer = self.random.randrange(WRITERS) if writer is None else writer
        store = place.stores[writer]
        base = store.snapshot()
        if catalogues is None and self.random.random() < 0.4:
            catalogues = [entry.id for entry in base.catalogues if self.random.random() < 0.6]
        changes = compaction_changes(
            store,
            base,
            catalogues=catalogues,
            live=pa.array(sorted(place.table.retained()), pa.string()),
            segment_ordinals=self.random.choice([10, 4_000_000]),
        )
        place.prepared.pop(writer, None)
        if changes is not None:
            kept = covered(store, base, changes.remove_catalogues) & place.table.retained().keys()
            place.prepared[writer] = Prepared(base=base, changes=changes, covers=kept)
        return f"writer {writer} on {base.number}, {catalogues or 'all'}: {changes is not None}"

    def commit(self, place: Place, writer: int | None = None) -> str:
        """Commit what a writer has staged, whatever has happened since."""
        waiting = sorted(place.prepared) if writer is None else [writer]
        if not waiting or waiting[0] not in place.prepared:
            return "nothing to commit"
        writer = self.random.choice(waiting)
        work = place.prepared.pop(writer)
        what = f"writer {writer}, {work.changes.operation} on {work.base.number}"
        try:
            after = place.stores[writer].commit(work.base, work.changes, work.requires)
        except CommitConflictError as error:
            return f"{what}: {error.message}"
        now = covered(place.store, after, [entry.id for entry in after.catalogues])
        assert after.definition.index_uuid == work.base.definition.index_uuid
        assert work.covers <= now, "files lost their index"
        return f"{what}: {after.number}"

    def roll_back(self, place: Place) -> str:
        """Make the index an earlier state of its own again."""
        head = place.store.snapshot()
        number = self.random.randint(head.retained_from, head.number)
        after = self.random.choice(place.stores).rollback(number)
        assert set(after.entries) == set(place.store.snapshot(number).entries)
        return f"to {number}: {after.number}"

    def vacuum(self, place: Place) -> str:
        """Delete what no kept state needs; only without any safety age is that much."""
        keep = self.random.randint(1, 5)
        if self.random.random() < 0.3:
            gone = vacuum(place.store, retain_commits=keep, dry_run=False)
            assert [path for path in gone.paths if not path.startswith("log/")] == []
            return f"keeping {keep} and all that is young"
        # the age must be longer than any build takes, so nobody builds now
        for other in self.places:
            other.prepared.clear()
        gone = vacuum(place.store, retain_commits=keep, older_than=timedelta(0), dry_run=False)
        if gone.retained_from:
            with pytest.raises(NotFoundError):
                place.store.snapshot(gone.retained_from - 1)
        return f"keeping {keep}: {len(gone.paths)} objects, from {gone.retained_from}"

    def pin(self, place: Place) -> str:
        """Begin a query that goes on for a while."""
        place.pinned = [*place.pinned[-1:], place.opened()]
        return f"{[index.snapshot.number for index in place.pinned]}"

    def clone(self, place: Place) -> str:
        """Give a zero-copy copy of some version of the table a clone of some state of the index."""
        if len(self.places) > CLONES:
            return "enough of them"
        version = self.random.choice(list(place.table.versions.values()))
        table = ModelTable(random=self.random, counter=self._counter)
        table.start(version.files, version.marks)
        new = self._place(f"clone{next(self._counter)}", table)
        head = place.store.snapshot()
        number = self.random.randint(head.retained_from, head.number)
        clone(place.store, new.store.storage, number=number)
        self.places.append(new)
        return f"of version {version.number} and commit {number}: {new.name}"

    def drop(self, place: Place) -> str:
        """Drop a clone; or an index, unless clones need it, to create it anew."""
        try:
            place.store.drop()
        except InvalidInputError as error:
            if error.kind is not ErrorKind.INDEX_BORROWED:
                raise
            return error.message
        assert place.store.storage.objects("") == []
        if place is not self.places[0]:
            self.places.remove(place)
            return "the clone"
        # who has prepared something for the one that is gone will learn it
        return f"and made anew: {self.create(place)}"

    def _place(self, name: str, table: ModelTable) -> Place:
        location = f"{self._root}/{name}"
        storage = open_storage(f"{location}/{FOLDER}/life")
        stores = [IndexStore(storage, sleep=lambda _: None) for _ in range(WRITERS)]
        return Place(name=name, location=location, table=table, stores=stores)


def covered(store: IndexStore, state: Snapshot, catalogues: Collection[str]) -> set[str]:
    """Paths of the data files in some catalogues of a state."""
    read = store.covered_by(state)
    chosen = (entry for entry in state.catalogues if entry.id in catalogues)
    return {path for entry in chosen for path in read(entry).to_pylist()}
