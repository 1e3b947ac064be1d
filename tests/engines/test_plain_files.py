"""Data files that pyarrow reads alone give what PyIceberg's reader gives; others are left to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, FloatType, IntegerType, LongType, NestedField, StringType

from lakesieve.engines import arrow
from lakesieve.engines.plain_files import plain_rows
from lakesieve.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.table import Table

ROWS = pa.table(
    {
        "a": pa.array([1, None, 3], pa.int32()),
        "s": pa.array(["x", "", None]),
        "f": pa.array([1.5, float("nan"), -0.0], pa.float32()),
    }
)
FIELDS = (
    NestedField(1, "a", IntegerType(), required=False),
    NestedField(2, "s", StringType(), required=False),
    NestedField(3, "f", FloatType(), required=False),
)


def _with_ids(table: Table) -> None:
    table.append(ROWS)


def _without_ids(table: Table) -> None:
    path = table.location().removeprefix("file://") + "/added.parquet"
    pq.write_table(ROWS, path)
    table.add_files([path])


def _renamed(table: Table) -> None:
    table.append(ROWS)
    with table.update_schema() as update:
        update.rename_column("a", "b")


def _swapped(table: Table) -> None:
    """Each of two columns has the name that the other had."""
    with table.update_schema() as update:
        update.update_column("f", DoubleType())
    table.append(ROWS.set_column(2, "f", ROWS["f"].cast(pa.float64())))
    with table.update_schema() as update:
        update.rename_column("a", "c")
    with table.update_schema() as update:
        update.rename_column("s", "a")


def _dropped_and_added(table: Table) -> None:
    table.append(ROWS)
    with table.update_schema() as update:
        update.delete_column("a")
    with table.update_schema() as update:
        update.add_column("a", IntegerType())


def _promoted(table: Table) -> None:
    table.append(ROWS)
    with table.update_schema() as update:
        update.update_column("a", LongType())


def _nested(table: Table) -> None:
    inner = pa.array([{"k": 1}, None, {"k": None}], pa.struct([("k", pa.int32())]))
    table.append(pa.table({"st": inner}))


CASES: dict[str, tuple[Callable[[Any], None], bool]] = {
    "with ids": (_with_ids, True),
    "without ids": (_without_ids, True),
    "renamed": (_renamed, True),
    "swapped": (_swapped, True),
    "dropped and added": (_dropped_and_added, False),
    "promoted": (_promoted, False),
    "nested": (_nested, False),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_pyiceberg(tmp_path: Path, case: str) -> None:
    """Whatever became of the columns since, and whoever read the file."""
    change, is_plain = CASES[case]
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    fields: Any = pa.schema([("st", pa.struct([("k", pa.int32())]))])
    table = catalog.create_table("db.t", schema=fields if case == "nested" else Schema(*FIELDS))
    change(table)
    table.refresh()

    found = arrow.dataset(table).to_table()

    expected = table.scan().to_arrow().cast(found.schema)
    assert repr(found.to_pylist()) == repr(expected.to_pylist())
    schema = table.schema()
    target = schema_to_pyarrow(schema, include_field_ids=False)
    (task,) = table.scan().plan_files()
    assert (plain_rows(task, schema, target, table.metadata, table.io) is not None) == is_plain


def test_values_of_partitions(tmp_path: Path) -> None:
    """A column that only the partition knows is PyIceberg's matter."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "a"))
    table = catalog.create_table("db.t", schema=Schema(*FIELDS), partition_spec=spec)
    folder = tmp_path / "a=7"
    folder.mkdir()
    pq.write_table(pa.table({"a": pa.array([7, 7], pa.int32()), "s": ["x", "y"]}), folder / "1")
    table.add_files([str(folder / "1")])
    pq.write_table(pa.table({"s": ["x", "y"]}), folder / "1")

    found = arrow.dataset(table).to_table()

    expected = table.scan().to_arrow().cast(found.schema)
    assert found.to_pylist() == expected.to_pylist()


def test_deleted_rows(tmp_path: Path) -> None:
    """Neither are files of which rows are deleted, nor one that is gone."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", schema=Schema(*FIELDS))
    table.append(ROWS)
    schema = table.schema()
    target = schema_to_pyarrow(schema, include_field_ids=False)
    (task,) = table.scan().plan_files()
    assert plain_rows(task, schema, target, table.metadata, table.io) is not None
    task.delete_files.add(task.file)
    assert plain_rows(task, schema, target, table.metadata, table.io) is None
    task.delete_files.clear()
    (tmp_path / task.file.file_path.removeprefix(f"file://{tmp_path}/")).unlink()
    assert plain_rows(task, schema, target, table.metadata, table.io) is None
    with pytest.raises(StorageError, match="cannot be read by PyIceberg"):
        arrow.dataset(table).to_table()
