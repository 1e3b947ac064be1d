"""All sessions of a process share a cache, but none gets parts of another index."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from tests.storage.s3_servers import BUCKET, OTHER_SERVER, hadoop_settings
from tests.store.forged import honest_and_forged
from tests.store.samples import expected, found

from lakesieve.index import IndexRegistry, OpenedIndex
from lakesieve.predicate import Ranges
from lakesieve.storage import StorageOptions, open_storage
from lakesieve.store import BlockCache, IndexReader, IndexStore

if TYPE_CHECKING:
    from lakesieve.storage import Storage

KEY = 7
_tables = itertools.count()


def file_io(server: str) -> dict[str, str]:
    """The settings of a table's own file IO that lead to a server."""
    conf = hadoop_settings(server)
    return {
        "s3.endpoint": conf["fs.s3a.endpoint"],
        "s3.access-key-id": conf["fs.s3a.access.key"],
        "s3.secret-access-key": conf["fs.s3a.secret.key"],
        "s3.region": "us-east-1",
        "s3.path-style-access": "true",
    }


@pytest.fixture
def two() -> tuple[str, Storage, Storage]:
    """A table's location, its index at one endpoint, and a forged index at the other."""
    location = f"s3://{BUCKET}/cache/{next(_tables)}"
    root = f"{location}/_lakesieve/k"
    honest, forged = (
        open_storage(root, StorageOptions(conf={}).of_table(file_io(server))(root))
        for server in ("moto", OTHER_SERVER)
    )
    honest_and_forged(honest, forged)
    return location, honest, forged


def test_endpoints_do_not_share_parts(two: tuple[str, Storage, Storage]) -> None:
    """After a session read a forged index elsewhere, another session finds the right files."""
    _, honest, forged = two
    cache = BlockCache()

    def answers(storage: Storage) -> list[set[str]]:
        store = IndexStore(storage)
        state = store.snapshot()
        reader = IndexReader(store, state, cache)
        return [found(reader, state, key) for key in range(100)]

    assert answers(forged) != [expected({0}, key) for key in range(100)]
    assert answers(honest) == [expected({0}, key) for key in range(100)]


def test_a_registry_opens_an_index_for_each_endpoint(two: tuple[str, Storage, Storage]) -> None:
    """Tables of one location at two endpoints use the index of their own endpoint."""
    location, honest, forged = two
    registry = IndexRegistry((), StorageOptions(conf={}))

    def opened(server: str) -> OpenedIndex:
        indexes, reasons = registry.indexes(location, "t", file_io=file_io(server))
        assert reasons == []
        return indexes[0]

    assert opened(OTHER_SERVER).storage == forged
    assert opened("moto").storage == honest
    assert found(opened("moto").reader, opened("moto").snapshot, KEY) == expected({0}, KEY)


def test_endpoints_do_not_share_long_answers(two: tuple[str, Storage, Storage]) -> None:
    """Cached answers for many values belong to the index that was asked."""
    _, honest, forged = two
    many = ((KEY, KEY + 1), *((at, at + 1) for at in range(1000, 2000, 2)))
    ranges = Ranges(intervals=many, nulls=False)

    def files(storage: Storage) -> list[int]:
        store = IndexStore(storage)
        matches = OpenedIndex.at(store, store.snapshot()).may_match(ranges)
        assert matches is not None
        return [int(number) for number in matches.keep.nonzero()[0]]

    assert (files(forged), files(honest)) == ([0], [3])
