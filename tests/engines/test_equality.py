"""Equality deletes, written as Flink writes them, are applied to the rows of candidate files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from tests.engines.iceberg_table import Table
from tests.engines.tables import index_of

from lakesieve.engines import arrow
from lakesieve.engines import polars as polars_engine
from lakesieve.engines.equality import EqualityDeletes
from lakesieve.errors import UnsupportedError
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Three files of four rows, and an index on ``k``."""
    made = Table(tmp_path, partitioned=False)
    for start in (0, 1, 2):
        made.append(*((k, f"s{k}", k / 2, k % 2) for k in range(start, 12, 3)))
    index_of(open_table(made.iceberg), "k", covers=lambda _: True)
    return made


def test_deleted_rows_are_gone(table: Table) -> None:
    """Of all files, and of those that a filter leaves; nothing of newer files."""
    table.delete(["k"], [(3,), (7,), (99,)])

    assert table.keys() == [0, 1, 10, 11, 2, 4, 5, 6, 8, 9]
    assert table.keys(filter=pc.field("k") == 7) == []
    assert arrow.last_pruning()[0].files_read == 1
    assert table.keys(filter=pc.field("k") == 8) == [8]
    frame = polars_engine.scan(table.name)
    assert frame.filter(pl.col("k").is_in([3, 4])).select("s").collect().rows() == [("s4",)]


def test_newer_rows_stay(tmp_path: Path) -> None:
    """A delete is of rows that were there before it, not of those that come with or after it."""
    made = Table(tmp_path, partitioned=False)
    made.append((1, "old", 0.0, 0), (2, "old", 0.0, 0))
    made.delete(["k"], [(1,)])
    before = made.keys()
    old = made.iceberg.metadata.snapshots[0].snapshot_id

    assert before == [2]
    assert arrow.dataset(made.name, old).to_table().num_rows == 2


@pytest.mark.parametrize(
    ("columns", "keys", "left"),
    [
        (["s"], [("a",)], [2, 3, 4, 5]),
        (["s"], [(None,)], [1, 2, 4, 5]),
        (["r"], [(float("nan"),)], [1, 2, 3, 5]),
        (["r"], [(0.0,)], [2, 3, 4, 5]),
        (["s", "r"], [("a", 1.0), ("b", 1.0), (None, None)], [1, 4, 5]),
        (["k", "p"], [(1, 1), (5, None)], [1, 2, 3, 4]),
    ],
)
def test_values_of_every_kind(
    tmp_path: Path, columns: list[str], keys: list[tuple[Any, ...]], left: list[int]
) -> None:
    """Null is equal to null and NaN to NaN; several columns count together."""
    made = Table(tmp_path, partitioned=False)
    rows = [(1, "a", 0.0, 0), (2, "b", 1.0, 0), (3, None, None, 0), (4, "c", float("nan"), 0)]
    made.append(*rows, (5, "d", 2.0, None))
    made.delete(columns, keys)

    assert made.keys() == left


def test_partitions(tmp_path: Path) -> None:
    """A delete of a partitioned table is of its own partition alone."""
    made = Table(tmp_path, partitioned=True)
    made.append((1, "a", 0.0, 0), (1, "a", 0.0, 1), (2, "b", 0.0, 1))
    made.delete(["k"], [(1,)], partition=1)
    found = arrow.dataset(made.name).to_table(columns=["k", "p"]).to_pylist()

    assert sorted(map(str, found)) == ["{'k': 1, 'p': 0}", "{'k': 2, 'p': 1}"]


def test_fields_that_are_gone(table: Table) -> None:
    """A delete by a column that the version does not have is refused by name."""
    table.delete(["s"], [("s3",)])
    document = json.loads(table.path.read_text())
    for schema in document["schemas"]:
        schema["fields"] = [field for field in schema["fields"] if field["name"] != "s"]
    table.path.write_text(json.dumps(document))

    with pytest.raises(UnsupportedError, match="not columns of this version"):
        table.keys()


class _Delete:
    """A delete file that compares one field."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def value(self, name: str) -> Any:
        """Return what its manifest says of it."""
        return {"file_format": "parquet", "equality_ids": [1]}[name]


def test_old_times_of_imported_deletes(tmp_path: Path) -> None:
    """INT96 times of a delete file are compared as the times that Spark reads, in any year."""
    times = [datetime(9999, 12, 31, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC)]
    field = pa.field("t", pa.timestamp("us", "UTC"), metadata={"PARQUET:field_id": "1"})
    rows = pa.table({"t": times}, pa.schema([field]))
    path = tmp_path / "deletes.parquet"
    pq.write_table(rows.slice(0, 1), path, use_deprecated_int96_timestamps=True)
    delete: Any = _Delete(path)

    alive = EqualityDeletes().alive(rows, [delete], {1: "t"}, PyArrowFileIO())

    assert alive["t"].to_pylist() == times[1:]
