"""On a full disk, a vacuum and a drop make room and lose nothing that is needed."""

from __future__ import annotations

import errno
import itertools
import os
from dataclasses import dataclass
from datetime import timedelta

import pytest
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.errors import ErrorKind, StorageError
from lakesieve.storage import Storage, open_storage
from lakesieve.storage.store_errors import typed_errors
from lakesieve.store import IndexStore, compaction_changes, vacuum, verify

_roots = (f"memory://full-{number}" for number in itertools.count())


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDisk(Storage):
    """A storage that has no room for more bytes than it had at first."""

    room: int

    def _check(self, path: str, data: bytes) -> None:
        used = {info.path: info.size for info in self.objects("")}
        if sum(used.values()) - used.get(path, 0) + len(data) > self.room:
            kind = getattr(ErrorKind, "STORAGE_FULL", ErrorKind.STORAGE_FAILED)
            raise StorageError(f"{path}: no space is left.", kind=kind)

    def create(self, path: str, data: bytes) -> None:
        """Create the object if there is room."""
        self._check(path, data)
        Storage.create(self, path, data)

    def replace(self, path: str, data: bytes) -> None:
        """Replace the object if there is room."""
        self._check(path, data)
        Storage.replace(self, path, data)


def full(*, leftovers: bool) -> IndexStore:
    """An index of two batches that were merged, perhaps with a dead build, on a disk now full."""
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    state = store.create(DEFINITION, batch(storage, 0, "create"))
    state = store.commit(state, batch(storage, 100))
    changes = compaction_changes(store, state)
    assert changes is not None
    store.commit(state, changes)
    if leftovers:
        batch(storage, 700)
    used = sum(info.size for info in storage.objects(""))
    return IndexStore(FullDisk(location=storage.location, room=used))


@pytest.mark.parametrize("leftovers", [True, False], ids=["a dead build", "old states"])
def test_a_vacuum_makes_room(leftovers: bool) -> None:
    """A vacuum first deletes objects that no state needs, or else objects of given-up states."""
    store = full(leftovers=leftovers)
    before = {info.path for info in store.storage.objects("")}

    vacuumed = vacuum(store, retain_commits=1, older_than=timedelta(0), dry_run=False)

    assert covers(store) == {0, 100}
    assert verify(store).is_sound
    left = {info.path for info in store.storage.objects("")}
    assert sorted(vacuumed.paths) == sorted(before - left)
    content = {path for path in left if not path.startswith("log/")}
    assert content == {path for _, path in store.snapshot().objects()}


def test_nothing_that_is_kept_makes_room() -> None:
    """Young objects and kept states are not deleted for room, and the error says what to do."""
    store = full(leftovers=True)
    before = store.storage.objects("")

    kept = vacuum(store, retain_commits=1, older_than=timedelta(hours=1), dry_run=False)
    assert (kept.paths, store.storage.objects("")) == ((), before)


def test_an_index_can_be_dropped() -> None:
    """A drop needs no free space."""
    store = full(leftovers=False)
    store.drop()
    assert store.storage.objects("") == []


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError("Unable to write data: No space left on device (os error 28)"),
        OSError("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The quota is exceeded"),
        OSError("status code: 507, <Code>XMinioStorageFull</Code>"),
    ],
)
def test_what_a_full_disk_says(error: OSError) -> None:
    """Errors about full local disks, HDFS and object stores are recognized."""
    with pytest.raises(StorageError) as caught, typed_errors("x", root="memory://x"):
        raise error
    assert caught.value.kind is ErrorKind.STORAGE_FULL
    assert "vacuum" in caught.value.hint
