"""Checkpoints make a long log open as fast as a short one, but no reader depends on them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tests.kit.faults import FaultPlan, FaultyStorage
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.errors import CorruptIndexError, NotFoundError
from lakesieve.format import Commit, pack, unpack
from lakesieve.storage import open_storage
from lakesieve.store import Changes, IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.storage import Storage

_roots = (f"memory://checkpoints-{number}" for number in itertools.count())
HINT = "log/_last_checkpoint"


def grown(commits: int) -> IndexStore:
    """An index of three batches and a log of some length."""
    store = IndexStore(open_storage(next(_roots)))
    state = store.create(DEFINITION, batch(store.storage, 0, "create"))
    for number in range(1, commits):
        first = {1: 100, commits - 1: 200}.get(number)
        changes = Changes(operation="nothing") if first is None else batch(store.storage, first)
        state = store.commit(state, changes)
    return store


def calls_to_open(storage: Storage) -> list[str]:
    """Return the storage calls that opening an index makes."""
    plan = FaultPlan()
    IndexStore(FaultyStorage(location=storage.location, plan=plan)).snapshot()
    return plan.calls


def path(number: int, kind: str = "") -> str:
    return f"log/{number:020d}{kind}.json"


def harmed(data: bytes) -> bytes:
    return data.replace(b'"files": 4', b'"files": 5')


def test_a_long_log_opens_in_few_reads() -> None:
    """After 10,000 commits, opening takes one listing and a bounded number of reads."""
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    state = store.create(DEFINITION, batch(storage, 0, "create"))
    parent = store.log.read(0)
    for number in range(1, 9_998):
        commit = Commit(
            number=number,
            operation="nothing",
            created_at=parent.created_at,
            writer="test",
            write_id=f"w{number}",
            parent_id=state.write_id if number == 1 else f"w{number - 1}",
            definition=None,
            table_version={},
        )
        storage.create(path(number), pack(commit.to_json()))
    state = store.snapshot()
    for first in (100, 200, 300):
        state = store.commit(state, batch(storage, first))
        store.commit(state, Changes(operation="nothing"))

    calls = calls_to_open(storage)

    assert state.number == 10_002
    assert covers(store) == {0, 100, 200, 300}
    assert calls[:2] == [f"get {HINT}", "list log/"]
    assert len(calls) <= 2 + 2 + 10
    assert len(store.log.listing(10_000).commits) == 4


@pytest.mark.parametrize("commits", [1, 2, 10, 11, 12, 20, 21, 35])
def test_opening_reads_a_checkpoint_and_what_follows(commits: int) -> None:
    """However long the log is, opening reads at most a checkpoint and the commits after it."""
    store = grown(commits)

    assert len(calls_to_open(store.storage)) <= 3 + 10
    assert covers(store) == {0, *([100] if commits > 2 else []), *([200] if commits > 1 else [])}


@pytest.mark.parametrize(
    "harm",
    [
        lambda storage: storage.delete(HINT),
        lambda storage: storage.replace(HINT, b"rubbish"),
        lambda storage: storage.replace(HINT, pack({"number": 10**9})),
        lambda storage: storage.replace(HINT, pack({"number": 10})),
        lambda storage: storage.replace(HINT, pack({"number": "x"})),
        lambda storage: storage.delete(path(20, ".checkpoint")),
        lambda storage: storage.replace(
            path(20, ".checkpoint"), harmed(storage.get(path(20, ".checkpoint")))
        ),
        lambda storage: storage.replace(
            path(20, ".checkpoint"), storage.get(path(10, ".checkpoint"))
        ),
        lambda storage: [storage.delete(path(n, ".checkpoint")) for n in (10, 20)],
        lambda storage: storage.replace(path(20), b"rubbish"),
    ],
    ids=[
        "no-hint",
        "hint-broken",
        "hint-beyond",
        "hint-old",
        "hint-typed",
        "no-checkpoint",
        "checkpoint-broken",
        "checkpoint-of-another-commit",
        "no-checkpoints",
        "commit-under-checkpoint",
    ],
)
def test_no_checkpoint_is_relied_on(harm: Callable[[Storage], object]) -> None:
    """If the hint or a checkpoint is lost or wrong, the state is the same."""
    store = grown(25)
    before = store.snapshot()
    harm(store.storage)

    assert store.snapshot() == before
    assert store.commit(before, Changes(operation="nothing")).number == 25


def test_a_checkpoint_of_a_dropped_index_is_no_index() -> None:
    """A checkpoint that a late writer left behind is not an index, nor part of the next one."""
    store = grown(11)
    left = store.storage.get(path(10, ".checkpoint"))
    store.drop()
    store.storage.create(path(10, ".checkpoint"), left)

    assert not store.exists()
    made = store.create(DEFINITION, batch(store.storage, 700, "create"))
    for _ in range(12):
        made = store.commit(made, Changes(operation="nothing"))
    assert covers(store) == {700}


@pytest.mark.parametrize("lost", [22, 24], ids=["middle", "last"])
def test_damage_behind_the_checkpoint_is_not_guessed_at(lost: int) -> None:
    """A damaged commit after the checkpoint makes the index unreadable, not older."""
    store = grown(25)
    store.storage.replace(path(lost), b"rubbish")

    with pytest.raises(CorruptIndexError, match=path(lost)):
        store.snapshot()


def test_a_missing_checkpoint_is_made_up_for() -> None:
    """If a writer ended before it wrote its checkpoint, a later writer writes one."""
    store = grown(10)
    state = store.snapshot()
    for _ in range(15):
        state = store.commit(state, Changes(operation="nothing"))
    for number in (10, 20):
        store.storage.delete(path(number, ".checkpoint"))
    store.storage.delete(HINT)

    state = store.commit(store.snapshot(), Changes(operation="nothing"))

    assert store.log.listing().checkpoints == (state.number,)


def test_every_state_can_be_read_again() -> None:
    """Every earlier commit gives its state, and a commit that never existed is reported."""
    store = grown(25)

    assert [state.number for _, state in store.history()] == list(range(25))
    assert covers(store, store.snapshot(0)) == {0}
    assert covers(store, store.snapshot(12)) == covers(store, store.snapshot(20)) == {0, 100}
    for number in (-1, 25):
        with pytest.raises(NotFoundError, match=f"no commit {number}"):
            store.snapshot(number)


def test_a_commit_of_another_parent_is_refused() -> None:
    """Each commit names the one before it, so that logs cannot be mixed up."""
    store = grown(3)
    body = unpack(store.storage.get(path(2)), "x")
    store.storage.replace(path(2), pack({**body, "parent_id": "another"}))

    with pytest.raises(CorruptIndexError, match="parent"):
        store.snapshot()
