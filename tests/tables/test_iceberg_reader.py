"""Iceberg tables without an engine: catalogs, folders, versions, files, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from lakesieve.tables.iceberg.catalogs import from_catalog, from_object
from lakesieve.tables.iceberg.file_io import own_file_io
from lakesieve.tables.opening import can_open, open_table

if TYPE_CHECKING:
    from pyiceberg.table import Table

ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqlCatalog:
    """A catalog in SQLite that PyIceberg's configuration calls ``shop``."""
    warehouse = tmp_path / "wäre house"
    warehouse.mkdir()
    uri = f"sqlite:///{tmp_path}/catalog.db"
    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__URI", uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__WAREHOUSE", str(warehouse))
    made = SqlCatalog("shop", uri=uri, warehouse=str(warehouse))
    made.create_namespace("db")
    return made


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    """A table of two snapshots, with a tag on the first."""
    made = catalog.create_table("db.t", schema=ROWS.schema)
    made.append(ROWS)
    first = made.current_snapshot()
    assert first is not None
    made.manage_snapshots().create_tag(first.snapshot_id, "first").commit()
    made.append(ROWS.slice(0, 1))
    return made


def test_a_table_of_a_catalog(table: Table) -> None:
    """A table of a catalog has its identity, versions, columns and files."""
    opened = open_table("shop.db.t")
    current, first = opened.version(), opened.version("first")

    assert opened.uuid == str(table.metadata.table_uuid)
    assert opened.location == table.location()
    assert opened.references() == ["first"]
    assert first.id == str(table.history()[0].snapshot_id)
    assert [column.kind for column in opened.columns(current).values()] == ["integer", "string"]
    assert sum(opened.live_files(current).column("records").to_pylist()) == 4
    assert opened.live_files(first).num_rows == 1
    listed = {f"file:{path}" for path in table.inspect.data_files()["file_path"].to_pylist()}
    assert set(opened.live_files(current).column("path").to_pylist()) == listed
    assert set(opened.retained_files().to_pylist()) == listed


@pytest.mark.parametrize("given", ["name", "object", "metadata"])
def test_ways_to_name_it(table: Table, given: str) -> None:
    """A table can be named by catalog and identifier, by PyIceberg's object, or by its file."""
    opened = {
        "name": lambda: open_table("db.t", catalog="shop"),
        "object": lambda: open_table(table),
        "metadata": lambda: open_table(f"iceberg:{table.metadata_location}"),
    }[given]()

    assert opened.uuid == str(table.metadata.table_uuid)
    assert opened.live_files(opened.version()).num_rows == 2


def test_properties_that_are_settings(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table's own properties cannot name a class to load or a host for credentials."""
    place = Path(table.metadata_location.removeprefix("file://"))
    document = json.loads(place.read_text())
    document["properties"] |= {"py-io-impl": "no.Such", "s3.endpoint": "http://127.0.0.1:9"}
    place.write_text(json.dumps(document))
    settings = from_catalog("shop", ("db", "t"), "shop.db.t").file_io()
    assert "s3.endpoint" not in settings
    assert "py-io-impl" not in settings
    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__S3__ENDPOINT", "http://honest")
    again = from_catalog("shop", ("db", "t"), "shop.db.t").file_io()
    assert again["s3.endpoint"] == "http://honest"
    assert open_table("shop.db.t").live_files(open_table("shop.db.t").version()).num_rows == 2


def test_settings_of_a_table_that_pyiceberg_loaded(table: Table) -> None:
    """PyIceberg mixes a table's properties into its settings; they are taken out again."""
    given = {"s3.endpoint": "http://127.0.0.1:9", "s3.region": "mine"}
    with table.transaction() as change:
        change.set_properties(given)
    loaded = table.catalog.load_table(table.name())
    loaded.catalog.properties["s3.region"] = "honest"
    assert loaded.io.properties.items() >= given.items()

    settings = from_object(loaded).file_io()

    assert "s3.endpoint" not in settings
    assert settings["s3.region"] == "honest"


def test_lent_settings_name_no_class() -> None:
    """A REST catalog lends settings, among which a table's property may name a class."""
    seen: list[dict[str, str]] = []

    class RestCatalog:
        properties: ClassVar[dict[str, str]] = {}

        def _load_file_io(self, properties: dict[str, str], location: str | None) -> None:
            del location
            seen.append(properties)

    catalog: Any = RestCatalog()
    own_file_io(catalog)
    catalog._load_file_io({"py-io-impl": "no.Such", "s3.region": "lent"}, "s3://b/t")

    assert seen == [{"s3.region": "lent"}]


@pytest.mark.parametrize("spec", [0, -1, "nothing", "2001-01-01", "", "99999999999999999999"])
def test_versions_that_there_are_not(table: Table, spec: Any) -> None:
    """A version that does not exist is named in the error."""
    with pytest.raises(NotFoundError) as caught:
        open_table(table).version(spec)

    assert caught.value.kind is ErrorKind.VERSION_NOT_FOUND


def test_a_version_by_time(table: Table) -> None:
    """A time selects the newest snapshot that is not later."""
    entry = table.history()[0]
    moment = entry.timestamp_ms + 0.5

    found = open_table(table).version(_iso(moment))

    assert found.id == str(entry.snapshot_id)


def _iso(millis: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(millis / 1000, UTC).isoformat()


def _refusal(name: str, **arguments: Any) -> ErrorKind:
    with pytest.raises(LakesieveError) as caught:
        open_table(name, **arguments)
    assert caught.value.hint
    return caught.value.kind


def test_what_cannot_be_opened(table: Table, tmp_path: Path) -> None:
    """Every case has an error code and a hint."""
    assert _refusal("shop.db.nothing") is ErrorKind.TABLE_NOT_FOUND
    assert _refusal("shop.nowhere.t") is ErrorKind.TABLE_NOT_FOUND
    assert _refusal("elsewhere.db.t") is ErrorKind.NOT_A_TABLE
    assert _refusal("t", catalog="shop") is ErrorKind.NOT_A_TABLE
    assert _refusal(str(tmp_path)) is ErrorKind.TABLE_NOT_FOUND
    assert _refusal("lake.db.t", warehouse=str(tmp_path)) is ErrorKind.TABLE_NOT_FOUND
    assert _refusal("hudi:/nowhere") is ErrorKind.TABLE_NOT_FOUND
    with pytest.raises(InvalidInputError):
        open_table(17)


def test_a_catalog_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the unreachable server, and what it said."""
    monkeypatch.setenv("PYICEBERG_CATALOG__GONE__URI", "http://127.0.0.1:9/api")

    with pytest.raises(StorageError, match="The catalog gone cannot load"):
        open_table("gone.db.t")


def test_a_table_that_was_replaced(catalog: SqlCatalog, table: Table) -> None:
    """A name that leads to another table, or to none, is detected."""
    opened = open_table("shop.db.t")
    catalog.drop_table("db.t")
    with pytest.raises(NotFoundError) as gone:
        opened.version()
    catalog.create_table("db.t", schema=ROWS.schema)
    with pytest.raises(NotFoundError) as replaced:
        opened.version()

    assert gone.value.kind is ErrorKind.TABLE_NOT_FOUND
    assert replaced.value.kind is ErrorKind.TABLE_REPLACED


def test_a_manifest_that_is_gone(table: Table) -> None:
    """If files cannot be listed, it is an error; the reader never returns fewer files."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifest = snapshot.manifests(table.io)[0].manifest_path
    opened = open_table(table)
    version = opened.version()
    Path(manifest).unlink()

    with pytest.raises(StorageError, match="cannot be listed"):
        opened.live_files(version)


class TestFolders:
    """Tables that are known only by their folder, as Hadoop catalogs write them."""

    @pytest.fixture
    def folder(self, table: Table, tmp_path: Path) -> Path:
        """A warehouse with versions 1 to 3 of a table, and a hint at the second."""
        folder = tmp_path / "warehouse" / "db" / "t"
        (folder / "metadata").mkdir(parents=True)
        document = json.loads(table.metadata.model_dump_json())
        for number in (1, 2, 3):
            text = json.dumps({**document, "last-updated-ms": number})
            (folder / "metadata" / f"v{number}.metadata.json").write_text(text)
        (folder / "metadata" / "version-hint.text").write_text("2")
        return folder

    def _newest(self, folder: Path) -> int:
        warehouse = str(folder.parent.parent)
        opened: Any = open_table("lake.db.t", warehouse=warehouse)
        return int(opened._loaded.metadata.document["last-updated-ms"])

    def test_the_newest_version_counts(self, folder: Path) -> None:
        """The newest version is found even if the hint is old, wrong or missing."""
        hint = folder / "metadata" / "version-hint.text"
        found = [self._newest(folder)]
        for text in ("3", "1", "77", "nonsense", ""):
            hint.write_text(text)
            found.append(self._newest(folder))
        hint.unlink()
        found.append(self._newest(folder))

        assert found == [3] * 7

    def test_packed_metadata(self, folder: Path) -> None:
        """Metadata may be compressed, under two spellings of its name."""
        plain = folder / "metadata" / "v3.metadata.json"
        text = json.loads(plain.read_text())
        for number, name in ((4, "v4.gz.metadata.json"), (5, "v5.metadata.json.gz")):
            packed = gzip.compress(json.dumps({**text, "last-updated-ms": number}).encode())
            (folder / "metadata" / name).write_bytes(packed)

        assert self._newest(folder) == 5

    @pytest.mark.parametrize(
        "contents",
        ["", "[]", "{", '{"format-version": 9, "table-uuid": "u", "location": "/x"}', "\x1f\x8b"],
    )
    def test_what_is_no_metadata(self, folder: Path, contents: str) -> None:
        """A file with other contents is refused."""
        (folder / "metadata" / "v3.metadata.json").write_text(contents, encoding="latin-1")

        with pytest.raises((UnsupportedError, InvalidInputError)):
            self._newest(folder)


def test_which_names_need_no_session(table: Table) -> None:
    """Some names need no session: the embedded catalog, PyIceberg's catalogs, known paths."""
    known = ["lake.db.t", "shop.db.t", "/data/t", "iceberg:/t", "delta:/t", "hudi:/t", "parquet:/t"]
    unknown = ["spark_catalog.db.t", "db.t"]

    assert [name for name in known + unknown if can_open(name)] == known
    assert can_open("db.t", catalog="shop")
