"""Tables whose metadata a caller has written, to read another caller's files through the server."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from pyiceberg.avro.file import AvroFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from tests.serve.running import running
from tests.serve.tables import catalog_of, indexed
from tests.serve.upstreams import tables_behind

from lakesieve.errors import UnsupportedError
from lakesieve.serve.app import build_app
from lakesieve.serve.bounds import TableBounds
from lakesieve.serve.catalogs import PyIcebergCatalog
from lakesieve.serve.grants import TableGrants, caller_of
from lakesieve.serve.planning import PlanningContext
from lakesieve.serve.upstream import build_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.table import Table

_LENT = {"s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.session-token": "t"}
_MINE, _OTHERS = "/v1/namespaces/db/tables/mine", "/v1/namespaces/db/tables/t"


def _loaded(table: Table) -> dict[str, Any]:
    """What a catalog answers for a table."""
    return {
        "metadata-location": table.metadata_location,
        "metadata": json.loads(table.metadata.model_dump_json()),
        "config": {},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A server in front of a catalog, and the tables that this gives.

    Args:
        address: Of the server.
        tables: By path; tests add theirs.
        others: The table of another caller.
        folder: Where an attacker may write.
    """

    address: str
    tables: dict[str, dict[str, Any]]
    others: Table
    folder: Path

    def forge(self, **changes: Any) -> dict[str, Any]:
        """A table in the attacker's folder that has the other caller's snapshots."""
        loaded = _loaded(self.others)
        loaded["metadata"]["location"] = f"file://{self.folder}"
        loaded["metadata-location"] = f"file://{self.folder}/metadata/v1.metadata.json"
        loaded["metadata"] |= changes
        self.tables[_MINE] = loaded
        return loaded

    def take_snapshot(self, loaded: dict[str, Any], manifest_list: str) -> None:
        """Name a manifest list in the newest snapshot, which is then the only one."""
        snapshot = loaded["metadata"]["snapshots"][-1] | {"manifest-list": manifest_list}
        loaded["metadata"] |= {"snapshots": [snapshot], "snapshot-log": []}

    def plan(self, path: str = _MINE) -> httpx.Response:
        """Plan a scan of a table."""
        return httpx.post(f"{self.address}{path}/plan", json={})

    def mode(self, path: str = _MINE) -> str | None:
        """Who plans the scans of a table, as the server says where it differs."""
        found: dict[str, Any] = httpx.get(f"{self.address}{path}").json()["config"]
        return found.get("scan-planning-mode")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table of another caller, indexed."""
    return indexed(catalog_of(tmp_path_factory.mktemp("others"), "db.t", 2).load_table("db.t"))


@pytest.fixture(params=[True], ids=["own-credentials"])
def shop(request: pytest.FixtureRequest, others: Table, tmp_path: Path) -> Iterator[Shop]:
    """A server that may read the local disk, by default."""
    (tmp_path / "metadata").mkdir()
    tables = {_OTHERS: _loaded(others)}
    service = PlanningContext()
    with (
        running(tables_behind(tables)) as upstream,
        running(build_proxy(upstream, service, own_credentials=request.param)) as address,
    ):
        yield Shop(address=address, tables=tables, others=others, folder=tmp_path)


def _refused(shop: Shop, why: str = "outside the table's location") -> None:
    answer = shop.plan()
    assert answer.status_code == 406, answer.text
    assert why in answer.json()["error"]["message"]
    assert "parquet" not in answer.text.replace(".parquet' lies", "")
    assert shop.mode() == "client"


def test_an_honest_table(shop: Shop) -> None:
    """A table whose files are its own is planned by the server."""
    assert len(shop.plan(_OTHERS).json()["file-scan-tasks"]) == 2
    assert shop.mode(_OTHERS) is None


def test_the_manifest_list_of_another_table(shop: Shop) -> None:
    """A table that names the manifest list of another one gets nothing of it."""
    shop.forge()
    # the client learns when it loads the table that it must plan
    assert shop.mode() == "client"
    _refused(shop)


@pytest.mark.parametrize("steps", ["..", "x/../..", "%2e%2e", "./.."])
def test_steps(shop: Shop, steps: str) -> None:
    """Steps upwards lead out of a location."""
    outside = shop.folder / "metadata" / "list.avro"
    manifest_list = shop.others.metadata.snapshots[-1].manifest_list.removeprefix("file://")
    outside.write_bytes(Path(manifest_list).read_bytes())
    loaded = shop.forge(location=f"file://{shop.folder}/mine")
    loaded["metadata-location"] = f"file://{shop.folder}/mine/v1.metadata.json"
    shop.take_snapshot(loaded, f"file://{shop.folder}/mine/{steps}/metadata/list.avro")
    _refused(shop)


def test_links(shop: Shop) -> None:
    """A symbolic link in the table's folder leads out of it."""
    manifest_list = shop.others.metadata.snapshots[-1].manifest_list.removeprefix("file://")
    loaded = shop.forge()
    for name, target in (("file", manifest_list), ("folder", str(Path(manifest_list).parent))):
        (shop.folder / "metadata" / name).symlink_to(target)
    for path in ("metadata/file", f"metadata/folder/{Path(manifest_list).name}"):
        shop.take_snapshot(loaded, f"file://{shop.folder}/{path}")
        _refused(shop, "by a link")


def test_a_list_with_manifests_of_another_table(shop: Shop) -> None:
    """A manifest list of the attacker's own that names the manifests of another table."""
    own = shop.folder / "metadata" / "snap-1.avro"
    manifest_list = shop.others.metadata.snapshots[-1].manifest_list.removeprefix("file://")
    own.write_bytes(Path(manifest_list).read_bytes())
    shop.take_snapshot(shop.forge(), f"file://{own}")
    assert shop.mode() is None
    _refused(shop)


def test_data_elsewhere(shop: Shop) -> None:
    """A table that keeps data outside its location is planned by the client, which learns that."""
    loaded = _loaded(shop.others)
    loaded["metadata"]["properties"]["write.data.path"] = "file:///elsewhere"
    shop.tables[_MINE] = loaded
    _refused(shop)


def test_data_files_elsewhere(shop: Shop) -> None:
    """Nor is a table whose manifests, which are its own, name data files outside its location."""
    loaded = _loaded(shop.others)
    loaded["metadata"]["location"] += "/metadata"
    shop.tables[_MINE] = loaded
    assert shop.mode() is None
    _refused(shop)


@pytest.mark.parametrize("shop", [False], indirect=True, ids=["lent"])
def test_without_lent_credentials(shop: Shop) -> None:
    """Without credentials of the caller's no file is read, whatever the server may read."""
    shop.tables[_MINE] = _loaded(shop.others)
    _refused(shop, "lent no credentials")


def test_one_name_under_two_prefixes(shop: Shop, tmp_path: Path) -> None:
    """What is kept of a table does not serve one of the same name and identity elsewhere."""
    shop.tables["/v1/a/namespaces/db/tables/t"] = _loaded(shop.others)
    assert shop.plan("/v1/a/namespaces/db/tables/t").status_code == 200
    loaded = shop.forge(location=f"file://{tmp_path}")
    shop.tables["/v1/b/namespaces/db/tables/t"] = loaded
    # a list in its own folder, of manifests that were read for the other table
    own = tmp_path / "metadata" / "snap-1.avro"
    listed = shop.others.metadata.snapshots[-1].manifest_list.removeprefix("file://")
    own.write_bytes(Path(listed).read_bytes())
    shop.take_snapshot(loaded, f"file://{own}")
    answer = shop.plan("/v1/b/namespaces/db/tables/t")
    assert answer.status_code == 406
    assert "file-path" not in answer.text


def _bomb(manifest_list: Path, size: int) -> bytes:
    """The file with one more block, of zeros."""
    data = manifest_list.read_bytes()
    io = PyArrowFileIO()
    with AvroFile[Any](io.new_input(str(manifest_list))) as reader:
        sync = reader.header.sync
    packer = zlib.compressobj(wbits=-15)
    block = packer.compress(bytes(size)) + packer.flush()
    return data + _long(size) + _long(len(block)) + block + sync


def _long(value: int) -> bytes:
    value <<= 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def test_bombs(tmp_path: Path) -> None:
    """A small manifest list that is large when it is decompressed is not decompressed."""
    catalog = catalog_of(tmp_path, "db.t", 1)
    path = Path(
        catalog.load_table("db.t").metadata.snapshots[-1].manifest_list.removeprefix("file://")
    )
    path.write_bytes(_bomb(path, 200 << 20))
    assert path.stat().st_size < 1 << 20
    with running(build_app(PyIcebergCatalog(catalog), PlanningContext())) as address:
        answer = httpx.post(f"{address}/v1/namespaces/db/tables/t/plan", json={}, timeout=20)
    assert answer.status_code == 406
    assert "when it is decompressed" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("location", "config", "lent"),
    [
        ("s3://b/t", _LENT, _LENT),
        ("s3a://b/t", {"client.access-key-id": "k", "client.secret-access-key": "s"}, {"k", "s"}),
        ("s3://b/t", {**_LENT, "py-io-impl": "os.system", "s3.role-arn": "r"}, _LENT),
        ("s3://b/t", {**_LENT, "s3.retry-strategy-impl": "a.b", "s3.profile-name": "p"}, _LENT),
        ("s3://b/t", {"s3.access-key-id": "k"}, None),
        ("s3://b/t", {"s3.endpoint": "http://attacker", "s3.role-arn": "r"}, None),
        ("gs://b/t", _LENT, None),
        ("gs://b/t", {"gcs.oauth2.token": "t"}, {"t"}),
        ("abfss://c@a.dfs.core.windows.net/t", {"adls.sas-token.a": "t"}, {"t", "a"}),
        ("file:///t", _LENT, None),
        ("/t", _LENT, None),
        ("hdfs://h/t", {"hdfs.user": "root"}, None),
        ("oss://b/t", _LENT, None),
    ],
)
def test_lent_credentials(location: str, config: dict[str, str], lent: Any) -> None:
    """Files are read with what the catalog lent for their store alone, and with no code of it."""
    document = {"metadata": {"location": location}, "config": config}
    if lent is None:
        with pytest.raises(UnsupportedError, match="lent no credentials"):
            TableGrants().settings(document)
        assert TableGrants(own_credentials=True).settings(document) == {}
        return
    settings = TableGrants().settings(document)
    assert settings == lent or set(settings.values()) == set(lent)


@pytest.mark.parametrize(
    "path",
    [
        "s3://b/t2/m.avro",
        "s3://b/t",
        "s3://c/t/m.avro",
        "gs://b/t/m.avro",
        "s3://b/t/../u/m.avro",
        "s3://b/t/%2E%2e/u/m.avro",
        "s3://b/t/a\\..\\m.avro",
        "s3://b/t/%2Fm.avro",
        "s3://b/t/m.avro?x",
        "/b/t/m.avro",
    ],
)
def test_paths_outside(path: str) -> None:
    """Only paths below the location, in any spelling of its scheme, are a table's own."""
    bounds = TableBounds("s3a://b/t/")
    bounds.check_metadata(["s3://b/t/metadata/m.avro", "s3n://b/t/m.avro"])
    with pytest.raises(UnsupportedError):
        bounds.check_metadata([path])


@pytest.mark.parametrize(
    "location", ["/", "file:///", "s3://", "data/t", "", "s3://b/../c", "C:\\t"]
)
def test_locations_that_hold_all(location: str) -> None:
    """A location that is a whole disk, or no folder, bounds nothing."""
    with pytest.raises(UnsupportedError):
        TableBounds(location)


def test_callers() -> None:
    """Two callers are told apart by any header but those that say nothing of them."""
    alice = [("Authorization", "Bearer a"), ("User-Agent", "x")]
    assert caller_of(alice) == caller_of([("authorization", "Bearer a"), ("user-agent", "y")])
    for other in ([], [("Authorization", "Bearer b")], [*alice, ("Cookie", "a=b")]):
        assert caller_of(alice) != caller_of(other)
    assert caller_of([("a", "b"), ("c", "d")]) != caller_of([("a", "bc"), ("", "d")])
