"""The result for an Iceberg table without an index: its manifests' counts, and the next step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import lakesieve as ls
from lakesieve.report import to_json

if TYPE_CHECKING:
    from pathlib import Path


def test_without_an_index_the_next_step_is_named(tmp_path: Path) -> None:
    """The result without an index never says that files are not indexed, even in JSON."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "d"))
    catalog.create_namespace("db")
    rows = pa.table({"rank": pa.array(range(10), pa.int64())})
    table = catalog.create_table("db.t", schema=rows.schema)
    for first in range(4):
        table.append(pa.table({"rank": pa.array(range(first * 10, first * 10 + 10), pa.int64())}))

    found = ls.find_files(table, "rank = 5")
    document = json.loads(to_json(found))

    assert (document["total"], document["left_by_format"], document["uncovered"]) == (4, 1, 0)
    assert len(found.paths) == 1
    (reason,) = document["reasons"]
    assert reason["code"] == "no-index"
    assert "none is on rank" in reason["detail"]
    assert "lakesieve create db.t rank" in reason["detail"]
    assert "seen" not in str(found)
