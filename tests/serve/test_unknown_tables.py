"""Tables of a kind that PyIceberg does not read: clients get them, and plan their scans."""

from __future__ import annotations

import json
import uuid
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from sqlalchemy import update
from tests.serve.running import Caller, running

from lakesieve.serve.app import build_app
from lakesieve.serve.catalogs import PyIcebergCatalog, WarehouseCatalog
from lakesieve.serve.planning import PlanningContext
from lakesieve.serve.upstream import build_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = "/v1/namespaces/db/tables/t"
MODE = "scan-planning-mode"
BAD_SPECS = [{"spec-id": 0, "fields": [{"name": "k", "transform": 5}]}]


class Served:
    """A server of one table.

    Args:
        client: Asks the server.
        catalog: The table's catalog.
        hint: Names the newest metadata file, in the embedded warehouse.
    """

    def __init__(self, client: Caller, catalog: SqlCatalog, hint: Path | None) -> None:
        self.client = client
        table = catalog.load_table("db.t")
        self.document = table.metadata.model_dump(mode="json", exclude_none=True)
        self._catalog, self._hint = catalog, hint
        self._folder = Path(table.location().removeprefix("file://")) / "metadata"

    def write(self, document: dict[str, Any]) -> None:
        """Let the catalog have a new state of the table."""
        path = self._folder / f"00009-{uuid.uuid4()}.metadata.json"
        path.write_text(json.dumps(document))
        with self._catalog.engine.begin() as connection:
            connection.execute(update(IcebergTables).values(metadata_location=f"file://{path}"))
        if self._hint is not None:
            self._hint.write_text(path.name)


@pytest.fixture(scope="module", params=["warehouse", "sql", "in front"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A server of a table, of its own or before another."""
    folder = tmp_path_factory.mktemp("unknown")
    catalog = SqlCatalog("shop", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", schema=pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    if request.param == "warehouse":
        app = build_app(WarehouseCatalog(str(folder)), PlanningContext())
        yield Served(Caller(app), catalog, folder / "db" / "t" / "metadata/version-hint.text")
        return
    app = build_app(PyIcebergCatalog(catalog), PlanningContext())
    if request.param == "sql":
        yield Served(Caller(app), catalog, None)
        return
    # the proxy's own client belongs to one loop, so it runs, too
    with (
        running(app) as behind,
        running(build_proxy(behind, PlanningContext(), own_credentials=True)) as address,
    ):
        yield Served(Caller(address), catalog, None)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "variant"},
        {"type": "geometry(OGC:CRS84)"},
        pytest.param({"type": "geography(OGC:CRS84, spherical)"}, marks=pytest.mark.soak),
        pytest.param({"type": "of-tomorrow"}, marks=pytest.mark.soak),
        {"format-version": 4},
        pytest.param({"partition-specs": BAD_SPECS}, marks=pytest.mark.soak),
    ],
    ids=str,
)
def test_a_table_of_tomorrow(served: Served, change: dict[str, Any]) -> None:
    """It loads as it is written, with the word that the client plans; a plan is refused."""
    document = deepcopy(served.document)
    if "type" in change:
        document |= {"format-version": 3, "next-row-id": 1}
        document["schemas"][0]["fields"].append({"id": 2, "name": "v", "required": False, **change})
    else:
        document |= change
    served.write(document)
    loaded = served.client.get(TABLE)
    assert loaded.status_code == 200
    assert loaded.json()["metadata"] == document
    assert loaded.json()["config"][MODE] == "client"
    planned = served.client.post(f"{TABLE}/plan", json={})
    assert planned.status_code == 406
    assert planned.json()["error"]["type"] == "UnsupportedOperationException"
    assert f"{MODE}=client" in planned.json()["error"]["message"]
    assert served.client.post(TABLE, json={"updates": []}).status_code == 406
    served.write(served.document)
    assert MODE not in served.client.get(TABLE).json()["config"]
    assert served.client.post(f"{TABLE}/plan", json={}).status_code == 200


def test_a_table_of_places(served: Served) -> None:
    """PyIceberg reads some spellings of the types of places; scans of such a table are planned."""
    document = served.document | {"format-version": 3, "next-row-id": 1}
    fields = [{"id": 2, "name": "v", "required": False, "type": "geometry"}]
    document["schemas"] = [{**document["schemas"][0]}]
    document["schemas"][0]["fields"] = [*document["schemas"][0]["fields"], *fields]
    served.write(document)
    for name in ("id", "v"):
        condition = {"type": "not-null", "term": name}
        planned = served.client.post(f"{TABLE}/plan", json={"filter": condition})
        assert planned.status_code == 200
        assert len(planned.json()["file-scan-tasks"]) == 1
    served.write(served.document)
