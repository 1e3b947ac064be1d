"""Many clients while the table changes: no wrong answer, and none that a client cannot survive."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from tests.depth import depth, is_soak
from tests.kit.building import build_index, refresh_index
from tests.ports import free_port
from tests.serve.running import started

import lakesieve as ls
from lakesieve.errors import StorageError
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyiceberg.table import Table

SECONDS = depth("LOAD_SECONDS", test=6, soak=600)
CLIENTS = depth("LOAD_CLIENTS", test=8, soak=32)
KEYS = 200
# snapshots that clients may still read
RETAINED = 12
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])

Rows = frozenset[tuple[int, int]]


@dataclass(slots=True)
class Model:
    """What each snapshot holds.

    Args:
        rows: By snapshot, those that are retained alone.
        lock: Held by whoever changes the table.
    """

    rows: dict[int, Rows] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, snapshot: int) -> Rows | None:
        """The rows of a snapshot, which its writer notes right after its commit."""
        until = time.monotonic() + 5
        while time.monotonic() < until:
            found = self.rows.get(snapshot)
            if found is not None:
                return found
            time.sleep(0.01)
        return None


class Server:
    """The server as a process, which can be killed and started again at its place."""

    def __init__(self, folder: Path) -> None:
        catalog = "PYICEBERG_CATALOG__SHOP__"
        self._environment = {
            **os.environ,
            f"{catalog}TYPE": "sql",
            f"{catalog}URI": f"sqlite:///{folder}/c.db",
            f"{catalog}WAREHOUSE": str(folder),
        }
        self._port = free_port()
        self.address = f"http://127.0.0.1:{self._port}"
        self.log = (folder / "log").open("w")
        self.process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        options = ["--catalog", "shop", "--memory", "16"]
        return started(
            self._port, *options, env=self._environment, stdout=self.log, stderr=self.log
        )

    def kill(self) -> None:
        """End it at once, and start another."""
        self.process.kill()
        self.process.wait(30)
        self.process = self._started()

    def megabytes(self) -> float:
        """The memory that it has."""
        shown = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, check=False
        )
        return int(shown.stdout or 0) / 1024

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


@dataclass(slots=True)
class Life:
    """A table that changes all the time.

    Args:
        catalog: Its own catalog, at which it is changed.
        model: Notes what its snapshots hold.
        seed: Draws what happens.
    """

    catalog: SqlCatalog
    model: Model
    seed: int
    draw: random.Random = field(init=False)
    done: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)

    def table(self) -> Table:
        """The table as it is now."""
        return self.catalog.load_table("db.t")

    def change(self, kind: str = "") -> None:
        """Append, delete, rewrite all files, or expire snapshots."""
        kind = kind or self.draw.choice(["append"] * 5 + ["delete", "delete", "compact", "expire"])
        with self.model.lock:
            table = self.table()
            before = {entry.snapshot_id for entry in table.metadata.snapshots}
            current = table.current_snapshot()
            rows = self.model.rows[current.snapshot_id] if current else frozenset()
            kind = kind if rows else "append"
            if kind == "append":
                new = {(self.draw.randrange(KEYS), self.draw.randrange(10**6)) for _ in range(20)}
                table.append(_arrow(new))
                rows |= new
            elif kind == "delete":
                # PyIceberg warns of a delete without a match
                key, _ = self.draw.choice(sorted(rows))
                table.delete(f"k >= {key} and k < {key + 5}")
                rows = frozenset(row for row in rows if not key <= row[0] < key + 5)
            elif kind == "compact":
                table.overwrite(_arrow(rows))
            else:
                self._expire(table)
            self.done[kind] = self.done.get(kind, 0) + 1
            made = [s for s in self.table().metadata.snapshots if s.snapshot_id not in before]
            for entry in made[:-1]:
                # what is deleted in full before its rows are written again
                self.model.rows[entry.snapshot_id] = frozenset()
            if made:
                self.model.rows[made[-1].snapshot_id] = rows

    def _expire(self, table: Table) -> None:
        """Forget old snapshots, and delete what only they had."""
        gone = [entry.snapshot_id for entry in table.metadata.snapshots][:-RETAINED]
        if not gone:
            return
        before = _files(table)
        for snapshot in gone:
            self.model.rows.pop(snapshot, None)
        table.maintenance.expire_snapshots().by_ids(gone).commit()
        for path in before - _files(self.table()):
            Path(path.removeprefix("file://")).unlink()

    def refresh(self) -> None:
        """Index what is new, and merge segments now and then."""
        # of a snapshot that expires meanwhile nothing is indexed this time
        with suppress(FileNotFoundError, StorageError):
            refresh_index(open_table(self.table()), "k", _keys)
            if self.draw.random() < 0.2:
                ls.open_index(self.table(), "k").compact()
        self.done["refresh"] = self.done.get("refresh", 0) + 1


def _files(table: Table) -> set[str]:
    """All files of all snapshots, but the metadata file."""
    found = set()
    for snapshot in table.metadata.snapshots:
        found.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            found.add(manifest.manifest_path)
            found |= {
                entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io)
            }
    return found


def _arrow(rows: frozenset[tuple[int, int]] | set[tuple[int, int]]) -> pa.Table:
    ordered = sorted(rows)
    columns = [pa.array([row[at] for row in ordered], pa.int64()) for at in (0, 1)]
    return pa.table(columns, schema=SCHEMA)


def _keys(path: str) -> pa.Array:
    return pq.read_table(path.removeprefix("file:"), columns=["k"]).column("k").combine_chunks()


@dataclass(slots=True)
class Client:
    """Looks for keys through the server, and compares what it finds.

    Args:
        address: Of the server.
        model: What there is.
        seed: Draws what it looks for.
    """

    address: str
    model: Model
    seed: int
    right: int = 0
    left_out: int = 0
    troubles: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def look(self, until: Callable[[], bool]) -> None:
        """Look until it is enough."""
        drawn = random.Random(self.seed)
        table: Table | None = None
        with httpx.Client(timeout=60) as raw:
            while not until() and not self.wrong:
                try:
                    if table is None or drawn.random() < 0.3:
                        table = RestCatalog("c", uri=self.address).load_table("db.t")
                    if drawn.random() < 0.5:
                        self._scan(table, drawn)
                    else:
                        self._plan(raw, drawn)
                except Exception as error:  # noqa: BLE001 - judged by what it is
                    self._trouble(error)
                    table = None

    def _scan(self, table: Table, drawn: random.Random) -> None:
        """Rows, of the current snapshot or an older one."""
        snapshots = [entry.snapshot_id for entry in table.metadata.snapshots]
        snapshot = drawn.choice(snapshots[-3:]) if snapshots else None
        if snapshot is None:
            return
        low = drawn.randrange(KEYS)
        high = low + drawn.choice([1, 1, 10])
        rows = self.model.of(snapshot)
        try:
            found = table.scan(row_filter=f"k >= {low} and k < {high}", snapshot_id=snapshot)
            have = {(row["k"], row["v"]) for row in found.to_arrow().to_pylist()}
        except Exception:
            if rows is None or snapshot not in self.model.rows:
                return  # expired, which is an error by right
            raise
        if rows is None:
            return
        expected = {row for row in rows if low <= row[0] < high}
        if have != expected:
            self.wrong.append(f"{snapshot} {low}..{high}: {have} instead of {expected}")
        self.right += 1

    def _plan(self, raw: httpx.Client, drawn: random.Random) -> None:
        """A plan, which names no file that is not there."""
        key = drawn.randrange(KEYS)
        answer = raw.post(
            f"{self.address}/v1/namespaces/db/tables/t/plan",
            json={"filter": {"type": "eq", "term": "k", "value": key}},
        )
        if answer.status_code != 200:
            # a snapshot that expires while it is planned: come again
            if answer.status_code not in {404, 503}:
                self.wrong.append(f"{answer.status_code} {answer.text[:500]}")
            self.troubles[str(answer.status_code)] = (
                self.troubles.get(str(answer.status_code), 0) + 1
            )
            return
        read, total = map(int, answer.headers["X-Lakesieve-Files"].split("/"))
        self.left_out += total - read

    def _trouble(self, error: Exception) -> None:
        """Whatever is not a lost connection or a server that starts is wrong."""
        said = f"{type(error).__name__}: {error}"
        known = ("Connect", "connect", "RemoteProtocolError", "ReadError", "503", "Unavailable")
        if not any(word in said for word in known):
            self.wrong.append(said)
        kind = type(error).__name__
        self.troubles[kind] = self.troubles.get(kind, 0) + 1


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """A table with an index."""
    # the server is another process at the same catalog
    catalog = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    catalog.create_table("db.t", schema=SCHEMA)
    made = Life(catalog, Model(), seed=5)
    for _ in range(3):
        made.change("append")
    build_index(open_table(made.table()), "k", _keys)
    yield made
    catalog.engine.dispose()


def test_many_clients(tmp_path: Path, life: Life) -> None:
    """Commits, rewrites, expiry and index refreshes at once, and a server that is killed."""
    server = Server(tmp_path)
    end = time.monotonic() + SECONDS
    troubles: list[str] = []

    def until() -> bool:
        return time.monotonic() > end or bool(troubles)

    def repeat(act: Callable[[], Any], pause: float) -> None:
        while not until():
            try:
                act()
            except CommitFailedException:
                continue
            except Exception as error:  # noqa: BLE001 - shown by the test
                troubles.append(f"{type(error).__name__}: {error}")
            time.sleep(pause)

    clients = [Client(server.address, life.model, seed) for seed in range(CLIENTS)]
    threads = [threading.Thread(target=client.look, args=(until,)) for client in clients]
    threads.append(threading.Thread(target=repeat, args=(life.change, 0.2)))
    threads.append(threading.Thread(target=repeat, args=(life.refresh, 0.5)))
    memory: list[float] = []
    try:
        for thread in threads:
            thread.start()
        killed = False
        while not until():
            time.sleep(0.5)
            if not killed and time.monotonic() > end - SECONDS / 2:
                server.kill()
                killed = True
                memory.clear()
            memory.append(server.megabytes())
    finally:
        end = 0
        for thread in threads:
            thread.join(120)
        server.stop()
    assert not troubles
    assert [wrong for client in clients for wrong in client.wrong] == []
    assert all(client.right > 0 for client in clients)
    assert sum(client.left_out for client in clients) > 0
    assert {"append", "refresh"} <= life.done.keys()
    if is_soak():
        third = len(memory) // 3
        middle, last = (statistics.median(part) for part in (memory[third:-third], memory[-third:]))
        assert last < 1.2 * middle + 30, memory
