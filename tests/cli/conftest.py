"""Commands run in this process: on real tables, and on notes of what a session would be asked."""

from __future__ import annotations

import inspect
import json
import random
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.tables import index_of, rows
from typer.testing import CliRunner, Result

import lakesieve as ls
from lakesieve.cli import build_app
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., Result]

FILES = 3


@pytest.fixture
def lakesieve() -> Run:
    """Run the command line, as ``lakesieve("list", "lake.db.t")``."""
    return lambda *arguments: CliRunner().invoke(build_app(), list(arguments))


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A folder of three Parquet files, the first two of them with an index on ``id``."""
    folder = tmp_path / "t a"
    folder.mkdir()
    for at in range(FILES):
        ids = pa.table({"id": list(range(at, 90, FILES))})
        pq.write_table(ids, folder / f"{at}.parquet")
    name = f"parquet:{folder}"
    index_of(open_table(name), "id", covers=lambda path: "/2.parquet" not in path)
    return name


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedded catalog: ``lake.db.t`` with indexes, ``lake.db.other`` of the same data files."""
    folder = tmp_path_factory.mktemp("wäre house")
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "data"))
    catalog.create_namespace("db")
    drawn = random.Random("place")
    table = catalog.create_table("db.t", schema=rows(drawn, 1).schema)
    for _ in range(4):
        table.append(rows(drawn, 20))
    document = json.loads(table.metadata.model_dump_json())
    identities = {
        "t": document["table-uuid"],
        "other": "11111111-2222-3333-4444-555555555555",
    }
    for name, identity in identities.items():
        home = folder / "warehouse" / "db" / name
        (home / "metadata").mkdir(parents=True)
        more = {"location": str(home), "table-uuid": identity}
        (home / "metadata" / "v1.metadata.json").write_text(json.dumps({**document, **more}))
    for column in ("id", "text"):
        opened = open_table("lake.db.t", warehouse=str(folder / "warehouse"))
        index_of(opened, column, covers=lambda _: True)
    return folder / "warehouse"


@dataclass
class Session:
    """Stands in for the functions that need Spark: notes what they are given.

    A call must fit the signature of the function. Answers are prepared by the test.
    """

    patch: pytest.MonkeyPatch
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def answers(self, name: str, answer: Any) -> None:
        """Have a function give an answer, or what the answer, called alike, gives."""
        signature = inspect.signature(attrgetter(name)(ls))

        def call(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            self.calls.append((name, {k: v for k, v in given.items() if k != "spark"}))
            return answer(**given) if callable(answer) else answer

        call.__signature__ = signature  # type: ignore[attr-defined]
        self.patch.setattr(f"lakesieve.{name}", call)

    def given(self, name: str) -> dict[str, Any]:
        """What the only call of a function was given, the session left out."""
        (given,) = [given for called, given in self.calls if called == name]
        return given


@pytest.fixture
def session(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session that starts at once and can do nothing until a test says what.

    Tables are those of the warehouse; the working folder has files of keys.
    """
    monkeypatch.setenv("LAKESIEVE_WAREHOUSE", str(warehouse))
    monkeypatch.chdir(tmp_path)
    for name in ("people.csv", "k.csv", "k.parquet"):
        (tmp_path / name).write_text("id\n5\n")
    made = Session(monkeypatch)
    made.answers("local_session", object())
    return made
