"""Verify finds every kind of damage, and repair saves everything undamaged and nothing else."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.kit.faults import Fault, FaultPlan, FaultyStorage
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.errors import CorruptIndexError, NotFoundError, StorageError
from lakesieve.storage import open_storage
from lakesieve.store import (
    Changes,
    IndexStore,
    compaction_changes,
    repair,
    vacuum,
    verify,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_roots = (f"memory://repair-{number}" for number in itertools.count())


def grown(commits: int = 3) -> IndexStore:
    """An index of three batches, the last of them in its last commit."""
    store = IndexStore(open_storage(next(_roots)))
    state = store.create(DEFINITION, batch(store.storage, 0, "create"))
    for number in range(1, commits):
        first = {1: 100, commits - 1: 200}.get(number)
        changes = Changes(operation="nothing") if first is None else batch(store.storage, first)
        state = store.commit(state, changes)
    return store


def commit(number: int) -> str:
    return f"log/{number:020d}.json"


def checkpoint(number: int) -> str:
    return f"log/{number:020d}.checkpoint.json"


def flip(store: IndexStore, path: str, position: int = 30) -> None:
    """Change one byte."""
    data = bytearray(store.storage.get(path))
    data[position] ^= 1
    store.storage.replace(path, bytes(data))


def segment_of(store: IndexStore, first: int) -> str:
    """Return a segment of a batch."""
    return next(e.path for e in store.snapshot().segments if e.key_min == first)


def catalogue_of(store: IndexStore, position: int) -> str:
    return store.snapshot().catalogues[position].path


def test_a_sound_index_is_left_alone() -> None:
    """Verify finds nothing in an undamaged index, and repair does nothing."""
    store = grown(25)
    objects = store.storage.objects("")
    verified = verify(store)

    assert verified.is_sound
    assert (verified.commit, verified.commits, verified.objects) == (24, 25, 9)
    assert verified.bytes == store.snapshot().totals()["bytes"]
    assert repair(store, dry_run=False).commit == -1
    assert store.storage.objects("") == objects


@pytest.mark.parametrize(
    ("harm", "saved"),
    [
        (lambda s: flip(s, segment_of(s, 100)), {0, 200}),
        (lambda s: flip(s, segment_of(s, 100), -5), {0, 200}),
        (lambda s: s.storage.delete(segment_of(s, 100)), {0, 200}),
        (lambda s: s.storage.replace(segment_of(s, 200), b"short"), {0, 100}),
        (lambda s: flip(s, catalogue_of(s, 0)), {100, 200}),
        (lambda s: s.storage.delete(catalogue_of(s, 0)), {100, 200}),
        (lambda s: flip(s, commit(24)), {0, 100, 200}),
        (lambda s: flip(s, commit(22)), {0, 100, 200}),
        (lambda s: s.storage.delete(commit(22)), {0, 100, 200}),
        (lambda s: flip(s, commit(3)), {0, 100, 200}),
        (lambda s: flip(s, checkpoint(10)), {0, 100, 200}),
        (
            lambda s: [s.storage.delete(info.path) for info in s.storage.objects("log/")],
            {0, 100, 200},
        ),
        (
            lambda s: [
                s.storage.replace(segment_of(s, 0), b""),
                *(s.storage.replace(info.path, b"") for info in s.storage.objects("log/")),
            ],
            {100, 200},
        ),
    ],
    ids=[
        *("segment-changed", "footer-changed", "segment-gone", "segment-short"),
        *("catalogue-changed", "catalogue-gone", "last-commit", "late-commit", "commit-gone"),
        *("old-commit", "checkpoint", "log-gone", "log-and-segment"),
    ],
)
def test_damage_is_found_and_repaired(
    harm: Callable[[IndexStore], object], saved: set[int]
) -> None:
    """Each kind of damage is found; after a repair, the undamaged rest answers."""
    store = grown(25)
    harm(store)

    if store.exists():
        assert not verify(store).is_sound
    repaired = repair(store)
    assert repaired.dry_run
    assert repaired.lost
    done = repair(store, dry_run=False)

    assert (done.commit, done.files, done.lost) == (repaired.commit, repaired.files, repaired.lost)
    assert covers(store) == saved
    assert done.files == 4 * len(saved)
    assert verify(store).is_sound
    assert repair(store).lost == ()
    again = store.commit(store.snapshot(), batch(store.storage, 500))
    assert covers(store, again) == saved | {500}
    assert store.snapshot() == again


def test_a_repaired_index_is_read_from_its_root_on() -> None:
    """The history begins with the repair, and the index opens even without its checkpoint."""
    store = grown(25)
    flip(store, commit(22))
    done = repair(store, dry_run=False)
    state = store.snapshot()

    assert [(c.number, c.parent, c.operation) for c, _ in store.history()] == [(25, None, "repair")]
    store.storage.delete(checkpoint(25))
    store.storage.delete("log/_last_checkpoint")
    assert store.snapshot() == state
    assert done.commit == state.number == state.retained_from == 25


def test_a_lost_merge_is_undone() -> None:
    """If the commit of a merge is lost, the merged files describe themselves."""
    store = grown()
    changes = compaction_changes(store, store.snapshot())
    assert changes is not None
    state = store.commit(store.snapshot(), changes)
    store.commit(state, batch(store.storage, 300))
    flip(store, commit(3))
    for entry in changes.add_segments:
        assert entry.path in {info.path for info in store.storage.objects("segments/")}

    repair(store, dry_run=False)

    assert covers(store) == {0, 100, 200, 300}


def test_the_start_of_a_cut_log_is_made_up_for() -> None:
    """If the checkpoint at the start of a shortened log is lost, the files describe themselves."""
    store = grown()
    changes = compaction_changes(store, store.snapshot())
    assert changes is not None
    store.commit(store.snapshot(), changes)
    vacuum(store, retain_commits=1, older_than=timedelta(0), dry_run=False)
    store.storage.delete(checkpoint(3))
    with pytest.raises(CorruptIndexError):
        store.snapshot()

    repair(store, dry_run=False)

    assert covers(store) == {0, 100, 200}


def test_leftovers_of_another_index_are_not_taken() -> None:
    """Files of an earlier index at this place do not become part of the repaired index."""
    import dataclasses

    from lakesieve.format import encode_catalogue

    store = grown()
    entry = store.snapshot().catalogues[0]
    files = store.covered_by(store.snapshot())(entry)
    import pyarrow as pa

    other = dataclasses.replace(DEFINITION, index_uuid="before", created_at="2025")
    table = pa.table(
        {
            "path": [f"/x/{name}" for name in range(len(files))],
            "size": [1] * 4,
            "records": [1] * 4,
            "has_null": [False] * 4,
            "has_value": [False] * 4,
        }
    )
    data, left = encode_catalogue(table, definition=other)
    store.storage.create(left.path, data)
    for info in store.storage.objects("log/"):
        store.storage.delete(info.path)

    assert repair(store, dry_run=False).files == 12
    assert store.snapshot().definition == DEFINITION


def test_nothing_is_made_of_nothing() -> None:
    """If nothing is left, or nothing with a definition, the repair fails with an error."""
    store = IndexStore(open_storage(next(_roots)))
    with pytest.raises(NotFoundError):
        repair(store)
    store.storage.create("files/x", b"rubbish")
    with pytest.raises(CorruptIndexError, match="definition of the index"):
        repair(store)


def test_a_passing_fault_is_no_damage() -> None:
    """A temporary fault of the storage is not reported as damage."""
    store = grown()
    clean = FaultPlan()
    verify(IndexStore(FaultyStorage(location=store.storage.location, plan=clean)))
    objects = [at for at, call in enumerate(clean.calls) if "segments/" in call]

    for at in objects:
        plan = FaultPlan(fault=Fault.LOST_RESPONSE, at=at)
        with pytest.raises(StorageError):
            verify(IndexStore(FaultyStorage(location=store.storage.location, plan=plan)))
