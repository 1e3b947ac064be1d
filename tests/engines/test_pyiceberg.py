"""PyIceberg's scans skip files and give the rows that they give without an index."""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import IntegerType
from tests.depth import depth
from tests.engines.drawn import IS, pyiceberg_filter
from tests.engines.tables import COLUMNS, index_of, rows

import lakesieve as ls
from lakesieve.engines import pyiceberg as engine
from lakesieve.index import ReasonCode
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyiceberg.table import Table

FILES, ROWS = 12, 5
PREDICATES = depth("PREDICATES", test=20, soak=1000)


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    """A catalog in SQLite, whose warehouse has odd signs in its path."""
    warehouse = tmp_path / "wäre house 100%25"
    warehouse.mkdir()
    made = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(warehouse))
    made.create_namespace("db")
    return made


def _all(_: str) -> bool:
    return True


def _some(path: str) -> bool:
    return zlib.crc32(path.encode()) % 4 > 0


@pytest.fixture
def table(catalog: SqlCatalog, request: pytest.FixtureRequest) -> Table:
    """A table of some files with an index on most columns, not all of which know all files."""
    drawn = random.Random(request.node.name)
    made = catalog.create_table("db.t", schema=pa.schema(list(COLUMNS.items())))
    for _ in range(FILES):
        made.append(rows(drawn, ROWS))
    reader = open_table(made)
    for column in COLUMNS:
        if column != "flag":
            index_of(reader, column, covers=_some if drawn.random() < 0.5 else _all)
    return made


@pytest.fixture
def enabled() -> Iterator[None]:
    """Skipping is on."""
    engine.enable()
    yield
    engine.disable()


def _rows(scan: Any) -> list[str] | None:
    """Return the rows; ``None`` if PyIceberg compares the nulls of partitions with numbers."""
    try:
        return sorted(map(repr, scan.to_arrow().to_pylist()))
    except TypeError:
        return None


def _left_out(table: Table, drawn: random.Random, snapshot: int | None = None) -> int:
    """Insist that drawn filters give the same rows; tells how many files were left out."""
    total = read = 0
    for _ in range(PREDICATES):
        wanted = pyiceberg_filter(drawn)
        plain = table.scan(row_filter=wanted, snapshot_id=snapshot)
        found = engine.scan(table, wanted, snapshot_id=snapshot)

        rows, expected = _rows(found), _rows(plain)
        assert expected is None or rows == expected, wanted
        (pruned,) = engine.last_pruning()
        assert not {r.code for r in pruned.reasons} & {ReasonCode.INTERNAL_ERROR}, pruned
        total, read = total + pruned.files_total, read + pruned.files_read
    return total - read


def test_the_same_rows(table: Table) -> None:
    """Filters of every kind on columns of every type, nulls and NaN and odd texts among them."""
    assert _left_out(table, random.Random("same rows")) > 0


def test_through_the_life_of_a_table(table: Table) -> None:
    """Renames, new columns, deletes and new files: every version gives its rows."""
    drawn = random.Random("life")
    first = table.current_snapshot()
    assert first is not None
    with table.update_schema() as update:
        update.rename_column("small", "less")
    with table.update_schema() as update:
        update.add_column("small", IntegerType())
    table.delete(IS.GreaterThan("day", "2002-01-01"))
    more = rows(drawn, ROWS)
    table.append(more.append_column("less", pa.array([1] * ROWS, pa.int32())))

    # most files were rewritten, and no index has seen them
    now, then = _left_out(table, drawn), _left_out(table, drawn, first.snapshot_id)
    assert now + then > 0


def test_a_partitioned_table(catalog: SqlCatalog) -> None:
    """Partitions are pruned as before."""
    drawn = random.Random("partitioned")
    schema = pa.schema(list(COLUMNS.items()))
    made = catalog.create_table("db.p", schema=schema)
    with made.update_spec() as update:
        update.add_identity("small")
        update.add_identity("flag")
    for _ in range(3):
        made.append(rows(drawn, 20))
    for column in ("text", "day", "small"):
        index_of(open_table(made), column, covers=_all)

    assert _left_out(made, drawn) > 0


def test_a_point_reads_one_file(table: Table, enabled: None) -> None:
    """With skipping on, a plain scan reads the file of its key, and PyIceberg's delete does."""
    drawn = random.Random("point")
    key = rows(drawn, 1).set_column(0, "id", pa.array([123_456_789], pa.int64()))
    reader = open_table(table)
    table.append(key)
    ls.open_index(table, "id").drop()
    index_of(reader, "id", covers=_all)

    assert table.scan(row_filter="id = 123456789").to_arrow().num_rows == 1
    (pruned,) = ls.last_pruning()
    assert (pruned.files_total, pruned.files_read) == (FILES + 1, 1)
    assert pruned.indexes == ("id",)
    assert pruned.predicate == "id = 123456789"
    table.delete(IS.EqualTo("id", 123_456_789))
    assert engine.last_pruning()[0].files_read <= 1
    assert table.scan(row_filter="id = 123456789").to_arrow().num_rows == 0
    assert table.scan(row_filter=IS.AlwaysFalse()).to_arrow().num_rows == 0


def test_switched_off(table: Table) -> None:
    """``disable`` leaves scans as they were, however often it was switched on."""
    engine.enable()
    engine.enable()
    engine.disable()
    engine.disable()
    before = engine.last_pruning()

    table.scan(row_filter="id = 5").to_arrow()

    assert engine.last_pruning() == before


def _codes(table: Table) -> set[ReasonCode]:
    found = engine.scan(table, "id = 5").to_arrow()
    assert found.num_rows == table.scan(row_filter="id = 5").to_arrow().num_rows
    (pruned,) = engine.last_pruning()
    assert pruned.files_read == pruned.files_total
    return {reason.code for reason in pruned.reasons}


def test_broken_indexes_read_everything(table: Table, tmp_path: Path) -> None:
    """Damage, a missing index and a table without one: every file is read, with a reason."""
    from pathlib import Path as LocalPath

    folder = LocalPath(table.location()) / "_lakesieve"
    for column in COLUMNS:
        if column not in {"id", "flag"}:
            ls.open_index(table, column).drop()
    segments = list((folder / "id" / "segments").iterdir())
    for segment in segments:
        data = bytearray(segment.read_bytes())
        data[len(data) // 2] ^= 255
        segment.write_bytes(bytes(data))
    assert _codes(table) & {ReasonCode.INDEX_CORRUPT, ReasonCode.NO_USABLE_PREDICATE}
    for segment in segments:
        segment.unlink()
    assert ReasonCode.INDEX_MISSING_FILE in _codes(table)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert ReasonCode.NO_INDEX in _codes(table)


def test_a_failure_reads_everything(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not foreseen is a reason, too."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr("lakesieve.engines.iceberg_columns.from_pyiceberg", fail)

    assert _codes(table) == {ReasonCode.INTERNAL_ERROR}


def test_a_manifest_that_is_gone_is_an_error_of_pyiceberg(table: Table) -> None:
    """What is wrong with the table itself is raised as without an index."""
    from pathlib import Path as LocalPath

    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifest = snapshot.manifests(table.io)[0]
    LocalPath(manifest.manifest_path.removeprefix("file:")).unlink()

    with pytest.raises(FileNotFoundError):
        engine.scan(table, "id = 5").to_arrow()
