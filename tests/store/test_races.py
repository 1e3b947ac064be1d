"""Real processes refresh and compact one index at once."""

from __future__ import annotations

import functools
import multiprocessing
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.storage.emulators import STORES, STORES_IN_TIME, storage_in
from tests.store.racers import ROUNDS, contend, race
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.storage import Storage, open_storage
from lakesieve.store import IndexStore, verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLACES = {
    "disk": depth("RACERS", test=8, soak=16),
    **dict.fromkeys(STORES, depth("RACERS", test=4, soak=16)),
}


@pytest.fixture(params=["disk", *STORES_IN_TIME])
def contested(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Storage, int]:
    """An index of one batch, and how many processes work on it."""
    disk = request.param == "disk"
    storage = open_storage(str(tmp_path / "index")) if disk else storage_in(request.param)
    IndexStore(storage).create(DEFINITION, batch(storage, 0, "create"))
    return storage, PLACES[request.param]


def _run(act: Callable[[Storage, int], Any], storage: Storage, processes: int) -> list[Any]:
    # forks of a process that has loaded everything and used nothing yet
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.store.racers"])
    with context.Pool(processes) as pool:
        return pool.map(functools.partial(act, storage), range(processes), chunksize=1)


def test_no_commit_is_lost_or_made_twice(contested: tuple[Storage, int]) -> None:
    """Every batch that a process reported as indexed is in the index, from exactly one commit."""
    storage, processes = contested
    done = {first for item in _run(race, storage, processes) for first in item}
    store = IndexStore(storage)

    assert len(done) == processes * ROUNDS
    assert covers(store) == done | {0}
    history = list(store.history())
    assert [commit.number for commit, _ in history] == list(range(len(history)))
    refreshed = Counter(
        commit.table_version["id"] for commit, _ in history if commit.operation == "refresh"
    )
    assert refreshed == {str(first): 1 for first in done}
    assert any(commit.operation == "compact" for commit, _ in history)
    assert verify(store).is_sound


def test_one_of_many_covers_a_file(contested: tuple[Storage, int]) -> None:
    """If several processes index the same files, one commits, and the others are told."""
    storage, processes = contested

    assert sum(_run(contend, storage, processes)) == 1
    store = IndexStore(storage)
    assert covers(store) == {0, 900}
    assert store.snapshot().number == 1
