"""A vacuum deletes everything that nobody can need, and nothing else."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.errors import (
    CommitConflictError,
    CorruptIndexError,
    InvalidInputError,
    NotFoundError,
)
from lakesieve.storage import open_storage
from lakesieve.store import (
    Changes,
    IndexStore,
    Retained,
    Vacuumed,
    compaction_changes,
    vacuum,
    verify,
)

if TYPE_CHECKING:
    from pathlib import Path

_roots = (f"memory://vacuum-{number}" for number in itertools.count())
NOTHING = Changes(operation="nothing")


def compacted() -> IndexStore:
    """An index of two merged batches, with leftovers of a dead build and of a probe."""
    store = IndexStore(open_storage(next(_roots)))
    state = store.create(DEFINITION, batch(store.storage, 0, "create"))
    state = store.commit(state, batch(store.storage, 100))
    changes = compaction_changes(store, state)
    assert changes is not None
    store.commit(state, changes)
    batch(store.storage, 700)
    store.storage.create("_probe-1", b"1")
    return store


def swept(store: IndexStore, retain: int = 1, *, dry_run: bool = False) -> Vacuumed:
    return vacuum(store, retain_commits=retain, older_than=timedelta(0), dry_run=dry_run)


def test_a_dry_run_only_looks() -> None:
    """A dry run reports what a vacuum would delete, and changes nothing."""
    store = compacted()
    objects = store.storage.objects("")

    vacuumed = vacuum(store, retain_commits=1, older_than=timedelta(0))

    assert store.storage.objects("") == objects
    real = swept(store)
    assert (real.paths, real.bytes) == (vacuumed.paths, vacuumed.bytes)
    assert real.bytes == sum(info.size for info in objects if info.path in real.paths)


def test_only_what_is_needed_is_left() -> None:
    """Old segments, leftovers and old log entries are deleted; the last state answers as before."""
    store = compacted()
    swept(store)

    state = store.snapshot()
    left = {info.path for info in store.storage.objects("") if "log/" not in info.path}
    assert left == {path for _, path in state.objects()}
    assert covers(store) == {0, 100}
    assert verify(store).is_sound
    assert [commit.operation for commit, _ in store.history()] == ["compact", "vacuum"]
    assert swept(store).paths == ()


def test_young_objects_are_left_alone() -> None:
    """Nothing younger than the safety age is deleted, so a running build's segments are safe."""
    store = compacted()

    assert vacuum(store, retain_commits=1).paths == ()
    assert store.snapshot().number == 2


def test_kept_commits_can_be_read() -> None:
    """The requested number of last states can be read; older states give an error."""
    store = compacted()
    store.commit(store.snapshot(), batch(store.storage, 300))
    swept(store, retain=2)

    assert covers(store, store.snapshot(2)) == {0, 100}
    with pytest.raises(NotFoundError, match="it keeps 2 to 4"):
        store.snapshot(1)
    with pytest.raises(NotFoundError, match="no commit 0"):
        store.rollback(0)
    assert covers(store, store.rollback(2)) == {0, 100}


def test_a_state_that_a_reader_may_hold_is_kept() -> None:
    """States that were current within the safety age are kept, beyond the requested number."""
    store = compacted()

    vacuumed = vacuum(store, retain_commits=1, older_than=timedelta(seconds=60), dry_run=False)
    assert (vacuumed.paths, vacuumed.retained_from) == ((), 0)


def test_a_long_log_is_cut() -> None:
    """Entries before the first kept state are deleted, except the first, and the log opens."""
    store = IndexStore(open_storage(next(_roots)))
    state = store.create(DEFINITION, batch(store.storage, 0, "create"))
    for number in range(1, 45):
        changes = batch(store.storage, 100) if number == 7 else NOTHING
        state = store.commit(state, changes)

    vacuumed = swept(store, retain=5)

    assert vacuumed.retained_from == 40
    assert store.log.listing().commits == (0, *range(40, 46))
    assert covers(store) == {0, 100}
    assert [commit.number for commit, _ in store.history()] == list(range(40, 46))
    assert verify(store).is_sound
    # without the checkpoint at its start the log would begin nowhere
    store.storage.delete(f"log/{40:020d}.checkpoint.json")
    with pytest.raises(CorruptIndexError):
        store.snapshot()


def test_a_rollback_that_comes_too_late_is_refused() -> None:
    """A commit that needs a state fails if a vacuum gave this state up."""
    store = compacted()
    base = store.snapshot()
    swept(store)

    with pytest.raises(CommitConflictError, match="has been removed"):
        store.commit(base, NOTHING, (Retained(number=0),))


def test_a_build_that_writes_again_what_was_left_keeps_it() -> None:
    """A leftover that a new build writes again is young again, and is kept."""
    store = compacted()
    base = store.snapshot()
    before = {i.path: i.modified for i in store.storage.objects("") if "log/" not in i.path}
    changes = batch(store.storage, 700)

    after = {info.path: info.modified for info in store.storage.objects("")}
    again = [entry.path for entry in changes.add_catalogues]
    again += [entry.path for entry in changes.add_segments]
    assert all(after[path] > before[path] for path in again)
    store.commit(base, changes)
    swept(store)
    assert covers(store) == {0, 100, 700}


@pytest.mark.parametrize(
    ("commits", "age"), [(0, timedelta(1)), (1, timedelta(-1))], ids=["none", "future"]
)
def test_at_least_one_commit_is_kept(commits: int, age: timedelta) -> None:
    """A vacuum of everything is refused."""
    with pytest.raises(InvalidInputError):
        vacuum(compacted(), retain_commits=commits, older_than=age)


def test_leftovers_of_killed_writers_are_swept(tmp_path: Path) -> None:
    """Staged files of killed writers are deleted by a vacuum when they are old, or by a drop."""
    storage = open_storage(str(tmp_path))
    store = IndexStore(storage)
    store.create(DEFINITION, batch(storage, 0, "create"))
    left = tmp_path / "segments" / f"{'a' * 40}.sieve#1"
    left.write_bytes(b"half of it")

    vacuum(store, older_than=timedelta(hours=1), dry_run=False)
    assert left.exists()
    vacuum(store, older_than=timedelta(0), dry_run=True)
    assert left.exists()
    vacuum(store, older_than=timedelta(0), dry_run=False)
    assert not left.exists()
    assert covers(store) == {0}
    left.write_bytes(b"half of it")
    store.drop()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
