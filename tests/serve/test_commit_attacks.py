"""Commits that would make the server run code, send its keys away, or read and write elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.serve.running import Caller

from lakesieve.errors import CommitConflictError
from lakesieve.serve.app import build_app
from lakesieve.serve.catalogs import PyIcebergCatalog
from lakesieve.serve.commits import HARMLESS_PROPERTIES, SqlCommit, is_harmless
from lakesieve.serve.planning import PlanningContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLE = "/v1/namespaces/db/tables/t"
CALLS: list[object] = []


def trap(*arguments: object) -> None:
    """A callable that a property names; nothing may call it."""
    CALLS.append(arguments)


TRAP = f"{__name__}.trap"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    """A catalog with a table of one file."""
    made = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    made.create_namespace("db")
    made.create_table("db.t", schema=pa.schema([("id", pa.int64())])).append(pa.table({"id": [1]}))
    CALLS.clear()
    yield made
    assert CALLS == []
    made.engine.dispose()


@pytest.fixture
def client(catalog: SqlCatalog) -> Caller:
    """A client of the catalog's server."""
    app = build_app(PyIcebergCatalog(catalog), PlanningContext())
    return Caller(app)


def _commit(client: Caller, *updates: Any) -> Any:
    return client.post(TABLE, json={"requirements": [], "updates": list(updates)})


def _setting(**properties: str) -> dict[str, Any]:
    return {"action": "set-properties", "updates": properties}


def _snapshot(manifest_list: str, **more: Any) -> dict[str, Any]:
    snapshot = {
        "snapshot-id": 7,
        "sequence-number": 99,
        "timestamp-ms": 2_000_000_000_000,
        "manifest-list": manifest_list,
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    return {"action": "add-snapshot", "snapshot": {**snapshot, **more}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("py-io-impl", TRAP),
        ("write.py-location-provider.impl", TRAP),
        ("write.location-provider.impl", TRAP),
        ("s3.endpoint", "http://127.0.0.1:9"),
        ("client.region", "nowhere"),
        ("hdfs.host", "127.0.0.1"),
        ("warehouse", "/elsewhere"),
        ("uri", "http://127.0.0.1:9"),
        ("token", "mine"),
        ("write.metadata.path", "{location}/metadata"),
        ("write.data.path", "/elsewhere"),
        ("write.object-storage.path", "/elsewhere"),
        ("write.folder-storage.path", "/elsewhere"),
        ("encryption.kms-impl", TRAP),
        ("READ.split.target-size", "1"),
    ],
)
def test_properties_that_are_settings(
    client: Caller, catalog: SqlCatalog, name: str, value: str
) -> None:
    """A property outside the list is refused by name, and the table is as it was."""
    table = catalog.load_table("db.t")
    answer = _commit(client, _setting(**{name: value.format(location=table.location())}))
    assert answer.status_code == 406
    assert repr(name) in answer.json()["error"]["message"]
    assert catalog.load_table("db.t").metadata_location == table.metadata_location


def test_properties_that_are_harmless(client: Caller) -> None:
    """Properties of the list are set and removed, and such as the table has may be repeated."""
    given = {"comment": "ours", "write.parquet.compression-codec": "zstd"}
    answer = _commit(client, _setting(**given))
    assert answer.status_code == 200
    assert answer.json()["metadata"]["properties"].items() >= given.items()
    removed = _commit(client, {"action": "remove-properties", "removals": ["comment"]})
    assert "comment" not in removed.json()["metadata"]["properties"]
    assert not any(map(is_harmless, ("", "write.", "write.metadata.path", "commentary")))


def test_properties_that_a_table_has(client: Caller, catalog: SqlCatalog) -> None:
    """Settings in a table's own properties do not matter: it loads, is planned and is changed."""
    place = Path(catalog.load_table("db.t").metadata_location.removeprefix("file://"))
    document = json.loads(place.read_text())
    document["properties"] |= {
        "py-io-impl": TRAP,
        "write.py-location-provider.impl": TRAP,
        "write.metadata.path": "/elsewhere",
        "s3.endpoint": "http://127.0.0.1:9",
    }
    place.write_text(json.dumps(document))
    loaded = client.get(TABLE)
    assert loaded.json()["metadata"]["properties"] == document["properties"]
    planned = client.post(f"{TABLE}/plan", json={})
    assert len(planned.json()["file-scan-tasks"]) == 1
    changed = _commit(client, _setting(comment="ours", **{"py-io-impl": TRAP}))
    assert changed.status_code == 200
    written = Path(changed.json()["metadata-location"].removeprefix("file://"))
    assert written.parent == place.parent
    assert json.loads(written.read_text()) == changed.json()["metadata"]


@pytest.mark.parametrize(
    "place",
    [
        "{warehouse}/other/metadata/snap-1.avro",
        "{location}/../other/metadata/snap-1.avro",
        "{location}/metadata/%2e%2e/snap-1.avro",
        "{location}-other/snap-1.avro",
        "{location}",
        " {location}/metadata/snap-1.avro",
        "http://127.0.0.1:9/snap-1.avro",
        "",
    ],
)
def test_files_elsewhere(client: Caller, catalog: SqlCatalog, place: str) -> None:
    """Manifest lists and statistics outside of the table's location are refused."""
    location = catalog.load_table("db.t").location()
    path = place.format(location=location, warehouse=location.rpartition("/")[0])
    of_file = {"snapshot-id": 7, "statistics-path": path, "file-size-in-bytes": 1}
    statistics = {**of_file, "file-footer-size-in-bytes": 1, "blob-metadata": []}
    for change in (
        _snapshot(path),
        {"action": "set-statistics", "statistics": statistics},
        {"action": "set-partition-statistics", "partition-statistics": of_file},
    ):
        answer = _commit(client, change)
        assert (answer.status_code, change["action"]) == (406, change["action"])
        assert "outside of the table's location" in answer.json()["error"]["message"]


def test_tables_elsewhere(client: Caller) -> None:
    """A table keeps its location and its identity, and no other metadata becomes a table."""
    for change in (
        {"action": "set-location", "location": "/elsewhere"},
        {"action": "assign-uuid", "uuid": "00000000-0000-0000-0000-000000000001"},
    ):
        assert _commit(client, change).status_code == 406
    for place in ("register", "tables"):
        answer = client.post(f"/v1/namespaces/db/{place}", json={"name": "s"})
        assert answer.status_code in {404, 405}


def test_a_table_that_nobody_could_read(client: Caller, catalog: SqlCatalog) -> None:
    """Updates that fit no table are refused before anything is written."""
    table = catalog.load_table("db.t")
    inside = f"{table.location()}/metadata/snap-1.avro"
    before = sorted(Path(table.location().removeprefix("file://")).rglob("*"))
    for change in (
        _snapshot(inside, **{"snapshot-id": table.metadata.current_snapshot_id}),
        {"action": "remove-properties", "removals": ["none"]},
        {"action": "set-current-schema", "schema-id": 9},
        {"action": "upgrade-format-version", "format-version": 9},
    ):
        answer = _commit(client, change)
        assert (answer.status_code, change["action"]) == (400, change["action"])
        assert answer.json()["error"]["message"].startswith("The commit to db.t makes no table.")
    assert sorted(Path(table.location().removeprefix("file://")).rglob("*")) == before


def test_a_commit_that_comes_second(catalog: SqlCatalog) -> None:
    """It fails, and what it had written is gone."""
    served = PyIcebergCatalog(catalog)
    late = served.load(("db",), "t")
    body: Mapping[str, Any] = {"updates": [_setting(comment="ours")]}
    first = served.commit(("db",), "t", body)
    commit = SqlCommit(catalog, ("db",), "t")
    with pytest.raises(CommitConflictError, match="another commit was first"):
        commit.make(commit.parse(body), late)
    folder = Path(first.path.removeprefix("file://")).parent
    assert len(list(folder.glob("*.metadata.json"))) == 3
    assert served.load(("db",), "t").path == first.path


def test_the_documented_list() -> None:
    """The page on the server names each property that a commit may set."""
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()
    listed = page.partition("## Commits")[2]
    assert [name for name in HARMLESS_PROPERTIES if f"`{name}`" not in listed] == []


def _listed(catalog: SqlCatalog, **changes: Any) -> dict[str, Any]:
    current = catalog.load_table("db.t").metadata.snapshots[-1]
    given = json.loads(current.model_dump_json())
    given |= {"snapshot-id": 77, "sequence-number": (current.sequence_number or 0) + 1, **changes}
    return {"action": "add-snapshot", "snapshot": given}


def test_a_snapshot_that_is_its_own_ancestor(client: Caller, catalog: SqlCatalog) -> None:
    """A scan between two snapshots ends, whatever their history is said to be."""
    update = _listed(catalog, **{"parent-snapshot-id": 77})
    assert _commit(client, update).status_code == 200

    answer = client.post(f"{TABLE}/plan", json={"start-snapshot-id": 5, "end-snapshot-id": 77})

    assert answer.status_code == 400
    assert "not an ancestor" in answer.text


def test_manifests_of_other_tables(client: Caller, catalog: SqlCatalog, tmp_path: Path) -> None:
    """A manifest list in the table's folder may name manifests elsewhere: they are not read."""
    secret = SqlCatalog("secret", uri=f"sqlite:///{tmp_path}/s.db", warehouse=str(tmp_path / "s"))
    secret.create_namespace("db")
    other = secret.create_table("db.s", schema=pa.schema([("id", pa.int64())]))
    other.append(pa.table({"id": [1]}))
    current = other.current_snapshot()
    assert current is not None
    listed = Path(current.manifest_list.removeprefix("file://"))
    place = Path(catalog.load_table("db.t").location().removeprefix("file://"))
    mine = place / "metadata" / "snap-mine.avro"
    mine.write_bytes(listed.read_bytes())
    update = _listed(catalog, **{"manifest-list": f"file://{mine}"})
    assert _commit(client, update).status_code == 200

    answer = client.post(f"{TABLE}/plan", json={"snapshot-id": 77})
    secret.engine.dispose()

    assert answer.status_code == 406
    assert ".parquet" not in answer.text


def test_a_number_that_is_too_large(client: Caller) -> None:
    """JSON's 1e999 is an error of the caller, not of the server."""
    body = b'{"filter":{"type":"lt","term":"id","value":1e999}}'
    answer = client.request("POST", f"{TABLE}/plan", content=body)
    assert answer.status_code == 400
