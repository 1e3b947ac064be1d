"""``python -m bench.commands``: row-level commands, joins and bulk look-ups, side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

import lakesieve as ls
from bench.commands.suite import run
from bench.commands.table import KINDS, Facts
from bench.measure import finish, scratch_folder
from lakesieve.spark.tables.registry import formats_of
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from bench.measure import Measured


def main() -> int:
    """Run the chosen formats; exit status 1 when a bound is missed."""
    formats = formats_of(spark_version_of(pyspark.__version__))
    names = {spec.name for spec in formats}
    kinds = [name for name, kind in KINDS.items() if kind.format in names]
    parser = argparse.ArgumentParser(prog="python -m bench.commands", description=__doc__)
    known = f"one of {', '.join(kinds)}"
    choices = [[], *kinds]  # argparse looks up the default, too
    parser.add_argument("kinds", nargs="*", metavar="KIND", choices=choices, default=[], help=known)
    parser.add_argument("--rows", type=float, default=20e6, help="rows of each table (20e6)")
    parser.add_argument("--files", type=int, default=1000, help="data files of each table (1000)")
    parser.add_argument("--rounds", type=int, default=3, help="timed rounds of each way (3)")
    parser.add_argument("--dir", type=Path, help="where tables are written (default: temporary)")
    parser.add_argument("--json", type=Path, help="write the figures as JSON to this file")
    parser.add_argument("--limit", type=float, default=600, help="seconds PyIceberg has (600)")
    given = parser.parse_args()
    facts = Facts(rows=int(given.rows), files=given.files, rounds=given.rounds)
    results: list[Measured] = []
    with scratch_folder() as scratch:
        root = given.dir or scratch
        response = given.kinds or [name for name in kinds if KINDS[name].by_default]
        spark = ls.local_session(
            root / "warehouse",
            formats=sorted({KINDS[name].format for name in response}),
            conf={"spark.master": "local[2]", "spark.sql.shuffle.partitions": "8"},
        )
        for name in response:
            print(f"\n{name}: {facts.rows:,} rows in {facts.files:,} files", file=sys.stderr)
            for result in run(spark, root, KINDS[name], facts, given.limit):
                print(result, flush=True)
                results.append(result)
        spark.stop()
    return finish(results, given.json, spark=pyspark.__version__)


if __name__ == "__main__":
    raise SystemExit(main())
