"""What PyIceberg cannot read is refused by name, in one line, and the rest is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField

import lakesieve as ls
from lakesieve.engines import arrow
from lakesieve.engines import duckdb as duckdb_engine
from lakesieve.engines import polars as polars_engine
from lakesieve.engines.iceberg_reading import named_errors
from lakesieve.errors import ErrorKind, StorageError, UnsupportedError

SCHEMA = Schema(
    NestedField(1, "k", LongType(), required=True), NestedField(2, "v", LongType(), required=False)
)
SPEC = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "k"))
ROWS = pa.table(
    {"k": [7, 7], "v": [1, 2]}, pa.schema([pa.field("k", pa.int64(), False), ("v", pa.int64())])
)


def _table(folder: Path, **options: Any) -> Any:
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, **options)
    table.append(ROWS)
    return table


def _data_file(table: Any) -> Path:
    (task,) = table.scan().plan_files()
    return Path(task.file.file_path.removeprefix("file://"))


def _changed(table: Any, change: Any) -> str:
    """The path of the metadata file after a change of its document."""
    path = Path(table.metadata_location.removeprefix("file://"))
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return f"iceberg:{path}"


def test_a_partition_column_that_a_file_lacks(tmp_path: Path) -> None:
    """A required identity column that stands in the partition alone is named as the reason."""
    table = _table(tmp_path, partition_spec=SPEC)
    stored = pq.read_table(_data_file(table), partitioning=None)
    pq.write_table(stored.select(["v"]), _data_file(table))

    with pytest.raises(UnsupportedError, match=r"could not be found in the file: 1: k") as caught:
        arrow.dataset(table).to_table()
    assert caught.value.kind is ErrorKind.UNSUPPORTED_TABLE


def test_files_that_are_damaged_or_gone(tmp_path: Path) -> None:
    """A damaged file, and one that is gone, end in errors of lakesieve's."""
    table = _table(tmp_path)
    _data_file(table).write_bytes(b"no Parquet at all, but long enough")
    with pytest.raises((UnsupportedError, StorageError), match="cannot be read by PyIceberg"):
        arrow.dataset(table).to_table()
    _data_file(table).unlink()
    with pytest.raises(StorageError, match="cannot be read by PyIceberg"):
        arrow.dataset(table).to_table()


def test_a_snapshot_of_the_oldest_writers(tmp_path: Path) -> None:
    """A snapshot that lists manifests itself, which PyIceberg cannot parse, is refused by name."""

    def without_list(document: dict[str, Any]) -> None:
        for snapshot in document["snapshots"]:
            snapshot["manifests"] = [snapshot.pop("manifest-list")]

    name = _changed(_table(tmp_path), without_list)
    with pytest.raises(UnsupportedError, match="cannot be read by PyIceberg: ValidationError"):
        arrow.dataset(name)


def test_manifests_without_counts(tmp_path: Path) -> None:
    """A table of version 1 whose manifest list has no counts is read, which PyIceberg does not."""
    table = _table(tmp_path, properties={"format-version": "1"})
    path = Path(table.current_snapshot().manifest_list.removeprefix("file://"))
    with path.open("rb") as stream:
        listed: Any = fastavro.reader(stream)
        entries, schema = list(listed), listed.writer_schema
    schema["fields"] = [field for field in schema["fields"] if "count" not in field["name"]]
    with path.open("wb") as stream:
        fastavro.writer(stream, schema, entries)

    found = arrow.dataset(table).to_table(filter=pc.field("v") == 1)

    assert found.to_pylist() == [{"k": 7, "v": 1}]
    assert len(ls.find_files(table, "k = 7").paths) == 1


@pytest.mark.parametrize("kind", ["variant", "geometry(OGC:CRS84)", "geography"])
def test_a_column_of_an_unknown_type(tmp_path: Path, kind: str) -> None:
    """The other columns are read, also those of a struct or list beside it; it alone is refused."""
    inner = {"type": "list", "element-id": 11, "element": kind, "element-required": False}

    def add(document: dict[str, Any]) -> None:
        document["format-version"] = 3
        document["next-row-id"] = 0
        for schema in document["schemas"]:
            schema["fields"] += [
                {"id": 9, "name": "odd", "required": True, "type": kind},
                {"id": 10, "name": "many", "required": False, "type": inner},
            ]

    table = _changed(_table(tmp_path), add)
    dataset = arrow.dataset(table)
    assert dataset.schema.names == ["k", "v", "odd", "many"]
    assert dataset.to_table(columns=["k", "v"]).to_pylist() == ROWS.to_pylist()
    for name in ("odd", "many"):
        with pytest.raises(UnsupportedError, match=f"The column {name} is not read without Spark"):
            dataset.to_table(columns=[name])
    relation = duckdb_engine.relation(duckdb.connect(), table)
    assert relation.filter("k = 7").project("v").order("v").fetchall() == [(1,), (2,)]
    frame = polars_engine.scan(table).filter(pl.col("k") == 7).select("v").collect()
    assert sorted(frame.rows()) == [(1,), (2,)]
    assert len(ls.find_files(table, "k = 7").paths) == 1


def test_old_times_of_imported_files(tmp_path: Path) -> None:
    """INT96 times of a file that was brought in are the times that Spark reads, in any year."""
    times = [datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC), None]
    kind = pa.timestamp("us", "UTC")
    held = pa.table({"id": [1, 2, 3], "t": pa.array(times, kind)})
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", held.schema)
    table.append(held)
    # as the file of another writer, which has no field ids
    pq.write_table(held, _data_file(table), use_deprecated_int96_timestamps=True)
    names = table.schema().name_mapping.model_dump_json()
    with table.transaction() as change:
        change.set_properties({"schema.name-mapping.default": names})

    found = arrow.dataset(table).to_table()
    last = arrow.dataset(table).to_table(filter=pc.field("t") == pa.scalar(times[0], kind))

    assert found["t"].to_pylist() == times
    assert last["id"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("Incorrect magic bytes, expected b'PFA1'\nmore"), ErrorKind.UNSUPPORTED_TABLE),
        (TypeError("'>' not supported between NoneType and int"), ErrorKind.UNSUPPORTED_TABLE),
        (pa.ArrowInvalid("no"), ErrorKind.UNSUPPORTED_TABLE),
        (FileNotFoundError("gone"), ErrorKind.STORAGE_FAILED),
    ],
    ids=("vector", "counts", "arrow", "file"),
)
def test_errors_are_named(error: Exception, kind: ErrorKind) -> None:
    """A bare deletion vector, missing counts and the like end in one line with the table's name."""
    with pytest.raises((UnsupportedError, StorageError)) as caught, named_errors("db.t"):
        raise error
    assert caught.value.kind is kind
    assert str(caught.value).startswith(f"db.t cannot be read by PyIceberg: {type(error).__name__}")
    assert "\n" not in caught.value.message
