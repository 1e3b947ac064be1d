"""PyIceberg's upsert, beside ours.

``python -m bench.commands.pyiceberg_upsert METADATA PARQUET`` registers a table's metadata in a
catalog in memory, upserts the rows of a Parquet file on ``k``, and prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time

import pyarrow.parquet as pq


def main() -> None:
    """Upsert what the command line names."""
    from pyiceberg.catalog.sql import SqlCatalog

    metadata, source = sys.argv[1:]
    catalog = SqlCatalog("memory", uri="sqlite:///:memory:", warehouse="file:///tmp")
    catalog.create_namespace("commands")
    table = catalog.register_table("commands.rows", metadata)
    rows = pq.read_table(source).cast(table.schema().as_arrow())
    start = time.perf_counter()
    change = table.upsert(rows, join_cols=["k"])
    seconds = time.perf_counter() - start
    figures = {"updated": change.rows_updated, "inserted": change.rows_inserted, "seconds": seconds}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
