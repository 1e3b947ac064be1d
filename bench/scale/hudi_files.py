"""A Hudi table of very many base files, all but a few of which are holes."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from tests.kit.building import build_index

from bench.synthetic import ROWS_A_FILE
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["OPTIONS", "make_hudi"]

OPTIONS = {
    "hoodie.table.name": "many",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    # an upsert would read files that are holes
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.clean.automatic": "false",
    # its metadata table would know the files that Hudi has written alone
    "hoodie.metadata.enable": "false",
}
_PARTITIONS = 200
_SIZE = 10_000


def make_hudi(spark: SparkSession, folder: Path, files: int) -> None:
    """Write a file for each partition, put the others beside them, and index all.

    Args:
        spark: The session.
        folder: Of the table.
        files: How many files there are.
    """
    rows = spark.range(_PARTITIONS).selectExpr(
        "id AS k", "0.5D AS v", "'name' AS s", "CAST(id AS STRING) AS p"
    )
    rows.write.format("hudi").options(**OPTIONS).save(str(folder))
    drawn = np.random.default_rng(1)
    for partition in range(_PARTITIONS):
        (real,) = (folder / str(partition)).glob("*.parquet")
        # of one commit, in file groups of their own
        _, written_by, instant = real.name.split("_")
        for _ in range(files // _PARTITIONS - 1):
            name = f"{uuid.UUID(bytes=drawn.bytes(16))}-0_{written_by}_{instant}"
            with real.with_name(name).open("wb") as hole:
                hole.truncate(_SIZE)
    table = open_table(f"hudi:{folder}")
    paths = table.live_files(table.version()).column("path").to_pylist()
    keys = drawn.permutation(ROWS_A_FILE * len(paths))
    by_path = {path: keys[number :: len(paths)] for number, path in enumerate(paths)}
    build_index(table, "k", lambda path: pa.array(by_path[path]))
