"""Tables of every format on S3, read by engines: wrong keys, a server that goes away."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.test_delta import Files, schema_of
from tests.kit.building import build_index
from tests.storage.proxy import Proxy
from tests.storage.s3_servers import ACCESS, BUCKET, SECRET, SERVERS, hadoop_settings
from tests.tables.test_hudi_reader import Table as HudiTable
from tests.tables.test_hudi_reader import at

import lakesieve as ls
from lakesieve.engines import arrow
from lakesieve.errors import ErrorKind, StorageError
from lakesieve.index import ReasonCode
from lakesieve.storage import open_storage
from lakesieve.storage.clients import client
from lakesieve.tables.opening import open_table, options_by_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMATS = ("delta", "hudi", "iceberg", "parquet")
FILES, ROWS = 5, 20
SERVER = SERVERS[-1]


def _parts() -> list[pa.Table]:
    drawn = random.Random("s3")
    keys = list(range(FILES * ROWS))
    drawn.shuffle(keys)
    return [
        pa.table({"k": part, "s": [f"ä{key}" for key in part]})
        for part in (keys[start::FILES] for start in range(FILES))
    ]


def _port() -> int:
    return int(hadoop_settings(SERVER)["fs.s3a.endpoint"].rpartition(":")[2])


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The way to the server, and the environment that names it."""
    made = Proxy(_port())
    monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{made.port}")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    # a client reads the environment when it is made
    client.cache_clear()
    yield made
    made.close()
    client.cache_clear()


def _iceberg(folder: Path, location: str, port: int, environment: pytest.MonkeyPatch) -> str:
    settings = {
        "uri": f"sqlite:///{folder}/c.db",
        "warehouse": location,
        "s3.endpoint": f"http://127.0.0.1:{port}",
        "s3.access-key-id": ACCESS,
        "s3.secret-access-key": SECRET,
        "s3.region": "us-east-1",
    }
    environment.setenv("PYICEBERG_CATALOG__SHOP__TYPE", "sql")
    for name, value in settings.items():
        key = name.upper().replace("-", "_").replace(".", "__")
        environment.setenv(f"PYICEBERG_CATALOG__SHOP__{key}", value)
    catalog = SqlCatalog("shop", **settings)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", schema=_parts()[0].schema)
    for part in _parts():
        table.append(part)
    return "shop.db.t"


def _written(form: str, folder: Path) -> None:
    """A table in a local folder."""
    parts = _parts()
    if form == "delta":
        files = Files(folder, schema_of(("k", "long", {}), ("s", "string", {})))
        for number, part in enumerate(parts):
            files.add(f"{number}.parquet", part)
    elif form == "hudi":
        hudi = HudiTable(folder, settings={"hoodie.table.partition.fields": ""})
        fields = [{"name": "k", "type": "long"}, {"name": "s", "type": "string"}]
        hudi.commit(1, schema={"type": "record", "name": "t", "fields": fields})
        for number, part in enumerate(parts):
            pq.write_table(part, folder / f"f{number}_0-1-2_{at(1)}.parquet")
        (folder / ".hoodie_partition_metadata").touch()
    else:
        folder.mkdir()
        for number, part in enumerate(parts):
            pq.write_table(part, folder / f"{number}.parquet")


@pytest.fixture(params=FORMATS)
def table(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The name of a table with an index on ``k``."""
    location = f"s3://{BUCKET}/engines/{tmp_path.name}"
    if request.param == "iceberg":
        name = _iceberg(tmp_path, location, proxy.port, monkeypatch)
    else:
        folder = tmp_path / "t"
        _written(request.param, folder)
        storage = open_storage(location, {})
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                storage.create(str(path.relative_to(folder)), path.read_bytes())
        name = f"{request.param}:{location}"
    reader = open_table(name)

    def read(path: str) -> pa.Array:
        file = path.partition("#")[0].removeprefix(f"{reader.location}/")
        data = open_storage(reader.location, {}).get(file)
        return pq.read_table(pa.BufferReader(data)).column("k").combine_chunks()

    build_index(reader, "k", read)
    return name


def _values(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.select(["k", "s"]).to_pylist()))


def test_rows_and_files(table: str) -> None:
    """A point opens the file of its key; all rows are there; commands need no session."""
    whole = pa.concat_tables(_parts())
    dataset = arrow.dataset(table)

    assert _values(dataset.to_table()) == _values(whole)
    for key in (0, 17, FILES * ROWS - 1, 10_000):
        found = dataset.to_table(filter=pc.field("k") == key)
        assert _values(found) == _values(whole.filter(pc.field("k") == key))
        (pruned,) = arrow.last_pruning()
        assert (pruned.files_total, pruned.uncovered) == (FILES, 0)
        assert pruned.files_read <= 1
        assert [reason.code for reason in pruned.reasons] == [ReasonCode.INDEX_USED]
    assert len(ls.find_files(table, "k = 17").paths) == 1
    index = ls.open_index(table, "k")
    assert index.verify().is_sound
    assert [info.name for info in ls.list_indexes(table)] == ["k"]


def test_wrong_keys(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store refuses, opening says so, and that the credentials are the reason."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__S3__SECRET_ACCESS_KEY", "wrong")
    client.cache_clear()
    for act in (
        lambda: arrow.dataset(table),
        lambda: ls.find_files(table, "k = 17"),
        lambda: ls.list_indexes(table),
    ):
        with pytest.raises(StorageError) as raised:
            act()
        assert raised.value.kind is ErrorKind.CREDENTIALS
        assert raised.value.hint
        assert SECRET not in str(raised.value)


def test_a_server_that_goes_away(table: str, proxy: Proxy) -> None:
    """What was open reads all of its rows, or says that the store is gone."""
    dataset = arrow.dataset(table)
    assert dataset.to_table(filter=pc.field("k") == 17).num_rows == 1
    proxy.close()

    # PyIceberg reads the rows of its tables, and has errors of its own
    expected = OSError if table.startswith("shop") else StorageError
    with pytest.raises(expected):
        dataset.to_table(filter=pc.field("k") == 18)
    with pytest.raises(StorageError):
        arrow.dataset(table)


def test_an_index_that_is_gone(table: str) -> None:
    """Without its segments, every file is read, and the reason says why."""
    location = ls.open_index(table, "k").info().location
    storage = open_storage(location, options_by_environment()(location))
    for info in storage.objects(""):
        if "segment" in info.path:
            storage.delete(info.path)

    found = arrow.dataset(table).to_table(filter=pc.field("k") == 17)

    assert _values(found) == _values(pa.concat_tables(_parts()).filter(pc.field("k") == 17))
    (pruned,) = arrow.last_pruning()
    assert pruned.files_read == pruned.files_total == FILES
    assert ReasonCode.INDEX_USED not in {reason.code for reason in pruned.reasons}
