"""A table of very many files, of which there is only the metadata, and an index over them."""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from tests.kit.building import build_index

from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ROWS_A_FILE", "ManyFiles"]

ROWS_A_FILE = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManyFiles:
    """The table ``db.t`` of a catalog in the file ``c.db``.

    Args:
        table: As PyIceberg has it.
        keys: Some of its keys, each in one row.
    """

    table: Any
    keys: list[int]

    @classmethod
    def make(cls, folder: Path, files: int, *, of_a_manifest: int) -> ManyFiles:
        """Commit the files of a table of random keys, and index it.

        Args:
            folder: Where the metadata goes.
            files: How many files there are.
            of_a_manifest: How many of them in each.
        """
        # not where Hudi's tables are measured
        from pyiceberg.catalog.sql import SqlCatalog

        folder.mkdir(parents=True)
        rows = ROWS_A_FILE
        catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder))
        catalog.create_namespace("db")
        schema = pa.schema([("k", pa.int64()), ("v", pa.float64()), ("s", pa.string())])
        # else a commit of Spark's may join them to a few large ones
        kept = {"commit.manifest-merge.enabled": "false"}
        table = catalog.create_table("db.t", schema=schema, properties=kept)
        drawn = np.random.default_rng(1)
        keys = drawn.permutation(rows * files)
        names = (uuid.UUID(bytes=drawn.bytes(16)) for _ in range(files))
        paths = [
            f"{table.location()}/data/{number % 200:05d}-{number}-{name}-0-00001.parquet"
            for number, name in enumerate(names)
        ]
        for start in range(0, files, of_a_manifest):
            with (
                table.transaction() as transaction,
                transaction.update_snapshot().fast_append() as append,
            ):
                for path in paths[start : start + of_a_manifest]:
                    append.append_data_file(_data_file(path, rows, rows * files))
        by_path = {
            f"file:{path.removeprefix('file://')}": keys[n::files] for n, path in enumerate(paths)
        }
        build_index(open_table(table), "k", lambda path: pa.array(by_path[path]))
        chosen = drawn.choice(keys, 64, replace=False).tolist()
        return cls(table=table, keys=chosen)


def _data_file(path: str, rows: int, keys: int) -> DataFile:
    """A file whose minima and maxima leave it in every plan."""
    columns = (1, 2, 3)
    return DataFile.from_args(
        _table_format_version=2,
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows,
        file_size_in_bytes=10_000,
        column_sizes=dict.fromkeys(columns, 500),
        value_counts=dict.fromkeys(columns, rows),
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
