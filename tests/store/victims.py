"""The work of a process until it is killed."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pyarrow as pa
from tests.store.samples import batch, data_files

from lakesieve.store import FilesUncovered, IndexStore, compaction_changes

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from lakesieve.storage import Storage

MERGED_EVERY = 4


def work(storage: Storage, start: int, tell: Connection) -> None:
    """Index one batch after the other and merge them, telling of each commit once it is made.

    Args:
        storage: The index's root.
        start: The first batch; the next ones follow.
        tell: Where to.
    """
    store = IndexStore(storage)
    for number in itertools.count():
        first = start + 100 * number
        needs = FilesUncovered(paths=pa.array(data_files(first)))
        store.commit(store.snapshot(), batch(storage, first), (needs,))
        tell.send(("refresh", first))
        if number % MERGED_EVERY == MERGED_EVERY - 1:
            base = store.snapshot()
            tell.send(("merging", first))
            changes = compaction_changes(store, base, segment_ordinals=200)
            assert changes is not None
            store.commit(base, changes)
            tell.send(("compact", first))
