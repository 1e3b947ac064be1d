"""A stand-in for the package's functions, and a way to run commands against it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from lakesieve.cli import build_app
from lakesieve.errors import ErrorKind, NotFoundError
from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.index.result import BuildProgress, CommitInfo, Found, IndexInfo

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
)
COMMIT = CommitInfo(
    number=0,
    parent=None,
    operation="create",
    created_at=INFO.created_at,
    table_version="77",
    files=3,
    segments=1,
    bytes=12_345,
)


@dataclass
class FakeIndex:
    """An index that remembers being dropped."""

    api: FakeApi

    def info(self) -> IndexInfo:
        return INFO

    def history(self) -> list[CommitInfo]:
        return [COMMIT]

    def drop(self) -> None:
        self.api.indexes.clear()


@dataclass
class FakeApi:
    """The package's functions over one table ``lake.db.t`` that has the index ``id``."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    indexes: list[IndexInfo] = field(default_factory=lambda: [INFO])
    paths: list[str] = field(default_factory=lambda: ["file:/t/a b.parquet", "file:/t/c.parquet"])
    failure: Exception | None = None

    def local_session(self, warehouse: str = "warehouse", *, conf: Any = None) -> Any:
        self.calls.append(("local_session", {"warehouse": warehouse, "conf": conf}))
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
            uncovered=1,
            reasons=(Reason(code=ReasonCode.INDEX_USED, detail="id kept 1 file."),),
            version="77",
            table=table,
            predicate=predicate,
            indexes=("id",),
        )

    def arguments(self, function: str) -> dict[str, Any]:
        """What the only call of a function was given, the session left out."""
        (given,) = [given for name, given in self.calls if name == function]
        return {name: value for name, value in given.items() if name != "spark"}


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def lakesieve(api: FakeApi) -> Callable[..., Result]:
    """Run the command line over the fake, as ``lakesieve("list", "lake.db.t")``."""
    return lambda *arguments: CliRunner().invoke(build_app(api), list(arguments))
