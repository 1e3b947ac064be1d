"""The server of the measurements, in a process of its own, and the plans that it makes."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["ADDRESS", "planned", "server", "throughput"]

ADDRESS = "http://127.0.0.1:18181"
"""Where it listens."""

_PLAN = f"{ADDRESS}/v1/namespaces/db/tables/t/plan"
_SECONDS = 5.0
_CLIENTS = 4


@contextmanager
def server(folder: Path) -> Iterator[int]:
    """Serve the catalog of a folder; who plans is the client's choice.

    Args:
        folder: Has the catalog ``c.db``.

    Yields:
        The number of the process.
    """
    catalog = "PYICEBERG_CATALOG__BENCH__"
    settings = {
        f"{catalog}TYPE": "sql",
        f"{catalog}URI": f"sqlite:///{folder}/c.db",
        f"{catalog}WAREHOUSE": str(folder),
    }
    command = [sys.executable, "-c", "from lakesieve.cli import main; main()", "serve"]
    started = subprocess.Popen(
        [*command, "--catalog", "bench", "--mode", "either", "--port", ADDRESS.rpartition(":")[2]],
        env={**os.environ, **settings},
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"{ADDRESS}/healthz")
                break
            except httpx.ConnectError:
                if started.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.1)
        yield started.pid
    finally:
        started.terminate()
        started.wait(60)


def planned(client: httpx.Client, key: int) -> float:
    """Seconds that one plan of a key takes, of one file.

    Args:
        client: Of the server.
        key: The key, which is there once.
    """
    body = json.dumps({"filter": {"type": "eq", "term": "k", "value": key}})
    start = time.perf_counter()
    answer = client.post(_PLAN, content=body, timeout=600)
    taken = time.perf_counter() - start
    assert len(answer.json()["file-scan-tasks"]) == 1, answer.text
    return taken


def throughput(keys: Sequence[int]) -> float:
    """Plans a second that some clients get together.

    Args:
        keys: What they look for.
    """
    until = time.perf_counter() + _SECONDS
    counts: list[int] = []

    def work() -> None:
        done = 0
        with httpx.Client() as client:
            for key in itertools.cycle(keys):
                if time.perf_counter() > until:
                    break
                planned(client, key)
                done += 1
        counts.append(done)

    threads = [threading.Thread(target=work) for _ in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / _SECONDS
