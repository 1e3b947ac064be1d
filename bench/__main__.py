"""``python -m bench``: run the measurements and print the ratios."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import lakesieve as ls
from bench import (
    build,
    first_query,
    keys,
    keys_kinds,
    large_files,
    many_files,
    memory,
    order,
    refresh,
    sessions,
)
from bench.deletes import suite as deletes
from bench.measure import finish, scratch_folder
from bench.scale import files, upkeep
from bench.scale import rows as scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from bench.measure import Measured

    Suite = Callable[[SparkSession, Path], Iterable[Measured]]

SUITES = {
    "many_files": many_files.run,
    "build": build.run,
    "refresh": refresh.run,
    "memory": memory.run,
    "sessions": sessions.run,
    "keys": keys.run,
    "order": order.run,
    "deletes": deletes.run,
}
LONG = ("keys_kinds", "large_files", "row_readers", "words")
"""Suites that write gigabytes, and run only where they are named."""

OWN_SESSIONS = ("first_query", "scale", "files", "upkeep")
"""Suites that take hours, or need no session or several, and run only where they are named."""


def main() -> int:
    """Run the chosen suites; exit status 1 when a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", choices=[[], *SUITES, *LONG, *OWN_SESSIONS], default=[]
    )
    parser.add_argument("--dir", type=Path, help="where tables are written (default: temporary)")
    parser.add_argument("--json", type=Path, help="write the figures as JSON to this file")
    parser.add_argument(
        "--rows",
        type=float,
        help="rows of a table: 20e6; large_files: 30e6; row_readers, words: 4e6; scale: 600e6",
    )
    parser.add_argument("--size", type=int, help="large_files, keys_kinds: megabytes of a file")
    parser.add_argument(
        "--formats",
        nargs="+",
        help="large_files, keys_kinds: all that one session can have",
    )
    parser.add_argument("--columns", nargs="+", default=scale.COLUMNS, help="scale: what to index")
    parser.add_argument("--files", type=int, default=keys.FILES, help="keys, order: data files")
    parser.add_argument(
        "--full", action="store_true", help="deletes: every table, way and heap; most of a day"
    )
    arguments = parser.parse_args()
    suites = SUITES | {
        "deletes": partial(deletes.run, full=arguments.full),
        "large_files": partial(
            large_files.run,
            rows=int(arguments.rows or large_files.ROWS),
            sizes=(arguments.size,) if arguments.size else large_files.SIZES,
            kinds=tuple(arguments.formats or large_files.KINDS),
        ),
        "keys": partial(keys.run, rows=int(arguments.rows or keys.ROWS), files=arguments.files),
        "sessions": partial(sessions.run, rows=int(arguments.rows or sessions.ROWS)),
        "keys_kinds": partial(
            keys_kinds.run,
            rows=int(arguments.rows or keys_kinds.LOG_ROWS),
            sizes=(arguments.size,) if arguments.size else keys_kinds.SIZES,
            kinds=tuple(arguments.formats or keys_kinds.KINDS),
        ),
        "row_readers": partial(_of_engines, "row_readers", arguments.rows),
        "words": partial(_of_engines, "words", arguments.rows),
        "order": partial(order.run, rows=int(arguments.rows or order.ROWS), files=arguments.files),
    }
    with scratch_folder() as scratch:
        root = arguments.dir or scratch
        results: list[Measured] = []
        for name, measured in _figures(arguments, suites, root):
            print(f"\n{name}", file=sys.stderr)
            for result in measured:
                print(result, flush=True)
                results.append(result)
    return finish(results, arguments.json)


def _of_engines(
    name: str, rows: float | None, spark: SparkSession, root: Path
) -> Iterable[Measured]:
    """Run a suite whose libraries are not in every environment."""
    module = import_module(f"bench.{name}")
    measured: Iterable[Measured] = module.run(spark, root, rows=int(rows or module.ROWS))
    return measured


def _figures(
    arguments: argparse.Namespace, suites: Mapping[str, Suite], root: Path
) -> Iterator[tuple[str, Iterable[Measured]]]:
    """The suites by name, with a session for those that share one."""
    names = arguments.suites or list(SUITES)
    if "first_query" in names:
        yield "first_query", first_query.run(root)
    if "scale" in names:
        yield "scale", scale.run(root, int(arguments.rows or scale.ROWS), columns=arguments.columns)
    if "files" in names:
        yield "files", files.run(root)
    if "upkeep" in names:
        yield "upkeep", upkeep.run(upkeep.REFRESHES)
    shared = [name for name in names if name in suites]
    if not shared:
        return
    conf = {"spark.master": "local[2]"}
    # with the default of 1 GB Spark's own MERGE may run out of memory
    if {"keys", "keys_kinds", "large_files", "order", "row_readers", "words"} & set(shared):
        conf["spark.driver.memory"] = "4g"
    formats = ("iceberg", "delta")
    if arguments.formats == ["hudi"]:
        formats = ("hudi",)
        # Hudi's own data skipping makes a deep tree of a long list
        conf["spark.driver.extraJavaOptions"] = "-Xss16m"
    spark = ls.local_session(root / "warehouse", formats=formats, conf=conf)
    for name in shared:
        yield name, suites[name](spark, root)
    spark.stop()


if __name__ == "__main__":
    raise SystemExit(main())
