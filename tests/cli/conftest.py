"""A stand-in for the package's functions, and a way to run commands against it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from lakesieve.cli import build_app, index_commands, row_commands, session, upkeep_commands
from lakesieve.errors import ErrorKind, NotFoundError
from lakesieve.index.key_results import KeyCheck
from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.index.result import (
    BuildProgress,
    Cloned,
    CommitInfo,
    Compacted,
    Found,
    IndexInfo,
    Refreshed,
    RowChange,
    TableStatus,
    TradeOffInfo,
    VerifiedRows,
)
from lakesieve.spark.deletes.result import Conversion, ConversionProgress, DeleteStatus, FieldSet
from lakesieve.store import Damage, Repaired, Vacuumed, Verified

if TYPE_CHECKING:
    from collections.abc import Callable

INFO = IndexInfo(
    name="id",
    table="lake.db.t",
    table_format="iceberg",
    columns=("id",),
    types=("long",),
    location="/warehouse/db/t/_lakesieve/id",
    commit=0,
    created_at="2026-01-01T00:00:00+00:00",
    files=3,
    rows=1000,
    keys=500,
    pairs=700,
    blocks=300,
    segments=1,
    bytes=12_345,
    bits_per_row=98.76,
    table_version="77",
    budget="",
    compaction="8",
)
COMMIT = CommitInfo(
    number=0,
    parent=None,
    operation="create",
    created_at=INFO.created_at,
    table_version="77",
    files=3,
    segments=1,
    blocks=500,
    bytes=12_345,
)


STATUS = DeleteStatus(
    table="lake.db.t",
    version="77",
    format_version=2,
    data_files=40,
    reached_files=39,
    equality_files=40,
    equality_records=2_000_000,
    equality_bytes=13_567_634,
    dangling_files=1,
    keys=864_840,
    pairs=780,
    position_files=3,
    vectors=0,
    task_records=1_950_000,
    task_bytes=257_400_000,
    executor_tasks=2,
    executor_bytes=1_073_741_824,
    field_sets=(
        FieldSet(columns=("id",), everywhere=True, files=40, records=2_000_000, keys=864_840),
    ),
    verdict="Iceberg's own reader copes.",
)
CONVERSION = Conversion(
    table="lake.db.t",
    branch=None,
    dry_run=False,
    format_version=2,
    removed_files=40,
    removed_records=2_000_000,
    scanned_files=39,
    scanned_rows=1_950_000,
    positions=1_113_510,
    marked_files=39,
    written_files=39,
    written_bytes=3_259_168,
    commits=1,
    conflicts=0,
    seconds=33.4,
)


CHECK = KeyCheck(
    table="lake.db.t",
    on=("id", "day"),
    parent=None,
    parent_columns=(),
    version="77",
    violations=30,
    examples=(("5", "2026-01-01"), ("7", "2026-01-02")),
    files_read=3,
    files=400,
    index="id_day",
    seconds=1.5,
)


def change(operation: str, given: dict[str, Any], reasons: tuple[Reason, ...]) -> RowChange:
    upserts = operation == "upsert"
    return RowChange(
        table="lake.db.t",
        operation=operation,
        on=tuple(given["on"]),
        keys=100,
        inserted=40 if upserts else 0,
        updated=60 if upserts else 0,
        deleted=0 if upserts else 60,
        files_read=3,
        files_added=2,
        files_removed=None,
        version=None if given["dry_run"] else "78",
        known=False,
        refreshed=(),
        reasons=reasons,
        seconds=1.5,
        dry_run=given["dry_run"],
    )


@dataclass
class FakeDeletes:
    """The functions on equality deletes."""

    api: FakeApi

    def status(self, table: str, **rest: Any) -> DeleteStatus:
        self.api.calls.append(("status", {"table": table, **rest}))
        return STATUS

    def convert(self, table: str, *, progress: Any, **rest: Any) -> Conversion:
        self.api.calls.append(("convert", {"table": table, **rest}))
        progress(
            ConversionProgress(phase="write", units_done=0, units_total=2, positions=5, seconds=1)
        )
        return CONVERSION


@dataclass
class FakeIndex:
    """An index that remembers being dropped."""

    api: FakeApi

    def info(self) -> IndexInfo:
        return INFO

    def history(self) -> list[CommitInfo]:
        return [COMMIT]

    def drop(self, *, force: bool = False) -> None:
        self.api.calls.append(("drop", {"force": force}))
        self.api.indexes.clear()

    def refresh(self, *, progress: Any = None, **rest: Any) -> Refreshed:
        self.api.calls.append(("refresh", rest))
        return Refreshed(
            index="id",
            table="lake.db.t",
            versions=("78",),
            files=2,
            rows=1234,
            covered=3,
            commit=1,
            compacted=True,
            dry_run=rest.get("dry_run", False),
        )

    def compact(self, *, dry_run: bool) -> Compacted:
        return Compacted(
            index="id",
            table="lake.db.t",
            files_before=5,
            files=4,
            segments_before=3,
            segments=None if dry_run else 1,
            bytes_before=9000,
            bytes=None if dry_run else 5000,
            commit=2,
            dry_run=dry_run,
        )

    def clone(self, table: str, **rest: Any) -> Cloned:
        self.api.calls.append(("clone", {"table": table, **rest}))
        return Cloned(index="id", table=table, origin="lake.db.t", location="/x", files=4, shared=3)

    def rollback(self, commit: int) -> IndexInfo:
        self.api.calls.append(("rollback", {"commit": commit}))
        return INFO

    def vacuum(self, **rest: Any) -> Vacuumed:
        self.api.calls.append(("vacuum", rest))
        return Vacuumed(
            dry_run=rest["dry_run"],
            paths=("segments/a.sieve",),
            bytes=5000,
            retained_from=1,
            borrowers=("/clone",),
        )

    def verify(self) -> Verified:
        damaged = (Damage(path="segments/a.sieve", problem="its footer fails the checksum"),)
        return Verified(
            commit=1, commits=2, objects=3, bytes=9000, damaged=damaged * self.api.is_damaged
        )

    def verify_rows(self, *, files: int | None, progress: Any) -> VerifiedRows:
        self.api.calls.append(("verify_rows", {"files": files}))
        return VerifiedRows(index="id", table="lake.db.t", files=3, rows=1000, wrong=())


@dataclass
class FakeApi:
    """The package's functions over one table ``lake.db.t`` that has the index ``id``."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    indexes: list[IndexInfo] = field(default_factory=lambda: [INFO])
    paths: list[str] = field(default_factory=lambda: ["file:/t/a b.parquet", "file:/t/c.parquet"])
    failure: Exception | None = None
    is_damaged: bool = False
    reasons: tuple[Reason, ...] = ()
    check: KeyCheck = CHECK

    @property
    def deletes(self) -> FakeDeletes:
        return FakeDeletes(self)

    def local_session(
        self, warehouse: str = "warehouse", *, formats: Any = (), conf: Any = None
    ) -> Any:
        given = {"warehouse": warehouse, "formats": formats, "conf": conf}
        self.calls.append(("local_session", given))
        if self.failure is not None:
            raise self.failure
        return object()

    def create_index(self, table: str, columns: Any, *, progress: Any, **rest: Any) -> FakeIndex:
        self.calls.append(("create_index", {"table": table, "columns": columns, **rest}))
        progress(
            BuildProgress(
                phase="done",
                rows_done=1000,
                rows_total=1000,
                files_done=3,
                files_total=3,
                seconds=2,
            )
        )
        return FakeIndex(self)

    def create_indexes(
        self, table: str, columns: Any, *, progress: Any, **rest: Any
    ) -> list[FakeIndex]:
        self.calls.append(("create_indexes", {"table": table, "columns": columns, **rest}))
        return [FakeIndex(self) for _ in columns]

    def refresh_indexes(
        self, table: str, names: Any = None, *, progress: Any, **rest: Any
    ) -> list[Refreshed]:
        self.calls.append(("refresh_indexes", {"table": table, "names": names, **rest}))
        return [FakeIndex(self).refresh(dry_run=rest["dry_run"]) for _ in self.indexes]

    def trade_offs(self, table: str, columns: Any, *, progress: Any, **rest: Any) -> Any:
        self.calls.append(("trade_offs", {"table": table, "columns": columns, **rest}))
        return [TradeOffInfo(strategy="grid", bits_per_row=0.5, false_files=7.25, blocks=9)]

    def clone_table(self, table: str, target: str, **rest: Any) -> list[Cloned]:
        self.calls.append(("clone_table", {"table": table, "target": target, **rest}))
        return [FakeIndex(self).clone(target)]

    def repair_index(self, table: str, name: str, **rest: Any) -> Repaired:
        self.calls.append(("repair_index", {"table": table, "name": name, **rest}))
        lost = (Damage(path="log/1.json", problem="it is gone"),)
        return Repaired(dry_run=rest["dry_run"], commit=3, files=2, lost=lost * self.is_damaged)

    def open_index(self, table: str, name: str, **rest: Any) -> FakeIndex:
        self.calls.append(("open_index", {"table": table, "name": name, **rest}))
        if name not in {info.name for info in self.indexes}:
            raise NotFoundError(
                f"{table} has no index {name}.", kind=ErrorKind.INDEX_NOT_FOUND, hint="Look again."
            )
        return FakeIndex(self)

    def list_indexes(self, table: str, **rest: Any) -> list[IndexInfo]:
        self.calls.append(("list_indexes", {"table": table, **rest}))
        return self.indexes

    def find_files(self, table: str, predicate: str, **rest: Any) -> Found:
        self.calls.append(("find_files", {"table": table, "predicate": predicate, **rest}))
        return Found(
            paths=self.paths,
            total=400,
            left_by_format=400,
            uncovered=1,
            reasons=(Reason(code=ReasonCode.INDEX_USED, detail="id kept 1 file."),),
            version="77",
            table=table,
            predicate=predicate,
            indexes=("id",),
        )

    def upsert(self, rows: str, table: str, **rest: Any) -> RowChange:
        self.calls.append(("upsert", {"rows": rows, "table": table, **rest}))
        return change("upsert", rest, reasons=self.reasons)

    def delete(self, keys: str, table: str, **rest: Any) -> RowChange:
        self.calls.append(("delete", {"keys": keys, "table": table, **rest}))
        return change("delete", rest, reasons=self.reasons)

    def insert_new(self, rows: str, table: str, **rest: Any) -> RowChange:
        self.calls.append(("insert_new", {"rows": rows, "table": table, **rest}))
        return replace(change("upsert", rest, reasons=()), operation="insert-new", updated=0)

    def check_unique(self, table: str, on: list[str], **rest: Any) -> KeyCheck:
        self.calls.append(("check_unique", {"table": table, "on": on, **rest}))
        return self.check

    def check_references(
        self, table: str, on: list[str], parent: str, parent_on: list[str], **rest: Any
    ) -> KeyCheck:
        given = {"table": table, "on": on, "parent": parent, "parent_on": parent_on, **rest}
        self.calls.append(("check_references", given))
        return replace(self.check, parent=parent, parent_columns=tuple(parent_on))

    def status(self, table: str, *, threshold: float, **rest: Any) -> TableStatus:
        self.calls.append(("status", {"table": table, "threshold": threshold, **rest}))
        return TableStatus(
            table=table,
            format="delta",
            version="7",
            files=40,
            marked_files=12,
            delete_files=0,
            form="row-level deletes",
            share=0.3,
            threshold=threshold,
            suggestions=("OPTIMIZE lake.db.t",) if threshold < 0.3 else (),
        )

    def arguments(self, function: str) -> dict[str, Any]:
        """What the only call of a function was given, the session left out."""
        (given,) = [given for name, given in self.calls if name == function]
        return {name: value for name, value in given.items() if name != "spark"}


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def lakesieve(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command line over the fake, as ``lakesieve("list", "lake.db.t")``."""
    for module in (index_commands, row_commands, session, upkeep_commands):
        monkeypatch.setattr(module, "ls", api)
    return lambda *arguments: CliRunner().invoke(build_app(), list(arguments))
