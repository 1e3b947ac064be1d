"""The handle of an index: its history, earlier states, and vacuums."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.store.samples import DEFINITION, batch

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.index import Index, IndexRegistry
from lakesieve.storage import open_storage
from lakesieve.store import Changes, IndexStore, clone

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.storage import Storage


class NamedTable:
    """The few parts of a table that these tests need."""

    name = "lake.db.t"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """An index of two batches, in the place for a table at ``tmp_path``."""
    storage = open_storage(str(tmp_path / "_lakesieve" / "k"))
    store = IndexStore(storage)
    base = store.create(DEFINITION, batch(storage, 0, "create"))
    store.commit(base, batch(storage, 100))
    return storage


def opened(storage: Storage) -> Index:
    table: Any = NamedTable()
    return Index(table, storage)


def test_history_reads_like_a_log(storage: Storage) -> None:
    """The history has every commit with its parent, its operation, and the totals after it."""
    first, second = opened(storage).history()

    assert (first.number, first.parent, first.operation) == (0, None, "create")
    assert (second.number, second.parent, second.operation) == (1, 0, "refresh")
    assert (first.files, second.files) == (4, 8)
    assert (first.segments, second.segments) == (2, 4)
    assert second.blocks == opened(storage).info().blocks
    assert (first.table_version, second.table_version) == ("0", "100")
    assert 0 < first.bytes < second.bytes == opened(storage).info().bytes


def test_earlier_states(storage: Storage) -> None:
    """An earlier state can be queried, and made the current one by a commit."""
    index = opened(storage)

    assert (index.at(0).info().files, index.at(0).info().commit) == (4, 0)
    back = index.rollback(0)
    assert (back.files, back.commit) == (4, 2)
    assert [commit.operation for commit in index.history()] == ["create", "refresh", "rollback"]
    with pytest.raises(NotFoundError):
        index.at(7)


def test_clearing_up(storage: Storage) -> None:
    """A dry run reports what a vacuum would delete, and the index is undamaged after a vacuum."""
    index = opened(storage)
    index.rollback(0)
    vacuumed = index.vacuum(retain_commits=1, older_than=timedelta(0))

    assert vacuumed.dry_run
    assert len([path for path in vacuumed.paths if path.startswith("segments/")]) == 2
    done = index.vacuum(retain_commits=1, older_than=timedelta(0), dry_run=False)
    assert done.paths == vacuumed.paths
    assert index.verify().is_sound
    assert index.vacuum(retain_commits=1, older_than=timedelta(0)).paths == ()


def test_a_lender_is_kept(storage: Storage, tmp_path: Path) -> None:
    """An index that a clone uses is dropped only by force."""
    clone(IndexStore(storage), open_storage(str(tmp_path / "copy")))

    with pytest.raises(InvalidInputError):
        opened(storage).drop()
    opened(storage).drop(force=True)
    assert storage.objects("") == []


def test_the_registry_follows_the_log(storage: Storage, tmp_path: Path) -> None:
    """The same opened index is returned until a commit, a drop, or a new index."""
    registry = IndexRegistry()

    def state() -> tuple[int, str] | None:
        found, _ = registry.indexes(str(tmp_path), "t")
        return (found[0].snapshot.number, found[0].identity) if found else None

    first = state()
    assert registry.indexes(str(tmp_path), "t")[0] == registry.indexes(str(tmp_path), "t")[0]
    store = IndexStore(storage)
    store.commit(store.snapshot(), Changes(operation="nothing"))
    second = state()
    store.drop()
    assert state() is None
    store.create(DEFINITION, batch(storage, 0, "create"))
    third = state()

    assert [item and item[0] for item in (first, second, third)] == [1, 2, 0]
    assert len({item and item[1] for item in (first, second, third)}) == 3


def test_the_registry_keeps_few_of_many_open(tmp_path: Path) -> None:
    """Only the latest indexes are kept open, and the others are opened again when needed."""
    registry = IndexRegistry(most_opened=3)
    for number in range(6):
        storage = open_storage(str(tmp_path / str(number))).child("_lakesieve").child("k")
        IndexStore(storage).create(DEFINITION, batch(storage, 0, "create"))

    for number in (0, 1, 2, 3, 4, 5, 0, 5):
        found, _ = registry.indexes(str(tmp_path / str(number)), "t")
        assert [one.definition.name for one in found] == ["k"]
    assert len(registry._entries) == 3


def test_a_handle_leaves_another_tables_index_alone(storage: Storage) -> None:
    """Before a handle changes an index, it checks that the index belongs to its table."""
    index = opened(storage)
    IndexStore(storage).drop()
    successor = dataclasses.replace(DEFINITION, table_uuid="another")
    IndexStore(storage).create(successor, batch(storage, 0, "create"))

    for change in (index.drop, index.vacuum, lambda: index.rollback(0)):
        with pytest.raises(InvalidInputError, match="Another table has replaced") as caught:
            change()
        assert caught.value.kind is ErrorKind.TABLE_REPLACED
    opened(storage).drop()
    assert not IndexStore(storage).exists()
