"""The life of an index as a state machine: what tables, writers and queries do to it, in any order.

Two writers take part; what one prepares on a state may be committed long after, when the other one
has made that state an old one.
"""

from __future__ import annotations

import itertools
import uuid
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from tests.index.life_build import build
from tests.index.life_check import check
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
    verify,
    wants_compaction,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hypothesis.stateful import MultipleResults
    from tests.index.life_build import Shape

    from lakesieve.store import Changes, Requirement, Snapshot

CLONES = 2
WRITERS = st.sampled_from([0, 1])
WORK = st.sampled_from(["refresh", "compact"])


class Seeded(Random):
    """Draws the contents of one step; a failure names the seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._shown = f"Seeded({seed})"

    def __repr__(self) -> str:
        return self._shown


DRAWN = st.builds(Seeded, st.integers(0, 2**16 - 1))


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


@dataclass(slots=True, kw_only=True, eq=False)
class Copy:
    """A table with its index.

    Args:
        name: Its name among the copies.
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

    def __repr__(self) -> str:
        return self.name

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

    def number(self, drawn: Random) -> int:
        """Any commit whose state is kept."""
        head = self.store.snapshot()
        return drawn.randint(head.retained_from, head.number)


class Life(RuleBasedStateMachine):
    """A table with its index, and its clones with theirs."""

    indexed: Shape
    """What is indexed."""
    root: str
    """Where the lives lie, each in a folder of its own."""

    copies = Bundle("copies")

    def __init__(self) -> None:
        super().__init__()
        self.living: list[Copy] = []
        self._home = f"{self.root}-{uuid.uuid4()}"
        self._counter = itertools.count(1)
        # draws the queries
        self._asked = Random(0)

    @initialize(target=copies, files=st.integers(0, 6), drawn=DRAWN)
    def begin(self, files: int, drawn: Random) -> Copy:
        """Make the table and its index."""
        self._asked = drawn
        table = ModelTable(counter=self._counter)
        table.start({})
        table.append(drawn, files)
        return self._indexed(self._copy("table", table), drawn)

    @rule(copy=copies, files=st.integers(1, 4), drawn=DRAWN)
    def append(self, copy: Copy, files: int, drawn: Random) -> None:
        """Add data files to the table."""
        copy.table.append(drawn, files)

    @rule(
        copy=copies,
        change=st.sampled_from(["delete", "update", "rewrite", "branch", "roll_back", "expire"]),
        drawn=DRAWN,
    )
    def change_table(self, copy: Copy, change: str, drawn: Random) -> None:
        """Change the table in another way."""
        getattr(copy.table, change)(drawn)

    @rule(copy=copies, writer=WRITERS, files=st.integers(0, 3), drawn=DRAWN)
    def refresh(self, copy: Copy, writer: int, files: int, drawn: Random) -> None:
        """Index what is new and merge deltas when due, as one writer does it undisturbed."""
        copy.table.append(drawn, files)
        self._prepare_refresh(copy, writer, drawn)
        self._commit(copy, writer)
        due = wants_compaction(copy.stores[writer].snapshot(), CompactionPolicy(deltas=2))
        if due:
            self._prepare_compaction(copy, writer, drawn, due)
            self._commit(copy, writer)

    @rule(copy=copies, writer=WRITERS, work=WORK, drawn=DRAWN)
    def prepare(self, copy: Copy, writer: int, work: str, drawn: Random) -> None:
        """Stage what is committed at some later time."""
        self._prepare(copy, writer, work, drawn)

    @rule(copy=copies, first=WORK, second=WORK, files=st.integers(0, 2), drawn=DRAWN)
    def race(self, copy: Copy, first: str, second: str, files: int, drawn: Random) -> None:
        """Have both writers prepare on the same state, and commit one after the other."""
        copy.table.append(drawn, files)
        for writer, work in enumerate((first, second)):
            self._prepare(copy, writer, work, drawn)
        for writer in (0, 1):
            self._commit(copy, writer)

    @precondition(lambda self: any(copy.prepared for copy in self.living))
    @rule(copy=copies, writer=WRITERS)
    def commit(self, copy: Copy, writer: int) -> None:
        """Commit what a writer has staged, whatever has happened since."""
        self._commit(copy, writer if writer in copy.prepared else 1 - writer)

    @rule(copy=copies, writer=WRITERS, drawn=DRAWN)
    def roll_back(self, copy: Copy, writer: int, drawn: Random) -> None:
        """Make the index an earlier state of its own again."""
        number = copy.number(drawn)
        after = copy.stores[writer].rollback(number)
        assert set(after.entries) == set(copy.store.snapshot(number).entries)

    @rule(copy=copies, rows_per_block=st.sampled_from([0, 1, 2, 5]), drawn=DRAWN)
    def build_anew(self, copy: Copy, rows_per_block: int, drawn: Random) -> None:
        """Put an index with other row blocks into the place of the index."""
        definition = replace(self._definition(), rows_per_block=rows_per_block)
        files = list(copy.table.head().files.values())
        changes = build(copy.store, self.indexed, definition, files, drawn)
        copy.store.replace(definition, replace(changes, operation="create"))

    @rule(copy=copies, keep=st.integers(1, 5), at_once=st.booleans())
    def vacuum(self, copy: Copy, keep: int, at_once: bool) -> None:
        """Delete what no kept state needs; only without any safety age is that much."""
        if not at_once:
            gone = vacuum(copy.store, retain_commits=keep, dry_run=False)
            assert [path for path in gone.paths if not path.startswith("log/")] == []
            return
        # the age must be longer than any build takes, so nobody builds now
        for other in self.living:
            other.prepared.clear()
        gone = vacuum(copy.store, retain_commits=keep, older_than=timedelta(0), dry_run=False)
        if gone.retained_from:
            with pytest.raises(NotFoundError):
                copy.store.snapshot(gone.retained_from - 1)

    @rule(copy=copies)
    def pin(self, copy: Copy) -> None:
        """Begin a query that goes on for a while."""
        copy.pinned = [*copy.pinned[-1:], copy.opened()]

    @precondition(lambda self: len(self.living) <= CLONES)
    @rule(target=copies, copy=copies, drawn=DRAWN)
    def clone(self, copy: Copy, drawn: Random) -> Copy:
        """Give a zero-copy copy of some version of the table a clone of some state of the index."""
        version = drawn.choice(list(copy.table.versions.values()))
        table = ModelTable(counter=self._counter)
        table.start(version.files, version.marks)
        new = self._copy(f"clone{next(self._counter)}", table)
        clone(copy.store, new.store.storage, number=copy.number(drawn))
        self.living.append(new)
        return new

    @rule(target=copies, copy=consumes(copies), drawn=DRAWN)
    def drop(self, copy: Copy, drawn: Random) -> Copy | MultipleResults[Copy]:
        """Drop a clone; or an index, unless clones need it, to create it again."""
        try:
            copy.store.drop()
        except InvalidInputError as error:
            if error.kind is not ErrorKind.INDEX_BORROWED:
                raise
            return copy
        assert copy.store.storage.objects("") == []
        self.living.remove(copy)
        # who has prepared something for the one that is gone will learn it
        return multiple() if self.living else self._indexed(copy, drawn)

    @invariant()
    def every_version_answers_the_same(self) -> None:
        """No query on any version misses a row, whatever state of the index it reads."""
        for copy in self.living:
            check(copy, self.indexed, self._asked)

    def teardown(self) -> None:
        """Check all that is stored."""
        for copy in self.living:
            assert verify(copy.store).is_sound

    def _copy(self, name: str, table: ModelTable) -> Copy:
        location = f"{self._home}/{name}"
        storage = open_storage(f"{location}/{INDEX_FOLDER}/life")
        stores = [IndexStore(storage, sleep=lambda _: None) for _ in range(2)]
        return Copy(name=name, location=location, table=table, stores=stores)

    def _indexed(self, copy: Copy, drawn: Random) -> Copy:
        """Index all files of the current version."""
        definition = self._definition()
        files = list(copy.table.head().files.values())
        changes = build(copy.store, self.indexed, definition, files, drawn)
        copy.store.create(definition, replace(changes, operation="create"))
        self.living.append(copy)
        return copy

    def _definition(self) -> IndexDefinition:
        """Return the definition of a new index."""
        return IndexDefinition(
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
                for path in self.indexed.paths
            ),
            created_at="2026-01-31T00:00:00+00:00",
            absent_hits=self.indexed.absent_hits,
            rows_per_block=self.indexed.rows_per_block,
            budget=self.indexed.budget,
            compaction="2",
        )

    def _prepare(self, copy: Copy, writer: int, work: str, drawn: Random) -> None:
        if work == "refresh":
            self._prepare_refresh(copy, writer, drawn)
            return
        some = None
        if drawn.random() < 0.4:
            catalogues = copy.stores[writer].snapshot().catalogues
            some = [entry.id for entry in catalogues if drawn.random() < 0.6]
        self._prepare_compaction(copy, writer, drawn, some)

    def _prepare_refresh(self, copy: Copy, writer: int, drawn: Random) -> None:
        """Stage the files of some branch that a state does not cover."""
        store = copy.stores[writer]
        base = store.snapshot()
        version = copy.table.head(copy.table.any_branch(drawn))
        known = covered(store, base, [entry.id for entry in base.catalogues])
        files = [file for path, file in version.files.items() if path not in known]
        copy.prepared.pop(writer, None)  # what is staged already is left lying
        if files:
            copy.prepared[writer] = Prepared(
                base=base,
                changes=build(store, self.indexed, base.definition, files, drawn),
                covers={file.path for file in files},
                requires=[FilesUncovered(paths=pa.array([file.path for file in files]))],
            )

    def _prepare_compaction(
        self, copy: Copy, writer: int, drawn: Random, catalogues: Sequence[str] | None
    ) -> None:
        """Stage the merge of all catalogues, or of some."""
        store = copy.stores[writer]
        base = store.snapshot()
        changes = compaction_changes(
            store,
            base,
            catalogues=catalogues,
            live=pa.array(sorted(copy.table.retained()), pa.string()),
            segment_ordinals=drawn.choice([10, 4_000_000]),
        )
        copy.prepared.pop(writer, None)
        if changes is not None:
            kept = covered(store, base, changes.remove_catalogues) & copy.table.retained().keys()
            copy.prepared[writer] = Prepared(base=base, changes=changes, covers=kept)

    def _commit(self, copy: Copy, writer: int) -> None:
        work = copy.prepared.pop(writer, None)
        if work is None:
            return
        try:
            after = copy.stores[writer].commit(work.base, work.changes, work.requires)
        except CommitConflictError:
            event(f"{work.changes.operation}: conflict")
            return
        event(f"{work.changes.operation}: {after.number - work.base.number} commits later")
        current = covered(copy.store, after, [entry.id for entry in after.catalogues])
        assert after.definition.index_uuid == work.base.definition.index_uuid
        assert work.covers <= current, "files lost their index"


def covered(store: IndexStore, state: Snapshot, catalogues: Collection[str]) -> set[str]:
    """Paths of the data files in some catalogues of a state."""
    read = store.covered_by(state)
    chosen = (entry for entry in state.catalogues if entry.id in catalogues)
    return {path for entry in chosen for path in read(entry).to_pylist()}
