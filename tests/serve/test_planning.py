"""Plans of the server beside those that PyIceberg makes itself, without Spark."""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType
from tests.depth import depth
from tests.engines.drawn import IS
from tests.engines.tables import COLUMNS, index_of, rows
from tests.serve.filters import as_json, sent_filter
from tests.serve.tables import ROWS, catalog_of, planner_of

from lakesieve.errors import LakesieveError, StorageError
from lakesieve.index import ReasonCode
from lakesieve.serve.requests import ScanRequest
from lakesieve.tables.iceberg.delete_files import DeleteIndex
from lakesieve.tables.iceberg.manifest_files import ListedFile, Manifest, manifest_files
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.table import Table

    from lakesieve.serve.planning import ScanPlan

FILES = 12
PREDICATES = depth("PREDICATES", test=30, soak=1000)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table of some files without an index."""
    return catalog_of(tmp_path, "db.t", FILES).load_table("db.t")


def _plan(table: Table, wanted: Any, **more: Any) -> ScanPlan:
    """A plan for a filter in the JSON in which PyIceberg sends it."""
    body = {"filter": as_json(wanted), **more}
    return planner_of(table).plan(ScanRequest.parse(body))


def _paths(plan: ScanPlan) -> set[str]:
    return {task["data-file"]["file-path"] for task in plan.tasks}


def _own(table: Table, wanted: Any, snapshot: int | None = None) -> set[str]:
    scan = table.scan(row_filter=wanted, snapshot_id=snapshot)
    return {task.file.file_path for task in scan.plan_files()}


def test_without_an_index(table: Table) -> None:
    """Minima and maxima leave out what they leave out for PyIceberg, and nothing with a row."""
    drawn = random.Random("without")
    fewer = 0
    for _ in range(PREDICATES):
        wanted = sent_filter(drawn)
        own, found = _own(table, wanted), _paths(_plan(table, wanted))
        # this server keeps both zeros, and NaN, which PyIceberg takes for no greater number
        is_float = "'real'" in str(wanted) or "'single'" in str(wanted)
        assert found <= own or is_float, wanted
        assert _rows_of(own - found, wanted, table) == 0, wanted
        fewer += len(found) < FILES
    assert fewer > PREDICATES // 4


def test_partitions(tmp_path: Path) -> None:
    """Partitions are pruned, those of null among them, and none with a row."""
    catalog = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    made = catalog.create_table("db.p", schema=pa.schema(list(COLUMNS.items())))
    with made.update_spec() as update:
        update.add_identity("small")
        update.add_identity("day")
    drawn = random.Random("partitions")
    for _ in range(2):
        made.append(rows(drawn, 20))
    compared = fewer = 0
    whole = len(_own(made, IS.AlwaysTrue()))
    for _ in range(2 * PREDICATES):
        wanted = sent_filter(drawn)
        found = _paths(_plan(made, wanted))
        try:
            own = _own(made, wanted)
        except TypeError:
            # PyIceberg compares the nulls of partitions with numbers
            continue
        compared += 1
        fewer += len(found) < whole
        assert _rows_of(own - found, wanted, made) == 0, wanted
    assert compared > PREDICATES // 2
    assert fewer > compared // 4


NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture(scope="module")
def of_reals(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The metadata of a table with a partition for each of some numbers, for null and for NaN."""
    folder = tmp_path_factory.mktemp("reals")
    catalog = SqlCatalog("shop", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder))
    catalog.create_namespace("db")
    table = catalog.create_table("db.p", schema=pa.schema([("real", pa.float64())]))
    with table.update_spec() as update:
        update.add_identity("real")
    for number, value in enumerate((NAN, None, -0.0, 0.0, 1.0, 9.0, INFINITY)):
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{table.location()}/data/{number}.parquet",
            file_format=FileFormat.PARQUET,
            partition=Record(value),
            record_count=1,
            file_size_in_bytes=500,
        )
        file.spec_id = 1
        with table.transaction() as change, change.update_snapshot().fast_append() as append:
            append.append_data_file(file)
    return table


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        # to Spark NaN is greater than all numbers; to PyIceberg it is neither greater nor less
        (IS.GreaterThan("real", 5.0), "9.0 Infinity NaN"),
        (IS.Not(IS.LessThanOrEqual("real", 5.0)), "9.0 Infinity NaN"),
        (IS.LessThan("real", 5.0), "-0.0 0.0 1.0"),
        (IS.Not(IS.GreaterThanOrEqual("real", 5.0)), "-0.0 0.0 1.0 NaN"),
        (IS.EqualTo("real", 0.0), "-0.0 0.0"),
        (IS.IsNaN("real"), "NaN"),
        (IS.NotNaN("real"), "-0.0 0.0 1.0 9.0 Infinity None"),
        (IS.IsNull("real"), "None"),
        (IS.NotNull("real"), "-0.0 0.0 1.0 9.0 Infinity NaN"),
    ],
    ids=str,
)
def test_partitions_of_nan(of_reals: Table, wanted: Any, kept: str) -> None:
    """A plan has each partition that some client counts among the rows, and no other."""
    tasks = _plan(of_reals, wanted).tasks
    partitions = [str(task["data-file"]["partition"][0]) for task in tasks]
    assert " ".join(sorted(partitions)) == kept


def test_with_indexes(table: Table) -> None:
    """The index leaves out more, none with a match and none that it has not seen."""
    drawn = random.Random("indexes")
    reader = open_table(table)
    drawn_filters = [sent_filter(drawn) for _ in range(PREDICATES)]
    without = [_paths(_plan(table, wanted)) for wanted in drawn_filters]

    def knows(path: str) -> bool:
        return zlib.crc32(path.removeprefix("file:").encode()) % 4 > 0

    for column in COLUMNS:
        if column != "flag":
            index_of(reader, column, covers=knows)
    left_out = 0
    for wanted, before in zip(drawn_filters, without, strict=True):
        plan = _plan(table, wanted)
        found = _paths(plan)
        unknown = {path for path in before if not knows(path)}
        assert unknown <= found <= before, wanted
        assert _rows_of(before - found, wanted, table) == 0, wanted
        left_out += len(before) - len(found)
        codes = {reason.code for reason in plan.pruning.reasons}
        assert ReasonCode.INTERNAL_ERROR not in codes
    assert left_out > 0


def _rows_of(paths: set[str], wanted: Any, table: Table) -> int:
    from pyiceberg.io.pyarrow import ArrowScan

    scan = table.scan(row_filter=wanted)
    tasks = [task for task in scan.plan_files() if task.file.file_path in paths]
    whole = ArrowScan(table.metadata, table.io, scan.projection(), scan.row_filter)
    return int(whole.to_table(tasks).num_rows)


def test_versions_and_names(table: Table) -> None:
    """Names are those of the table, or with use-snapshot-schema those of the snapshot."""
    first = table.current_snapshot()
    assert first is not None
    with table.update_schema() as update:
        update.rename_column("small", "less")
    with table.update_schema() as update:
        update.add_column("small", IntegerType())
    more = rows(random.Random("more"), ROWS)
    table.append(more.append_column("less", pa.array([900] * ROWS, pa.int32())))

    at = {"snapshot-id": first.snapshot_id}
    wanted = IS.EqualTo("small", 900)
    assert len(_paths(_plan(table, IS.AlwaysTrue()))) == FILES + 1
    assert _paths(_plan(table, wanted)) == _own(table, wanted)
    assert len(_paths(_plan(table, IS.AlwaysTrue(), **at))) == FILES
    old = IS.GreaterThan("small", 1000)
    assert len(_paths(_plan(table, old, **at))) == FILES
    assert _paths(_plan(table, old, **at, **{"use-snapshot-schema": True})) == set()
    assert len(_paths(_plan(table, IS.EqualTo("LESS", 900), **{"case-sensitive": False}))) == 1


def test_appends_between_snapshots(table: Table) -> None:
    """An incremental scan has the files of the appends after one snapshot until another."""
    snapshots = [entry.snapshot_id for entry in table.metadata.snapshots]
    between = {"start-snapshot-id": snapshots[2], "end-snapshot-id": snapshots[5]}
    whole = [_own(table, IS.AlwaysTrue(), at) for at in (snapshots[2], snapshots[5])]
    assert _paths(_plan(table, IS.AlwaysTrue(), **between)) == whole[1] - whole[0]
    turned = {"start-snapshot-id": snapshots[5], "end-snapshot-id": snapshots[2]}
    with pytest.raises(LakesieveError, match="not an ancestor"):
        _plan(table, IS.AlwaysTrue(), **turned)


def test_a_task(table: Table) -> None:
    """A task has the whole filter as its residual, and statistics of the columns that are named."""
    wanted = IS.GreaterThan("id", -1000)
    (task, *_) = _plan(table, wanted, **{"stats-fields": ["small"]}).tasks
    assert task["residual-filter"] == {"type": "gt", "term": "id", "value": -1000}
    field_id = table.schema().find_field("small").field_id
    file = task["data-file"]
    assert file["value-counts"] == {"keys": [field_id], "values": [ROWS]}
    assert set(file["lower-bounds"]["keys"]) <= {field_id}
    (plain, *_) = planner_of(table).plan(ScanRequest.parse({})).tasks
    assert plain["residual-filter"] is True
    assert "value-counts" not in plain["data-file"]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"snapshot-id": "5"},
        {"snapshot-id": True},
        {"snapshot-id": 5},
        {"case-sensitive": 1},
        {"stats-fields": ["nothing"]},
        {"select": "id"},
        {"start-snapshot-id": 1},
        {"start-snapshot-id": 1, "end-snapshot-id": 1, "snapshot-id": 1},
        {"filter": 5},
        {"filter": {"type": "eq", "term": "nothing", "value": 5}},
        {"filter": {"type": "eq", "term": "id"}},
        {"filter": {"type": "and", "left": True}},
        {"filter": {"type": "in", "term": "id", "values": 5}},
        {"filter": {"type": "in", "term": "real", "values": [0.5, None]}},
        {"filter": {"type": "gt", "term": "real", "value": None}},
        {"filter": {"left": True}},
    ],
    ids=str,
)
def test_requests_that_are_none(table: Table, body: Any) -> None:
    """What is wrong is named, and nothing is planned."""
    with pytest.raises(LakesieveError):
        planner_of(table).plan(ScanRequest.parse(body))


def test_damaged_deletion_vectors() -> None:
    """One that names no data file, and two of one data file, are errors: no row may come back."""
    manifest = Manifest.of({"manifest_path": "m.avro", "content": 1})

    def vector(referenced: str | None, offset: int) -> ListedFile:
        file = {
            "content": 1,
            "file_path": "d.puffin",
            "file_format": "PUFFIN",
            "partition": {},
            "referenced_data_file": referenced,
            "content_offset": offset,
        }
        return ListedFile(manifest_files(manifest, [{"status": 1, "data_file": file}]), 0)

    for vectors in ([vector(None, 4)], [vector("a.parquet", 4), vector("a.parquet", 13)]):
        with pytest.raises(StorageError, match="deletion vector"):
            DeleteIndex(vectors, unpartitioned=frozenset({0}), fields={})
    known = DeleteIndex([vector("a.parquet", 4)], unpartitioned=frozenset({0}), fields={})
    assert not known.is_empty
