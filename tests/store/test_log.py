"""The log: exclusive commits, replay, and the commits that are refused."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.errors import (
    CorruptIndexError,
    ErrorKind,
    IndexFormatError,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    StorageError,
)
from lakesieve.format import pack, unpack
from lakesieve.index import IndexRegistry, ReasonCode
from lakesieve.storage import Storage, local_path, open_storage
from lakesieve.store import BlockCache, Changes, IndexReader, IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    """An empty place for an index."""
    return IndexStore(open_storage(str(tmp_path / "index")))


def test_an_index_appears_whole(store: IndexStore) -> None:
    """Before the first commit an index does not exist, and after it the index is complete."""
    staged = batch(store.storage, 0)
    assert not store.exists()
    with pytest.raises(NotFoundError) as caught:
        store.snapshot()
    assert caught.value.kind is ErrorKind.INDEX_NOT_FOUND

    made = store.create(DEFINITION, staged)

    assert store.exists()
    assert store.snapshot() == made
    assert made.definition == DEFINITION
    assert (len(made.segments), len(made.catalogues)) == (2, 1)


def test_a_second_create_is_refused(store: IndexStore) -> None:
    """A new index never replaces an existing one of the same name."""
    store.create(DEFINITION, batch(store.storage, 0))

    with pytest.raises(InvalidInputError) as caught:
        store.create(DEFINITION, batch(store.storage, 1000))
    assert caught.value.kind is ErrorKind.INDEX_EXISTS


def test_commits_are_replayed_in_order(store: IndexStore) -> None:
    """Each commit's state can be read again, and the look-up unites all segments."""
    first = store.create(DEFINITION, batch(store.storage, 0))
    second = store.commit(first, batch(store.storage, 50))

    assert store.snapshot(0) == first
    assert store.snapshot() == second
    assert [commit.parent for commit, _ in store.history()] == [None, 0]
    assert [state for _, state in store.history()] == [first, second]
    assert covers(store) == {0, 50}
    third = store.commit(
        second,
        Changes(
            operation="compact",
            remove_segments=tuple(entry.path for entry in second.segments[:2]),
            remove_catalogues=(second.catalogues[0].id,),
        ),
    )
    assert third.segments == second.segments[2:]
    assert covers(store) == {50}


class LostAnswers(Storage):
    """A storage whose creates succeed, but whose responses are lost."""

    __slots__ = ()

    def create(self, path: str, data: bytes) -> None:
        """Create, then fail."""
        super().create(path, data)
        raise StorageError("timeout", kind=ErrorKind.STORAGE_FAILED)


def test_a_lost_answer_is_read_back(store: IndexStore) -> None:
    """A commit that succeeded although the storage failed is recognized by its write id."""
    staged = batch(store.storage, 0)
    lossy = IndexStore(LostAnswers(location=store.storage.location))

    made = lossy.create(DEFINITION, staged)

    assert store.snapshot() == made


def _commit_path(store: IndexStore, number: int = 0) -> Path:
    return local_path(store.storage.location) / "log" / f"{number:020d}.json"


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"iceberg"', '"delta"'),
        lambda text: "[]",
        lambda text: "",
        lambda text: text.replace('"segments/', '"../../etc/'),
        lambda text: json.dumps({**json.loads(text), "surprise": 1}),
    ],
    ids=["half", "changed", "list", "empty", "outside", "surprise"],
)
def test_damaged_commits_are_refused(store: IndexStore, harm: Callable[[str], str]) -> None:
    """A commit document that was changed after it was written is named in the error."""
    store.create(DEFINITION, batch(store.storage, 0))
    path = _commit_path(store)
    path.write_text(harm(path.read_text()))

    with pytest.raises(CorruptIndexError, match=r"log/0{20}\.json"):
        store.snapshot()


def test_a_well_formed_lie_is_refused(store: IndexStore) -> None:
    """Paths outside the index and missing fields are refused even with a correct checksum."""
    store.create(DEFINITION, batch(store.storage, 0))
    path = _commit_path(store)
    body = unpack(path.read_bytes(), "x")
    lies: tuple[dict[str, Any], ...] = (
        {"add_segments": [{**body["add_segments"][0], "path": "segments/../../x"}]},
        {"add_segments": [{**body["add_segments"][0], "blocks": -1}]},
        {"add_catalogues": []},
        {"number": 3},
        {"definition": None},
        {"operation": 5},
    )
    for lie in lies:
        path.write_bytes(pack({**body, **lie}))
        with pytest.raises(CorruptIndexError):
            store.snapshot()


def test_a_later_format_is_refused(store: IndexStore) -> None:
    """A log of a newer version gets another error than a damaged log."""
    store.create(DEFINITION, batch(store.storage, 0))
    path = _commit_path(store)
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 2}))

    with pytest.raises(IndexFormatError, match="Upgrade"):
        store.snapshot()


def _kind(body: dict[str, Any]) -> None:
    # a later kind of index may say more, or other things, of itself
    body["definition"] = {"kind": "bloom", "bits": 12}


def _unit(body: dict[str, Any]) -> None:
    body["add_catalogues"][0] |= {"unit": "row-group", "groups": 40}


@pytest.mark.parametrize("change", [_kind, _unit])
def test_later_kinds_and_units_are_too_new(
    store: IndexStore, change: Callable[[dict[str, Any]], None]
) -> None:
    """An index with an unknown kind or unit is reported as too new, not as damaged."""
    store.create(DEFINITION, batch(store.storage, 0))
    path = _commit_path(store)
    body = unpack(path.read_bytes(), "x")
    change(body)
    path.write_bytes(pack(body))

    with pytest.raises(IndexFormatError, match="Upgrade") as caught:
        store.snapshot()
    assert caught.value.kind is ErrorKind.TOO_NEW
    folder = local_path(store.storage.location).parent
    registry = IndexRegistry([str(folder.parent)])
    found, reasons = registry.indexes("memory://nothing-here", folder.name)
    assert found == []
    assert [reason.code for reason in reasons] == [ReasonCode.INDEX_TOO_NEW]


@pytest.mark.parametrize(("section", "name"), [("definition", "kind"), ("add_catalogues", "unit")])
@pytest.mark.parametrize("value", [None, 7])
def test_kind_and_unit_are_required(
    store: IndexStore, section: str, name: str, value: int | None
) -> None:
    """An index without a kind or unit, or with one that is not text, is damaged."""
    store.create(DEFINITION, batch(store.storage, 0))
    path = _commit_path(store)
    body = unpack(path.read_bytes(), "x")
    entry = body[section] if section == "definition" else body[section][0]
    if value is None:
        del entry[name]
    else:
        entry[name] = value
    path.write_bytes(pack(body))

    with pytest.raises(CorruptIndexError, match=r"log/0{20}\.json"):
        store.snapshot()


def test_a_gap_in_the_log_is_refused(store: IndexStore) -> None:
    """A log with a missing commit in its middle is refused."""
    base = store.create(DEFINITION, batch(store.storage, 0))
    store.commit(store.commit(base, Changes(operation="a")), Changes(operation="b"))
    _commit_path(store, 1).unlink()

    with pytest.raises(CorruptIndexError, match="neither the commit"):
        store.snapshot()


def test_drop_leaves_nothing(store: IndexStore) -> None:
    """After a drop every object is gone and the name is free again."""
    store.create(DEFINITION, batch(store.storage, 0))
    store.drop()

    assert store.storage.objects("") == []
    store.create(DEFINITION, batch(store.storage, 0))


def test_harm_behind_the_cache_is_noticed(store: IndexStore) -> None:
    """On local disk, a file that changed after it was cached is read again and refused."""
    made = store.create(DEFINITION, batch(store.storage, 0))
    reader = IndexReader(store, made, BlockCache())
    assert reader.lookup([(5, 6)])
    segment = local_path(store.storage.location) / made.segments[0].path
    harmed = bytearray(segment.read_bytes())
    harmed[30] ^= 1
    segment.write_bytes(harmed)

    with pytest.raises(LakesieveError, match="segments/"):
        reader.lookup([(5, 6)])
    segment.unlink()
    with pytest.raises(NotFoundError, match="segments/"):
        reader.lookup([(5, 6)])


def test_restaging_mends_a_damaged_leftover(store: IndexStore) -> None:
    """A build replaces a staged file that a crash left damaged."""
    staged = batch(store.storage, 0)
    path = local_path(store.storage.location) / staged.add_segments[0].path
    path.write_bytes(b"half")

    made = store.create(DEFINITION, batch(store.storage, 0))

    assert IndexReader(store, made, BlockCache()).lookup([(5, 6)])


@pytest.mark.parametrize("at", ["log/", "files/"])
def test_an_object_that_is_too_large_is_not_read(store: IndexStore, at: str) -> None:
    """A commit or catalogue that claims gigabytes is refused before it is read."""
    state = store.create(DEFINITION, batch(store.storage, 0))
    (info,) = store.storage.objects(at)
    with (local_path(store.storage.location) / info.path).open("r+b") as file:
        file.truncate(1 << 40)

    reader = IndexReader(store, state, BlockCache())
    read = store.snapshot if at == "log/" else partial(reader.loader.catalogue, state.catalogues[0])
    with pytest.raises(CorruptIndexError, match=f"its size of {1 << 40} bytes"):
        read()
