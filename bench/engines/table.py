"""An Iceberg table of random keys in many files, with an index, made without Spark."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from tests.kit.building import build_index

from bench.measure import finish, scratch_folder
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench.measure import Measured

__all__ = ["RandomKeys", "run"]

_PARTS = 40
"""Commits of the table, and so manifests."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomKeys:
    """The table.

    Args:
        table: As PyIceberg has it.
        paths: Its data files.
        keys: Keys that are there, each in one row.
    """

    table: Any
    paths: list[str]
    keys: list[int]

    @classmethod
    def make(cls, folder: Path, rows: int, files: int) -> RandomKeys:
        """Write the files, add them to a table, and index the key.

        Args:
            folder: Where all of it goes.
            rows: How many rows, of distinct keys in no order.
            files: In how many files.
        """
        data = folder / "data"
        data.mkdir(parents=True)
        catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder))
        catalog.create_namespace("db")
        schema = pa.schema([("k", pa.int64()), ("v", pa.float64()), ("s", pa.string())])
        table = catalog.create_table("db.t", schema=schema)
        drawn = np.random.default_rng(1)
        keys = drawn.permutation(rows).astype("int64")
        paths = [str(data / f"{number:05d}.parquet") for number in range(files)]
        for number, path in enumerate(paths):
            own = keys[number::files]
            texts = pa.array([f"name-{key % 977}" for key in own.tolist()])
            rows_of = pa.table({"k": own, "v": drawn.random(len(own)), "s": texts}, schema=schema)
            pq.write_table(rows_of, path)
        for part in range(_PARTS):
            table.add_files(paths[part::_PARTS])
        by_path = {f"file:{path}": keys[at::files] for at, path in enumerate(paths)}
        build_index(open_table(table), "k", lambda path: pa.array(by_path[path]))
        chosen = drawn.choice(rows, 64, replace=False).tolist()
        return cls(table=table, paths=paths, keys=chosen)


def run(
    prog: str, about: str | None, measured: Callable[[RandomKeys, Path], Iterable[Measured]]
) -> int:
    """Make the table and measure; exit status 1 when a bound is missed.

    Args:
        prog: The name of the command.
        about: What it measures.
        measured: Yields the figures, of the table and the folder that it is in.
    """
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="write the figures as JSON to this file")
    arguments = parser.parse_args()
    # else Polars may plan by itself, without PyIceberg
    os.environ["POLARS_ICEBERG_PLANNER"] = "pyiceberg"
    with scratch_folder() as scratch:
        print("Making the table and its index ...", file=sys.stderr)
        made = RandomKeys.make(scratch, int(arguments.rows), arguments.files)
        results = []
        for result in measured(made, scratch):
            print(str(result), flush=True)
            results.append(result)
    return finish(results, arguments.json)
