"""Objects under one root: spellings of locations, exclusive create, typed errors."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from tests.storage.emulators import STORES, storage_in
from tests.storage.s3_servers import SECRET, SERVERS, s3_storage

from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from lakesieve.storage import (
    Storage,
    StorageOptions,
    hadoop_options,
    local_path,
    normalized,
    open_storage,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["disk", "memory", *STORES])
def storage(tmp_path: Path, request: pytest.FixtureRequest) -> Storage:
    """A fresh root, on disk with awkward characters in its path."""
    if request.param == "disk":
        return open_storage(str(tmp_path / "wäre house%25 #1" / "t"))
    if request.param == "memory":
        return open_storage(f"memory://{request.node.name}")
    return storage_in(request.param)


@pytest.mark.parametrize(
    ("location", "normal"),
    [
        ("/a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b/", "/a/b"),
        ("/a/b%20c d", "/a/b%20c d"),
        ("s3a://bucket/x/", "s3://bucket/x"),
        ("S3://bucket/x", "s3://bucket/x"),
        ("gs://bucket/x", "gs://bucket/x"),
        ("HDFS://name:8020/x y%20/", "hdfs://name:8020/x y%20"),
    ],
)
def test_spellings_of_one_location(location: str, normal: str) -> None:
    """The spellings of different table formats are normalized, and percent signs stay."""
    assert normalized(location) == normal


@pytest.mark.parametrize("location", ["webhdfs://node/x", "ftp://host/x", "http://host/x"])
def test_locations_out_of_reach_are_refused(location: str) -> None:
    """An unsupported scheme is named in the error, with supported ones."""
    with pytest.raises(UnsupportedError, match="s3://") as caught:
        open_storage(location)

    assert caught.value.kind is ErrorKind.UNSUPPORTED_STORAGE


def test_read_back(storage: Storage) -> None:
    """An object can be read whole and in ranges, listed and deleted."""
    storage.create("log/a b%20ü.json", b"0123456789")
    storage.create("files/x", b"")

    assert storage.get("log/a b%20ü.json") == b"0123456789"
    assert storage.get_range("log/a b%20ü.json", 2, 3) == b"234"
    assert storage.head("files/x").size == 0
    assert [(info.path, info.size) for info in storage.objects("log/")] == [
        ("log/a b%20ü.json", 10)
    ]
    assert storage.folders("") == ["files", "log"]
    storage.delete("files/x")
    storage.delete("files/x")
    assert storage.objects("files/") == []


def test_create_is_exclusive(storage: Storage) -> None:
    """If many writers create one object, exactly one succeeds, and its bytes stay."""

    def attempt(number: int) -> ErrorKind | None:
        try:
            storage.create("log/0.json", str(number).encode())
        except StorageError as error:
            return error.kind
        return None

    with ThreadPoolExecutor(8) as pool:
        result = list(pool.map(attempt, range(32)))

    assert result.count(None) == 1
    assert result.count(ErrorKind.ALREADY_EXISTS) == 31
    assert storage.get("log/0.json") == str(result.index(None)).encode()
    storage.probe()


def test_missing_objects_and_roots(storage: Storage) -> None:
    """A missing object raises a NotFoundError that names it, and no folder is created."""
    with pytest.raises(NotFoundError, match=r"log/7\.json") as caught:
        storage.get("log/7.json")
    assert caught.value.kind is ErrorKind.OBJECT_NOT_FOUND
    with pytest.raises(NotFoundError):
        storage.head("log/7.json")
    assert storage.objects("log/") == []
    assert storage.folders("") == []
    if storage.is_local:
        assert not local_path(storage.location).exists()


def test_short_objects_are_no_crash(storage: Storage) -> None:
    """A range beyond the end returns the existing bytes, or a storage error."""
    storage.create("x", b"0123")

    assert storage.get_range("x", 2, 10) == b"23"
    with pytest.raises(StorageError) as caught:
        storage.get_range("x", 9, 1)
    assert caught.value.kind is ErrorKind.STORAGE_FAILED


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "a//b", "", "a/./b"])
def test_paths_stay_inside(storage: Storage, path: str) -> None:
    """No path leads out of the root."""
    for act in (storage.get, storage.delete, storage.head, storage.child):
        with pytest.raises(InvalidInputError):
            act(path)
    with pytest.raises(InvalidInputError):
        storage.create(path, b"")


def test_a_rewritten_object_has_another_version(tmp_path: Path) -> None:
    """The version changes when an object's bytes are replaced."""
    storage = open_storage(str(tmp_path))
    storage.create("x", b"one")
    before = storage.head("x")
    os.utime(tmp_path / "x", ns=(1, 1))

    assert storage.head("x").version != before.version


def test_an_unknown_state_of_a_file_has_its_cause(tmp_path: Path) -> None:
    """Only a permission that is missing is called so: a loop of links and a long name are not."""
    storage = open_storage(str(tmp_path))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("in the way")

    for path, cause in (("loop", "levels of symbolic"), ("x" * 300, "too long"), ("file/x", "Not")):
        with pytest.raises(StorageError, match=cause) as caught:
            storage.stamp(path)
        assert caught.value.kind is ErrorKind.STORAGE_FAILED
    with pytest.raises(NotFoundError):
        storage.stamp("gone")
    denial = PermissionError(13, "Permission denied")
    with (
        mock.patch("os.stat", side_effect=denial),
        pytest.raises(StorageError, match="permission denied") as denied,
    ):
        storage.stamp("file")
    assert denied.value.kind is ErrorKind.READ_ONLY


def test_a_read_only_place_says_so(tmp_path: Path) -> None:
    """A read-only place raises READ_ONLY with a hint."""
    (tmp_path / "file").write_text("in the way")
    blocked = open_storage(str(tmp_path / "file" / "index"))

    with pytest.raises(StorageError, match="--location") as caught:
        blocked.create("x", b"")
    assert caught.value.kind is ErrorKind.READ_ONLY


def test_storages_travel(storage: Storage) -> None:
    """A pickled storage names the same objects."""
    storage.create("x", b"1")

    assert pickle.loads(pickle.dumps(storage)).get("x") == b"1"


def test_what_is_replaced_is_whole(storage: Storage) -> None:
    """Replacing writes the new bytes, and a listing has the time."""
    storage.replace("log/hint", b"1")
    storage.replace("log/hint", b"two")

    assert storage.get("log/hint") == b"two"
    (objects,) = storage.objects("log/")
    assert (objects.size, objects.modified.tzinfo is not None) == (3, True)


def test_listings_begin_where_they_should(storage: Storage) -> None:
    """A listing leaves out the paths up to a given one."""
    for number in range(5):
        storage.create(f"log/{number}.json", b"")

    assert [i.path for i in storage.objects("log/", after="log/3")] == ["log/3.json", "log/4.json"]
    assert [i.path for i in storage.objects("log/", after="log/3.json")] == ["log/4.json"]
    paths = [f"log/{number}.json" for number in range(5)]
    assert storage.get_all(paths) == [b""] * 5
    assert storage.at_once(len, paths) == [10] * 5


def test_another_root_of_the_store(storage: Storage) -> None:
    """Another root gets the same options, unless it is in another kind of store."""
    beside = storage.at(f"{storage.location}-beside")
    beside.create("x", b"1")

    assert storage.at(beside.location).get("x") == b"1"
    with pytest.raises(UnsupportedError, match="kind of store"):
        storage.at("az://elsewhere/x")


class Careless(Storage):
    """A storage whose create overwrites existing objects."""

    __slots__ = ()

    def create(self, path: str, data: bytes) -> None:
        """Replace."""
        self.replace(path, data)


def test_a_careless_storage_is_refused() -> None:
    """A storage that ignores the condition of an exclusive create is detected and named."""
    careless = Careless(location="memory://careless")

    with pytest.raises(UnsupportedError, match="memory://careless") as caught:
        careless.probe()
    assert caught.value.kind is ErrorKind.UNSUPPORTED_STORAGE
    assert careless.objects("") == []


def test_secrets_are_not_shown() -> None:
    """Neither the text of a storage nor its errors contain credentials."""
    storage = s3_storage("moto")
    gone = open_storage("s3://no-such-bucket/x", dict(storage.options))

    with pytest.raises(LakesieveError) as caught:
        gone.get("x")
    assert SECRET not in f"{storage!r} {caught.value} {caught.value!r} {caught.value.__cause__}"


@pytest.mark.parametrize("server", [name for name in SERVERS if name != "moto"])
@pytest.mark.parametrize(
    ("option", "code"),
    [("secret_access_key", "SignatureDoesNotMatch"), ("access_key_id", "XAdminUserNotFound")],
)
def test_refused_credentials_are_named(server: str, option: str, code: str) -> None:
    """A wrong key gives an error with the store's own code, not a missing object."""
    good = s3_storage(server)
    bad = open_storage(good.location, dict(good.options) | {option: "another"})
    for call in (bad.get, bad.objects, bad.folders, lambda path: bad.create(path, b"1")):
        with pytest.raises(StorageError, match=code) as caught:
            call("x")
        assert caught.value.kind is ErrorKind.CREDENTIALS
        assert "another" not in str(caught.value)


def test_a_missing_bucket_is_named() -> None:
    """A missing bucket is named in the error, which differs from that of a missing object."""
    good = s3_storage("moto")
    with pytest.raises(StorageError, match="NoSuchBucket"):
        open_storage("s3://no-such-bucket/x", dict(good.options)).get("x")


def test_hadoop_settings_become_options() -> None:
    """The session's S3 settings reach obstore, the bucket's own first; others are ignored."""
    conf = {
        "fs.s3a.endpoint": "store.local:9000",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.access.key": "all",
        "fs.s3a.bucket.mine.access.key": "my own",
        "fs.s3a.secret.key": "s",
        "fs.s3a.path.style.access": "true",
        "fs.gs.project.id": "p",
    }

    assert hadoop_options(conf, "s3a://mine/x") == {
        "access_key_id": "my own",
        "secret_access_key": "s",
        "endpoint": "http://store.local:9000",
        "allow_http": "true",
        "virtual_hosted_style_request": "false",
    }
    assert hadoop_options(conf, "s3a://other/x")["access_key_id"] == "all"
    assert hadoop_options({"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"}, "s3://b/x") == {
        "endpoint": "https://s3.eu-west-1.amazonaws.com"
    }
    assert hadoop_options(conf, "/data/x") == hadoop_options({}, "s3://b/x") == {}


AZURE = "abfss://c@acc.dfs.core.windows.net/x"
OAUTH = {
    "fs.azure.account.auth.type.acc.dfs.core.windows.net": "OAuth",
    "fs.azure.account.oauth2.client.id": "i",
    "fs.azure.account.oauth2.client.secret": "s",
    "fs.azure.account.oauth2.client.endpoint": "https://login.example.com/ten/oauth2/token",
}
GS = "fs.gs.auth.service.account."


@pytest.mark.parametrize(
    ("conf", "location", "options"),
    [
        ({"fs.azure.account.key.acc.dfs.core.windows.net": "k"}, AZURE, {"account_key": "k"}),
        ({"fs.azure.account.key.other.dfs.core.windows.net": "k"}, AZURE, {}),
        ({"fs.azure.account.key": "k"}, AZURE.replace("abfss", "abfs"), {"account_key": "k"}),
        (
            {"fs.azure.account.key": "k"},
            "wasbs://c@acc.blob.core.windows.net/x",
            {"account_key": "k"},
        ),
        (
            {
                "fs.azure.account.key": "k",
                "fs.azure.account.auth.type": "SAS",
                "fs.azure.sas.fixed.token.c.acc.dfs.core.windows.net": "t",
                "fs.azure.sas.fixed.token": "of all",
            },
            AZURE,
            {"sas_key": "t"},
        ),
        (
            OAUTH,
            AZURE,
            {
                "authority_host": "https://login.example.com",
                "tenant_id": "ten",
                "client_id": "i",
                "client_secret": "s",
            },
        ),
        ({f"{GS}json.keyfile": "/k.json"}, "gs://b/x", {"service_account": "/k.json"}),
        (
            {
                "google.cloud.auth.service.account.json.keyfile": "/k.json",
                "fs.gs.storage.root.url": "http://store.local/",
            },
            "gcs://b/x",
            {
                "service_account": "/k.json",
                "base_url": "http://store.local",
                "allow_http": "true",
            },
        ),
        (
            {f"{GS}email": "e", f"{GS}private.key": "k", f"{GS}private.key.id": "n"},
            "gs://b/x",
            {
                "service_account_key": '{"type": "service_account", "client_email": "e", '
                '"private_key_id": "n", "private_key": "k"}'
            },
        ),
        ({"fs.gs.project.id": "p", "fs.s3a.access.key": "a"}, "gs://b/x", {}),
        ({"fs.s3a.access.key": "a"}, "/local", {}),
    ],
)
def test_hadoop_settings_of_other_stores(
    conf: dict[str, str], location: str, options: dict[str, str]
) -> None:
    """Azure's and Google's settings reach obstore, the account's own first."""
    assert hadoop_options(conf, location) == options


def test_iceberg_settings_of_other_stores() -> None:
    """Credentials that a catalog vends for Azure and Google reach obstore for their host only."""
    azure = StorageOptions(conf={}).of_table(
        {
            "adls.sas-token.acc.dfs.core.windows.net": "t",
            "adls.sas-token.other.dfs.core.windows.net": "not this",
            "adls.connection-string.acc.dfs.core.windows.net": "http://store.local/acc",
        }
    )
    google = StorageOptions(conf={}).of_table({"gcs.oauth2.token": "t"})

    assert azure(AZURE) == {
        "sas_key": "t",
        "endpoint": "http://store.local/acc",
        "allow_http": "true",
    }
    assert google("gs://b/x") == {"bearer_token": "t"}
    assert google(AZURE) == azure("gs://b/x") == {}
    key = {"fs.azure.account.key": "k"}
    both = StorageOptions(conf=key).of_table(dict(azure.file_io))(AZURE)
    assert "sas_key" not in both
    assert both["account_key"] == "k"
