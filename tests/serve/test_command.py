"""``lakesieve serve`` as a person starts it."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.tables import index_of, rows
from tests.ports import free_port
from tests.serve.running import COMMAND, started

from lakesieve.tables.opening import open_table


# one worker is how the other tests serve
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.soak), 2])
def test_a_warehouse_is_served(tmp_path: Path, workers: int) -> None:
    """It plans, logs how many files are left and no more than is wanted, and stops at a signal."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "data"))
    catalog.create_namespace("db")
    drawn = random.Random("command")
    table = catalog.create_table("db.t", schema=rows(drawn, 1).schema)
    for _ in range(4):
        table.append(rows(drawn, 20))
    index_of(open_table(table), "id", covers=lambda _: True)
    metadata = tmp_path / "house" / "db" / "t" / "metadata"
    metadata.mkdir(parents=True)
    (metadata / "v1.metadata.json").write_text(table.metadata.model_dump_json())
    port = free_port()
    options = ["--warehouse", "house", "--workers", str(workers)]
    if workers == 2:
        options += ["--log-format", "json", "--log-filters"]
    pipe = subprocess.PIPE
    server = started(port, *options, cwd=tmp_path, stderr=pipe, stdout=pipe)
    try:
        served = RestCatalog("served", uri=f"http://127.0.0.1:{port}").load_table("db.t")
        found = served.scan(row_filter="id = 987654").to_arrow()
        assert found.num_rows == 0
        shown = subprocess.run(
            [*COMMAND, "--check", f"http://127.0.0.1:{port}", "db.t", "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        seen = json.loads(shown.stdout)
        assert (seen["planned_by"], seen["plans"], seen["files"]) == ("server", True, 4)
        counted = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        assert 'lakesieve_plans_total{outcome="planned"} 2.0' in counted
        assert "lakesieve_plan_seconds_count 2.0" in counted
        assert 'lakesieve_plan_reasons_total{code="index-used"} 1.0' in counted
        assert 'lakesieve_manifests_read_total{kind="list"}' in counted
        assert re.search(r"lakesieve_cache_bytes(\{.*\})? [1-9]", counted)
    finally:
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=60)[1]
    if workers == 1:
        assert re.search(r"planned db\.t: [01] of 4 files in .* ms \(index-used\)", said)
        assert "987654" not in said
        return
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    (plan,) = [line for line in lines if "987654" in line.get("filter", "")]
    assert plan["files_read"] <= plan["files_total"] == 4
    assert (plan["table"], plan["level"], plan["reasons"]) == ("db.t", "info", ["index-used"])


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_workers_of_a_parent_that_is_killed(tmp_path: Path) -> None:
    """They end, too, and the port is free."""
    port = free_port()
    (tmp_path / "house").mkdir()
    options = ["--warehouse", "house", "--workers", "2"]
    server = started(port, *options, cwd=tmp_path, stderr=subprocess.DEVNULL)
    workers = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    assert len(workers) >= 2
    server.kill()
    server.wait(30)
    until = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.05)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/healthz")


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--catalog", "nothing"], 1, "no catalog 'nothing'"),
        (["--mode", "nobody"], 2, "--mode"),
        (["--port", "0"], 2, "--port"),
        (["--log-format", "xml"], 2, "--log-format"),
        (["--tokens", "nothing"], 1, "file of tokens nothing cannot be read"),
        (["--catalog", "http://127.0.0.1:9", "--tokens", "t"], 1, "checks no tokens"),
        (["--host", "0.0.0.0"], 1, "--no-auth"),
        (["--check", "http://127.0.0.1:9"], 2, "--check"),
        (["--check", "http://127.0.0.1:9", "db.t"], 1, "cannot be reached"),
    ],
)
def test_mistakes(tmp_path: Path, options: list[str], status: int, said: str) -> None:
    """They are errors before anything listens."""
    done = subprocess.run(
        [*COMMAND, *options], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == status
    assert said in done.stderr
