"""Files of a predicate, found in a process without Spark: the first time, and again.

``python -m bench.scale.without_spark TABLE KEY...`` prints one line of JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import lakesieve as ls


def main() -> None:
    """Find the files of each key."""
    taken = []
    for key in sys.argv[2:]:
        start = time.perf_counter()
        found = ls.find_files(sys.argv[1], f"k = {key}")
        taken.append(time.perf_counter() - start)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    figures = {"first": taken[0], "again": statistics.median(taken[1:]), "peak": peak}
    print(json.dumps(figures | {"total": found.total, "read": len(found.paths)}))


if __name__ == "__main__":
    main()
