"""If storage hangs or refuses, no query waits long, and other tables do not wait at all."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.storage.s3_servers import SERVERS, hadoop_settings, s3_storage
from tests.store.samples import DEFINITION, batch

from lakesieve.index import IndexRegistry, ReasonCode
from lakesieve.storage import Storage, StorageOptions, all_at_once, open_storage
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# a busy machine takes a while, a store that hangs takes many times that
SECONDS = 1.0


@pytest.fixture
def hanging() -> Iterator[int]:
    """The port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(server.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()


def refusing() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def options(port: int) -> StorageOptions:
    """Return settings that lead to a port of this machine."""
    conf = hadoop_settings(SERVERS[0]) | {"fs.s3a.endpoint": f"http://127.0.0.1:{port}"}
    return StorageOptions(conf=conf)


def test_own_changes_are_seen_at_once() -> None:
    """On an object store, a process sees its own commits at once, those of others later."""
    root = s3_storage(SERVERS[0])
    conf = hadoop_settings(SERVERS[0])
    registry = IndexRegistry((), StorageOptions(conf=conf))

    def states() -> list[int]:
        indexes, reasons = registry.indexes(root.location, "t", until=time.monotonic() + 9)
        assert reasons == []
        return [index.snapshot.number for index in indexes]

    store = IndexStore(root.child("_lakesieve").child("k"))
    assert states() == []
    state = store.create(DEFINITION, batch(store.storage, 0))
    assert states() == [0]
    store.commit(state, batch(store.storage, 100))
    assert states() == [1]
    store.drop()
    assert states() == []


def local_index(tmp_path: Path) -> str:
    """Return the root of a table with an index next to it."""
    storage = open_storage(str(tmp_path / "_lakesieve" / "k"))
    IndexStore(storage).create(DEFINITION, batch(storage, 0, "create"))
    return str(tmp_path)


@pytest.mark.parametrize("hangs", [True, False])
def test_a_dead_store_costs_its_own_indexes(tmp_path: Path, hanging: int, *, hangs: bool) -> None:
    """A query waits once; then the store is not tried for a while, and other indexes are used."""
    registry = IndexRegistry(["s3://b/x"], options(hanging if hangs else refusing()))
    table = local_index(tmp_path)
    codes = {ReasonCode.PLANNING_TIMEOUT}
    if not hangs:
        # the client waits random times between its attempts, so it may give up before the query
        codes.add(ReasonCode.INDEX_UNREADABLE)

    for limit in (SECONDS + 2, SECONDS / 2):
        started = time.monotonic()
        indexes, reasons = registry.indexes(table, "t", until=started + SECONDS)
        assert time.monotonic() - started < limit
        assert [index.definition.name for index in indexes] == ["k"]
        (reason,) = reasons
        assert reason.code in codes
        assert "s3://b/x/t" in reason.detail


def test_no_table_waits_for_the_store_of_another(tmp_path: Path, hanging: int) -> None:
    """While one query waits for a store that hangs, another table's index opens at once."""
    registry = IndexRegistry((), options(hanging))
    table = local_index(tmp_path)
    until = time.monotonic() + 30
    waiting = threading.Thread(
        target=lambda: registry.indexes("s3://b/x", "u", until=until), daemon=True
    )
    waiting.start()
    time.sleep(0.1)

    started = time.monotonic()
    indexes, _ = registry.indexes(table, "t", until=started + 5 * SECONDS)

    assert len(indexes) == 1
    assert time.monotonic() - started < 5 * SECONDS
    assert waiting.is_alive()


def test_the_next_query_profits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow store is opened to the end by one thread, and later queries use it at once."""
    root = s3_storage(SERVERS[0])
    storage = root.child("_lakesieve").child("k")
    IndexStore(storage).create(DEFINITION, batch(storage, 0, "create"))
    gate, calls = threading.Event(), []
    folders = Storage.folders

    def slow(self: Storage, prefix: str) -> list[str]:
        calls.append(prefix)
        gate.wait(30)
        return folders(self, prefix)

    monkeypatch.setattr(Storage, "folders", slow)
    conf = hadoop_settings(SERVERS[0])
    registry = IndexRegistry((), StorageOptions(conf=conf))
    codes: list[ReasonCode] = []
    for _ in range(3):
        _, reasons = registry.indexes(root.location, "t", until=time.monotonic() + 0.1)
        codes.extend(reason.code for reason in reasons)
    gate.set()
    deadline = time.monotonic() + 10
    while not (found := registry.indexes(root.location, "t", until=time.monotonic() + 0.1))[0]:
        assert time.monotonic() < deadline

    assert codes == [ReasonCode.PLANNING_TIMEOUT] * 3
    assert found[1] == []
    assert len(calls) == 1


def test_indexes_of_a_remote_place_are_opened_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening six indexes on a slow store takes as long as opening one."""
    location = s3_storage(SERVERS[0])
    names = [f"k{number}" for number in range(6)]
    for name in names:
        storage = location.child("_lakesieve").child(name)
        IndexStore(storage).create(DEFINITION, batch(storage, 0, "create"))
    opening: list[int] = []
    under_way = 0
    lock = threading.Lock()
    snapshot = IndexStore.snapshot

    def slow(self: IndexStore, number: int | None = None) -> object:
        nonlocal under_way
        with lock:
            under_way += 1
            opening.append(under_way)
        time.sleep(0.1)
        found = snapshot(self, number)
        with lock:
            under_way -= 1
        return found

    monkeypatch.setattr(IndexStore, "snapshot", slow)
    conf = hadoop_settings(SERVERS[0])
    registry = IndexRegistry((), StorageOptions(conf=conf))

    indexes, reasons = registry.indexes(location.location, "t")

    assert (len(indexes), reasons) == (6, [])
    assert max(opening) == 6


def test_calls_keep_their_order_and_errors() -> None:
    """Parallel calls return results in order, and raise their errors."""

    def fail() -> int:
        raise ValueError("seven")

    assert all_at_once([partial(abs, n) for n in range(40)], 4) == list(range(40))
    with pytest.raises(ValueError, match="seven"):
        all_at_once([fail, fail, lambda: 1], 2)


def test_a_process_ends_while_storage_hangs(hanging: int) -> None:
    """Threads that wait for storage do not keep a process alive."""
    text = f"""
import time
from tests.index.test_waiting import options
from lakesieve.index import IndexRegistry
from lakesieve.storage import open_storage, Background
storage_options = options({hanging})
IndexRegistry((), storage_options).indexes("s3://b/x", "u", until=time.monotonic() + 0.2)
store = open_storage("s3://b/x", storage_options("s3://b/x"))
Background(lambda: store.get_all(["a", "b"]))
time.sleep(0.2)
"""
    subprocess.run([sys.executable, "-c", text], check=True, timeout=60)
