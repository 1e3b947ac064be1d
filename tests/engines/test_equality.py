"""Equality deletes, written as Flink writes them, are applied to the rows of candidate files."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.typedef import Record
from tests.engines.tables import index_of

from lakesieve.engines import arrow
from lakesieve.engines import polars as polars_engine
from lakesieve.errors import UnsupportedError
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema([("k", pa.int64()), ("s", pa.string()), ("r", pa.float64()), ("p", pa.int32())])


class _DeleteWriter(ManifestWriterV2):
    """A manifest of delete files, which PyIceberg itself does not write."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class Table:
    """A table whose metadata file is written anew with each commit of deletes."""

    def __init__(self, folder: Path, *, partitioned: bool) -> None:
        self.folder = folder
        uri = f"sqlite:///{folder}/c.db"
        catalog = SqlCatalog("c", uri=uri, warehouse=str(folder / "d"))
        catalog.create_namespace("db")
        self.iceberg = catalog.create_table("db.t", schema=SCHEMA)
        if partitioned:
            with self.iceberg.update_spec() as update:
                update.add_identity("p")
        self._numbers = itertools.count(1)

    def append(self, *rows: tuple[Any, ...]) -> None:
        columns = list(zip(*rows, strict=True))
        self.iceberg.append(pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA))

    def delete(
        self, columns: list[str], keys: list[tuple[Any, ...]], partition: int | None = None
    ) -> None:
        """Commit a delete file of some columns' values, through the catalog."""
        number, table = next(self._numbers), self.iceberg
        metadata: Any = table.metadata
        io = table.io
        snapshot = table.current_snapshot()
        assert snapshot is not None
        ids = [metadata.schema().find_field(name).field_id for name in columns]
        fields = [
            SCHEMA.field(name).with_metadata({"PARQUET:field_id": str(field_id)})
            for name, field_id in zip(columns, ids, strict=True)
        ]
        arrays = [pa.array([key[at] for key in keys], f.type) for at, f in enumerate(fields)]
        path = f"{self.folder}/delete-{number}.parquet"
        pq.write_table(pa.table(arrays, schema=pa.schema(fields)), path)
        file = DataFile.from_args(
            content=DataFileContent.EQUALITY_DELETES,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(partition) if partition is not None else Record(),
            record_count=len(keys),
            file_size_in_bytes=1,
            equality_ids=ids,
        )
        file.spec_id = metadata.default_spec_id
        sequence, snapshot_id = metadata.last_sequence_number + 1, 1000 + number
        output = io.new_output(f"{self.folder}/manifest-{number}.avro")
        with _DeleteWriter(
            metadata.spec(), metadata.schema(), output, snapshot_id, "null"
        ) as writer:
            entry = ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file
            )
            writer.add_entry(entry)
            manifest = writer.to_manifest_file()
        listed = io.new_output(f"{self.folder}/list-{number}.avro")
        parent = snapshot.snapshot_id
        with write_manifest_list(2, listed, snapshot_id, parent, sequence, "null") as lists:
            lists.add_manifests([manifest, *snapshot.manifests(io)])
        document = json.loads(metadata.model_dump_json())
        made = {
            **document["snapshots"][-1],
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": parent,
            "sequence-number": sequence,
            "manifest-list": listed.location,
        }
        document["snapshots"].append(made)
        document["current-snapshot-id"] = snapshot_id
        document["refs"]["main"]["snapshot-id"] = snapshot_id
        document["last-sequence-number"] = sequence
        self._publish(document)

    def _publish(self, document: dict[str, Any]) -> None:
        from pyiceberg.table.metadata import TableMetadataUtil

        self.iceberg.metadata = TableMetadataUtil.parse_obj(document)
        self.path = self.folder / "t.metadata.json"
        self.path.write_text(json.dumps(document))

    @property
    def name(self) -> str:
        return f"iceberg:{self.path}"

    def keys(self, **arguments: Any) -> list[Any]:
        found = arrow.dataset(self.name).to_table(columns=["k"], **arguments)
        return sorted(found.column("k").to_pylist(), key=repr)


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
