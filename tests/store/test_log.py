"""The log: exclusive commits, replay, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from lakesieve.errors import (
    CommitConflictError,
    CorruptIndexError,
    ErrorKind,
    IndexFormatError,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    StorageError,
)
from lakesieve.format import IndexDefinition, KeyColumn, pack, unpack
from lakesieve.sieve import build_blocks, sort_pairs
from lakesieve.storage import Storage, local_path, open_storage
from lakesieve.store import (
    BlockCache,
    Changes,
    IndexReader,
    IndexStore,
    stage_catalogue,
    stage_segment,
)

if TYPE_CHECKING:
    from pathlib import Path

DEFINITION = IndexDefinition(
    name="k",
    index_uuid="u",
    table_format="iceberg",
    table_uuid="t",
    table_location="/t",
    columns=(KeyColumn(field_id=1, name="k", type="long", key_kind="integer"),),
    created_at="2026-01-31T00:00:00+00:00",
)


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    """An empty place for an index."""
    return IndexStore(open_storage(str(tmp_path / "index")))


def changes(storage: Storage, first: int, files: int = 4, keys: int = 100) -> Changes:
    """A staged batch: keys from ``first`` on, spread over files in turn."""
    table = pa.table(
        {
            "path": [f"/t/{first}-{n}.parquet" for n in range(files)],
            "size": [10] * files,
            "records": [keys // files] * files,
            "has_null": [False] * files,
            "has_value": [True] * files,
        }
    )
    codes = pa.array(np.arange(first, first + keys))
    blocks = build_blocks(*sort_pairs(codes, (np.arange(keys) % files).astype(np.int32)))
    catalogue = stage_catalogue(storage, table)
    segment = stage_segment(storage, blocks, unit_count=files)
    return Changes(
        operation="create",
        table_version={"id": str(first)},
        add_catalogues=(catalogue,),
        add_segments=(dataclasses.replace(segment, catalogue=catalogue.id),),
    )


def test_an_index_appears_whole(store: IndexStore) -> None:
    """Before the first commit there is nothing, after it everything."""
    staged = changes(store.storage, 0)
    assert not store.exists()
    with pytest.raises(NotFoundError) as caught:
        store.snapshot()
    assert caught.value.kind is ErrorKind.INDEX_NOT_FOUND

    made = store.create(DEFINITION, staged)

    assert store.exists()
    assert store.snapshot() == made
    assert made.definition == DEFINITION
    assert len(made.segments) == len(made.catalogues) == 1


def test_a_second_create_is_refused(store: IndexStore) -> None:
    """An index is never replaced by another of its name."""
    store.create(DEFINITION, changes(store.storage, 0))

    with pytest.raises(InvalidInputError) as caught:
        store.create(DEFINITION, changes(store.storage, 1000))
    assert caught.value.kind is ErrorKind.INDEX_EXISTS


def test_commits_are_replayed_in_order(store: IndexStore) -> None:
    """Each commit's state can be read again, and the look-up unites all segments."""
    first = store.create(DEFINITION, changes(store.storage, 0))
    second = store.commit(first, changes(store.storage, 50))

    assert store.snapshot(0) == first
    assert store.snapshot() == second
    assert [commit.parent for commit in store.history()] == [None, 0]
    found = IndexReader(store, second, BlockCache()).lookup([(60, 61)])
    assert {k: v.tolist() for k, v in found.items()} == {
        second.catalogues[0].id: [0],
        second.catalogues[1].id: [2],
    }
    third = store.commit(
        second,
        Changes(
            operation="compact",
            remove_segments=(second.segments[0].path,),
            remove_catalogues=(second.catalogues[0].id,),
        ),
    )
    assert third.segments == second.segments[1:]


def test_one_of_many_writers_wins(store: IndexStore) -> None:
    """Of racing commits exactly one lands; the others are told who was first."""
    base = store.create(DEFINITION, changes(store.storage, 0))

    def attempt(number: int) -> str:
        try:
            store.commit(base, Changes(operation=f"writer {number}"))
        except CommitConflictError as error:
            return error.message
        return "won"

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(attempt, range(16)))

    assert told.count("won") == 1
    winner = f"writer {told.index('won')}"
    assert all(winner in message for message in told if message != "won")


class LostAnswers(Storage):
    """A storage whose creates land, but whose answer never arrives."""

    __slots__ = ()

    def create(self, path: str, data: bytes) -> None:
        """Create, then fail."""
        super().create(path, data)
        raise StorageError("timeout", kind=ErrorKind.STORAGE_FAILED)


def test_a_lost_answer_is_read_back(store: IndexStore) -> None:
    """A commit that landed although the storage failed is known by its write id."""
    staged = changes(store.storage, 0)
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
def test_damaged_commits_are_refused(store: IndexStore, harm) -> None:
    """A commit document that is not what was written is named in the error."""
    store.create(DEFINITION, changes(store.storage, 0))
    path = _commit_path(store)
    path.write_text(harm(path.read_text()))

    with pytest.raises(CorruptIndexError, match=r"log/0{20}\.json"):
        store.snapshot()


def test_a_well_formed_lie_is_refused(store: IndexStore) -> None:
    """Paths outside the index and missing fields are refused even with a right checksum."""
    store.create(DEFINITION, changes(store.storage, 0))
    path = _commit_path(store)
    body = unpack(path.read_bytes(), "x")
    for lie in (
        {"add_segments": [{**body["add_segments"][0], "path": "segments/../../x"}]},
        {"add_segments": [{**body["add_segments"][0], "blocks": -1}]},
        {"add_catalogues": []},
        {"number": 3},
        {"definition": None},
        {"operation": 5},
    ):
        path.write_bytes(pack({**body, **lie}))
        with pytest.raises(CorruptIndexError):
            store.snapshot()


def test_a_later_format_is_refused(store: IndexStore) -> None:
    """A log of a later version is told from a damaged one."""
    store.create(DEFINITION, changes(store.storage, 0))
    path = _commit_path(store)
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 2}))

    with pytest.raises(IndexFormatError, match="Upgrade"):
        store.snapshot()


def test_a_gap_in_the_log_is_refused(store: IndexStore) -> None:
    """A log that lost a commit in its middle is not guessed at."""
    base = store.create(DEFINITION, changes(store.storage, 0))
    store.commit(store.commit(base, Changes(operation="a")), Changes(operation="b"))
    _commit_path(store, 1).unlink()

    with pytest.raises(CorruptIndexError, match="no commit"):
        store.snapshot()


def test_drop_leaves_nothing(store: IndexStore) -> None:
    """After a drop every object is gone and the name is free again."""
    store.create(DEFINITION, changes(store.storage, 0))
    store.drop()

    assert store.storage.objects("") == []
    store.create(DEFINITION, changes(store.storage, 0))


def test_harm_behind_the_cache_is_noticed(store: IndexStore) -> None:
    """On local disk a file that changes after it was cached is read again, and refused."""
    made = store.create(DEFINITION, changes(store.storage, 0))
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
    """A staged file left damaged by a crash is replaced by the build that needs it."""
    staged = changes(store.storage, 0)
    path = local_path(store.storage.location) / staged.add_segments[0].path
    path.write_bytes(b"half")

    made = store.create(DEFINITION, changes(store.storage, 0))

    assert IndexReader(store, made, BlockCache()).lookup([(5, 6)])
