"""Reading a log of a gigabyte: a recorded one, its events again and again."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from bench.advise.tables import LINEITEM
from bench.measure import Measured
from lakesieve.advisor.log_files import log_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["measured"]

_BYTES = 1_000_000_000
_SECONDS, _MEGABYTES = 60.0, 1000.0
_READ = """
import json, resource, sys, time
from lakesieve.advisor.event_log import read_event_logs
from lakesieve.advisor.table_scans import KnownTable
kinds = {("l_orderkey",): "integer", ("l_partkey",): "integer", ("l_suppkey",): "integer"}
table = KnownTable(name=sys.argv[2], location="/none", kinds=kinds)
start = time.perf_counter()
found = read_event_logs([sys.argv[1]], [table])
seconds = time.perf_counter() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
print(json.dumps([seconds, memory, found.queries, len(found.uses), len(found.problems)]))
"""


def measured(scratch: Path, logs: Path) -> Iterator[Measured]:
    """Make the log, and read it in a process of its own.

    Args:
        scratch: Where it goes.
        logs: A recorded log.
    """
    lines = [line for file in log_files(str(logs)) for line in file.lines()]
    large = scratch / "large" / "app-1"
    large.parent.mkdir()
    written = 0
    with large.open("wb") as file:
        while written < _BYTES:
            for line in lines:
                written += file.write(line)
    command = [sys.executable, "-c", _READ, str(large), LINEITEM]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, megabytes, queries, uses, problems = json.loads(done.stdout)
    large.unlink()
    details = {"queries": queries, "uses": uses, "problems": problems}
    name = f"a log of {written / 1e9:.2f} GB"
    yield Measured(name=f"{name}: read", value=seconds, unit="s", at_most=_SECONDS, details=details)
    yield Measured(name=f"{name}: memory", value=megabytes, unit="MB", at_most=_MEGABYTES)
