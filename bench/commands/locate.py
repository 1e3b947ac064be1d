"""Bulk location in a process of its own.

``python -m bench.commands.locate WAREHOUSE FORMAT TABLE ROWS KEYS`` prints one line of JSON: the
keys that were found, the pairs, seconds, and peak memory.
"""

from __future__ import annotations

import json
import sys
import time

import lakesieve as ls
from bench.commands.table import keys_where
from bench.deletes.work import Peaks

_HEAP = "1g"


def main() -> None:
    """Locate what the command line names."""
    warehouse, table_format, table, rows, keys = sys.argv[1:]
    spark = ls.local_session(
        warehouse,
        formats=[table_format],
        conf={
            "spark.master": "local[2]",
            "spark.driver.memory": _HEAP,
            "spark.sql.shuffle.partitions": "16",
        },
    )
    peaks = Peaks()
    response = keys_where(spark, 0, int(rows), int(rows) // int(keys))
    start = time.perf_counter()
    located = ls.open_index(table, "k", spark=spark).locate(response)
    result = located.pairs.selectExpr("count(*) AS pairs", "approx_count_distinct(file) AS files")
    pairs, files = result.first()
    seconds = time.perf_counter() - start
    # every key is in one file
    figures = {"keys": pairs, "pairs": pairs, "files": files, "seconds": seconds}
    print(json.dumps({**figures, "jvm": peaks.jvm, "python": peaks.python}))


if __name__ == "__main__":
    main()
