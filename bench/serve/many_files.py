"""A table of very many files, of which there is only the metadata."""

from __future__ import annotations

import struct
import subprocess
from typing import TYPE_CHECKING

import httpx
import numpy as np
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

from bench.measure import Measured
from bench.serve.server import planned, server, throughput
from lakesieve.tables.opening import open_table
from lakesieve.testing.building import build_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["measured"]

PLAN_MILLISECONDS = 60.0
_FILES_OF_A_MANIFEST = 1000
_ROWS = 20


def measured(folder: Path, files: int) -> Iterator[Measured]:
    """Plan for a key of random keys.

    Args:
        folder: Where the metadata goes.
        files: How many files there are.
    """
    keys = _make(folder, files)
    with server(folder) as process, httpx.Client() as client:
        first = planned(client, keys[0])
        taken = sorted(planned(client, key) for key in keys)
        memory = int(
            subprocess.run(
                ["ps", "-o", "rss=", "-p", str(process)], capture_output=True, check=True
            ).stdout
        )
        yield Measured(
            name=f"a warm plan of {files:,} files, as a client sees it",
            value=taken[len(taken) // 2] * 1000,
            unit="ms",
            at_most=PLAN_MILLISECONDS,
            details={
                "the first, which reads all manifests": f"{first:.1f} s",
                "memory of the server": f"{memory / 1024:.0f} MB",
            },
        )
        yield Measured(
            name=f"plans a second of {files:,} files, of four clients",
            value=throughput(keys),
            unit="plans/s",
        )


def _make(folder: Path, files: int) -> list[int]:
    """Commit the files of a table of random keys, and index it; some of the keys."""
    folder.mkdir()
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder))
    catalog.create_namespace("db")
    schema = pa.schema([("k", pa.int64()), ("v", pa.float64()), ("s", pa.string())])
    table = catalog.create_table("db.t", schema=schema)
    drawn = np.random.default_rng(1)
    keys = drawn.permutation(_ROWS * files)
    paths = [f"{table.location()}/data/{number:07d}-{'0' * 36}.parquet" for number in range(files)]
    for start in range(0, files, _FILES_OF_A_MANIFEST):
        with (
            table.transaction() as transaction,
            transaction.update_snapshot().fast_append() as append,
        ):
            for path in paths[start : start + _FILES_OF_A_MANIFEST]:
                append.append_data_file(_data_file(path, _ROWS * files))
    by_path = {
        f"file:{path.removeprefix('file://')}": keys[n::files] for n, path in enumerate(paths)
    }
    build_index(open_table(table), "k", lambda path: pa.array(by_path[path]))
    return [int(key) for key in drawn.choice(keys, 64, replace=False)]


def _data_file(path: str, keys: int) -> DataFile:
    """A file whose minima and maxima leave it in every plan."""
    columns = (1, 2, 3)
    return DataFile.from_args(
        _table_format_version=2,
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=_ROWS,
        file_size_in_bytes=10_000,
        column_sizes=dict.fromkeys(columns, 500),
        value_counts=dict.fromkeys(columns, _ROWS),
        null_value_counts=dict.fromkeys(columns, 0),
        nan_value_counts={2: 0},
        lower_bounds={1: struct.pack("<q", 0), 2: struct.pack("<d", 0), 3: b"name-0"},
        upper_bounds={1: struct.pack("<q", keys), 2: struct.pack("<d", 1), 3: b"name-9"},
        key_metadata=None,
        split_offsets=[4],
        equality_ids=None,
        sort_order_id=None,
        spec_id=0,
    )
