"""An index in an object store behaves as on disk."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest
from tests.storage.emulators import STORES_IN_TIME, storage_in
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.store import (
    IndexStore,
    clone,
    compaction_changes,
    references_to,
    repair,
    vacuum,
    verify,
)


@pytest.mark.parametrize("store_name", STORES_IN_TIME)
def test_a_whole_life(store_name: str) -> None:
    """An index is created, grown, cloned, merged, vacuumed, damaged, repaired and dropped."""
    storage, other = storage_in(store_name), storage_in(store_name)
    storage.probe()
    store = IndexStore(pickle.loads(pickle.dumps(storage)))
    state = store.create(DEFINITION, batch(storage, 0, "create"))
    for number in range(1, 13):
        state = store.commit(state, batch(storage, 100 * number))
    batches = {100 * number for number in range(13)}
    assert covers(store) == batches
    clone(store, other)
    changes = compaction_changes(store, state)
    assert changes is not None
    store.commit(state, changes)

    done = vacuum(store, retain_commits=1, older_than=timedelta(0), dry_run=False)

    assert not any(path.startswith(("segments/", "files/")) for path in done.paths)
    copy = IndexStore(other)
    assert covers(copy) == covers(store) == batches
    assert verify(store).is_sound
    copy.drop()
    assert references_to(storage) == []
    assert vacuum(store, retain_commits=1, older_than=timedelta(0), dry_run=False).bytes > 0
    for info in storage.objects("log/"):
        storage.delete(info.path)
    assert repair(store, dry_run=False).files == 4 * len(batches)
    assert covers(store) == batches
    store.drop()
    assert storage.objects("") == other.objects("") == []
