"""An Iceberg table of random keys in many files, with an index, made without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

from lakesieve.tables.opening import open_table
from lakesieve.testing.building import build_index

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["RandomKeys"]

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
