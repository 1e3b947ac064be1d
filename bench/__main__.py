"""``python -m bench``: run the measurements and print the ratios."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import lakesieve as ls
from bench import build, keys, many_files, memory, refresh, sessions
from bench.deletes import suite as deletes
from bench.measure import finish, scratch_folder

if TYPE_CHECKING:
    from bench.measure import Measured

SUITES = {
    "many_files": many_files.run,
    "build": build.run,
    "refresh": refresh.run,
    "memory": memory.run,
    "sessions": sessions.run,
    "keys": keys.run,
    "deletes": deletes.run,
}


def main() -> int:
    """Run the chosen suites; exit status 1 when a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[[], *SUITES], default=[])
    parser.add_argument("--dir", type=Path, help="where tables are written (default: temporary)")
    parser.add_argument("--json", type=Path, help="write the figures as JSON to this file")
    parser.add_argument("--rows", type=float, default=keys.ROWS, help="keys: rows (20e6)")
    parser.add_argument("--files", type=int, default=keys.FILES, help="keys: data files (1000)")
    parser.add_argument(
        "--full", action="store_true", help="deletes: every table, way and heap; most of a day"
    )
    arguments = parser.parse_args()
    suites = SUITES | {
        "deletes": partial(deletes.run, full=arguments.full),
        "keys": partial(keys.run, rows=int(arguments.rows), files=arguments.files),
    }
    with scratch_folder() as scratch:
        root = arguments.dir or scratch
        conf = {"spark.master": "local[2]"}
        # with the default of 1 GB Spark's own MERGE may run out of memory
        if "keys" in arguments.suites:
            conf["spark.driver.memory"] = "4g"
        spark = ls.local_session(root / "warehouse", conf=conf)
        results: list[Measured] = []
        for name in arguments.suites or SUITES:
            print(f"\n{name}", file=sys.stderr)
            for result in suites[name](spark, root):
                print(result, flush=True)
                results.append(result)
        spark.stop()
    return finish(results, arguments.json)


if __name__ == "__main__":
    raise SystemExit(main())
