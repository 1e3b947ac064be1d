"""``python -m bench.formats``: one table in every format, on both versions of Spark."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.environments import ROOT, python_of
from bench.formats.bounds import bounds_of, table_of
from bench.measure import finish, scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.measure import Measured

__all__ = ["jobs_of"]

# Hudi runs on the older one alone
SPARK_VERSIONS = {
    "4.1": ("iceberg", "delta", "parquet"),
    "3.5": ("hudi", "iceberg", "delta", "parquet"),
}
FORMATS = SPARK_VERSIONS["3.5"]


def jobs_of(lines: Sequence[str], formats: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """The Python of a line, and a format that it reads."""
    for line in lines:
        for name in SPARK_VERSIONS[line]:
            if name in formats:
                yield python_of(line), name


def main() -> int:
    """Run what was chosen, one process after the other; exit status 1 when a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.formats", description=__doc__)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument(
        "--lines", nargs="+", choices=SPARK_VERSIONS, default=tuple(SPARK_VERSIONS), help="of Spark"
    )
    parser.add_argument("--rows", type=float, default=20e6, help="rows of the table (20e6)")
    parser.add_argument("--files", type=int, default=1000, help="its data files (1000)")
    parser.add_argument("--dir", type=Path, help="where tables are written (default: temporary)")
    parser.add_argument("--json", type=Path, help="write the figures as JSON to this file")
    arguments = parser.parse_args()
    figures: list[dict[str, Any]] = []
    bounds: list[Measured] = []
    with scratch_folder(arguments.dir) as scratch:
        for python, name in jobs_of(arguments.lines, arguments.formats):
            print(f"\n{name}, {python.parts[-3]}", file=sys.stderr)
            folder = scratch / name
            result = _run(python, name, folder, int(arguments.rows), arguments.files)
            # room for the next one
            shutil.rmtree(folder)
            print("\n" + table_of(result), flush=True)
            held = list(bounds_of(result))
            print("\n".join(map(str, held)), flush=True)
            figures.append(result)
            bounds += held
    return finish(bounds, arguments.json, figures=figures)


def _run(python: Path, name: str, folder: Path, rows: int, files: int) -> dict[str, Any]:
    command = [str(python), "-m", "bench.formats.work", name, str(folder), str(rows), str(files)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document


if __name__ == "__main__":
    raise SystemExit(main())
