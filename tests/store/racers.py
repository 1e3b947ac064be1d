"""The work of each racing process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from tests.store.samples import batch, data_files

from lakesieve.errors import CommitConflictError
from lakesieve.store import FilesUncovered, IndexStore, compaction_changes

if TYPE_CHECKING:
    from lakesieve.storage import Storage

ROUNDS = 2


def race(storage: Storage, number: int) -> list[int]:
    """Index some batches, merging after each, and report the batches that were committed."""
    store = IndexStore(storage)
    done = []
    for turn in range(ROUNDS):
        first = 1000 * (number + 1) + 100 * turn
        needs = FilesUncovered(paths=pa.array(data_files(first)))
        store.commit(store.snapshot(), batch(storage, first), (needs,))
        done.append(first)
        base = store.snapshot()
        changes = compaction_changes(store, base)
        if changes is not None:
            try:
                store.commit(base, changes)
            except CommitConflictError:
                continue  # another one merged these first
    return done


def contend(storage: Storage, number: int) -> bool:
    """Index the same batch as all the others."""
    store = IndexStore(storage)
    needs = FilesUncovered(paths=pa.array(data_files(900)))
    base = store.snapshot(0)
    try:
        store.commit(base, batch(storage, 900), (needs,))
    except CommitConflictError:
        return False
    return True
