"""``python -m bench.serve``: clients that plan by themselves beside clients of the server."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import polars as pl
from pyiceberg.catalog.rest import RestCatalog

from bench.engines.table import RandomKeys, run
from bench.measure import Measured, in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAN_MILLISECONDS, PLANS_A_SECOND, SPEED_UP = 10.0, 200.0, 50.0
_ADDRESS = "http://127.0.0.1:18181"
_PLAN = f"{_ADDRESS}/v1/namespaces/db/tables/t/plan"
_SECONDS = 5.0


@contextmanager
def _server(scratch: Path) -> Iterator[None]:
    """The server, in a process of its own."""
    catalog = "PYICEBERG_CATALOG__BENCH__"
    settings = {
        f"{catalog}TYPE": "sql",
        f"{catalog}URI": f"sqlite:///{scratch}/c.db",
        f"{catalog}WAREHOUSE": str(scratch),
    }
    command = [sys.executable, "-c", "from lakesieve.cli import main; main()", "serve"]
    server = subprocess.Popen(
        [*command, "--catalog", "bench", "--port", _ADDRESS.rpartition(":")[2]],
        env={**os.environ, **settings},
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"{_ADDRESS}/healthz")
                break
            except httpx.ConnectError:
                if server.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait(60)


def _all(made: RandomKeys, scratch: Path) -> Iterator[Measured]:
    with _server(scratch):
        yield from _measured(made)


def _measured(made: RandomKeys) -> Iterator[Measured]:
    keys = itertools.cycle(made.keys)
    own, served = made.table, RestCatalog("served", uri=_ADDRESS).load_table("db.t")

    def pyiceberg(table: Any) -> None:
        found = table.scan(row_filter=f"k = {next(keys)}").to_arrow().num_rows
        assert found == 1

    def polars(table: Any) -> None:
        found = pl.scan_iceberg(table).filter(pl.col("k") == next(keys)).collect().height
        assert found == 1

    with httpx.Client() as client:
        for key in made.keys:
            _planned(client, key)
        for name, way in (("PyIceberg", pyiceberg), ("Polars", polars)):
            times = in_turn(
                {"own": lambda way=way: way(own), "served": lambda way=way: way(served)}
            )
            off, on = times["own"] * 1000, times["served"] * 1000
            yield Measured(
                name=f"{name}: point query, speed-up",
                value=off / on,
                unit="x",
                at_least=SPEED_UP,
                details={"own": f"{off:.0f} ms", "served": f"{on:.1f} ms"},
            )
        taken = [_planned(client, next(keys)) for _ in range(200)]
    yield Measured(
        name="a warm plan, as a client sees it",
        value=statistics.median(taken) * 1000,
        unit="ms",
        at_most=PLAN_MILLISECONDS,
        details={"99 of 100": f"{sorted(taken)[197] * 1000:.1f} ms"},
    )
    yield Measured(
        name="plans a second, of four clients",
        value=_throughput(made.keys),
        unit="plans/s",
        at_least=PLANS_A_SECOND,
    )


def _planned(client: httpx.Client, key: int) -> float:
    """Seconds of one plan."""
    body = json.dumps({"filter": {"type": "eq", "term": "k", "value": key}})
    start = time.perf_counter()
    answer = client.post(_PLAN, content=body)
    taken = time.perf_counter() - start
    assert len(answer.json()["file-scan-tasks"]) == 1, answer.text
    return taken


def _throughput(keys: list[int]) -> float:
    until = time.perf_counter() + _SECONDS
    counts: list[int] = []

    def work() -> None:
        done = 0
        with httpx.Client() as client:
            for key in itertools.cycle(keys):
                if time.perf_counter() > until:
                    break
                _planned(client, key)
                done += 1
        counts.append(done)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / _SECONDS


if __name__ == "__main__":
    raise SystemExit(run("python -m bench.serve", __doc__, _all))
