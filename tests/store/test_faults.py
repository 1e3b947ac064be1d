"""Every storage call of every operation fails in every way, and nothing visible is lost."""

from __future__ import annotations

import contextlib
import functools
import itertools
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.kit.faults import Crash, Fault, FaultPlan, FaultyStorage
from tests.store.samples import DEFINITION, batch, covers, data_files

from lakesieve.errors import CommitConflictError, InvalidInputError, LakesieveError
from lakesieve.storage import Storage, local_path, open_storage
from lakesieve.store import (
    FilesUncovered,
    IndexStore,
    clone,
    compaction_changes,
    references_to,
    repair,
    vacuum,
    verify,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_roots = (f"memory://faults-{number}" for number in itertools.count())


def store_of(storage: Storage) -> IndexStore:
    return IndexStore(storage, sleep=lambda _: None)


def create(storage: Storage, _: Storage) -> None:
    """Build an index like the command, which may find an existing one."""
    with contextlib.suppress(InvalidInputError):
        store_of(storage).create(DEFINITION, batch(storage, 0, "create"))


def refresh(storage: Storage, _: Storage) -> None:
    """Index the files of batch 900 that are not covered."""
    store = store_of(storage)
    base = store.snapshot()
    if 900 not in covers(store_of(open_storage(storage.location)), base):
        needs = FilesUncovered(paths=pa.array(data_files(900)))
        store.commit(base, batch(storage, 900), (needs,))


def compact(storage: Storage, _: Storage) -> None:
    """Merge everything, dropping batch 100, which no table version holds."""
    store = store_of(storage)
    base = store.snapshot()
    live = pa.array(data_files(0) + data_files(200))
    changes = compaction_changes(store, base, live=live)
    if changes is not None:
        store.commit(base, changes)


def rollback(storage: Storage, _: Storage) -> None:
    """Roll back to the first commit."""
    store_of(storage).rollback(0)


def tidy(storage: Storage, _: Storage) -> None:
    """Vacuum with the shortest retention."""
    vacuum(store_of(storage), retain_commits=1, older_than=timedelta(0), dry_run=False)


def lend(storage: Storage, other: Storage) -> None:
    """Clone, unless there is a clone."""
    if not store_of(other).exists():
        clone(store_of(storage), other)


def drop(storage: Storage, _: Storage) -> None:
    """Delete the index."""
    store_of(storage).drop()


def mend(storage: Storage, _: Storage) -> None:
    """Repair the index."""
    repair(store_of(storage), dry_run=False)


@dataclass(frozen=True)
class Case:
    """An operation, the batches covered before and after it, and the commits before it."""

    run: Callable[[Storage, Storage], None]
    before: set[int] | None
    after: set[int] | None
    commits: int = 3


CASES = {
    "create": Case(create, None, {0}, commits=0),
    "refresh": Case(refresh, {0, 100, 200}, {0, 100, 200, 900}),
    "checkpoint": Case(refresh, {0, 100, 200}, {0, 100, 200, 900}, commits=10),
    "compact": Case(compact, {0, 100, 200}, {0, 200}),
    "rollback": Case(rollback, {0, 100, 200}, {0}),
    "vacuum": Case(tidy, {0}, {0}, commits=-1),
    "clone": Case(lend, {0, 100, 200}, {0, 100, 200}),
    "drop": Case(drop, {0, 100, 200}, None),
    "drop-vacuumed": Case(drop, {0, 200}, None, commits=-3),
    "repair": Case(mend, {0, 100, 200}, {0, 200}, commits=-2),
}


@functools.cache
def prepared(name: str) -> dict[str, bytes]:
    """The objects of an index before the operation."""
    case = CASES[name]
    storage = open_storage(next(_roots))
    store = store_of(storage)
    if case.commits:
        state = store.create(DEFINITION, batch(storage, 0, "create"))
        for first in (100, 200):
            state = store.commit(state, batch(storage, first))
        while state.number + 1 < case.commits:
            state = store.rollback(state.number)
    if case.commits == -1:
        batch(storage, 700)
        store.rollback(0)
    if case.commits == -3:
        compact(storage, storage)
        tidy(storage, storage)
    if case.commits == -2:
        storage.delete(store.snapshot().segments[2].path)
    return {info.path: storage.get(info.path) for info in storage.objects("")}


def restored(objects: dict[str, bytes]) -> Storage:
    storage = open_storage(next(_roots))
    for path, data in objects.items():
        storage.create(path, data)
    return storage


@functools.cache
def calls_of(name: str) -> list[str]:
    """Return the storage calls of the operation when nothing fails."""
    plan, objects = FaultPlan(), prepared(name)
    CASES[name].run(*(_faulty(storage, plan) for storage in (restored(objects), restored({}))))
    return plan.calls


def _faulty(storage: Storage, plan: FaultPlan) -> Storage:
    return FaultyStorage(location=storage.location, plan=plan)


# a crash before a call is one after the call before it
@pytest.mark.parametrize(
    "fault",
    [pytest.param(one, marks=[pytest.mark.soak] * (one is Fault.CRASH_BEFORE)) for one in Fault],
)
@pytest.mark.parametrize("name", CASES)
def test_no_fault_loses_anything(name: str, fault: Fault) -> None:
    """After a failed call, readers see the old or the new state, and a second run succeeds."""
    case, objects = CASES[name], prepared(name)
    calls = calls_of(name)
    for at, call in enumerate(calls):
        if fault is Fault.STALE_LIST and not call.startswith("list"):
            continue
        storage, other = restored(objects), restored({})
        plan = FaultPlan(fault=fault, at=at)
        with contextlib.suppress(Crash, LakesieveError):
            case.run(_faulty(storage, plan), _faulty(other, plan))

        if case.run is not mend:
            _check_visible(case, storage)
        case.run(storage, other)

        _check_done(case, storage, other)


def _check_visible(case: Case, storage: Storage) -> None:
    store = store_of(storage)
    if not store.exists():
        assert case.before is None or case.after is None
    else:
        assert covers(store) in (case.before, case.after)
        assert verify(store).is_sound


def _check_done(case: Case, storage: Storage, other: Storage) -> None:
    store = store_of(storage)
    if case.after is None:
        assert storage.objects("") == []
        return
    assert covers(store) == case.after
    assert verify(store).is_sound
    if case.run is refresh:
        adding = [c for c, _ in store.history() if c.table_version.get("id") == "900"]
        assert len([c for c in adding if c.add_catalogues]) == 1
    if case.run is lend:
        tidy(storage, other)
        # a listing that lacked the last commit led to a clone of the state before it
        assert covers(store_of(other)) in (case.after, {0, 100})
        assert other.location in {reference.location for reference in references_to(storage)}


def test_every_call_is_tried() -> None:
    """The operations make calls of each kind, so that the test above covers all kinds."""
    kinds = {call.split()[0] for name in CASES for call in calls_of(name)}

    assert kinds == {"get", "head", "list", "create", "replace", "delete"}


def test_a_conflict_after_a_lost_answer_is_reported(tmp_path: Path) -> None:
    """A writer whose commit succeeded without a response is refused the second time."""
    storage = open_storage(str(tmp_path / "index"))
    store = store_of(storage)
    base = store.create(DEFINITION, batch(storage, 0, "create"))
    changes = batch(storage, 900)
    needs = FilesUncovered(paths=pa.array(data_files(900)))
    store.commit(base, changes, (needs,))

    with pytest.raises(CommitConflictError, match="refresh"):
        store.commit(base, changes, (needs,))
    assert local_path(storage.location).is_dir()
