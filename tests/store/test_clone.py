"""Zero-copy clones share segments, change independently, and survive each other's vacuums."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.kit.faults import FaultPlan, FaultyStorage
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.errors import (
    CommitConflictError,
    CorruptIndexError,
    ErrorKind,
    InvalidInputError,
    UnsupportedError,
)
from lakesieve.storage import TRUSTED_ROOTS, open_storage
from lakesieve.store import (
    BlockCache,
    Changes,
    IndexReader,
    IndexStore,
    clone,
    compaction_changes,
    references_to,
    vacuum,
    verify,
)

if TYPE_CHECKING:
    from pathlib import Path

_roots = (f"memory://clone-{number}" for number in itertools.count())


def grown() -> IndexStore:
    """An index of two batches."""
    store = IndexStore(open_storage(next(_roots)))
    state = store.create(DEFINITION, batch(store.storage, 0, "create"))
    store.commit(state, batch(store.storage, 100))
    return store


def cloned(origin: IndexStore, number: int | None = None) -> IndexStore:
    """A clone of that index."""
    target = open_storage(next(_roots))
    clone(origin, target, number=number, name="copy")
    return IndexStore(target)


def merged(store: IndexStore) -> None:
    """Compact and vacuum the index."""
    base = store.snapshot()
    changes = compaction_changes(store, base)
    if changes is not None:
        store.commit(base, changes)
    vacuum(store, retain_commits=1, older_than=timedelta(0), dry_run=False)


def test_a_clone_copies_nothing() -> None:
    """A clone gives the same answers as its origin, and stores only its own log."""
    origin = grown()
    copy = cloned(origin)

    assert [info.path for info in copy.storage.objects("")] == [f"log/{0:020d}.json"]
    assert covers(copy) == covers(origin) == {0, 100}
    made, old = copy.snapshot().definition, origin.snapshot().definition
    assert (made.name, made.columns, made.table_uuid) == ("copy", old.columns, old.table_uuid)
    assert made.index_uuid != old.index_uuid
    assert verify(copy).is_sound
    assert [reference.location for reference in references_to(origin.storage)] == [
        copy.storage.location
    ]


def test_each_goes_its_own_way() -> None:
    """Neither index sees the other's commits, and merging own and borrowed segments works."""
    origin = grown()
    copy = cloned(origin, number=0)
    copy.commit(copy.snapshot(), batch(copy.storage, 500))
    origin.commit(origin.snapshot(), batch(origin.storage, 200))

    assert (covers(origin), covers(copy)) == ({0, 100, 200}, {0, 500})
    merged(copy)
    assert (covers(origin), covers(copy)) == ({0, 100, 200}, {0, 500})


def test_vacuums_respect_the_other() -> None:
    """The origin keeps objects that the clone uses, until the clone has compacted and vacuumed."""
    origin = grown()
    copy = cloned(origin)
    merged(origin)

    assert covers(copy) == {0, 100}
    assert verify(copy).is_sound
    shared = {path for _, path in copy.snapshot().objects()}
    merged(copy)  # keeps its state before the vacuum for one commit more
    assert covers(copy) == {0, 100}
    assert references_to(origin.storage) == []
    merged(origin)

    assert not shared & {info.path for info in origin.storage.objects("")}
    assert (covers(copy), covers(origin)) == ({0, 100}, {0, 100})


def test_clones_of_clones() -> None:
    """A clone of a clone depends only on the first origin for the objects from there."""
    origin = grown()
    middle = cloned(origin)
    middle.commit(middle.snapshot(), batch(middle.storage, 500))
    last = cloned(middle)
    merged(middle)
    merged(origin)

    assert covers(last) == {0, 100, 500}
    with pytest.raises(InvalidInputError) as caught:
        middle.drop()
    assert caught.value.kind is ErrorKind.INDEX_BORROWED
    last.drop()
    middle.drop()
    merged(origin)
    assert references_to(origin.storage) == []
    assert covers(origin) == {0, 100}


def test_a_lender_is_not_dropped_by_accident() -> None:
    """An index that lends objects is dropped only by force, which makes the clone unreadable."""
    origin = grown()
    copy = cloned(origin)

    with pytest.raises(InvalidInputError, match=copy.storage.location):
        origin.drop()
    assert covers(copy) == {0, 100}
    origin.drop(force=True)
    assert origin.storage.objects("") == []
    assert not verify(copy).is_sound


def test_dropping_a_clone_gives_back_what_it_borrowed() -> None:
    """After the clone is dropped, nothing of it is left, and its origin can be dropped."""
    origin = grown()
    copy = cloned(origin)
    copy.drop()

    assert copy.storage.objects("") == []
    origin.drop()
    assert origin.storage.objects("") == []


def test_a_place_that_is_taken_is_left_as_it_is() -> None:
    """A clone does not replace an existing index, and leaves no reference when it fails."""
    origin, other = grown(), grown()

    with pytest.raises(InvalidInputError) as caught:
        clone(origin, other.storage)
    assert caught.value.kind is ErrorKind.INDEX_EXISTS
    assert references_to(origin.storage) == []
    with pytest.raises(UnsupportedError):
        clone(origin, open_storage("/nowhere"))


class GivenUp(FaultyStorage):
    """A storage whose index is vacuumed between the read of its state and the reference."""

    __slots__ = ()

    def create(self, path: str, data: bytes) -> None:
        """Vacuum first."""
        if path.startswith("borrowers/"):
            merged(IndexStore(open_storage(self.location)))
        FaultyStorage.create(self, path, data)


def test_a_state_given_up_while_it_is_cloned_is_refused() -> None:
    """If the origin's vacuum came before the reference, the clone is refused."""
    origin = grown()
    watched = GivenUp(location=origin.storage.location, plan=FaultPlan())
    target = GivenUp(location=next(_roots), plan=FaultPlan())

    with pytest.raises(CommitConflictError, match="removed by a vacuum"):
        clone(IndexStore(watched), target, number=0)
    assert not IndexStore(target).exists()
    assert references_to(origin.storage) == []


def test_a_damaged_note_stops_the_vacuum() -> None:
    """If a reference cannot be read, a vacuum deletes nothing."""
    origin = grown()
    cloned(origin)
    (info,) = origin.storage.objects("borrowers/")
    origin.storage.replace(info.path, b"rubbish")

    with pytest.raises(CorruptIndexError, match="borrowers/"):
        merged(origin)
    assert covers(origin) == {0, 100}


def test_a_root_that_is_not_declared_is_refused() -> None:
    """An entry with a root that the definition does not list makes the log unreadable."""
    origin = grown()
    copy = cloned(origin)
    state = copy.snapshot()
    changes = batch(copy.storage, 500)
    import dataclasses

    beyond = tuple(dataclasses.replace(entry, root=2) for entry in changes.add_catalogues)
    with pytest.raises(CorruptIndexError, match="unknown root"):
        copy.commit(state, dataclasses.replace(changes, add_catalogues=beyond))
    assert IndexReader(copy, state, BlockCache()).lookup([(5, 6)])


def test_a_place_that_is_not_trusted_is_not_entered(tmp_path: Path) -> None:
    """An index with objects in an untrusted place is not read, and a drop touches nothing there."""
    origin = IndexStore(open_storage(str(tmp_path / "wh/db/t/_lakesieve/k")))
    origin.create(DEFINITION, batch(origin.storage, 0, "create"))
    target = open_storage(str(tmp_path / "other/db/copy/_lakesieve/k"))
    with pytest.raises(UnsupportedError) as caught:
        clone(origin, target)
    assert caught.value.kind is ErrorKind.UNTRUSTED_ROOT
    assert "spark.lakesieve.trusted.roots" in caught.value.hint
    assert not (tmp_path / "other").exists()

    trusting = open_storage(target.location, {TRUSTED_ROOTS: str(tmp_path / "wh")})
    clone(origin, trusting)
    copy = IndexStore(trusting)
    assert covers(copy) == {0}
    stranger = IndexStore(target)
    state = stranger.snapshot()
    with pytest.raises(UnsupportedError, match="not a trusted location"):
        IndexReader(stranger, state, BlockCache())
    for act in (covers, verify, merged):
        with pytest.raises(UnsupportedError, match="not a trusted location"):
            act(stranger)
    before = sorted(tmp_path.glob("wh/**/*"))
    stranger.drop()
    assert sorted(tmp_path.glob("wh/**/*")) == before
    assert [info.location for info in references_to(origin.storage)] == [target.location]
    assert not copy.exists()


def planted(origin: IndexStore, copy: IndexStore) -> IndexStore:
    """An index elsewhere that claims to be an existing clone."""
    definition = copy.snapshot().definition
    storage = open_storage(next(_roots))
    state = copy.snapshot()
    changes = Changes(
        operation="clone",
        table_version=state.table_version,
        add_catalogues=state.catalogues,
        add_segments=state.segments,
    )
    IndexStore(storage).create(definition, changes)
    return IndexStore(storage)


def test_a_planted_clone_takes_no_reference_from_another() -> None:
    """Vacuums and drops of an index with a clone's identity keep what the clone needs."""
    origin = grown()
    copy = cloned(origin)
    needed = references_to(origin.storage)
    forged = planted(origin, copy)

    merged(forged)
    merged(forged)
    assert references_to(origin.storage) == needed
    forged.drop()
    assert references_to(origin.storage) == needed
    merged(origin)
    assert covers(copy) == {0, 100}


def test_a_lost_reference_is_written_again() -> None:
    """A vacuum of a clone restores a lost reference."""
    origin = grown()
    copy = cloned(origin)
    (reference,) = references_to(origin.storage)
    origin.storage.delete(f"borrowers/{reference.index_uuid}.json")

    vacuum(copy, older_than=timedelta(0), dry_run=False)
    assert references_to(origin.storage) == [reference]
