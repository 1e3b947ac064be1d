"""Keys looked up without Spark, in a process of its own.

``python -m bench.contains TABLE ROWS KEYS`` prints one line of JSON: seconds of the first look-up
and of others, how many keys are absent, and the peak memory of the process in GB.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time

import numpy as np
import pyarrow as pa

import lakesieve as ls

PRIME, STEP = 137_438_953_447, 84_941_944_608
"""Of the keys of :data:`bench.commands.table.KEY`."""
_ROUNDS = 5


def keys(rows: int, count: int) -> pa.Array:
    """Keys at random, every second one of a row that is there."""
    at = np.arange(count)
    numbers = np.where(at % 2 == 0, at // 2 * max(1, 2 * rows // count) % rows + 1, rows + at)
    return pa.array(numbers * STEP % PRIME)


def main() -> None:
    """Look up what the command line names."""
    table, rows, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    given = keys(rows, count)
    start = time.perf_counter()
    index = ls.open_index(table, "k")
    answer = index.contains(given)
    cold = time.perf_counter() - start
    taken = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        answer = index.contains(given)
        taken.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    figures = {"cold": cold, "warm": statistics.median(taken), "peak": peak}
    print(json.dumps(figures | {"absent": answer.absent.true_count}))


if __name__ == "__main__":
    main()
