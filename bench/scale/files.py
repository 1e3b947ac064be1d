"""Tables of ten thousand to a million data files, of which there is only the metadata."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tests.storage.s3_servers import BUCKET, SERVERS, hadoop_settings

from bench.environments import python_of
from bench.measure import Measured, bytes_below, note
from bench.scale.delta_files import make_delta
from bench.scale.planning import FIRST
from bench.synthetic import ROWS_A_FILE, ManyFiles
from lakesieve.index import OpenedIndex
from lakesieve.predicate.ranges import Ranges
from lakesieve.storage import hadoop_options, open_storage
from lakesieve.store import BlockCache, IndexStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["SIZES", "run"]

SIZES = (10_000, 100_000, 1_000_000)
OF_A_MANIFEST = 5_000
OPENED = 3
# the version of Spark that reads the tables of each format
LINES = {"iceberg": "4.1", "delta": "4.1", "hudi": "3.5"}
_ENDPOINT = "fs.s3a.endpoint"


def run(folder: Path, sizes: Sequence[int] = SIZES) -> Iterator[Measured]:
    """Make the tables and plan point queries of each.

    Args:
        folder: Where the metadata goes; what is there is used again.
        sizes: Numbers of files, ascending.
    """
    for table_format, line in LINES.items():
        tables = folder / f"many-{table_format}"
        for size in sizes:
            _make(table_format, tables / str(size), size)
        arguments = [table_format, str(tables), *map(str, sizes)]
        found = _lines(python_of(line), "bench.scale.planning", *arguments)
        plans = {plan["files"]: plan | {"format": table_format} for plan in found}
        for size in sizes:
            yield _planned(plans[sizes[0]], plans[size])
        yield _kept(plans[sizes[-1]])
        for size in sizes:
            yield _refreshed(plans[size])
            yield _without_spark(table_format, tables / str(size), size)
    for size in sizes:
        yield from _opened(folder / "many-iceberg" / str(size), size)


def _make(table_format: str, folder: Path, size: int) -> None:
    """The table, of Iceberg also as a Hadoop catalog has it."""
    # a table of Hudi is made by the session that plans
    if table_format == "hudi" or (folder / "complete").exists():
        return
    note(f"metadata of {size:,} files of {table_format}")
    shutil.rmtree(folder, ignore_errors=True)
    if table_format == "delta":
        make_delta(folder, size)
        (folder / "complete").touch()
        return
    ManyFiles.make(folder, size, of_a_manifest=OF_A_MANIFEST)
    metadata = folder / "db" / "t" / "metadata"
    newest = max(metadata.glob("0*.metadata.json"))
    shutil.copy(newest, metadata / "v1.metadata.json")
    (metadata / "version-hint.text").write_text("1", encoding="ascii")
    (folder / "complete").touch()


def _lines(python: Path, module: str, *arguments: str) -> list[dict[str, Any]]:
    note(f"{module} {' '.join(arguments)[:60]}")
    ran = subprocess.run(
        [str(python), "-m", module, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def _planned(least: dict[str, Any], plan: dict[str, Any]) -> Measured:
    size = plan["files"]
    return Measured(
        name=f"{plan['format']}: a point query of {size:,} files planned with the index, over one "
        f"of {least['files']:,} files",
        value=plan["on"] / least["on"],
        unit="x",
        at_most=1.2,
        details={
            "without": f"{1e3 * plan['off']:.0f} ms, the first {plan['off_first']:.1f} s",
            "with": f"{1e3 * plan['on']:.0f} ms, the first {plan['on_first']:.1f} s, the second "
            f"{plan['on_second']:.1f} s",
            "files": f"{plan['total']:,} -> {plan['read']}",
        },
    )


def _kept(plan: dict[str, Any]) -> Measured:
    return Measured(
        name=f"{plan['format']}: kept in memory after {FIRST} queries, of an index of "
        f"{plan['files']:,} files and of the files themselves",
        value=plan["held"] / plan["files"],
        unit="bytes a file",
        at_most=100,
    )


def _refreshed(plan: dict[str, Any]) -> Measured:
    return Measured(
        name=f"{plan['format']}: a refresh after one commit to {plan['files']:,} files",
        value=plan["refresh"],
        unit="s",
        details={
            "new files": plan["refreshed"],
            "the next query planned": f"{1e3 * plan['after']:.0f} ms",
        },
    )


def _without_spark(table_format: str, folder: Path, size: int) -> Measured:
    keys = range(0, ROWS_A_FILE * size, ROWS_A_FILE * size // 9)
    table = folder / "db" / "t" if table_format == "iceberg" else folder
    python = python_of(LINES[table_format])
    name = f"{table_format}:{table}"
    (found,) = _lines(python, "bench.scale.without_spark", name, *map(str, keys))
    return Measured(
        name=f"{table_format}: files of a predicate of {size:,} files without Spark, again in one "
        "process",
        value=found["again"] * 1e3,
        unit="ms",
        details={
            "the first time": f"{found['first']:.1f} s",
            "peak of the process": f"{found['peak'] / 1e6:.0f} MB",
            "files": f"{found['total']:,} -> {found['read']}",
        },
    )


def _opened(folder: Path, size: int) -> Iterator[Measured]:
    """An index on S3, opened by a process that knows nothing of it, and a key looked up."""
    settings = hadoop_settings(SERVERS[-1])
    location = f"s3a://{BUCKET}/many-{size}"
    target = open_storage(location, hadoop_options(settings, location))
    root = folder / "db" / "t" / "_lakesieve" / "k"
    for path in root.rglob("*"):
        if path.is_file():
            target.replace(path.relative_to(root).as_posix(), path.read_bytes())
    proxy = _Counting(int(settings[_ENDPOINT].rpartition(":")[2]))
    through = settings | {_ENDPOINT: f"http://127.0.0.1:{proxy.port}"}
    taken, listed = [], []
    for _ in range(OPENED):
        start = time.perf_counter()
        store = IndexStore(open_storage(location, hadoop_options(through, location)))
        state = store.snapshot()
        index = OpenedIndex(store, state, BlockCache())
        assert index.may_match(Ranges(intervals=((77, 78),))) is not None
        taken.append(time.perf_counter() - start)
        listed.append(len(index.paths()))
        requests = proxy.requests
        pa.default_memory_pool().release_unused()
    kept = bytes_below(root)
    yield Measured(
        name=f"an index of {size:,} files opened cold on S3, and a key looked up",
        value=max(taken),
        unit="s",
        at_most=2,
        details={"files listed": f"{listed[0]:,}", "of the index": f"{kept / 1e6:.1f} MB"},
    )
    yield Measured(
        name="requests for that, and for the paths of all files",
        value=requests / OPENED,
        unit="requests",
        at_most=20,
    )


class _Counting:
    """Passes requests on to a server of loopback, and counts them.

    Args:
        port: The server's.
    """

    def __init__(self, port: int) -> None:
        self.requests = 0
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near = self._server.accept()[0]
            far = socket.create_connection(("127.0.0.1", self._to))
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        is_request = target.getpeername()[1] == self._to
        while data := source.recv(1 << 20):
            if is_request:
                self.requests += data.count(b" HTTP/1.1\r\n")
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
